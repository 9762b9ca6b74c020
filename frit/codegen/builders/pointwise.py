"""Pointwise equations: an element of the result is an operation on elements of the operands.

Operands have the result's rank or rank 0; axes of size 1 are repeated. Complex operands go to
`complex_numbers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frit.codegen.builders.complex_numbers import COMPLEX
from frit.codegen.elements import bits_of, no_machine_code, storage
from frit.codegen.loop_builder import Builder
from frit.codegen.nests import Lowering, Node, rule
from frit.ir.jaxpr import JaxprEqn, Var
from frit.ir.types import Shape

PLAIN = """
    abs acos acosh add and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp clz cos
    cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a
    igammac integer_pow is_finite le le_to lgamma log log1p logistic lt lt_to max min mul ne neg
    nextafter not or polygamma population_count reduce_precision regularized_incomplete_beta rem
    round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt
    square sub tan tanh xor zeta random_gamma_grad
""".split()
KEPT_PARAMETERS = frozenset(("y", "rounding_method", "exponent_bits", "mantissa_bits"))


def operand_elements(lowering: Lowering, nodes: Sequence[Node], index: Sequence[Any]) -> Any:
    """The operands' elements at an index; operands without axes have one element for all.

    Sums over rows come before the elements that they keep.
    """
    values = [None] * len(nodes)
    for position in sorted(range(len(nodes)), key=lambda k: "kept" in nodes[k].traits):
        node = nodes[position]
        values[position] = lowering.element(node, index if node.rank == len(index) else ())
    return values


def stretched(lowering: Lowering, node: Node, shape: Shape) -> Any:
    """The node with its axes of size 1 repeated to `shape`; itself if it has that shape or ()."""
    if node.shape == shape or node.rank != len(shape):
        return node
    kept = [size == extent for size, extent in zip(node.shape, shape, strict=True)]

    def element(index: Sequence[Any]) -> Any:
        return lowering.element(
            node, tuple(i if k else 0 for i, k in zip(index, kept, strict=True))
        )

    axes = frozenset(axis for axis in node.scalar_axes if kept[axis])
    return Node(shape, node.dtype, element, parts=node.parts, scalar_axes=axes)


def pointwise(lowering: Lowering, var: Var, nodes: Sequence[Node], combine: Any) -> Any:
    """Gives `var` the node `combine(*elements)` of nodes of its shape or none."""
    shape = storage(var.aval)[0]
    nodes = [stretched(lowering, node, shape) for node in nodes]
    full = [node for node in nodes if node.rank == len(shape)]

    def element(index: Sequence[Any]) -> Any:
        return combine(*operand_elements(lowering, nodes, index))

    def masked(index: Sequence[Any], inside: Any) -> Any:
        return combine(
            *(
                lowering.element_where(node, index, inside)
                if node.rank == len(shape)
                else lowering.element(node, ())
                for node in nodes
            )
        )

    return lowering.define(
        var,
        element,
        flat=all(node.flat for node in full),
        scalar_axes=frozenset().union(*(node.scalar_axes for node in full)),
        traits=frozenset().union(*(node.traits for node in full)),
        masked=masked if all(node.masked for node in full) else None,
    )


@rule(*PLAIN)
def _plain(lowering: Lowering, equation: JaxprEqn) -> None:
    name = equation.primitive.name
    (var,) = equation.outvars
    nodes = [lowering.node(atom) for atom in equation.invars]
    params = {key: equation.params[key] for key in KEPT_PARAMETERS & equation.params.keys()}
    if "rounding_method" in params:
        params["rounding_method"] = int(getattr(params["rounding_method"], "value", 0) or 0)
    if any(node.parts > 1 for node in nodes):
        _two_parts(lowering, equation, nodes, params)
        return
    dtype = storage(var.aval)[1]
    b = lowering.b

    def combine(*values: Any) -> Any:
        if equation.params.get("out_dtype") is not None:
            values = tuple(b.convert(value, dtype) for value in values)
        return b.apply(name, *values, dtype=dtype, **params)

    pointwise(lowering, var, nodes, combine)


def _two_parts(lowering: Lowering, equation: JaxprEqn, nodes: Sequence[Node], params: Any) -> None:
    build = COMPLEX.get(equation.primitive.name)
    if build is None:
        raise no_machine_code(
            equation, "it is not defined for complex numbers", "it for the real and imaginary parts"
        )
    b, (var,) = lowering.b, equation.outvars
    pointwise(lowering, var, nodes, lambda *values: build(b, *values, **params))


@rule("pow")
def _pow(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    nodes = [lowering.node(atom) for atom in equation.invars]
    b, (_, dtype, parts) = lowering.b, storage(var.aval)
    if parts > 1:

        def power(x: Any, y: Any) -> Any:
            if not isinstance(y, tuple):
                y = (b.convert(y, dtype), b.const(0.0, dtype))
            return COMPLEX["pow"](b, x, y)

        pointwise(lowering, var, nodes, power)
        return
    pointwise(lowering, var, nodes, lambda x, y: b.apply("pow", x, b.convert(y, dtype)))


@rule("convert_element_type")
def _convert(lowering: Lowering, equation: JaxprEqn) -> None:
    (operand,), (var,) = equation.invars, equation.outvars
    node = lowering.node(operand)
    b, (_, dtype, parts) = lowering.b, storage(var.aval)

    def convert(x: Any) -> Any:
        if parts == 1:
            if isinstance(x, tuple) and dtype == "bool":
                nonzero = [b.apply("ne", part, 0.0) for part in x]
                return b.apply("or", *nonzero)
            return b.convert(x[0] if isinstance(x, tuple) else x, dtype)
        if isinstance(x, tuple):
            return tuple(b.convert(part, dtype) for part in x)
        return b.convert(x, dtype), b.const(0.0, dtype)

    pointwise(lowering, var, [node], convert)


@rule("copy", "stop_gradient", "name", "sharding_constraint")
def _copy(lowering: Lowering, equation: JaxprEqn) -> None:
    (operand,), (var,) = equation.invars, equation.outvars
    pointwise(lowering, var, [lowering.node(operand)], lambda x: x)


@rule("optimization_barrier")
def _barrier(lowering: Lowering, equation: JaxprEqn) -> None:
    for operand, var in zip(equation.invars, equation.outvars, strict=True):
        pointwise(lowering, var, [lowering.node(operand)], lambda x: x)


@rule("add_any")
def _add_any(lowering: Lowering, equation: JaxprEqn) -> None:
    (var,) = equation.outvars
    nodes = [lowering.node(atom) for atom in equation.invars]
    b = lowering.b

    def add(x: Any, y: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(b.apply("add", p, q) for p, q in zip(x, y, strict=True))
        return b.apply("add", x, y)

    pointwise(lowering, var, nodes, add)


@rule("real", "imag", "complex", "conj")
def _parts(lowering: Lowering, equation: JaxprEqn) -> None:
    name = equation.primitive.name
    (var,) = equation.outvars
    nodes = [lowering.node(atom) for atom in equation.invars]
    b = lowering.b

    def build(*values: Any) -> Any:
        if name == "complex":
            return values
        if name == "real":
            return values[0][0]
        if name == "imag":
            return values[0][1]
        (x,) = values
        if not isinstance(x, tuple):
            return x, b.const(0.0, x.dtype)
        return x[0], b.apply("neg", x[1])

    pointwise(lowering, var, nodes, build)


@rule("bitcast_convert_type")
def _bitcast(lowering: Lowering, equation: JaxprEqn) -> None:
    """Bits as another dtype; a wider or narrower one takes or makes a last axis."""
    (operand,), (var,) = equation.invars, equation.outvars
    node = lowering.node(operand)
    b, (shape, dtype, parts) = lowering.b, storage(var.aval)
    if parts > 1 or node.parts > 1:
        raise no_machine_code(
            equation, "complex numbers are pairs", "jnp.stack([x.real, x.imag], -1) and cast that"
        )
    if node.shape == shape:
        same = node.dtype == dtype
        pointwise(
            lowering,
            var,
            [node],
            lambda x: x if same else b.apply("bitcast_convert_type", x, new_dtype=dtype),
        )
    elif len(shape) > node.rank:
        _bitcast_narrower(lowering, var, node, dtype)
    else:
        _bitcast_wider(lowering, var, node, dtype)


def _unsigned(b: Builder, x: Any) -> Any:
    bits = bits_of(x.dtype)
    whole = f"uint{bits}"
    if x.dtype == "bool":
        return b.convert(x, whole), bits
    if x.dtype == whole:
        return x, bits
    return b.apply("bitcast_convert_type", x, new_dtype=whole), bits


def _as_bits(b: Builder, x: Any, dtype: str) -> Any:
    return x if x.dtype == dtype else b.apply("bitcast_convert_type", x, new_dtype=dtype)


def _bitcast_narrower(lowering: Lowering, var: Var, node: Node, dtype: str) -> None:
    b = lowering.b

    def element(index: Sequence[Any]) -> Any:
        whole, bits = _unsigned(b, lowering.element(node, index[:-1]))
        count = storage(var.aval)[0][-1]
        narrow = bits // count
        amount = b.apply("mul", b.convert(index[-1], whole.dtype), narrow)
        part = b.apply("shift_right_logical", whole, amount)
        return _as_bits(b, b.convert(part, f"uint{narrow}"), dtype)

    lowering.define(var, element)


def _bitcast_wider(lowering: Lowering, var: Var, node: Node, dtype: str) -> None:
    b = lowering.b
    count = node.shape[-1]

    def element(index: Sequence[Any]) -> Any:
        total = None
        for k in range(count):
            part, bits = _unsigned(b, lowering.element(node, (*index, k)))
            wide = b.convert(part, f"uint{bits * count}")
            shifted = b.apply("shift_left", wide, bits * k) if k else wide
            total = shifted if total is None else b.apply("or", total, shifted)
        return _as_bits(b, total, dtype)

    lowering.define(var, element)
