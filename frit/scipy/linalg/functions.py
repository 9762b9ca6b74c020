"""Functions of square matrices: exponential, square root, and any function of the eigenvalues.

Those of an upper triangular T are found one superdiagonal after the other, each from those below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from frit import lax
from frit.api.autodiff import jvp
from frit.api.jitting import jit
from frit.lax import linalg as lax_linalg
from frit.numpy import linalg as numpy_linalg
from frit.numpy.creation import asarray
from frit.numpy.dtype_info import finfo
from frit.numpy.grids import eye, triu
from frit.numpy.linalg.decompositions import adjoint
from frit.numpy.promotion import promote_dtypes_inexact
from frit.numpy.reductions import any as any_
from frit.numpy.reductions import max as max_
from frit.numpy.reductions import min as min_
from frit.numpy.reductions import sum as sum_
from frit.numpy.selection import where
from frit.numpy.taking import diag, diagonal
from frit.numpy.ufuncs import abs as abs_
from frit.numpy.ufuncs import floor, isinf, log2, maximum, minimum, sqrt
from frit.numpy.vectorize import vectorize
from frit.scipy.linalg.decompositions import _product, rsf2csf, schur

# -------------------------------------------------------------------------------------- exponential

# Higham, "The scaling and squaring method for the matrix exponential revisited", 2005, table 2.3:
# up to which 1-norm the Padé approximant of an order is exact to the precision of the type.
_BOUNDS = {
    4: {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660},
    8: {
        3: 1.495585217958292e-2,
        5: 2.539398330063230e-1,
        7: 9.504178996162932e-1,
        9: 2.097847961257068,
        13: 5.371920351148152,
    },
}


def _coefficients(order: int) -> list[float]:
    """Those of the numerator of the Padé approximant of exp, the last of which is 1."""
    f = math.factorial
    return [
        float(f(2 * order - j) // (f(order - j) * f(j)) if j < order else 1)
        for j in range(order + 1)
    ]


def _approximant(a: Any, order: int) -> tuple[Any, Any]:
    """(odd part, even part) of the numerator; the denominator is even - odd."""
    square = _product(a, a)
    powers = [eye(a.shape[0], dtype=a.dtype), square]
    for _ in range(2):
        powers.append(_product(powers[-1], square))

    def polynomial(coefficients: list[float]) -> Any:
        """In the square, by its first powers and, from the fourth, by the cube times them."""
        low = sum_of(zip(coefficients[:4], powers, strict=False))
        if len(coefficients) <= 4:
            return low
        return low + _product(powers[3], sum_of(zip(coefficients[4:], powers[1:], strict=False)))

    b = _coefficients(order)
    return _product(a, polynomial(b[1::2])), polynomial(b[::2])


def sum_of(terms: Any) -> Any:
    """The sum of number * matrix."""
    total = None
    for number, matrix in terms:
        term = matrix * matrix.dtype.type(number)
        total = term if total is None else total + term
    return total


def _expm_of_one(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    digits = a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1)
    if digits not in _BOUNDS:
        raise TypeError(f"A.dtype={a.dtype} is not supported.")
    bounds = _BOUNDS[digits]
    *smaller, largest = bounds.values()
    size = max_(sum_(abs_(a), axis=0)) if a.size else np.zeros((), a.dtype).real
    halvings = maximum(0, floor(log2(size / largest)))
    scaled = a / (2**halvings).astype(a.dtype)
    which = sum_(size >= np.asarray(smaller, size.dtype)) if smaller else 0
    odd, even = lax.switch(which, [partial(_approximant, order=order) for order in bounds], scaled)
    if upper_triangular:
        root = lax_linalg.triangular_solve(even - odd, even + odd, left_side=True, lower=False)
    else:
        root = numpy_linalg.solve(even - odd, even + odd)

    def step(x: Any, i: Any) -> Any:
        return lax.cond(i < halvings, lambda y: _product(y, y), lambda y: y, x), None

    result, _ = lax.scan(step, root, lax.iota(size.dtype, max_squarings))
    return where(halvings > max_squarings, lax.full_like(result, float("nan")), result)


@partial(jit, static_argnames=("upper_triangular", "max_squarings"))
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponential of square matrices (…, n, n); nan where it needs more than max_squarings.

    By Padé approximants of a matrix scaled to a small norm, squared again.
    """
    A = promote_dtypes_inexact(asarray(A))[0]
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={A.shape}.")
    one = partial(_expm_of_one, upper_triangular=upper_triangular, max_squarings=max_squarings)
    return one(A) if A.ndim == 2 else vectorize(one, signature="(n,n)->(n,n)")(A)


