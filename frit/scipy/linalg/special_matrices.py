"""Matrices of a special form: made from vectors (toeplitz …), or known by size (hilbert …)."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from frit import lax
from frit.numpy.creation import asarray
from frit.numpy.jitted import jitted
from frit.numpy.joining import concatenate
from frit.numpy.operands import check_arraylike
from frit.numpy.padding import pad
from frit.numpy.promotion import (
    broadcast_to,
    default_float,
    promote_args_inexact,
    promote_dtypes,
    requested_dtype,
    to_complex,
)
from frit.numpy.selection import where
from frit.numpy.shapes import atleast_1d, atleast_2d
from frit.numpy.taking import select
from frit.numpy.ufuncs import abs as abs_
from frit.numpy.ufuncs import conjugate


@jitted
def block_diag(*arrs: Any) -> Any:
    """The matrix with the given matrices along its diagonal and zeros elsewhere."""
    arrays = promote_dtypes(*(asarray(a) for a in arrs or (np.zeros((1, 0), np.float32),)))
    for i, a in enumerate(arrays):
        if a.ndim > 2:
            raise ValueError(
                "Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got "
                f"{a} at argument {i}."
            )
    blocks = [atleast_2d(a) for a in arrays]
    width = sum(b.shape[1] for b in blocks)
    rows, before = [], 0
    for b in blocks:
        after = width - before - b.shape[1]
        rows.append(lax.pad(b, b.dtype.type(0), ((0, 0, 0), (before, after, 0))))
        before += b.shape[1]
    return concatenate(rows, axis=0)


# --------------------------------------------------------------------------------- from vectors


def _places(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The row and the column of each element."""
    return np.arange(m)[:, None], np.arange(n)[None, :]


def _common_batch(c: Any, r: Any) -> tuple[Any, Any]:
    c, r = promote_dtypes(c, r)
    batch = lax.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    return tuple(broadcast_to(v, (*batch, v.shape[-1])) for v in (c, r))


def _from_diagonals(elements: Any, number: np.ndarray) -> Any:
    """Element (i, j) is elements[…, number[i, j]]."""
    if not number.size:
        return lax.full((*elements.shape[:-1], *number.shape), 0, elements.dtype)
    return elements[..., number]


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with constant diagonals, `c` the first column and `r` the first row.

    r: by default the conjugate of `c`; its first element is not read.
    """
    check_arraylike("toeplitz", c, *([] if r is None else [r]))
    c = atleast_1d(asarray(c))
    c, r = _common_batch(c, conjugate(c) if r is None else atleast_1d(asarray(r)))
    m, n = c.shape[-1], r.shape[-1]
    row, column = _places(m, n)
    elements = concatenate((c[..., ::-1], r[..., 1:]), axis=-1)
    return _from_diagonals(elements, m - 1 - row + column)


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with constant antidiagonals, `c` the first column and `r` the last row.

    r: by default zeros; its first element is not read.
    """
    check_arraylike("hankel", c, *([] if r is None else [r]))
    c = asarray(c)
    r = lax.full_like(c, 0) if r is None else asarray(r)
    for name, v in (("c", c), ("r", r)):
        if v.ndim == 0:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    c, r = _common_batch(c, r)
    row, column = _places(c.shape[-1], r.shape[-1])
    return _from_diagonals(concatenate((c, r[..., 1:]), axis=-1), row + column)


def circulant(c: Any) -> Any:
    """The matrix with the first column `c`, each next one moved down by one place, around."""
    check_arraylike("circulant", c)
    c = atleast_1d(asarray(c))
    n = c.shape[-1]
    row, column = _places(n, n)
    return _from_diagonals(c, (row - column) % max(n, 1))


def leslie(f: Any, s: Any) -> Any:
    """The matrix with the first row `f` and `s` below the diagonal."""
    check_arraylike("leslie", f, s)
    f, s = promote_dtypes(atleast_1d(asarray(f)), atleast_1d(asarray(s)))
    n = f.shape[-1]
    if n < 2:
        raise ValueError(
            f"The length of f along the last axis must be at least 2; got shape {f.shape}."
        )
    if s.shape[-1] != n - 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            f"than the length of f; got f shape {f.shape} and s shape {s.shape}."
        )
    batch = lax.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    first = broadcast_to(f, (*batch, n))[..., None, :]
    on_diagonal = np.broadcast_to(np.eye(n - 1, n, dtype=bool), (*batch, n - 1, n))
    below = broadcast_to(broadcast_to(s, (*batch, n - 1))[..., :, None], on_diagonal.shape)
    below = where(on_diagonal, below, lax.full_like(below, 0))
    return concatenate((first, below), axis=-2)


def companion(a: Any) -> Any:
    """The matrix whose characteristic polynomial has the coefficients `a`, the highest first."""
    a = atleast_1d(promote_args_inexact("companion", a)[0])
    n = a.shape[-1] - 1
    if n < 1:
        raise ValueError(
            f"The length of `a` along the last axis must be at least 2; got shape {a.shape}."
        )
    first = (-a[..., 1:] / a[..., :1])[..., None, :]
    below = broadcast_to(np.eye(n - 1, n, dtype=a.dtype), (*a.shape[:-1], n - 1, n))
    return concatenate((first, below), axis=-2)


def fiedler(a: Any) -> Any:
    """The symmetric matrix of distances |a_i - a_j|."""
    check_arraylike("fiedler", a)
    a = atleast_1d(asarray(a))
    return abs_(a[..., None] - a[..., None, :])


