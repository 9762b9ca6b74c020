"""Folds of arrays: over axes, over sliding windows, and running along an axis.

`reduce` and `reduce_window` take any function that combines two elements; add, max and the like
with their identity become the primitives of those names.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import errors, trees
from frit.ir import dims, dtypes
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import Primitive, Tracer
from frit.ir.types import typeof
from frit.lax import conversion, elementwise
from frit.lax.operands import (
    as_array,
    as_indices,
    as_sizes,
    aval_of,
    shape_of,
    traced_without_tracers,
    user_dtype,
)
from frit.lax.shapes import expand_dims, full_like
from frit.primitives.conversion import convert_element_type
from frit.primitives.cumulative import cumlogsumexp as cumlogsumexp_p
from frit.primitives.cumulative import cummax as cummax_p
from frit.primitives.cumulative import cummin as cummin_p
from frit.primitives.cumulative import cumprod as cumprod_p
from frit.primitives.cumulative import cumsum as cumsum_p
from frit.primitives.padding import dilated
from frit.primitives.reductions import argmax as argmax_p
from frit.primitives.reductions import argmin as argmin_p
from frit.primitives.reductions import identity_of_max, identity_of_min
from frit.primitives.reductions import reduce as reduce_p
from frit.primitives.reductions import reduce_and as reduce_and_p
from frit.primitives.reductions import reduce_max as reduce_max_p
from frit.primitives.reductions import reduce_min as reduce_min_p
from frit.primitives.reductions import reduce_or as reduce_or_p
from frit.primitives.reductions import reduce_prod as reduce_prod_p
from frit.primitives.reductions import reduce_sum as reduce_sum_p
from frit.primitives.reductions import reduce_xor as reduce_xor_p
from frit.primitives.windows import Windows
from frit.primitives.windows import reduce_window as reduce_window_p
from frit.primitives.windows import reduce_window_max as reduce_window_max_p
from frit.primitives.windows import reduce_window_min as reduce_window_min_p
from frit.primitives.windows import reduce_window_sum as reduce_window_sum_p
from frit.primitives.windows import select_and_gather_add as select_and_gather_add_p
from frit.primitives.windows import select_and_scatter_add as select_and_scatter_add_p

__all__ = [
    "argmax",
    "argmax_p",
    "argmin",
    "argmin_p",
    "cumlogsumexp",
    "cumlogsumexp_p",
    "cummax",
    "cummax_p",
    "cummin",
    "cummin_p",
    "cumprod",
    "cumprod_p",
    "cumsum",
    "cumsum_p",
    "padtype_to_pads",
    "reduce",
    "reduce_and",
    "reduce_and_p",
    "reduce_max",
    "reduce_max_p",
    "reduce_min",
    "reduce_min_p",
    "reduce_or",
    "reduce_or_p",
    "reduce_p",
    "reduce_prod",
    "reduce_prod_p",
    "reduce_sum",
    "reduce_sum_p",
    "reduce_window",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_shape_tuple",
    "reduce_window_sum_p",
    "reduce_xor",
    "reduce_xor_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
]


# -------------------------------------------------------------------------------------- over axes


def reduce_sum(operand: Any, axes: Any, *, out_sharding: Any = None) -> Any:
    """The sum of elements over `axes`; of no elements, 0."""
    return reduce_sum_p(operand, axes=as_indices(axes), out_sharding=None)


def reduce_prod(operand: Any, axes: Any) -> Any:
    """The product of elements over `axes`; of no elements, 1."""
    return reduce_prod_p(operand, axes=as_indices(axes))


def reduce_max(operand: Any, axes: Any) -> Any:
    """The greatest element over `axes`, NaN if one is NaN; of no elements, the least value."""
    return reduce_max_p(operand, axes=as_indices(axes))


def reduce_min(operand: Any, axes: Any) -> Any:
    """The least element over `axes`, NaN if one is NaN; of no elements, the greatest value."""
    return reduce_min_p(operand, axes=as_indices(axes))


def reduce_and(operand: Any, axes: Any) -> Any:
    """The bitwise and of booleans or integers over `axes`."""
    return reduce_and_p(operand, axes=as_indices(axes))


def reduce_or(operand: Any, axes: Any) -> Any:
    """The bitwise or of booleans or integers over `axes`."""
    return reduce_or_p(operand, axes=as_indices(axes))


def reduce_xor(operand: Any, axes: Any) -> Any:
    """The bitwise exclusive or of booleans or integers over `axes`."""
    return reduce_xor_p(operand, axes=as_indices(axes))


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index along `axis` of the first greatest element; NaN is greater than any number."""
    dtype = user_dtype(index_dtype, "argmax")
    return argmax_p(operand, axes=(operator.index(axis),), index_dtype=dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index along `axis` of the first least element; NaN is less than any number."""
    dtype = user_dtype(index_dtype, "argmin")
    return argmin_p(operand, axes=(operator.index(axis),), index_dtype=dtype)


# ------------------------------------------------------------------------ by a function of elements


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Any,
    out_sharding: Any = None,
) -> Any:
    """The fold of `operands`, a pytree of arrays of one shape, over `dimensions`.

    computation: combines two pytrees of scalars; it must be associative, with the scalars
    `init_values` as its identity.  ValueError where the pytrees differ.
    """
    xs, starts, tree = _matched_trees(operands, init_values)
    monoid = _monoid(computation, starts)
    if monoid is not None:
        result = monoid(xs[0], dimensions)
        weak = aval_of(xs[0]).weak_type and aval_of(starts[0]).weak_type
        found = aval_of(result)
        if found.weak_type == weak:
            return result
        return convert_element_type(result, new_dtype=found.dtype, weak_type=weak, sharding=None)
    closed = _combination(computation, starts, tree, "reduce")
    found = reduce_p(
        *xs, *starts, computation=computation, dimensions=as_indices(dimensions), jaxpr=closed
    )
    return trees.unflatten(tree, found)


def _matched_trees(operands: Any, init_values: Any) -> tuple[list[Any], list[Any], Any]:
    xs, tree = trees.flatten(operands)
    starts, start_tree = trees.flatten(init_values)
    if tree != start_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {start_tree}"
        )
    return [as_array(x) for x in xs], starts, tree


def _combination(
    computation: Callable[[Any, Any], Any], starts: Sequence[Any], tree: Any, name: str
) -> ClosedJaxpr:
    """The jaxpr of `computation` on scalars of the types of `starts`.

    TypeError or ValueError where its results are not such scalars.
    """
    types = [typeof(x) for x in starts]
    if any(t.shape for t in types):  # type: ignore[attr-defined]
        shapes = [t.shape for t in types]  # type: ignore[attr-defined]
        if name == "reduce":
            raise ValueError(f"reduce found non-scalar initial value: {shapes}")
        raise TypeError(
            "reduce_window expected init_values to be scalars but init_values have shapes "
            f"{shapes}."
        )
    count = len(types)

    def flat(*values: Any) -> list[Any]:
        left = trees.unflatten(tree, values[:count])
        right = trees.unflatten(tree, values[count:])
        found, found_tree = trees.flatten(computation(left, right))
        if found_tree != tree:
            raise ValueError(
                f"{name} output must have the same tree structure as the operands {tree} vs. "
                f"{found_tree}: the computation takes two pytrees of scalars and returns one of "
                "the same structure."
            )
        return found

    jaxpr, consts = traced_without_tracers(flat, [*types, *types], name)
    for wanted, found in zip(types, jaxpr.out_avals, strict=True):
        if found.shape != () or found.dtype != wanted.dtype:  # type: ignore[attr-defined]
            raise TypeError(
                f"{name}: the computation returned {found} where the initial value is {wanted}: "
                "combine scalars of one type into a scalar of that type."
            )
    return ClosedJaxpr(jaxpr, consts)


def _monoid(computation: Any, starts: Sequence[Any]) -> Callable[..., Any] | None:
    """The reduction that `computation` with these initial values is, if it is a known one."""
    if len(starts) != 1 or isinstance(starts[0], Tracer) or shape_of(starts[0]):
        return None
    entry = _MONOIDS.get(_hashable(computation))
    if entry is None:
        return None
    reduction, identity, bits_only = entry
    dtype = aval_of(starts[0]).dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        return None
    if bits_only and not (dtypes.is_integer(dtype) or dtypes.is_bool(dtype)):
        return None
    return reduction if np.asarray(starts[0]) == identity(dtype) else None


def _hashable(computation: Any) -> Any:
    try:
        hash(computation)
    except TypeError:
        return None
    return computation


_MONOIDS: dict[Any, tuple[Any, Callable[[Any], Any], bool]] = {
    elementwise.add: (reduce_sum, lambda dtype: 0, False),
    elementwise.mul: (reduce_prod, lambda dtype: 1, False),
    elementwise.max: (reduce_max, identity_of_max, False),
    elementwise.min: (reduce_min, identity_of_min, False),
    elementwise.bitwise_and: (reduce_and, lambda dtype: np.asarray(-1).astype(dtype), True),
    elementwise.bitwise_or: (reduce_or, lambda dtype: 0, True),
    elementwise.bitwise_xor: (reduce_xor, lambda dtype: 0, True),
}


# ------------------------------------------------------------------------------------ over windows


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Any,
    window_strides: Any = None,
    padding: Any = "VALID",
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Any:
    """The fold of each window of `operand`, a pytree of arrays of one shape.

    padding: 'VALID', 'SAME', 'SAME_LOWER', or (low, high) for each axis, of `init_value`s.
    computation and init_value: as for `reduce`.
    """
    xs, starts, tree = _matched_trees(operand, init_value)
    if not xs:
        raise ValueError("reduce_window must have at least one operand.")
    dimensions = as_sizes(window_dimensions)
    ones = (1,) * len(dimensions)
    strides = ones if window_strides is None else as_sizes(window_strides)
    spread = ones if window_dilation is None else as_sizes(window_dilation)
    base = ones if base_dilation is None else as_sizes(base_dilation)
    shape = shape_of(xs[0])
    Windows(dimensions, strides, ((0, 0),) * len(dimensions), base, spread).check(
        "reduce_window", shape
    )
    if isinstance(padding, str):
        extents = tuple(map(dilated, dimensions, spread))
        padding = padtype_to_pads(shape, extents, strides, padding)
    windows = Windows(
        dimensions,
        strides,
        tuple((as_sizes(entry)[0], as_sizes(entry)[1]) for entry in padding),
        base,
        spread,
    )
    monoid = _WINDOW_MONOIDS.get(_monoid(computation, starts))
    if monoid is not None:
        return trees.unflatten(tree, [monoid(xs[0], **windows.params())])
    closed = _combination(computation, starts, tree, "reduce_window")
    found = reduce_window_p(
        *xs, *starts, jaxpr=closed.jaxpr, consts=tuple(closed.consts), **windows.params()
    )
    return trees.unflatten(tree, found)


_WINDOW_MONOIDS: dict[Any, Primitive] = {
    reduce_sum: reduce_window_sum_p,
    reduce_max: reduce_window_max_p,
    reduce_min: reduce_window_min_p,
}


def select_and_gather_add(
    values: Any,
    operand: Any,
    select_prim: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> Any:
    """For each window of `operand`, the element of `values` that goes with its extreme element.

    select_prim: `ge_p` for the greatest, `le_p` for the least.
    """
    ones = (1,) * len(window_dimensions)
    windows = Windows(
        as_sizes(window_dimensions),
        as_sizes(window_strides),
        tuple((low, high) for low, high in map(as_sizes, padding)),
        ones if base_dilation is None else as_sizes(base_dilation),
        ones if window_dilation is None else as_sizes(window_dilation),
    )
    return select_and_gather_add_p(values, operand, select_prim=select_prim, **windows.params())


def select_and_scatter_add(
    source: Any,
    operand: Any,
    select_prim: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
) -> Any:
    """Each element of `source` added where the extreme element of its window of `operand` is."""
    return select_and_scatter_add_p(
        source,
        operand,
        select_prim=select_prim,
        window_dimensions=as_sizes(window_dimensions),
        window_strides=as_sizes(window_strides),
        padding=tuple((low, high) for low, high in map(as_sizes, padding)),
    )


def reduce_window_shape_tuple(
    operand_shape: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
    base_dilation: Any = None,
    window_dilation: Any = None,
) -> tuple[Any, ...]:
    """How many windows there are along each axis of an operand of this shape."""
    ones = (1,) * len(window_dimensions)
    windows = Windows(
        tuple(window_dimensions),
        tuple(window_strides),
        tuple(map(tuple, padding)),
        tuple(base_dilation or ones),
        tuple(window_dilation or ones),
    )
    return windows.result_shape(tuple(operand_shape))


def padtype_to_pads(
    in_shape: Any, window_shape: Any, window_strides: Any, padding: Any
) -> list[tuple[Any, Any]]:
    """(low, high) padding of each axis for 'VALID', 'SAME' or 'SAME_LOWER'.

    SAME: as many windows as strides fit in the extent; the odd element goes to the end, and with
    SAME_LOWER to the front.  RuntimeError for other names.
    """
    kind = str(getattr(padding, "name", padding)).upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."
        )
    pads = []
    shapes = map(as_sizes, (in_shape, window_shape, window_strides))
    for size, window, stride in zip(*shapes, strict=True):
        total = _missing(size, window, stride)
        low = total // 2 if kind == "SAME" else total - total // 2
        pads.append((low, total - low))
    return pads


def _missing(size: Any, window: Any, stride: Any) -> Any:
    """How much must be added to `size` so that ceil(size / stride) windows fit."""
    needed = (-(-size // stride) - 1) * stride + window - size
    if not isinstance(needed, dims.Dim):
        return max(needed, 0)
    try:
        return needed if needed >= 0 else 0
    except errors.InconclusiveDimensionOperation:
        raise errors.InconclusiveDimensionOperation(
            f"padding 'SAME' of the symbolic size {size} with windows of {window}, {stride} apart, "
            "depends on its value: give the padding as numbers."
        ) from None


# ---------------------------------------------------------------------------------- along an axis


def _running(primitive: Any, described: str) -> Callable[..., Any]:
    def function(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        axis = errors.as_integer(axis, "an axis")
        return primitive(operand, axis=axis, reverse=bool(reverse))

    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = f"""Running {described} along `axis`, from the front or in reverse."""
    return function


cumsum = _running(cumsum_p, "sums")
cumprod = _running(cumprod_p, "products")
cummax = _running(cummax_p, "maxima")
cummin = _running(cummin_p, "minima")


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Running logarithms of sums of exponentials along `axis`, from the front or in reverse."""
    if not dtypes.is_complex(aval_of(operand).dtype):
        return cumlogsumexp_p(operand, axis=int(axis), reverse=bool(reverse))
    greatest = reduce_max(conversion.real(operand), (axis,))
    zero = full_like(greatest, 0)
    top = elementwise.select(elementwise.is_finite(greatest), greatest, zero)
    top = conversion.complex(conversion.stop_gradient(top), zero)
    top = expand_dims(top, (axis,))
    sums = cumsum(elementwise.exp(elementwise.sub(operand, top)), axis, reverse)
    return elementwise.add(elementwise.log(sums), top)