@partial(jit, static_argnames=("method", "compute_expm"))
def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """(expm(A), its derivative along E), or the derivative alone."""
    A, E = promote_dtypes_inexact(asarray(A), asarray(E))
    for name, x in (("A", A), ("E", E)):
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise ValueError(
                f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}"
            )
    if A.shape != E.shape:
        raise ValueError(
            f"expected A and E to be the same shape, got A.shape={A.shape} E.shape={E.shape}"
        )
    value, change = jvp(expm, (A,), (E,))
    return (value, change) if compute_expm else change


# -------------------------------------------------------------------- functions of triangular ones


def _by_superdiagonals(first: Any, following: Callable[[Any], Any]) -> Any:
    """An upper triangular matrix with the diagonal `first`.

    following(strict): for the superdiagonals found so far, a matrix that holds the next one.
    """
    n = first.shape[0]
    row, column = (lax.broadcasted_iota("int32", (n, n), axis) for axis in (0, 1))

    def step(p: Any, strict: Any) -> Any:
        return where(column - row == p, following(strict), strict)

    empty = lax.full((n, n), 0, first.dtype)
    return diag(first) + (lax.fori_loop(1, n, step, empty) if n > 1 else empty)


@jit
def _sqrtm(a: Any) -> Any:
    """With U^2 = T: u_ij = (t_ij - sum over i < k < j of u_ik u_kj) / (u_ii + u_jj)."""
    form, vectors = schur(a, output="complex")
    roots = sqrt(diagonal(form))
    divisor = roots[:, None] + roots[None, :]

    def following(strict: Any) -> Any:
        rest = form - _product(strict, strict)
        return where(rest == 0, lax.full_like(rest, 0), rest / divisor)

    root = _by_superdiagonals(roots, following)
    return _product(vectors, root, adjoint(vectors))


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square root of a matrix, complex: Björck, Hammarling, 1983."""
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    return _sqrtm(A)


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """func of a square matrix, by func of its eigenvalues; complex.

    Where not `disp`: (that, an estimate of the error).  Equal eigenvalues make it inaccurate.

    Parlett's recurrence; Golub, Van Loan, "Matrix computations", algorithm 11.1.1.
    """
    A = promote_dtypes_inexact(asarray(A))[0]
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("expected square array_like input")
    form, vectors = rsf2csf(*schur(A))
    eigenvalues = diagonal(form)
    values = func(eigenvalues).astype(form.dtype)
    gaps = eigenvalues[None, :] - eigenvalues[:, None]
    strict_form = triu(form, 1)
    linear = form * (values[None, :] - values[:, None])

    def following(strict: Any) -> Any:
        found = linear + _product(strict_form, strict) - _product(strict, strict_form)
        return where(gaps != 0, found / where(gaps != 0, gaps, 1), found)

    result = _product(vectors, _by_superdiagonals(values, following), adjoint(vectors))
    return result if disp else (result, _error(result, strict_form, gaps))


def _error(result: Any, strict_form: Any, gaps: Any) -> Any:
    """At most 1: the precision times the size of what is above the diagonal over the least gap."""
    eps = finfo(strict_form.dtype).eps
    n = gaps.shape[0]
    above = np.triu(np.ones((n, n), bool), 1)
    gap = min_(where(above, abs_(gaps), np.inf), initial=np.inf)
    gap = where(gap == 0, eps, gap)
    size = max_(sum_(abs_(strict_form), axis=0))
    estimate = minimum(1, maximum(eps, eps / gap * size))
    return where(any_(isinf(abs_(result))), np.inf, estimate)
