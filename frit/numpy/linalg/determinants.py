"""Determinants: det and slogdet, whose derivatives hold at singular matrices too (det)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from frit import lax
from frit.api.custom import custom_jvp
from frit.ir import dtypes
from frit.lax import linalg as lax_linalg
from frit.numpy.creation import zeros_like
from frit.numpy.cumulative import cumprod
from frit.numpy.dtype_info import finfo
from frit.numpy.linalg.batches import jitted
from frit.numpy.linalg.decompositions import inexact_array
from frit.numpy.linalg.solving import solve
from frit.numpy.reductions import all as all_
from frit.numpy.reductions import any as any_
from frit.numpy.reductions import count_nonzero, prod
from frit.numpy.reductions import sum as sum_
from frit.numpy.selection import where
from frit.numpy.taking import diagonal, trace
from frit.numpy.ufuncs import abs as abs_
from frit.numpy.ufuncs import exp, log, real, sign
from frit.primitives.linalg.matrices import rows_in_order


class SlogdetResult(NamedTuple):
    sign: Any
    logabsdet: Any


def _is_square(a: Any) -> bool:
    return a.ndim >= 2 and a.shape[-1] == a.shape[-2]


def _diagonal(a: Any) -> Any:
    return diagonal(a, axis1=-2, axis2=-1)


def _trace(a: Any) -> Any:
    return trace(a, axis1=-1, axis2=-2)


# ------------------------------------------------------------------------------------------ slogdet


def _det_of_two(a: Any) -> Any:
    return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]


@custom_jvp
def _slogdet_small(a: Any) -> tuple[Any, Any]:
    """Of matrices of 1 or 2 rows."""
    found = a[..., 0, 0] if a.shape[-1] == 1 else _det_of_two(a)
    return sign(found), real(log(abs_(found)))


@_slogdet_small.defjvp
def _slogdet_small_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    results = _slogdet_small(x)
    if x.shape[-1] == 1:
        change = t[..., 0, 0] / x[..., 0, 0]
    else:
        moved = t[..., 0, 0] * x[..., 1, 1] - t[..., 0, 1] * x[..., 1, 0]
        moved = moved - t[..., 1, 0] * x[..., 0, 1] + t[..., 1, 1] * x[..., 0, 0]
        change = moved / _det_of_two(x)
    return results, _tangents(results[0], change)


def _tangents(unit: Any, change: Any) -> tuple[Any, Any]:
    """Those of sign and log |det|, given det' / det: its imaginary part turns the sign."""
    if not dtypes.is_complex(change.dtype):
        return zeros_like(unit), change
    grown = real(change)
    return (change - grown.astype(change.dtype)) * unit, grown


def _parity(pivots: Any) -> Any:
    """How many rows were exchanged with another."""
    places = lax.broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
    return count_nonzero(pivots != places, axis=-1)


def _sign_of(parity: Any, dtype: Any) -> Any:
    return (-2 * (parity % 2) + 1).astype(dtype)


def _size_of_product(values: Any, parity: Any) -> tuple[Any, Any]:
    """(sign, log |product|) of factors, given how many rows were exchanged."""
    dtype = values.dtype
    is_singular = any_(values == np.zeros((), dtype), axis=-1)
    if dtypes.is_complex(dtype):
        unit = prod(values / abs_(values).astype(dtype), axis=-1) * _sign_of(parity, dtype)
    else:
        unit = _sign_of(parity + count_nonzero(values < 0, axis=-1), dtype)
    total = sum_(log(abs_(values)), axis=-1)
    unit = where(is_singular, np.zeros((), dtype), unit)
    return unit, where(is_singular, np.array(-np.inf, total.dtype), total)


@custom_jvp
def _slogdet_lu(a: Any) -> tuple[Any, Any]:
    factors, pivots, _ = lax_linalg.lu(a)
    return _size_of_product(_diagonal(factors), _parity(pivots))


@custom_jvp
def _slogdet_qr(a: Any) -> tuple[Any, Any]:
    """Each reflector that is not 1 changes the sign."""
    if dtypes.is_complex(a.dtype):
        raise NotImplementedError(
            "slogdet method='qr' not implemented for complex inputs; use method='lu'."
        )
    n = a.shape[-1]
    packed, taus = lax_linalg.geqrf(a)
    values = _diagonal(packed)
    reflected = prod(where(taus[..., : n - 1] != 0, -1, 1), axis=-1)
    unit = prod(sign(values), axis=-1)
    return unit * reflected.astype(unit.dtype), sum_(log(abs_(values)), axis=-1)


