"""Runs tests that others wrote, for jax, on frit, and says what became of each.

    python tools/conformance.py --jax CHECKOUT [--files lax_test …]   jax's own tests
    python tools/conformance.py --sample                              what CI runs

Both use the conformance kit (`--kit`, by default beside this repository): its runners, and the
outcomes of the same tests under jax. The first form needs a checkout of jax at tag jax-v0.10.2,
which is read and run but never part of this repository, and writes docs/conformance.md. The second
takes a fixed sample of the examples in jax's docstrings and of its primitive harnesses; it fetches
jax's source package, and jax itself into an environment of its own for the expected values.
"""

import argparse
import gzip
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
from collections import Counter

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "conformance"
VERSION = "0.10.2"
COMPAT = ["--target", "frit", "--compat", "frit.jax_alias.private"]

FILES = """
    tree_util_test core_test api_test custom_api_test lax_test lax_control_flow_test
    lax_autodiff_test lax_vmap_op_test lax_vmap_test random_test lax_numpy_operators_test
    lax_numpy_reducers_test lax_numpy_indexing_test
""".split()
AT_LEAST, EACH = 85, 70  # per cent of what passes under jax: together, and in each file

SAMPLED_EXAMPLES, EXAMPLES_AT_LEAST = 120, 85
SAMPLED_HARNESSES, HARNESSES_AT_LEAST = 300, 95

OUTCOMES = ("passed", "failed", "crashed", "missing", "skipped", "private")


def run(*command, **options):
    """Exit status of a command, which is shown first."""
    print("+", *command, flush=True)
    return subprocess.run([str(part) for part in command], **options).returncode


# ---- jax's own tests ----------------------------------------------------------------------------


def run_tests(kit, jax, files, more):
    """Exit status of jax's test files on frit; leaves a journal for each in conformance-out/."""
    tests = [pathlib.Path(jax) / "tests" / f"{name}.py" for name in files]
    limits = ["--at-least", AT_LEAST, "--each", EACH, "-j", os.cpu_count()]
    command = [sys.executable, kit / "run_conformance.py", *COMPAT, "--checkout", jax]
    return run(*command, "--out", ROOT / "conformance-out", *limits, *more, *tests)


def read_journal(name):
    """(id -> (outcome, reason), seconds in tests) of one file's journal."""
    outcomes, seconds = {}, 0.0
    with open(ROOT / "conformance-out" / f"{name}.jsonl") as lines:
        for record in map(json.loads, lines):
            if isinstance(record, list):
                identifier, outcome, took, reason = record
                outcomes[identifier] = (outcome, reason)
                seconds += took
    return outcomes, seconds


def excused(kit, name):
    """The kit's own judgement (id, reason) -> whether a private name excuses that test."""
    sys.path.insert(0, str(kit))
    return importlib.import_module("run_conformance").exempt(name)


def counts(kit, name):
    """What became on frit of the ids that pass under jax; and the seconds of both."""
    is_excused = excused(kit, name)
    with gzip.open(kit / "baseline" / f"{name}.json.gz", "rt") as file:
        baseline = json.load(file)
    ours, seconds = read_journal(name)
    found = Counter()
    for identifier, outcome in baseline["outcomes"].items():
        if outcome == "passed":
            kind, reason = ours.get(identifier, ("missing", ""))
            if kind == "private" and not is_excused(identifier, reason):
                kind = "failed"
            found["crashed" if kind == "timeout" else kind] += 1
    return found, seconds, baseline["header"]["seconds"]


def share(found):
    """Per cent passed of those that do not need a private name."""
    due = sum(found.values()) - found["private"]
    return 100 * found["passed"] / due if due else 100.0


def report(kit, files):
    """The text of docs/conformance.md from the journals of the last run."""
    head = ["file", "pass under jax", *OUTCOMES, "%", "seconds", "seconds, jax"]
    rows, total, ours, theirs = [], Counter(), 0.0, 0.0
    for name in files:
        found, seconds, reference = counts(kit, name)
        total, ours, theirs = total + found, ours + seconds, theirs + reference
        rows.append(_row(name, found, seconds, reference))
    rows.append(_row("all", total, ours, theirs))
    lines = [" | ".join(head), " | ".join(["---"] + ["---:"] * (len(head) - 1)), *rows]
    return PAGE.format(version=VERSION, table="\n".join(f"| {line} |" for line in lines))


