"""Calls of BLAS and LAPACK as equations.

    library_call[call] operands -> results
    call     = ForeignCall(symbol, arguments, types, updates, batch, scratch_bytes)
    argument = char | int | float … (by reference)  | operand k | result k | scratch

Arrays are row-major and LAPACK reads columns, so it sees every matrix transposed; leading
dimensions, transposes and batches with strides are passed, not copied. Where `updates[j] == k` the
routine works in place: result j begins as operand k.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit.codegen.kernels import array_type
from frit.ir.jaxpr import JaxprEqn
from frit.ir.primitive import Primitive
from frit.ir.types import ShapedArray
from frit.primitives.contraction import dot_general
from frit.primitives.conversion import convert_element_type
from frit.primitives.shapes import reshape
from frit.transforms.linear import transpose

PREFIX = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
SMALLEST_PRODUCT = 4096  # multiplications; below it a call costs more than our own loops
SMALLEST_MATVEC = 16384


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: a known scalar (kind is its type) or memory, `offset` bytes in.

    stride: bytes from one member of the batch to the next, for each batch axis.
    """

    kind: str
    value: Any = 0
    offset: int = 0
    stride: tuple[int, ...] = ()


@dataclass(frozen=True)
class ForeignCall:
    """A routine, called once for each member of a batch, with so many multiplications."""

    symbol: str
    arguments: tuple[Argument, ...]
    types: tuple[ShapedArray, ...]
    batch: tuple[int, ...] = ()
    update_pairs: tuple[tuple[int, int], ...] = ()
    scratch_bytes: int = 0
    work: int = 0

    @property
    def updates(self) -> dict[int, int]:
        return dict(self.update_pairs)


library_call = Primitive(
    "library_call",
    multiple_results=True,
    result_types=lambda *types, call: list(call.types),
)


def char(letter: str) -> Argument:
    return Argument("char", letter)


def integer(number: int) -> Argument:
    return Argument("int", int(number))


# For each primitive: a function of the equation that gives its expansion, or None.
RULES: dict[str, Callable[[JaxprEqn], Callable[..., Any] | None]] = {}


# ------------------------------------------------------------------------------------ contraction


@dataclass(frozen=True)
class _Matrix:
    """One operand of a product, as BLAS sees it: element strides of its rows and columns."""

    free: tuple[int, int]  # (extent, stride)
    summed: tuple[int, int]
    batch_strides: tuple[int, ...]

    @property
    def leading(self) -> int | None:
        """The leading dimension; None where neither stride is 1."""
        (m, row), (k, column) = self.free, self.summed
        if column == 1 or k == 1:
            return max(row if m > 1 else k, k, 1)
        if row == 1 or m == 1:
            return max(column, m, 1)
        return None

    @property
    def by_columns(self) -> bool:
        """Whether the summed axis is the one that strides."""
        return not (self.summed[1] == 1 or self.summed[0] == 1)


def _strides(shape: Sequence[int]) -> list[int]:
    found, step = [], 1
    for extent in reversed(shape):
        found.append(step)
        step *= extent
    return found[::-1]


def _collapsed(axes: Sequence[int], shape: Sequence[int]) -> tuple[int, int] | None:
    """(extent, stride) of some axes taken as one; None where they are not evenly apart."""
    strides = _strides(shape)
    long = [a for a in axes if shape[a] != 1]
    if not long:
        return 1, 1
    for outer, inner in zip(long, long[1:], strict=False):
        if strides[outer] != strides[inner] * shape[inner]:
            return None
    return math.prod(shape[a] for a in long), strides[long[-1]]


def _matrix(shape: Sequence[int], summed: Sequence[int], matched: Sequence[int]) -> _Matrix | None:
    free = [a for a in range(len(shape)) if a not in summed and a not in matched]
    rows, columns = _collapsed(free, shape), _collapsed(summed, shape)
    if rows is None or columns is None:
        return None
    strides = _strides(shape)
    made = _Matrix(rows, columns, tuple(strides[a] for a in matched))
    return made if made.leading is not None else None


def _dot(eqn: JaxprEqn) -> Callable[..., Any] | None:
    """dot_general of large floating matrices by gemm or gemv; of bools, by counting."""
    x, y = map(array_type, eqn.invars)
    out = array_type(eqn.outvars[0])
    if out.dtype == np.dtype(bool):
        return functools.partial(_dot_of_bools, params=eqn.params)
    (summed, _), (matched, _) = eqn.params["dimension_numbers"]
    k = math.prod(x.shape[a] for a in summed)
    batch = math.prod(x.shape[a] for a in matched)
    size = math.prod(out.shape)
    if not k or not size:
        return None
    m = math.prod(x.shape) // (k * batch)
    n = math.prod(y.shape) // (k * batch)
    if m * n * k < SMALLEST_PRODUCT or (min(m, n) == 1 and (k * m * n < SMALLEST_MATVEC)):
        return None
    if m == n == 1:
        return None
    work = _working_dtype(x.dtype, y.dtype, out.dtype)
    if work is None:
        return None

    def function(left: Any, right: Any) -> Any:
        left, right = _converted(left, work), _converted(right, work)
        (product,) = _product(left, right, eqn.params["dimension_numbers"], out, work)
        return _converted(product, out.dtype)

    return function


