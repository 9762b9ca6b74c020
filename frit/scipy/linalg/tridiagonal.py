"""eigh_tridiagonal: eigenvalues of symmetric tridiagonal matrices.

Values alone come by bisection: the signs of the pivots of T - x count the eigenvalues below x
(Barth, Martin, Wilkinson, 1967).  Vectors come from the matrix in full.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from frit import lax
from frit.api.jitting import jit
from frit.lax import linalg as lax_linalg
from frit.numpy.creation import asarray
from frit.numpy.promotion import broadcast_to
from frit.numpy.reductions import max as max_
from frit.numpy.reductions import min as min_
from frit.numpy.selection import where
from frit.numpy.taking import diag
from frit.numpy.ufuncs import abs as abs_
from frit.numpy.ufuncs import conj, maximum, minimum, real

_SUPPORTED = frozenset(map(np.dtype, ("f4", "f8", "c8", "c16")))


def _wanted(n: int, select: str, select_range: Any) -> range:
    """The numbers of the eigenvalues that are asked for, in ascending order."""
    if select == "a":
        return range(n)
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select != "i":
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    if select_range is None:
        raise ValueError("for select='i', select_range must be specified.")
    if select_range[0] > select_range[1]:
        raise ValueError("Got empty index range in select_range.")
    return range(int(select_range[0]), int(select_range[1]) + 1)


def _count_below(x: Any, d: Any, squares: Any, smallest: Any) -> Any:
    """How many eigenvalues are below each of x."""

    def step(state: Any, row: Any) -> Any:
        pivot, count = state
        own, square = row
        pivot = own - square / pivot - x
        negative = pivot <= smallest
        pivot = where(negative, minimum(pivot, -smallest), pivot)
        return (pivot, count + negative.astype(count.dtype)), None

    first = (lax.full_like(x, 1), lax.full(x.shape, 0, np.int32))
    (_, count), _ = lax.scan(step, first, (d, squares))
    return count


def _bisect(d: Any, sizes: Any, tol: Any, wanted: range) -> Any:
    """Eigenvalues from the diagonal and the sizes of what is beside it."""
    limits = np.finfo(d.dtype)
    none = np.zeros(1, d.dtype)
    squares = lax.concatenate((none, sizes * sizes), 0)
    radius = lax.concatenate((none, sizes), 0) + lax.concatenate((sizes, none), 0)
    low, high = min_(d - radius), max_(d + radius)
    scale = maximum(abs_(low), abs_(high))
    smallest = limits.tiny * maximum(1, max_(squares)) * (1 + limits.eps)
    slack = 2.1 * len(d) * limits.eps * scale + 4.2 * smallest
    precision = limits.eps * scale
    precision = precision if tol is None else maximum(tol, precision)
    numbers = np.asarray(wanted, np.int32)

    def unfinished(state: Any) -> Any:
        i, low, high = state
        return (i < limits.nmant + 2) & (max_(high - low) > precision)

    def halve(state: Any) -> Any:
        i, low, high = state
        middle = 0.5 * (low + high)
        above = _count_below(middle, d, squares, smallest) > numbers
        return i + 1, where(above, low, middle), where(above, middle, high)

    ends = (broadcast_to(v, numbers.shape) for v in (low - slack, high + slack))
    _, low, high = lax.while_loop(unfinished, halve, (0, *ends))
    return 0.5 * (low + high)


@partial(jit, static_argnames=("eigvals_only", "select", "select_range"))
def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Any:
    """(ascending eigenvalues, eigenvectors as columns), or the values, of a Hermitian tridiagonal.

    d: the diagonal (n,); e: what is above it (n - 1,).  select: "a", all, or "i", those with
    numbers in select_range, both ends included.  tol: how exact values alone must be.  key: unused.
    """
    d, e = asarray(d), asarray(e)
    if d.dtype != e.dtype:
        raise TypeError(
            f"diagonal and off-diagonal values must have same dtype, got {d.dtype} and {e.dtype}"
        )
    if d.dtype not in _SUPPORTED:
        raise TypeError(
            "Only float32 and float64 inputs are supported as inputs to "
            f"jax.scipy.linalg.eigh_tridiagonal, got {d.dtype} and {e.dtype}"
        )
    wanted = _wanted(d.shape[0], select, select_range)
    if eigvals_only:
        return _bisect(real(d), abs_(e), tol, wanted) if len(d) > 1 else real(d)
    whole = diag(real(d).astype(d.dtype)) + diag(e, 1) + diag(conj(e), -1)
    v, w = lax_linalg.eigh(whole, symmetrize_input=False)
    part = slice(wanted.start, wanted.stop)
    return w[part], v[:, part]
