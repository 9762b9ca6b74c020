"""Complex operations as operations on the real and imaginary parts, `(builder, *pairs) -> pair`.

Formulas avoid overflow and cancellation where a known one does. Source for the inverse functions:
W. Kahan 1987, Branch cuts for complex elementary functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from frit.codegen.loop_builder import Builder

COMPLEX: dict[str, Callable[..., Any]] = {}


def _complex(name: str) -> Any:
    def register(build: Callable[..., Any]) -> Any:
        COMPLEX[name] = build
        return build

    return register


def add_product(b: Builder, state: Any, x: Any, y: Any) -> list[Any]:
    """The parts of state + x × y, for numbers of one part or two; products round by themselves."""
    if len(state) == 1:
        return [b.apply("add", state[0], b.apply("mul", x[0], y[0]))]
    return [b.apply("add", s, p) for s, p in zip(state, COMPLEX["mul"](b, x, y), strict=True)]


class Real:
    """A real loop value with Python's operators, so that formulas read as formulas."""

    __slots__ = ("b", "value")

    def __init__(self, b: Builder, value: Any) -> None:
        self.b = b
        self.value = value

    def with_op(self, op: str, *others: Any) -> Any:
        values = [x.value if isinstance(x, Real) else x for x in others]
        return Real(self.b, self.b.apply(op, self.value, *values))

    def __add__(self, y: Any) -> Any:
        return self.with_op("add", y)

    def __sub__(self, y: Any) -> Any:
        return self.with_op("sub", y)

    def __mul__(self, y: Any) -> Any:
        return self.with_op("mul", y)

    def __truediv__(self, y: Any) -> Any:
        return self.with_op("div", y)

    def __neg__(self) -> Any:
        return self.with_op("neg")

    def __rsub__(self, x: Any) -> Any:
        return (-self) + x

    __radd__, __rmul__ = __add__, __mul__

    def __getattr__(self, op: str) -> Any:
        return partial(self.with_op, op)

    def where(self, yes: Any, no: Any) -> Any:
        """`yes` where this bool holds, else `no`."""
        values = [x.value if isinstance(x, Real) else x for x in (yes, no)]
        return Real(self.b, self.b.select(self.value, *values))


def _formula(name: str) -> Any:
    """Registers a function of pairs of `Real` that returns one or two of them."""

    def register(build: Callable[..., Any]) -> Any:
        def on_values(b: Builder, *pairs: Any, **params: Any) -> Any:
            wrapped = [tuple(Real(b, part) for part in pair) for pair in pairs]
            result = build(*wrapped, **params)
            if isinstance(result, tuple):
                return tuple(part.value for part in result)
            return result.value

        COMPLEX[name] = on_values
        return build

    return register


@_formula("add")
def _add(x: Any, y: Any) -> Any:
    return x[0] + y[0], x[1] + y[1]


@_formula("sub")
def _sub(x: Any, y: Any) -> Any:
    return x[0] - y[0], x[1] - y[1]


@_formula("neg")
def _neg(x: Any) -> Any:
    return -x[0], -x[1]


@_formula("mul")
def _mul(x: Any, y: Any) -> Any:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


@_formula("square")
def _square(x: Any) -> Any:
    product = x[0] * x[1]
    return (x[0] + x[1]) * (x[0] - x[1]), product + product


@_formula("div")
def _div(x: Any, y: Any) -> Any:
    """By the larger part of y (Smith 1962); by zero as real division of each part."""
    first = y[0].abs().ge(y[1].abs())
    large, small = first.where(y[0], y[1]), first.where(y[1], y[0])
    ratio = small / large
    scale = large + small * ratio
    a, b = first.where(x[0], x[1]), first.where(x[1], x[0])
    re, im = (a + b * ratio) / scale, (b - a * ratio) / scale
    zero = large.eq(0.0)
    re = zero.where(x[0] / y[0].abs(), re)
    im = zero.where(x[1] / y[0].abs(), first.where(im, -im))
    return re, im


@_formula("abs")
def _abs(x: Any) -> Any:
    return _hypot(*x)