def _dot_of_bools(left: Any, right: Any, params: dict[str, Any]) -> Any:
    """Whether some pair of terms is true."""
    count = np.dtype("int32")
    params = {**params, "preferred_element_type": count}
    found = dot_general.bind(_converted(left, count), _converted(right, count), **params)
    return _converted(found, np.dtype(bool))


def _working_dtype(*dtypes: Any) -> np.dtype | None:
    """The dtype in which a product is computed by BLAS, or None."""
    if any(not isinstance(d, np.dtype) for d in dtypes):
        return None
    names = [d.name for d in dtypes]
    if all(name == names[0] for name in names):
        if names[0] in PREFIX:
            return dtypes[0]
    if all(name in ("bfloat16", "float16", "float32") for name in names):
        return np.dtype("float32")
    return None


def _converted(x: Any, dtype: Any) -> Any:
    if x.dtype == dtype:
        return x
    return convert_element_type(x, new_dtype=dtype, weak_type=False, sharding=None)


def _product(left: Any, right: Any, numbers: Any, out: ShapedArray, dtype: np.dtype) -> Any:
    (summed_l, summed_r), (matched_l, matched_r) = numbers
    pairs = sorted(zip(summed_l, summed_r, strict=True))
    summed_l, summed_r = [p[0] for p in pairs], [p[1] for p in pairs]
    first = _matrix(left.shape, summed_l, matched_l)
    second = _matrix(right.shape, summed_r, matched_r)
    if first is None or second is None:
        pairs = sorted(zip(summed_r, summed_l, strict=True))
        other_l, other_r = [p[1] for p in pairs], [p[0] for p in pairs]
        again = _matrix(left.shape, other_l, matched_l), _matrix(right.shape, other_r, matched_r)
        if None not in again:
            first, second = again
            summed_l, summed_r = other_l, other_r
    if first is None:
        left, matched_l, summed_l = _arranged(left, matched_l, summed_l)
        first = _matrix(left.shape, summed_l, matched_l)
    if second is None:
        right, matched_r, summed_r = _arranged(right, matched_r, summed_r)
        second = _matrix(right.shape, summed_r, matched_r)
    call = _gemm(first, second, out, dtype, tuple(left.shape[a] for a in matched_l))  # type: ignore
    return library_call(left, right, call=call)


def _arranged(
    x: Any, matched: Sequence[int], summed: Sequence[int]
) -> tuple[Any, list[int], list[int]]:
    """x with its axes as (matched, free, summed), and where these now are."""
    free = [a for a in range(len(x.shape)) if a not in summed and a not in matched]
    order = [*matched, *free, *summed]
    moved = transpose(x, permutation=tuple(order))
    count = len(order)
    return moved, list(range(len(matched))), list(range(count - len(summed), count))


def _gemm(
    left: _Matrix, right: _Matrix, out: ShapedArray, dtype: np.dtype, batch: tuple[int, ...]
) -> ForeignCall:
    """out = left @ right, as BLAS' out' = right' @ left'."""
    m, n, k = left.free[0], right.free[0], left.summed[0]
    size = dtype.itemsize
    scalar = dtype.name
    long = [a for a, extent in enumerate(batch) if extent != 1]
    out_strides = _strides((*batch, m * n))[:-1]

    def memory(kind: str, number: int, strides: Sequence[int]) -> Argument:
        return Argument(kind, number, 0, tuple(size * strides[a] for a in long))

    x = memory("operand", 0, left.batch_strides)
    y = memory("operand", 1, right.batch_strides)
    z = memory("result", 0, out_strides)
    one, nothing = Argument(scalar, dtype.type(1).item()), Argument(scalar, dtype.type(0).item())
    types = (ShapedArray(out.shape, dtype),)
    extents = tuple(batch[a] for a in long)
    letter = PREFIX[scalar]
    for matrix, vector, a, b in ((left, right, x, y), (right, left, y, x)):
        if vector.free[0] == 1:  # a vector has any stride; a row-major matrix is seen transposed
            rows, columns = matrix.free[0], matrix.summed[0]
            if matrix.by_columns:
                shape = [char("N"), integer(rows), integer(columns)]
            else:
                shape = [char("T"), integer(columns), integer(rows)]
            step = vector.summed[1] if vector.summed[0] > 1 else 1
            leading = integer(matrix.leading or 1)
            arguments = (*shape, one, a, leading, b, integer(step), nothing, z, integer(1))
            return ForeignCall(f"blas_{letter}gemv", arguments, types, extents, work=rows * columns)
    arguments = (
        char("N" if right.by_columns else "T"),
        char("T" if left.by_columns else "N"),
        integer(n), integer(m), integer(k), one,
        y, integer(right.leading or 1), x, integer(left.leading or 1), nothing, z, integer(n),
    )  # fmt: skip
    return ForeignCall(f"blas_{letter}gemm", arguments, types, extents, work=m * n * k)


def _reshape(eqn: JaxprEqn) -> Callable[..., Any] | None:
    """A reshape of permuted axes is a transposition first."""
    axes = eqn.params.get("dimensions")
    if axes is None:
        return None
    params = {**eqn.params, "dimensions": None}
    return lambda x, *more: reshape.bind(transpose(x, permutation=tuple(axes)), *more, **params)


RULES["dot_general"] = _dot
RULES["reshape"] = _reshape
