"""Checks of derivatives against finite differences, under the names of jax.test_util."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import trees
from frit.api.autodiff import jvp, vjp
from frit.ir import dtypes
from frit.ir.types import typeof

__all__ = ["check_grads", "check_jvp", "check_vjp"]

_STEP = 1e-4
_TOLERANCE = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 2e-2, "float64": 1e-5}


Tolerance = float | dict[Any, float] | None


def _tolerance(tree: Any, given: Tolerance) -> float:
    """The tolerance for the element types of a tree: one number, or numbers by dtype over ours."""
    if given is not None and not isinstance(given, dict):
        return given
    own = {np.dtype(dtype).name: value for dtype, value in (given or {}).items()}
    names = {np.dtype(typeof(x).dtype).name for x in trees.leaves(tree)}  # type: ignore[attr-defined]
    return max((_default_or(own, name) for name in names), default=1e-2)


def _default_or(own: dict[str, float], name: str) -> float:
    if name in own:
        return own[name]
    return _TOLERANCE.get(_real(np.dtype(name)).name, 1e-2)


def _real(dtype: Any) -> np.dtype:
    return np.zeros(0, dtype).real.dtype if dtypes.is_complex(dtype) else np.dtype(dtype)


def _random_like(x: Any, generator: np.random.Generator) -> Any:
    """A random tangent of x: float0 zeros where x has no derivative."""
    aval: Any = typeof(x)
    if not dtypes.is_inexact(aval.dtype):
        return np.zeros(aval.shape, dtypes.float0)
    values = np.asarray(generator.standard_normal(aval.shape))
    if dtypes.is_complex(aval.dtype):
        values = values + 1j * generator.standard_normal(aval.shape)
    return values.astype(aval.dtype)


def _shifted(x: Any, direction: Any, step: float) -> Any:
    if direction.dtype == dtypes.float0:
        return x
    return (np.asarray(x) + step * np.asarray(direction)).astype(np.asarray(x).dtype)


def _difference(f: Callable[..., Any], primals: Any, tangents: Any, step: float) -> Any:
    """The directional derivative of f, by a central difference."""
    ahead = f(*trees.map(lambda x, t: _shifted(x, t, step / 2), primals, tangents))
    behind = f(*trees.map(lambda x, t: _shifted(x, t, -step / 2), primals, tangents))
    return trees.map(lambda a, b: (_wide(a) - _wide(b)) / step, ahead, behind)


def _wide(x: Any) -> np.ndarray:
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _assert_close(have: Any, want: Any, atol: float, rtol: float, what: str) -> None:
    pairs = trees.flatten_with_path(have)[0]
    for (path, a), b in zip(pairs, trees.leaves(want), strict=True):
        if getattr(a, "dtype", None) == dtypes.float0:
            continue
        np.testing.assert_allclose(
            _wide(a), _wide(b), atol=atol, rtol=rtol, err_msg=f"{what}{trees.keystr(path)}"
        )


def check_jvp(
    f: Callable[..., Any], f_jvp: Callable[..., Any], args: Sequence[Any],
    atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None,
    err_msg: str = "",
) -> None:  # fmt: skip
    """AssertionError unless `f_jvp(args, tangents)` agrees with f and its finite difference.

    args: a tuple of pytrees of arrays.
    """
    generator = np.random.default_rng(0)
    args = tuple(args)
    atol, rtol = _tolerance(args, atol), _tolerance(args, rtol)
    tangents = trees.map(lambda x: _random_like(x, generator), args)
    result, moved = f_jvp(args, tangents)
    what = f"{err_msg} JVP tangent " if err_msg else "JVP tangent "
    _assert_close(result, f(*args), atol, rtol, what.replace("tangent", "primal"))
    step = eps or (_STEP if _tolerance(args, None) < 1e-3 else 1e-2)
    _assert_close(moved, _difference(f, args, tangents, step), atol, rtol, what)


def check_vjp(
    f: Callable[..., Any], f_vjp: Callable[..., Any], args: Sequence[Any],
    atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None,
    err_msg: str = "",
) -> None:  # fmt: skip
    """AssertionError unless the pullback that `f_vjp(*args)` returns fits the finite difference.

    The two are compared by their inner products with a random tangent and a random cotangent.
    """
    generator = np.random.default_rng(0)
    args = tuple(args)
    atol, rtol = _tolerance(args, atol), _tolerance(args, rtol)
    result, pullback = f_vjp(*args)
    what = f"{err_msg} VJP" if err_msg else "VJP"
    _assert_close(result, f(*args), atol, rtol, f"{what} primal ")
    tangents = trees.map(lambda x: _random_like(x, generator), args)
    step = eps or (_STEP if _tolerance(args, None) < 1e-3 else 1e-2)
    moved = _difference(f, args, tangents, step)
    cotangent = trees.map(lambda x: _random_like(x, generator), result)
    pulled = pullback(cotangent)
    have, want = _inner(tangents, pulled), _inner(moved, cotangent)
    np.testing.assert_allclose(have, want, atol=atol, rtol=rtol, err_msg=f"{what} cotangent")


def _inner(a: Any, b: Any) -> float:
    """The real inner product of two trees; leaves without derivative count nothing."""
    total = 0.0
    for x, y in zip(trees.leaves(a), trees.leaves(b), strict=True):
        if dtypes.float0 not in (getattr(x, "dtype", None), getattr(y, "dtype", None)):
            total += float(np.real(np.sum(_wide(x) * _wide(y))))
    return total


def check_grads(
    f: Callable[..., Any], args: Sequence[Any], order: int, modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None,
) -> None:  # fmt: skip
    """AssertionError unless derivatives of f up to `order` agree with finite differences.

    modes: "fwd" and "rev"; with both, each derivative is taken in both ways again.

    >>> import frit.numpy as jnp
    >>> check_grads(jnp.sin, (0.5,), order=2)
    """
    args = tuple(args)
    if unknown := set(modes) - {"fwd", "rev"}:
        raise ValueError(f"modes are 'fwd' and 'rev', got {sorted(unknown)}")

    def check(f: Callable[..., Any], args: tuple[Any, ...], order: int, name: str) -> None:
        if "fwd" in modes:
            check_jvp(f, lambda p, t: jvp(f, p, t), args, atol, rtol, eps, f"{name} by fwd:")
            if order > 1:
                tangents = trees.map(lambda x: _random_like(x, np.random.default_rng(1)), args)
                check(lambda *xs: jvp(f, xs, tangents)[1], args, order - 1, f"{name} by fwd")
        if "rev" in modes:
            check_vjp(f, lambda *xs: vjp(f, *xs), args, atol, rtol, eps, f"{name} by rev:")
            if order > 1:
                result = f(*args)
                ct = trees.map(lambda x: _random_like(x, np.random.default_rng(2)), result)
                check(lambda *xs: vjp(f, *xs)[1](ct), args, order - 1, f"{name} by rev")

    check(f, args, order, getattr(f, "__name__", "f"))
