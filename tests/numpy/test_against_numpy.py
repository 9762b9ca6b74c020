"""Results that are NumPy's: one expression over both namespaces, eager and jitted."""

import warnings

import numpy as np
import pytest

import frit
import frit.numpy as jnp

INPUTS = {
    "x": np.array([3.0, 1.0, 2.5, -4.0, 1.0], np.float32),
    "y": np.array([0.5, 2.0, -1.0, 3.0, 4.0], np.float32),
    "n": np.array([1.0, np.nan, 3.0, 2.0], np.float32),
    "i": np.array([3, 1, 2, 0, 2], np.int32),
    "b": np.array([True, False, True, True, False]),
    "m": np.arange(12, dtype=np.float32).reshape(3, 4) - 5,
    "s": np.array([[2.0, 1.0, 0.5], [0.0, -1.0, 4.0], [3.0, 2.0, 1.0]], np.float32),
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "c": np.array([1 + 2j, -0.5j, 3 - 1j], np.complex64),
}

EXPRESSIONS = """
xp.sin(x) | xp.exp(-x) | xp.log1p(xp.abs(x)) | xp.arctan2(x, y) | xp.hypot(x, y) | xp.cbrt(x)
xp.floor_divide(x, y) | xp.remainder(x, y) | xp.fmod(x, y) | xp.divmod(x, y) | xp.power(x, 2)
i // 2 | i % 2 | -i // 2 | i // 0 * 0 | xp.maximum(x, y) | xp.fmax(n, 2) | xp.sign(x) | xp.rint(x)
xp.logaddexp(x, y) | xp.logaddexp2(x, y) | xp.heaviside(x, 0.5) | xp.copysign(x, -y)
xp.signbit(x) | xp.modf(x) | xp.frexp(x) | xp.ldexp(x, i) | xp.nan_to_num(n) | xp.isfinite(n)
xp.sinc(y) | ~i | xp.bitwise_and(i, 1) | xp.left_shift(i, 2) | xp.gcd(i, 6) | xp.lcm(i, 4)
xp.conj(c) | xp.angle(c) | x.sum() | m.sum(0) | m.mean(1) | m.max(axis=(0, 1))
m.min(1, keepdims=True) | xp.prod(x) | xp.ptp(m) | xp.sum(x, where=b)
xp.max(x, where=b, initial=0.0) | xp.any(m > 5, axis=0) | xp.all(b) | m.std(0) | xp.var(x, ddof=1)
xp.average(m, weights=xp.abs(m)) | xp.median(m, axis=1) | xp.count_nonzero(i)
xp.quantile(m, 0.3, axis=0) | xp.percentile(x, xp.array([10, 90]))
xp.quantile(x, 0.4, method="lower") | xp.nansum(n) | xp.nanmax(n) | xp.nanmean(n) | xp.nanvar(n)
xp.nanmedian(n) | xp.nanargmax(n) | xp.cumsum(m, 1) | xp.cumprod(x) | xp.nancumsum(n)
xp.diff(m, axis=0) | xp.ediff1d(x) | xp.gradient(x) | xp.gradient(m)[1] | xp.trapezoid(y, x)
xp.unwrap(x) | xp.cov(m) | xp.corrcoef(s) | xp.interp(y, s[1], x[:3]) | xp.sort(x)
xp.argsort(x, kind=None) | xp.sort(m, axis=0) | xp.lexsort((x, i)) | xp.argmax(m, 1)
xp.searchsorted(xp.sort(x), y) | xp.digitize(y, xp.sort(x)) | xp.where(x > 1, x, y)
xp.clip(x, 0, 2) | xp.round(x / 3, 2) | xp.isclose(x, x + 1e-9)
xp.select([x > 2, x > 0], [x, y], 7) | xp.tril(s) | xp.triu(s, 1) | xp.diag(s) | xp.diag(y, 1)
xp.diagonal(t, 1, 1, 2) | xp.trace(s) | xp.kron(s, y) | xp.outer(x, y) | xp.dot(s, s)
xp.matmul(t, m.T) | xp.tensordot(t, m, ([2], [1])) | xp.inner(s, s) | xp.vdot(c, c)
xp.cross(s, s[0]) | xp.einsum("ij,jk->ki", s, s) | xp.einsum("ii", s)
xp.einsum("abc,dc->abd", t, m) | m.reshape(4, 3) | m.T | xp.reshape(m, (2, 6), order="F")
xp.moveaxis(t, 0, -1) | xp.swapaxes(t, 0, 2) | xp.concatenate([x, y]) | xp.stack([x, y], 1)
xp.vstack([x, y]) | xp.column_stack([x, y]) | xp.tile(m, (2, 1)) | xp.repeat(m, 2, axis=1)
xp.roll(m, (1, 2), (0, 1)) | xp.flip(m, 0) | xp.rot90(m) | xp.block([[s, s], [s, s]])
xp.split(m, 2, axis=1)[1] | xp.array_split(x, 3)[0] | xp.expand_dims(x, (0, 2))
xp.squeeze(m[None]) | xp.pad(m, ((1, 0), (2, 1))) | xp.pad(x, 3, "reflect")
xp.pad(x, 7, "symmetric") | xp.pad(x, 6, "wrap") | xp.pad(m, 2, "edge") | xp.pad(m, 1, "mean")
xp.pad(x, 2, "linear_ramp") | xp.pad(x, 4, "reflect", reflect_type="odd")
xp.take(m, xp.array([0, 2]), axis=1) | xp.take_along_axis(s, xp.argsort(s, 1), 1)
xp.insert(x, 1, 9.0) | xp.convolve(x, y) | xp.correlate(x, y[:2]) | xp.polyval(x, y)
xp.polyder(x) | xp.polyint(x) | xp.polymul(x, y) | xp.vander(x, 3) | xp.packbits(b)
xp.apply_along_axis(xp.sum, 0, m) | xp.array_equal(x, x) | xp.fmin(n, 2) | xp.poly(x[:3])
xp.delete(m, 1, axis=0) | xp.ravel(m, "F") | xp.rollaxis(t, 2) | xp.unpackbits(xp.packbits(b))
"""