def _slogdet_jvp(primals: Any, tangents: Any) -> Any:
    """det' / det = trace(x^-1 x')."""
    (x,), (t,) = primals, tangents
    results = slogdet(x)
    return tuple(results), _tangents(results[0], _trace(solve(x, t)))


_slogdet_lu.defjvp(_slogdet_jvp)
_slogdet_qr.defjvp(_slogdet_jvp)


@jitted(static_argnames=("method",))
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """(the sign of the determinant, or its complex phase; the logarithm of its size).

    a: (…, n, n).  method: "lu" (also None) or, for real matrices, "qr".
    """
    a = inexact_array("jnp.linalg.slogdet", a)
    if not _is_square(a):
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {a.shape}")
    if method in (None, "lu"):
        small = a.shape[-1] in (1, 2)
        return SlogdetResult(*(_slogdet_small(a) if small else _slogdet_lu(a)))
    if method == "qr":
        return SlogdetResult(*_slogdet_qr(a))
    raise ValueError(
        f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
    )


# ---------------------------------------------------------------------------------------------- det


def _det_of_three(a: Any) -> Any:
    """The sum over permutations, three of each sign."""

    def term(*of_rows: int) -> Any:
        return a[..., 0, of_rows[0]] * a[..., 1, of_rows[1]] * a[..., 2, of_rows[2]]

    even = term(0, 1, 2) + term(1, 2, 0) + term(2, 0, 1)
    return even - term(2, 1, 0) - term(0, 2, 1) - term(1, 0, 2)


@custom_jvp
def _det(a: Any) -> Any:
    """The product of the pivots; where that is out of range, exp of the sum of logarithms."""
    factors, pivots, _ = lax_linalg.lu(a)
    values, parity = _diagonal(factors), _parity(pivots)
    direct = prod(values, axis=-1) * _sign_of(parity, a.dtype)
    unit, size = _size_of_product(values, parity)
    limits = finfo(a.dtype)
    is_exact = (abs_(direct) >= limits.tiny) & (abs_(direct) <= limits.max)
    return where(is_exact, direct, unit * exp(size).astype(a.dtype))


@_det.defjvp
def _det_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    value, scaled = _cofactor_solve(x, t)
    return value, _trace(scaled)


def _cofactor_solve(a: Any, b: Any) -> tuple[Any, Any]:
    """(det a, det(a) a^-1 b), finite for a of rank n - 1, 0 for a of lower rank.

    With a = P L U, the last pivot u cancels: the last row of det(a) U^-1 y needs the product of the
    other pivots only, and its other rows follow from a triangle whose last pivot is 1 over that.
    """
    if a.shape[-1] == 1:
        return a[..., 0, 0], b
    factors, pivots, permutation = lax_linalg.lu(a)
    products = cumprod(_diagonal(factors), axis=-1)
    products = products * _sign_of(_parity(pivots), a.dtype)[..., None]
    factors = factors.at[..., -1, -1].set(1.0 / products[..., -2])
    ones = lax.full_like(b, 1)[..., :1]
    tried = lax_linalg.triangular_solve(factors, ones, left_side=True, lower=False)
    is_finite = all_(lax.is_finite(abs_(tried)), axis=(-2, -1))[..., None, None]
    zero = zeros_like(b)
    y = rows_in_order(where(is_finite, b, zero), permutation)
    y = lax_linalg.triangular_solve(factors, y, left_side=True, lower=True, unit_diagonal=True)
    above = y[..., :-1, :] * products[..., -1, None, None]
    y = lax.concatenate((above, y[..., -1:, :]), y.ndim - 2)
    y = lax_linalg.triangular_solve(factors, y, left_side=True, lower=False)
    return products[..., -1], where(is_finite, y, zero)


@jitted
def det(a: Any) -> Any:
    """The determinant of matrices (…, n, n); its derivative holds for singular ones too."""
    a = inexact_array("jnp.linalg.det", a)
    if not _is_square(a):
        raise ValueError(f"Argument to _det() must have shape [..., n, n], got {a.shape}")
    if a.shape[-1] == 2:
        return _det_of_two(a)
    return _det_of_three(a) if a.shape[-1] == 3 else _det(a)
