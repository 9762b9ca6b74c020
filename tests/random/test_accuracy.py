"""Draws are their formula of the same uniform draw, to the accuracy of the functions in it."""

import mpmath
import numpy as np
import pytest

from frit import enable_x64, random

KEY = random.key(11)
N = (2000,)


def below_one(dtype):
    """Uniform in (-1, 1), as `normal` takes it."""
    low = np.nextafter(dtype(-1), dtype(0))
    return np.asarray(random.uniform(KEY, N, dtype, low, dtype(1)))


def from_zero(dtype):
    return np.asarray(random.uniform(KEY, N, dtype))


def above_zero(dtype):
    tiny = np.finfo(dtype).tiny
    return np.asarray(random.uniform(KEY, N, dtype, tiny, 1.0))


def above_minus_one(dtype):
    epsneg = np.finfo(dtype).epsneg
    return np.asarray(random.uniform(KEY, N, dtype, -1.0 + epsneg, 1.0))


# name -> (the uniform draw, the formula, ulps of the result or, near its zeros, of 1)
FORMULAS = {
    "normal": (below_one, lambda u: mpmath.sqrt(2) * mpmath.erfinv(u), 3),
    "exponential": (from_zero, lambda u: -mpmath.log1p(-u), 2),
    "gumbel": (above_zero, lambda u: -mpmath.log(-mpmath.log(u)), 3),
    "laplace": (above_minus_one, lambda u: mpmath.sign(u) * mpmath.log1p(-abs(u)), 2),
    "logistic": (above_zero, lambda u: mpmath.log(u) - mpmath.log1p(-u), 3),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name, dtype):
    draw, formula, ulps = FORMULAS[name]
    with enable_x64(dtype is np.float64), mpmath.workdps(40):
        found = np.asarray(getattr(random, name)(KEY, N, dtype))[::20]
        exact = [formula(mpmath.mpf(float(u))) for u in draw(dtype)[::20]]
        for x, truth in zip(found, exact, strict=True):
            unit = max(np.spacing(abs(dtype(truth))), np.finfo(dtype).eps / 4)
            assert abs(mpmath.mpf(float(x)) - truth) <= ulps * unit, (x, truth)
