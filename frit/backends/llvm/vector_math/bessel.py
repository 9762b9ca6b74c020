"""Scaled modified Bessel functions: exp(-|x|) I0(x) and exp(-|x|) I1(x), by tables, in f64."""

import math

from frit.backends.llvm.vector_math.coefficients import TABLES
from frit.backends.llvm.vector_math.definitions import vector_function


def _scaled_bessel(kit, a, order):
    """exp(-a) I_order(a) for a >= 0: rows of width 1 up to 8, then of width 1/32 in 1 / a."""
    large = a >= 8.0
    inverse = 1.0 / large.where(a, 8.0)
    near, near_row = kit.nearest_whole((a - 0.5).larger(0.0).smaller(7.0))
    far, far_row = kit.nearest_whole((inverse * 32.0 - 0.5).larger(0.0).smaller(3.0))
    row = large.where(far_row + 8, near_row)
    # nan may have made any row number of its own.
    row = kit.bounded_above(kit.bounded_below(row, 0), 11)
    t = large.where(inverse - far * (1 / 32) - 1 / 64, a - near - 0.5)
    name = f"bessel_i{order}e"
    series = kit.table_polynomial(name, TABLES[name], row, t)
    outer = series * inverse.sqrt()
    return large.where(outer, series * a if order else series)


@vector_function("bessel_i0e", ulps=4, f32_by_f64=True)
def bessel_i0e(kit, x):
    result = _scaled_bessel(kit, abs(x), 0)
    return x.is_nan().where(x, result)


@vector_function("bessel_i1e", ulps=4, f32_by_f64=True)
def bessel_i1e(kit, x):
    result = _scaled_bessel(kit, abs(x), 1).copysign(x)
    return x.is_nan().where(math.nan, result)