def _hypot(a: Any, b: Any) -> Any:
    """sqrt(a² + b²) without overflow; infinite if either is."""
    a, b = a.abs(), b.abs()
    large, small = a.max(b), a.min(b)
    ratio = small / large
    result = large * (ratio * ratio + 1.0).sqrt()
    result = large.eq(0.0).where(large, result)
    infinite = a.eq(math.inf).where(a, b)
    return infinite.eq(math.inf).where(infinite, result)


@_formula("sign")
def _sign(x: Any) -> Any:
    size = _hypot(*x)
    zero = size.eq(0.0)
    return zero.where(x[0], x[0] / size), zero.where(x[1], x[1] / size)


@_formula("exp")
def _exp(x: Any) -> Any:
    size = x[0].exp()
    real = x[1].eq(0.0)
    return real.where(size, size * x[1].cos()), real.where(x[1], size * x[1].sin())


@_formula("exp2")
def _exp2(x: Any) -> Any:
    return _exp((x[0] * math.log(2), x[1] * math.log(2)))


@_formula("expm1")
def _expm1(x: Any) -> Any:
    half = (x[1] * 0.5).sin()
    re = x[0].expm1() * x[1].cos() - half * half * 2.0
    return re, x[0].exp() * x[1].sin()


@_formula("log")
def _log(x: Any) -> Any:
    a, b = x[0].abs(), x[1].abs()
    large, small = a.max(b), a.min(b)
    near = ((large - 1.0) * (large + 1.0) + small * small).log1p() * 0.5
    size = _hypot(*x)
    is_near = size.gt(0.5).with_op("and", size.lt(2.0))
    return is_near.where(near, size.log()), x[1].atan2(x[0])


@_formula("log1p")
def _log1p(x: Any) -> Any:
    near = (x[0] * (x[0] + 2.0) + x[1] * x[1]).log1p() * 0.5
    far = _log((x[0] + 1.0, x[1]))
    small = _hypot(*x).lt(0.5)
    return small.where(near, far[0]), far[1]


@_formula("sqrt")
def _sqrt(x: Any) -> Any:
    a, b = x
    root = ((a.abs() + _hypot(a, b)) * 0.5).sqrt()
    other = b.abs() / (root + root)
    right = a.ge(0.0)
    re, im = right.where(root, other), right.where(other, root)
    zero = root.eq(0.0)
    re, im = zero.where(root, re), zero.where(b.abs(), im)
    infinite = b.abs().eq(math.inf)
    re, im = infinite.where(b.abs(), re), infinite.where(b.abs(), im)
    return re, _copy_sign(im, b)


def _copy_sign(size: Any, sign: Any) -> Any:
    """A size that is not negative with the sign of another number, -0 included."""
    return sign.lt_to(0.0).where(-size, size)


@_formula("rsqrt")
def _rsqrt(x: Any) -> Any:
    return _reciprocal(_sqrt(x))


@_formula("sin")
def _sin(x: Any) -> Any:
    return x[0].sin() * x[1].cosh(), x[0].cos() * x[1].sinh()


@_formula("cos")
def _cos(x: Any) -> Any:
    return x[0].cos() * x[1].cosh(), -(x[0].sin() * x[1].sinh())


@_formula("sinh")
def _sinh(x: Any) -> Any:
    return x[0].sinh() * x[1].cos(), x[0].cosh() * x[1].sin()


@_formula("cosh")
def _cosh(x: Any) -> Any:
    return x[0].cosh() * x[1].cos(), x[0].sinh() * x[1].sin()


def _tangents(angle: Any, size: Any) -> Any:
    """(tan angle)(1 - tanh² size) and tanh size (1 + tan² angle), over 1 + tan² tanh²."""
    t, h = angle.tan(), size.tanh()
    scale = t * t * h * h + 1.0
    sech = _constant(size, 1.0) / size.cosh()
    return t * sech * sech / scale, h * (t * t + 1.0) / scale


@_formula("tan")
def _tan(x: Any) -> Any:
    return _tangents(x[0], x[1])


@_formula("tanh")
def _tanh(x: Any) -> Any:
    im, re = _tangents(x[1], x[0])
    return re, im


@_formula("acos")
def _acos(x: Any) -> Any:
    low, high = _sqrt((1.0 - x[0], -x[1])), _sqrt((x[0] + 1.0, x[1]))
    re = low[0].atan2(high[0]) * 2.0
    return re, (high[0] * low[1] - high[1] * low[0]).asinh()