def _row(name, found, seconds, reference):
    cells = [name, sum(found.values()), *(found[kind] for kind in OUTCOMES)]
    return " | ".join(
        map(str, [*cells, f"{share(found):.1f}", f"{seconds:.0f}", f"{reference:.0f}"])
    )


PAGE = """# jax's own tests on frit

Written by `make conformance JAX=path` (tools/conformance.py). The denominator is the tests that
pass under jax {version} itself; a test that fails, crashes, runs out of time, is skipped or is
absent here counts against frit. `private` are tests that reach for a private name of jax for which
frit has no stand-in; they are taken out of the share. The suites run with the setting
`captures="freeze"`, which is jax's behaviour: their helper asserts that a flag it changed does not
trace again. Kinds of failure:
[known-failures.md](known-failures.md).

{table}

Seconds are the sum over the tests; those of jax are of the whole run on a similar machine.
"""


def reasons(files):
    """The most frequent reasons of failure, with counts, to see kinds and not cases."""
    found = Counter()
    for name in files:
        for outcome, reason in read_journal(name)[0].values():
            if outcome not in ("passed", "skipped", "private"):
                found[f"{outcome}: {reason[:150]}"] += 1
    return "".join(f"{n:6} {reason}\n" for reason, n in found.most_common(200))


def test_suites(kit, options):
    status = run_tests(kit, options.jax, options.files, options.more)
    (ROOT / "conformance-out" / "reasons.txt").write_text(reasons(options.files))
    if options.files == FILES and not options.more:
        (ROOT / "docs" / "conformance.md").write_text(report(kit, options.files))
        print("wrote docs/conformance.md")
    return status


# ---- the sample that CI runs --------------------------------------------------------------------


def source_package():
    """Folder of jax's unpacked source package, fetched from the registry when absent."""
    folder = WORK / f"jax-{VERSION}"
    if not folder.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        status = run(*pip, "--no-binary", "jax", "--dest", WORK, f"jax=={VERSION}")
        if status:
            raise SystemExit("cannot fetch jax's source package from the registry")
        with tarfile.open(WORK / f"jax-{VERSION}.tar.gz") as archive:
            archive.extractall(WORK, filter="data")
    return folder


def reference_python():
    """Python of an environment with jax itself, made when absent."""
    environment = ROOT / ".venv-jax"
    python = environment / "bin" / "python"
    if run(python, "-c", "import jax") if python.exists() else True:
        packages = [f"jax=={VERSION}", "numpy", "absl-py"]
        run(sys.executable, "-m", "venv", environment)
        if run(python, "-m", "pip", "install", "--quiet", *packages):
            raise SystemExit("cannot install jax from the registry")
    return python


def run_sample(kit):
    """Exit status of the documented examples and the primitive harnesses of the sample."""
    sources = source_package()
    common = [*COMPAT, "--checkout", sources, "--out", WORK / "out"]
    chosen = ["-k", r"^_src/(numpy|lax|nn)/", "--max", SAMPLED_EXAMPLES]
    examples = run(
        *(sys.executable, kit / "run_doctests.py", *common),
        *(*chosen, "--at-least", EXAMPLES_AT_LEAST),
    )
    expected = WORK / "harnesses.pkl"
    emit = [reference_python(), kit / "run_harnesses.py", "--target", "jax", "--emit", expected]
    if run(*emit, "--max", SAMPLED_HARNESSES, "--out", WORK / "out"):
        return 1
    harnesses = run(
        *(sys.executable, kit / "run_harnesses.py", *common),
        *("--check", expected, "--at-least", HARNESSES_AT_LEAST),
    )
    return int(bool(examples or harnesses))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    beside = ROOT.parent / "shared" / "conformance"
    parser.add_argument("--kit", type=pathlib.Path, default=beside, help="the conformance kit")
    parser.add_argument("--jax", help="a checkout of jax at tag jax-v0.10.2")
    parser.add_argument("--files", nargs="+", default=FILES, help="test files, without .py")
    parser.add_argument("--sample", action="store_true", help="the sample that CI runs")
    options, options.more = parser.parse_known_args()
    kit = options.kit.resolve()
    if not (kit / "run_conformance.py").exists():
        parser.error(f"no conformance kit at {kit}; name it with --kit")
    if options.sample:
        return run_sample(kit)
    if not options.jax or not (pathlib.Path(options.jax) / "tests").is_dir():
        parser.error("--jax needs a checkout of jax with tests/: make conformance JAX=path")
    return test_suites(kit, options)


if __name__ == "__main__":
    sys.exit(main())
