"""Functions whose derivative jaxprs are compared with JAX's; `lax` is either one's.

The texts of JAX are in tests/data/elementwise/derivatives.json, written by
tools/golden_elementwise.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

VECTOR, SCALAR, COMPLEX = ((3,), "float32"), ((), "float32"), ((3,), "complex64")

_UNARY = (
    "neg exp exp2 log expm1 log1p tanh logistic sin cos tan asin acos atan sinh cosh asinh acosh "
    "atanh abs sqrt rsqrt cbrt square lgamma digamma bessel_i0e bessel_i1e erf erfc erf_inv"
).split()
_BINARY = "add sub mul div rem max min pow atan2 igamma igammac complex".split()
_COMPLEX = "neg exp log tanh sin sqrt abs real imag conj square".split()


def derivative_cases(lax: Any) -> Iterator[tuple[str, Any, list[Any]]]:
    """(key, function, shapes and types of its operands)."""
    for name in _UNARY:
        yield name, getattr(lax, name), [VECTOR]
    for name in _BINARY:
        yield name, getattr(lax, name), [VECTOR, VECTOR]
    for name in _COMPLEX:
        yield f"{name} of complex", getattr(lax, name), [COMPLEX]
    for name in ("add", "sub", "mul", "div", "max", "pow"):
        function = getattr(lax, name)
        yield f"{name} of a Python scalar", lambda x, f=function: f(x, 2.0), [VECTOR]
        yield f"{name} of rank 0", function, [VECTOR, SCALAR]
    for y in (1, 2, 3, -1, -2):
        yield f"integer_pow {y}", lambda x, y=y: lax.integer_pow(x, y), [VECTOR]
    yield "clamp between scalars", lambda x: lax.clamp(0.0, x, 1.0), [VECTOR]
    yield "clamp", lax.clamp, [VECTOR] * 3
    yield "select", lambda x, y: lax.select(x_above(lax, x, y), x, y), [VECTOR, VECTOR]
    yield "convert", lambda x: lax.convert_element_type(x, "bfloat16"), [VECTOR]
    yield "reduce_precision", lambda x: lax.reduce_precision(x, 5, 10), [VECTOR]
    yield "stop_gradient", lambda x: lax.mul(lax.stop_gradient(x), x), [VECTOR]


def x_above(lax: Any, x: Any, y: Any) -> Any:
    return lax.gt(x, y)


def text_of(jax: Any, function: Any, operands: list[Any]) -> str:
    """The jaxpr of the function's results and tangents, without binders that nothing reads."""

    def both(*values: Any) -> Any:
        half = len(values) // 2
        return jax.jvp(function, values[:half], values[half:])

    text = str(jax.make_jaxpr(both)(*operands, *operands))
    return "\n".join(line for line in text.split("\n") if not line.strip().startswith("_:"))