CASES = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" | ")]


def _leaves(found):
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _agree(found, wanted, expression):
    for got, want in zip(_leaves(found), _leaves(wanted), strict=True):
        got, want = np.asarray(got), np.asarray(want)
        assert got.shape == want.shape, expression
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5, err_msg=expression)


@pytest.mark.parametrize("expression", CASES)
def test_same_as_numpy(expression):
    code = compile(expression, expression, "eval")
    used = [name for name in INPUTS if name in code.co_names]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = eval(code, {"xp": np, **INPUTS})
    arrays = [jnp.asarray(INPUTS[name]) for name in used]

    def function(*values):
        return eval(code, {"xp": jnp, **dict(zip(used, values, strict=True))})

    _agree(function(*arrays), wanted, expression)
    _agree(frit.jit(function)(*arrays), wanted, expression)


CREATED = """
xp.arange(5) | xp.arange(2, 9, 3) | xp.arange(0, 1, 0.25) | xp.linspace(0, 1, 5)
xp.linspace(0, 4, 4, False) | xp.logspace(0, 2, 3) | xp.geomspace(1, 100, 3) | xp.eye(3, 4, 1)
xp.tri(3, k=-1) | xp.identity(2) | xp.full((2, 3), 7) | xp.zeros((0, 2)) | xp.ones(3, bool)
xp.indices((2, 3)) | xp.meshgrid([1, 2], [3, 4, 5])[0] | xp.mgrid[0:2, 0:3]
xp.ogrid[0:2, 0:3][1] | xp.r_[0:3, 5, 6] | xp.c_[xp.arange(2), xp.arange(2)]
xp.tril_indices(3)[1] | xp.diag_indices(3)[0] | xp.unravel_index(7, (2, 2, 3))
xp.array([[1, 2.5], [3, 4]]) | xp.hanning(6) | xp.hamming(6) | xp.blackman(6) | xp.bartlett(6)
xp.kaiser(6, 2.0) | xp.vander(xp.arange(3))
xp.ravel_multi_index((xp.array([1, 0]), xp.array([2, 1])), (2, 4))
xp.ix_(xp.array([0, 1]), xp.array([2]))[0]
"""


@pytest.mark.parametrize(
    "expression", [e for line in CREATED.strip().splitlines() for e in line.split(" | ")]
)
def test_created_as_by_numpy(expression):
    plain = expression.replace("[1, 2], [3, 4, 5]", "xp.array([1, 2]), xp.array([3, 4, 5])")
    _agree(eval(plain, {"xp": jnp}), eval(plain, {"xp": np}), expression)
