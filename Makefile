# Everything a developer runs. `make demo` and `make test` need only Python >= 3.11 and make.

OLD    := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	    $$python -c '$(OLD)' 2>/dev/null && echo $$python && break; done)
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
JAX    ?=
ARGS   ?=

.PHONY: help demo test check tiny bench conformance fuzz docs sizes replay clean

help:            ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  \1\t/' | expand -t 16

$(BIN)/python:
	@test -n '$(PYTHON)' || { echo 'frit needs Python 3.11 or later: make PYTHON=path'; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

demo: $(VENV)/.installed-examples  ## install, then train on real handwritten digits (under two minutes)
	$(BIN)/python examples/digits.py $(ARGS)

test: check      ## install, lint, import layers, types, then every test
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

check: $(VENV)/.installed-test     ## lint, format, import layers, types; nothing is fetched once installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

tiny: $(VENV)/.installed-test      ## twenty end-to-end checks in two seconds
	$(BIN)/python -m pytest -q tests/test_tiny.py $(ARGS)

bench: $(VENV)/.installed-bench    ## frit and jax side by side; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks $(ARGS)

conformance: $(VENV)/.installed-test  ## jax's own tests on frit: make conformance JAX=path/to/checkout
	$(BIN)/python tools/conformance.py --jax '$(JAX)' $(ARGS)

fuzz: $(VENV)/.installed-test      ## the long random checks: whole programs, and math functions bit by bit
	$(BIN)/python tools/fuzz.py $(ARGS)

docs: $(VENV)/.installed-test      ## regenerate the generated pages of docs/
	$(BIN)/python tools/docs.py $(ARGS)

sizes: $(VENV)/.installed-test     ## how long functions and files are, and the change against main
	$(BIN)/python tools/sizes.py $(ARGS)

replay: $(VENV)/.installed-test    ## jaxpr and loop text of every sample at two commits; a refactor shows none
	$(BIN)/python tools/replay.py $(ARGS)

clean:           ## remove what these targets made
	rm -rf $(VENV) .venv-jax .venv-bench build dist conformance-out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