@_formula("asin")
def _asin(x: Any) -> Any:
    low, high = _sqrt((1.0 - x[0], -x[1])), _sqrt((x[0] + 1.0, x[1]))
    re = x[0].atan2(low[0] * high[0] - low[1] * high[1])
    return re, (low[0] * high[1] - low[1] * high[0]).asinh()


@_formula("acosh")
def _acosh(x: Any) -> Any:
    low, high = _sqrt((x[0] - 1.0, x[1])), _sqrt((x[0] + 1.0, x[1]))
    re = (low[0] * high[0] + low[1] * high[1]).asinh()
    return re, low[1].atan2(high[0]) * 2.0


@_formula("asinh")
def _asinh(x: Any) -> Any:
    re, im = _asin((-x[1], x[0]))
    return im, -re


@_formula("atanh")
def _atanh(x: Any) -> Any:
    a, b = x
    gap = 1.0 - a
    re = (a * 4.0 / (gap * gap + b * b)).log1p() * 0.25
    im = (b + b).atan2(gap * (a + 1.0) - b * b) * 0.5
    return re, im


@_formula("atan")
def _atan(x: Any) -> Any:
    re, im = _atanh((-x[1], x[0]))
    return im, -re


@_formula("logistic")
def _logistic(x: Any) -> Any:
    re, im = _exp((-x[0], -x[1]))
    return _reciprocal((re + 1.0, im))


@_formula("pow")
def _pow(x: Any, y: Any) -> Any:
    """exp(y log x); 0 to a power with a positive real part is 0, and x to 0 is 1."""
    log = _log(x)
    re, im = _exp(_mul(y, log))
    zero = x[0].eq(0.0).with_op("and", x[1].eq(0.0))
    none = y[0].eq(0.0).with_op("and", y[1].eq(0.0))
    vanishes = zero.with_op("and", y[0].gt(0.0))
    one, nothing = _constant(re, 1.0), _constant(re, 0.0)
    re, im = vanishes.where(nothing, re), vanishes.where(nothing, im)
    return none.where(one, re), none.where(nothing, im)


def _constant(like: Any, number: Any) -> Any:
    return Real(like.b, like.b.const(number, like.value.dtype))


@_formula("integer_pow")
def _integer_pow(x: Any, y: Any) -> Any:
    if y == 0:
        return _constant(x[0], 1.0), _constant(x[0], 0.0)
    result, base, power = None, x, abs(y)
    while power:
        if power & 1:
            result = base if result is None else _mul(result, base)
        power >>= 1
        if power:
            base = _mul(base, base)
    return result if y > 0 else _reciprocal(result)


def _reciprocal(x: Any) -> Any:
    return _div((_constant(x[0], 1.0), _constant(x[0], 0.0)), x)


@_formula("eq")
def _eq(x: Any, y: Any) -> Any:
    return x[0].eq(y[0]).with_op("and", x[1].eq(y[1]))


@_formula("ne")
def _ne(x: Any, y: Any) -> Any:
    return x[0].ne(y[0]).with_op("or", x[1].ne(y[1]))


def _before(x: Any, y: Any) -> Any:
    """Whether x comes before y: by real part, then by imaginary part."""
    tie = x[0].eq(y[0]).with_op("and", x[1].lt(y[1]))
    return x[0].lt(y[0]).with_op("or", tie)


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    return condition.where(x[0], y[0]), condition.where(x[1], y[1])


@_formula("max")
def _max(x: Any, y: Any) -> Any:
    return _chosen(_before(y, x), x, y)


@_formula("min")
def _min(x: Any, y: Any) -> Any:
    return _chosen(_before(x, y), x, y)


@_complex("select_n")
def _select_n(b: Builder, which: Any, *cases: Any) -> Any:
    return tuple(
        b.apply("select_n", which, *parts, dtype=parts[0].dtype)
        for parts in zip(*cases, strict=True)
    )


for _name, _test in (("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge")):

    def _ordered(x: Any, y: Any, test: Any = _test) -> Any:
        tie = x[0].eq(y[0]).with_op("and", getattr(x[1], test)(y[1]))
        strict = x[0].lt(y[0]) if test in ("lt", "le") else x[0].gt(y[0])
        return strict.with_op("or", tie)

    _formula(_name)(_ordered)
