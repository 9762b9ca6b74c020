"""qdwh: the polar decomposition by dynamically weighted Halley iterations.

x = u h; u_{k+1} = u_k (a + b u_k^H u_k) (1 + c u_k^H u_k)^-1, with weights that map the interval
[l, 1], which holds the singular values, as close to 1 as a step can.  The weights depend on l
alone, so the steps are known beforehand: by QR while c is large, then by Cholesky.

Nakatsukasa, Bai, Gygi, "Optimizing Halley's iteration for computing the matrix polar
decomposition", 2010.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from frit.ir import dims
from frit.lax.operands import as_array, dtype_of, shape_of
from frit.primitives.arithmetic import abs_, div
from frit.primitives.comparison_and_bits import le
from frit.primitives.conversion import convert
from frit.primitives.elementwise import add, constant, sub, times
from frit.primitives.linalg.cholesky import cholesky
from frit.primitives.linalg.matrices import (
    adjoint,
    identity,
    lower_triangle,
    part,
    product,
    real_part_of,
    symmetrized,
)
from frit.primitives.linalg.qr import qr
from frit.primitives.linalg.triangular import solve_triangular
from frit.primitives.reductions import reduce_max
from frit.primitives.shapes import concatenate
from frit.primitives.transcendental import sqrt
from frit.transforms.linear import reduce_sum

_MOST_STEPS = 10
_LARGE = 100  # above it, 1 + c u^H u is too ill-conditioned for Cholesky


class _Weights(NamedTuple):
    a: float
    b: float
    c: float


def _schedule(smallest: float, eps: float, most: int) -> tuple[list[_Weights], float]:
    """The weights of each step, until the lower bound is 1 up to eps; and the last bound."""
    steps: list[_Weights] = []
    bound = smallest
    while len(steps) < most and 1 - bound > 5 * eps:
        squared = bound * bound
        d = (4 * (1 - squared) / squared**2) ** (1 / 3)
        root = math.sqrt(1 + d)
        a = root + math.sqrt(8 - 4 * d + 8 * (2 - squared) / (squared * root)) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        bound = min(1.0, bound * (a + b * squared) / (1 + c * squared))
        steps.append(_Weights(a, b, c))
    return steps, bound


def _times(x: Any, number: float) -> Any:
    return times(x, constant(x, number))


def _step_by_qr(u: Any, w: _Weights) -> Any:
    m, n = shape_of(u)
    tall = concatenate(_times(u, math.sqrt(w.c)), identity(dtype_of(u), n, n), dimension=0)
    q, _ = qr(tall, pivoting=False, full_matrices=False, use_magma=None)
    top, bottom = part(q, slice(m), slice(None)), part(q, slice(m, None), slice(None))
    turned = product(top, adjoint(bottom))
    return add(_times(u, w.b / w.c), _times(turned, (w.a - w.b / w.c) / math.sqrt(w.c)))


def _step_by_cholesky(u: Any, w: _Weights) -> Any:
    n = shape_of(u)[1]
    gram = add(identity(dtype_of(u), n, n), _times(product(adjoint(u), u), w.c))
    factor = lower_triangle(cholesky(symmetrized(gram)))
    half = solve_triangular(factor, adjoint(u), left_side=True, lower=True)
    whole = solve_triangular(
        factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    )
    return add(_times(u, w.b / w.c), _times(adjoint(whole), w.a - w.b / w.c))


def _norm(x: Any) -> Any:
    square = times(abs_(x), abs_(x))
    return sqrt(reduce_sum(square, axes=(0, 1), out_sharding=None), accuracy=None)


def _largest_sum(x: Any, axis: int) -> Any:
    sums = reduce_sum(abs_(x), axes=(axis,), out_sharding=None)
    return reduce_max(sums, axes=(0,))


def qdwh(
    x: Any,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """(u, h, number of steps, whether they converged) with x = u h, u^H u = 1 and h >= 0.

    x: (m, n), m >= n, of full rank.  eps: the precision wanted, by default that of x's type.
    """
    x = as_array(x)
    shape = shape_of(x)
    if len(shape) != 2 or (is_hermitian and not dims.same(*shape)):
        raise ValueError(f"Array must be a matrix, square if hermitian, got shape {shape}.")
    if shape[0] < shape[1]:
        raise ValueError(f"The input matrix of shape M x N must have M >= N, got shape {shape}.")
    if dynamic_shape is not None:
        raise NotImplementedError("qdwh of padded matrices: slice x to its dynamic_shape first.")
    own = float(np.finfo(real_part_of(dtype_of(x))).eps)
    eps = own if eps is None else float(eps)
    most = _MOST_STEPS if max_iterations is None else int(max_iterations)
    steps, bound = _schedule(eps, eps, most)
    scale = sqrt(times(_largest_sum(x, 0), _largest_sum(x, 1)), accuracy=None)
    u = div(x, convert(scale, dtype_of(x)))
    before = u
    for w in steps:
        before, u = u, _step_by_qr(u, w) if w.c > _LARGE else _step_by_cholesky(u, w)
    change = _norm(sub(u, before))
    limit = constant(change, (4 * eps) ** (1 / 3))
    converged = le(change, limit) if 1 - bound <= 5 * eps else np.False_
    h = symmetrized(product(adjoint(u), x))
    return u, h, np.int32(len(steps)), converged
