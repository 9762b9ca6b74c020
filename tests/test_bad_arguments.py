"""Public functions given arguments of wrong kinds raise errors that are meant for their callers.

Each function is called with an operand, or an option, replaced by something typical of mistakes: a
string, None, a negative number or shape, a float for an integer, a dict, an array of another shape,
a function, a class.  It may succeed, or raise one of JAX's classes; it may not raise what only its
author can read (AssertionError, AttributeError, KeyError, …), nor from within NumPy.
"""

from __future__ import annotations

import inspect
import traceback
import warnings

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax, nn, random

X = jnp.arange(6.0).reshape(2, 3)
KEY = random.key(0)
MISTAKES = [
    "text", None, -1, (2, -3), 1.5, [1, "a"], {"a": 1}, jnp.ones((4, 5)), abs, (7,), int,
    np.array([None]),
]  # fmt: skip

MODULES = {
    "random": random, "nn": nn, "lax": lax, "numpy": jnp, "numpy.linalg": jnp.linalg,
    "numpy.fft": jnp.fft,
}  # fmt: skip
READABLE = (TypeError, ValueError, IndexError, NotImplementedError, OverflowError)
OWN_WORDS = (NameError, RuntimeError)  # JAX's classes for some errors: if we raise them ourselves
# They read or write files, are NumPy's own, or run long with such arguments.
LEFT_OUT = {
    "save", "savez", "load", "fromfile", "frombuffer", "set_printoptions", "printoptions",
    "get_printoptions", "array_repr", "array_str", "array2string", "can_cast",
    "fori_loop", "while_loop",
}  # fmt: skip


def functions_of(module):
    public = getattr(module, "__all__", dir(module))
    for name in sorted(public):
        function = getattr(module, name)
        if name.startswith("_") or name.endswith("_p") or name in LEFT_OUT:
            continue
        if callable(function) and not isinstance(function, type):
            yield name, function


def calls_of(function, first):
    """Arguments and options of each call, with one mistake in it."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        return
    needed = [p for p in parameters if p.kind in (0, 1) and p.default is p.empty]
    options = [p.name for p in parameters if p.kind in (1, 3) and p.default is not p.empty]
    right = [first if i == 0 else X for i in range(len(needed))]
    for mistake in MISTAKES:
        for i in range(len(needed)):
            yield [*right[:i], mistake, *right[i + 1 :]], {}
        for name in options:
            yield right, {name: mistake}


def complaint(function, args, options):
    """What is wrong with the error of a call, or None."""
    try:
        function(*args, **options)
    except (*READABLE, *OWN_WORDS) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        within = last.filename.startswith(jax.__path__[0])
        if isinstance(error, OWN_WORDS) and not (within and last.line.startswith("raise")):
            return f"{type(error).__name__}: {error}"
        if any(f"{os}{name}{os}" in last.filename for os in "/\\" for name in FOREIGN):
            return f"{type(error).__name__} of {last.filename}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


FOREIGN = ("numpy/_core", "numpy/lib", "opt_einsum", "scipy")


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_errors_are_meant_for_callers(module):
    found = []
    first = KEY if module == "random" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in functions_of(MODULES[module]):
            for args, options in calls_of(function, first):
                problem = complaint(function, args, options)
                if problem is not None:
                    found.append(f"{name}(*{args}, **{options}): {problem}")
    assert not found, "\n".join(found)


EXAMPLES = [
    (lambda: jnp.zeros((2, -1)), "zeros: every size of a shape must be nonnegative, got (2, -1)"),
    (lambda: lax.full((2, -1), 1.0), "shape must have every element be nonnegative, got (2, -1)"),
    (lambda: random.uniform(KEY, (-1,)), "`uniform` got shape (-1,): dimensions must be nonneg"),
    (lambda: random.split(KEY, -1), "the number of keys must not be negative, got -1"),
    (lambda: random.uniform(jnp.ones(3)), "key"),
    (lambda: jnp.zeros(3, "flaot32"), "'flaot32' is not a dtype"),
    (lambda: jnp.sum(X, axis=1.5), "an axis that is not an integer must be a sequence, got 1.5"),
    (lambda: jnp.sum(X, axis=2), "axis 2 is out of bounds for array of dimension 2"),
    (lambda: jnp.sum(X, axis="rows"), "unbound axis name: rows"),
    (lambda: lax.psum(X, {"rows"}), "an axis name must be hashable, got {'rows'}"),
    (lambda: lax.psum(X, 5), "axis 5 is out of bounds for array of dimension 2"),
    (lambda: lax.map(X, X), "the function of lax.map must be a function, got"),
    (lambda: lax.dot_general(X, X, (1, 0)), "the contracting dimensions must be a sequence, got 1"),
    (lambda: lax.dot_general(X, X, ((1,), (1,), (0,))), "must have two elements, got 3"),
    (lambda: lax.cumsum(X, axis="0"), "an axis must be an integer, got '0' of type str"),
    (lambda: jnp.einsum(None, X), "einsum"),
    (lambda: jnp.einsum([X, 1], X), "einsum"),
    (lambda: nn.one_hot(jnp.arange(3), -1), "must have every element be nonnegative"),
    (lambda: jnp.tile(X, -1), "tile reps must have every element be nonnegative"),
]


@pytest.mark.parametrize("call, text", EXAMPLES)
def test_messages(call, text):
    with pytest.raises((TypeError, ValueError, NameError)) as error:
        call()
    assert text in str(error.value)