def fiedler_companion(a: Any) -> Any:
    """A companion matrix of the polynomial `a` with five diagonals: Fiedler, 2003."""
    a = atleast_1d(promote_args_inexact("fiedler_companion", a)[0])
    if a.shape[-1] == 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but got an "
            f"array of shape {a.shape}."
        )
    n = a.shape[-1] - 1
    if n == 0:
        return lax.full((*a.shape[:-1], 0, 0), 0, a.dtype)
    a = a / a[..., :1]
    if n == 1:
        return -a[..., 1:, None]
    i, j = _places(n, n)
    even, odd = i % 2 == 0, i % 2 == 1

    def coefficient(number: np.ndarray) -> Any:
        return -a[..., np.broadcast_to(np.minimum(number, n), (n, n))]

    one = lax.full((*a.shape[:-1], n, n), 1, a.dtype)
    cases = [
        ((i == 0) & (j == 0), coefficient(i + 1)),
        ((i == 1) & (j == 0), one),
        (even & (j == i + 1), coefficient(i + 2)),
        (even & (j == i + 2), one),
        (even & (j == i - 1), coefficient(i + 1)),
        (odd & (j == i - 2), one),
    ]
    shape = one.shape
    return select([np.broadcast_to(flags, shape) for flags, _ in cases], [x for _, x in cases])


@jitted(static_argnames=("n", "mode"))
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """A with A v = convolve(a, v, mode), for vectors v of n elements."""
    n = operator.index(n)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    check_arraylike("convolution_matrix", a)
    a = asarray(a)
    if a.ndim == 0:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar.")
    m = a.shape[-1]
    if m < 1:
        raise ValueError(f"len(a) must be at least 1; got shape {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    cut = {"full": 0, "valid": 2 * (min(n, m) - 1), "same": min(n, m) - 1}[mode]
    top = cut // 2
    row, column = _places(m + n - 1 - cut, n)
    number = row + top - column
    padded = pad(a, [(0, 0)] * (a.ndim - 1) + [(0, 1)])
    return padded[..., np.where((number >= 0) & (number < m), number, m)]


# --------------------------------------------------------------------------------- known by size


def _made(values: Any, dtype: Any = None) -> Any:
    return asarray(np.asarray(values).astype(default_float() if dtype is None else dtype))


def hilbert(n: int) -> Any:
    """The matrix with the elements 1 / (i + j + 1)."""
    row, column = _places(n, n)
    return _made(1 / (row + column + 1))


def _binomials(n: int) -> np.ndarray:
    """Lower triangular: row i has the binomial coefficients of i; Python integers."""
    return np.array([[math.comb(i, j) for j in range(n)] for i in range(n)], object).reshape(n, n)


def invhilbert(n: int) -> Any:
    """The inverse of hilbert(n), whose elements are integers."""
    comb = math.comb
    rows = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * comb(n + i, n - j - 1)
            * comb(n + j, n - i - 1)
            * comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return _made(np.array(rows, object).reshape(n, n))


def _check_kind(kind: str | None) -> str:
    kinds = ["symmetric", "lower", "upper"]
    if kind is not None and kind not in kinds:
        raise ValueError(f"Expected kind to be one of: {kinds}; got {kind}")
    return kind or "symmetric"


def _pascal(lower: np.ndarray, kind: str, inverse: bool) -> np.ndarray:
    if kind == "lower":
        return lower
    if kind == "upper":
        return lower.T
    return lower.T @ lower if inverse else lower @ lower.T


def pascal(n: int, kind: str | None = None) -> Any:
    """Pascal's triangle as a matrix, float32: "symmetric" (its product with its transpose), "lower"
    or "upper"."""
    return _made(_pascal(_binomials(n), _check_kind(kind), False), np.float32)


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of pascal(n, kind)."""
    row, column = _places(n, n)
    signs = np.where((row - column) % 2, -1, 1)
    return _made(_pascal(_binomials(n) * signs, _check_kind(kind), True))


def helmert(n: int, full: bool = False) -> Any:
    """The orthogonal matrix of contrasts of each element with those before it; (n - 1, n).

    full: with a first row of equal elements.
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    row, column = _places(n, n)
    size = np.sqrt(np.where(row, row * (row + 1.0), n))
    values = np.where(row == 0, 1, np.where(column < row, 1, np.where(column == row, -row, 0)))
    return _made((values / size)[0 if full else 1 :])


def hadamard(n: int, dtype: Any = int) -> Any:
    """The orthogonal matrix of 1 and -1, of a size that is a power of 2; Sylvester's."""
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    values = np.ones((1, 1), int)
    while len(values) < n:
        values = np.block([[values, values], [values, -values]])
    return _made(values, requested_dtype(dtype, "hadamard"))


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of fft: exp(-2 pi i j k / n), divided by n or sqrt(n) as `scale` says."""
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    found = to_complex(default_float()) if dtype is None else requested_dtype(dtype, "dft")
    if np.dtype(found).kind != "c":
        raise ValueError(f"dtype must be a complex floating-point type; got {found}.")
    row, column = _places(n, n)
    values = np.exp(-2j * np.pi * (row * column % max(n, 1)) / max(n, 1))
    return _made(values / {None: 1, "sqrtn": math.sqrt(n), "n": n}[scale], found)
