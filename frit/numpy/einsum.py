"""einsum: sums of products written with letters, in the order that opt_einsum finds best.

Each step contracts one or two operands.  Of two: letters of one operand alone are summed first,
repeated letters give diagonals, then one dot_general whose batch letters are those of both operands
and the result; it is transposed at the end where the order of letters differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import opt_einsum

from frit import lax
from frit.ir import dtypes
from frit.ir.dims import Dim, is_symbolic
from frit.numpy.contraction import result_element
from frit.numpy.operands import check_arraylike, ensure_arrays, shape_of
from frit.numpy.promotion import convert

Operand = tuple[Any, str]  # an array and the letters of its axes


def _sum(x: Any, axes: Iterable[int]) -> Any:
    return (lax.reduce_or if dtypes.is_bool(x.dtype) else lax.reduce_sum)(x, tuple(axes))


def _without(names: str, removed: Iterable[str]) -> str:
    return "".join(n for n in names if n not in set(removed))


def _sum_letters(operand: Operand, letters: list[str], dtype: Any) -> Operand:
    x, names = operand
    if not letters:
        return operand
    if x.dtype != dtype and not dtypes.is_bool(dtype):
        x = lax.convert_element_type(x, dtype)
    return _sum(x, [names.index(n) for n in letters]), _without(names, letters)


def _diagonals(operand: Operand, kept: str) -> Operand:
    """Repeated letters: the diagonal, or its sum where the letter is not among `kept`."""
    x, names = operand
    for name, count in Counter(names).items():
        if count == 1:
            continue
        axes = [i for i, n in enumerate(names) if n == name]
        index = [lax.broadcasted_iota(np.int32, x.shape, i) for i in axes]
        on_diagonal = lax.eq(index[0], index[1])
        for other in index[2:]:
            on_diagonal = lax.bitwise_and(on_diagonal, lax.eq(index[0], other))
        x = lax.select(on_diagonal, x, lax.full_like(x, 0))
        gone = axes if name not in kept else axes[:-1]
        x = _sum(x, gone)
        names = "".join(n for i, n in enumerate(names) if i not in gone)
    return x, names


def _without_singletons(operand: Operand, other: Operand) -> Operand:
    """Axes of size 1 whose letter is a longer axis of the other operand, taken out."""
    x, names = operand
    sizes = dict(zip(other[1], shape_of(other[0]), strict=True))
    gone = [
        i for i, n in enumerate(names)
        if isinstance(x.shape[i], int) and x.shape[i] == 1 and sizes.get(n, 1) != 1
    ]  # fmt: skip
    if not gone:
        return operand
    return lax.squeeze(x, gone), "".join(n for i, n in enumerate(names) if i not in gone)


def _contract_one(operand: Operand, contracted: list[str], result: str, dtype: Any) -> Operand:
    counts = Counter(operand[1])
    operand = _sum_letters(operand, [n for n in contracted if counts[n] == 1], dtype)
    return _diagonals(operand, result)


def _contract_two(
    lhs: Operand,
    rhs: Operand,
    contracted: list[str],
    result: str,
    dtype: Any,
    dot_general: Callable[..., Any],
    precision: Any,
) -> Operand:
    lhs = _without_singletons(lhs, rhs)
    rhs = _without_singletons(rhs, lhs)
    counts = Counter(lhs[1]), Counter(rhs[1])
    alone = [[n for n in contracted if counts[i][n] == 1 and counts[1 - i][n] == 0] for i in (0, 1)]
    lhs = _sum_letters(lhs, alone[0], dtype)
    rhs = _sum_letters(rhs, alone[1], dtype)
    lhs = _diagonals(lhs, result + rhs[1])
    rhs = _diagonals(rhs, result + lhs[1])
    (x, left), (y, right) = lhs, rhs
    summed = [n for n in contracted if n in left and n in right]
    batch = [n for n in result if n in left and n in right]
    free_left = _without(left, [*batch, *summed])
    free_right = _without(right, [*batch, *summed])
    numbers = tuple(
        (tuple(left.index(n) for n in letters), tuple(right.index(n) for n in letters))
        for letters in (summed, batch)
    )
    swapped = "".join(batch) + free_right + free_left
    if swapped == result:
        (sum_left, sum_right), (batch_left, batch_right) = numbers
        numbers = ((sum_right, sum_left), (batch_right, batch_left))
        return dot_general(y, x, numbers, precision, preferred_element_type=dtype), swapped
    names = "".join(batch) + free_left + free_right
    return dot_general(x, y, numbers, precision, preferred_element_type=dtype), names


def _path(operands: tuple[Any, ...], optimize: Any) -> tuple[list[Any], list[Any]]:
    """The arrays among `operands`, and which of them each step contracts, over which letters."""
    arrays = [x for x in operands if _is_operand(x)]
    if optimize is True:
        optimize = "optimal"
    elif optimize is False:
        optimize = [(0, 1)] * (len(arrays) - 1) if len(arrays) > 1 else [(0,)]
    if any(is_symbolic(shape_of(x)) for x in arrays):
        sizes: dict[Any, int] = {}
        operands = tuple(_stand_in(x, sizes) if _is_operand(x) else x for x in operands)
    _, contractions = _planned(operands, einsum_call=True, use_blas=True, optimize=optimize)
    return arrays, [(c[0], sorted(c[1]), c[2]) for c in contractions]


def _planned(operands: tuple[Any, ...], **options: Any) -> Any:
    """What opt_einsum plans.  TypeError or ValueError where the operands are of neither form."""
    try:
        return opt_einsum.contract_path(*operands, **options)
    except (KeyError, TypeError, ValueError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(
            "einsum takes subscripts and arrays, einsum('ij,jk->ik', x, y), or arrays and lists of "
            f"axis labels by turns, einsum(x, [0, 1], y, [1, 2]); got {operands!r}: {error}."
        ) from None


def _is_operand(x: Any) -> bool:
    return not isinstance(x, (str, list, tuple)) and x is not Ellipsis


def _stand_in(x: Any, sizes: dict[Any, int]) -> np.ndarray:
    """An array whose symbolic sizes are numbers, large and all different, to find a path with."""
    shape = [
        sizes.setdefault(s, 1009 + 2 * len(sizes)) if isinstance(s, Dim) else s for s in shape_of(x)
    ]
    return np.broadcast_to(np.float32(0), shape)


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Callable[..., Any] = lax.dot_general,
    out_sharding: Any = None,
) -> Any:
    """Sums of products of the operands' elements, over the letters that the result does not name.

    `einsum("bij,bjk->bik", x, y)`, or arrays and lists of axis labels by turns.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.einsum is not supported.")
    given = tuple(
        x.__jax_array__() if hasattr(x, "__jax_array__") else x for x in (subscripts, *operands)
    )
    if not isinstance(subscripts, str):
        check_arraylike("einsum", subscripts)
    found, contractions = _path(given, optimize)
    arrays = ensure_arrays("einsum", *found)
    element = result_element("einsum", preferred_element_type, *arrays)
    for positions, contracted, text in contractions:
        inputs, result = text.split("->")
        names = inputs.split(",")
        chosen = [(arrays.pop(i), n) for i, n in zip(positions, names, strict=True)]
        if len(chosen) == 1:
            x, letters = _contract_one(chosen[0], contracted, result, element[0])
        elif len(chosen) == 2:
            x, letters = _contract_two(
                chosen[0], chosen[1], contracted, result, element[0], _dot_general, precision
            )
        else:
            raise NotImplementedError(
                "jax.numpy.einsum does not support simultaneous contraction of 3 or more operands: "
                f"the path given as `optimize` asks for {len(chosen)}. Give a path of pairs."
            )
        if letters != result:
            x = lax.transpose(x, tuple(letters.index(n) for n in result))
        arrays.append(x)
    return convert(arrays[0], *element)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> Any:
    """The order of contractions that einsum would take, and a printed account of it."""
    if not isinstance(subscripts, str):
        check_arraylike("einsum_path", subscripts)
    path = "optimal" if optimize is True else optimize
    return _planned((subscripts, *operands), optimize=path)
