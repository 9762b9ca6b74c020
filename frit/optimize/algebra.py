"""The rules of algebra, and the simplifiers of views and conversions.

Rules are exact, bit for bit, on every operand (infinities, nan, signed zeros included) unless they
say otherwise; a test evaluates both sides of each on special values.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit.ir.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from frit.optimize.cleanup import map_bodies
from frit.optimize.rewrite import Known, Rewriter, Rule, Simplifier
from frit.primitives.arithmetic import abs_, div, max_, min_
from frit.primitives.comparison_and_bits import and_, not_, or_
from frit.primitives.contraction import dot_general
from frit.primitives.conversion import complex_, imag, real
from frit.primitives.elementwise import add, neg, sub
from frit.primitives.elementwise import mul as mul_primitive
from frit.primitives.shapes import reshape
from frit.transforms.linear import broadcast_in_dim, transpose


def mul(x: Any, y: Any) -> Any:
    return mul_primitive(x, y, out_dtype=None)


ONE, TWO, ZERO, MINUS_ZERO = (np.float32(n) for n in (1, 2, 0.0, -0.0))

ALGEBRA = (
    Rule(lambda x: neg(neg(x)), lambda x: x),
    Rule(lambda x, y: mul(neg(x), neg(y)), mul),
    Rule(lambda x, y: sub(x, neg(y)), add),
    Rule(lambda x, y: add(x, neg(y)), sub),
    Rule(lambda x: mul(x, ONE), lambda x: x),
    Rule(lambda x: div(x, ONE), lambda x: x),
    Rule(lambda x: mul(x, -ONE), neg),
    Rule(lambda x: sub(x, ZERO), lambda x: x),
    Rule(lambda x: add(x, MINUS_ZERO), lambda x: x),
    Rule(lambda x: abs_(abs_(x)), abs_),
    Rule(lambda x: abs_(neg(x)), abs_),
    Rule(lambda x: max_(x, x), lambda x: x),
    Rule(lambda x: min_(x, x), lambda x: x),
    Rule(lambda x: not_(not_(x)), lambda x: x, dtype="bool", kinds="b"),
    Rule(lambda x: and_(x, x), lambda x: x, dtype="bool", kinds="b"),
    Rule(lambda x: or_(x, x), lambda x: x, dtype="bool", kinds="b"),
    Rule(lambda x: not_(not_(x)), lambda x: x, dtype="int32", kinds="iu"),
    Rule(lambda x: add(x, np.int32(0)), lambda x: x, dtype="int32", kinds="iu"),
    Rule(lambda x, y: real(complex_(x, y)), lambda x, y: x, kinds="c"),
    Rule(lambda x, y: imag(complex_(x, y)), lambda x, y: y, kinds="c"),
    Rule(lambda x, y: add(neg(x), neg(y)), lambda x, y: neg(add(x, y)), exact=False),
    Rule(lambda x: add(x, ZERO), lambda x: x, exact=False),
)


# ------------------------------------------------------------------------------------ simplifiers
#
# Each gives None, the atom that the result equals, or (operands, function of them).


def _shape(atom: Atom) -> tuple[int, ...]:
    return atom.aval.shape  # type: ignore[attr-defined]


def same_type(eqn: JaxprEqn, known: Known) -> Any:
    """A conversion or view that changes neither shape nor dtype is its operand."""
    x, y = eqn.invars[0].aval, eqn.outvars[0].aval
    return eqn.invars[0] if (x.shape, x.dtype) == (y.shape, y.dtype) else None  # type: ignore


def _no_transposition(eqn: JaxprEqn, known: Known) -> Any:
    """transpose that only moves axes of extent 1 is a reshape; none at all is the operand."""
    permutation = eqn.params["permutation"]
    if list(permutation) == sorted(permutation):
        return eqn.invars[0]
    long = [a for a in permutation if _shape(eqn.invars[0])[a] != 1]
    if long == sorted(long) and _is_static(_shape(eqn.invars[0])):
        return [eqn.invars[0]], functools.partial(_reshaped, shape=_shape(eqn.outvars[0]))
    return None


def _is_static(shape: tuple[Any, ...]) -> bool:
    return all(isinstance(n, int) for n in shape)


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    return reshape(x, new_sizes=shape, dimensions=None, sharding=None)


def _transpose_of_transpose(eqn: JaxprEqn, known: Known) -> Any:
    """A transposition of a transposition is one."""
    inner = known.maker(eqn.invars[0], "transpose")
    if inner is None:
        return None
    first = inner.params["permutation"]
    permutation = tuple(first[a] for a in eqn.params["permutation"])
    return [inner.invars[0]], functools.partial(transpose, permutation=permutation)


def _reshape_of_reshape(eqn: JaxprEqn, known: Known) -> Any:
    """A reshape of a reshape is one."""
    inner = known.maker(eqn.invars[0], "reshape")
    if inner is None or eqn.params.get("dimensions") or inner.params.get("dimensions"):
        return None
    if len(inner.invars) != 1 or len(eqn.invars) != 1:
        return None
    return [inner.invars[0]], functools.partial(_reshaped, shape=_shape(eqn.outvars[0]))


def _broadcast_of_broadcast(eqn: JaxprEqn, known: Known) -> Any:
    """A broadcast of a broadcast is one."""
    inner = known.maker(eqn.invars[0], "broadcast_in_dim")
    if inner is None or len(inner.invars) != 1 or len(eqn.invars) != 1:
        return None
    outer_axes = eqn.params["broadcast_dimensions"]
    axes = tuple(outer_axes[a] for a in inner.params["broadcast_dimensions"])
    return [inner.invars[0]], functools.partial(
        broadcast_in_dim,
        shape=_shape(eqn.outvars[0]),
        broadcast_dimensions=axes,
        sharding=None,
    )


def _reshape_of_scalar(eqn: JaxprEqn, known: Known) -> Any:
    """A reshape of a broadcast scalar is a broadcast scalar."""
    inner = known.maker(eqn.invars[0], "broadcast_in_dim")
    if inner is None or _shape(inner.invars[0]) or len(eqn.invars) != 1:
        return None
    return [inner.invars[0]], functools.partial(
        broadcast_in_dim,
        shape=_shape(eqn.outvars[0]),
        broadcast_dimensions=(),
        sharding=None,
    )


def _nothing_reduced(eqn: JaxprEqn, known: Known) -> Any:
    """A reduction over no axes is its operand."""
    return eqn.invars[0] if not eqn.params["axes"] else None


def _one_piece(eqn: JaxprEqn, known: Known) -> Any:
    """A concatenation of one piece is that piece."""
    return eqn.invars[0] if len(eqn.invars) == 1 else None


def _equal_cases(eqn: JaxprEqn, known: Known) -> Any:
    """select_n of equal cases is the case; of a known predicate, the chosen one."""
    which, *cases = eqn.invars
    if isinstance(cases[0], Var) and all(c is cases[0] for c in cases):
        return cases[0]
    number = known.number(which)
    if number is None:
        return None
    return cases[min(max(int(number), 0), len(cases) - 1)]


def _product_of_transposed(eqn: JaxprEqn, known: Known) -> Any:
    """dot_general reads an operand through its transposition, if free axes keep their order."""
    (summed, matched) = eqn.params["dimension_numbers"]
    for side in (0, 1):
        inner = known.maker(eqn.invars[side], "transpose")
        if inner is None:
            continue
        permutation = inner.params["permutation"]
        taken = (*summed[side], *matched[side])
        free = [permutation[a] for a in range(len(permutation)) if a not in taken]
        if free != sorted(free):
            continue
        numbers = [list(summed), list(matched)]
        for part in numbers:
            part[side] = tuple(permutation[a] for a in part[side])
        operands = list(eqn.invars)
        operands[side] = inner.invars[0]
        params = {**eqn.params, "dimension_numbers": tuple(map(tuple, numbers))}
        return operands, functools.partial(dot_general.bind, **params)
    return None


def _turned_product(eqn: JaxprEqn, known: Known) -> Any:
    """A product transposed is the product of its operands in the other order, if only that is read.

    Terms are multiplied and added in the same order, so the bits are the same.
    """
    inner = known.maker(eqn.invars[0], "dot_general")
    if inner is None or known.uses[inner.outvars[0]] != 1:
        return None
    (summed, matched) = inner.params["dimension_numbers"]
    batch = len(matched[0])
    rows, columns = (
        len(_shape(a)) - batch - len(summed[side]) for side, a in enumerate(inner.invars)
    )
    end = batch + rows + columns
    wanted = (*range(batch), *range(batch + rows, end), *range(batch, batch + rows))
    if tuple(eqn.params["permutation"]) != wanted:
        return None
    params = {**inner.params, "dimension_numbers": (summed[::-1], matched[::-1])}
    if isinstance(params.get("precision"), tuple):
        params["precision"] = params["precision"][::-1]
    return list(reversed(inner.invars)), functools.partial(dot_general.bind, **params)


def _filled_view(eqn: JaxprEqn, known: Known) -> Any:
    """A slice, transposition or reversal of an array of one number is that number spread."""
    inner = known.maker(eqn.invars[0], "broadcast_in_dim")
    if inner is None or _shape(inner.invars[0]):
        return None
    shape = _shape(eqn.outvars[0])
    if not math.prod(shape):
        return None
    return [inner.invars[0]], functools.partial(
        broadcast_in_dim, shape=shape, broadcast_dimensions=(), sharding=None
    )


SIMPLIFIERS: dict[str, Sequence[Simplifier]] = {
    "convert_element_type": (same_type,),
    "broadcast_in_dim": (same_type, _broadcast_of_broadcast),
    "reshape": (same_type, _reshape_of_reshape, _reshape_of_scalar),
    "slice": (same_type, _filled_view),
    "rev": (_filled_view,),
    "transpose": (_no_transposition, _transpose_of_transpose, _filled_view, _turned_product),
    "reduce_sum": (_nothing_reduced,),
    "reduce_max": (_nothing_reduced,),
    "reduce_min": (_nothing_reduced,),
    "reduce_prod": (_nothing_reduced,),
    "concatenate": (_one_piece,),
    "select_n": (_equal_cases,),
    "dot_general": (_product_of_transposed,),
}


@functools.cache
def _rewriter(fast_math: bool) -> Rewriter:
    return Rewriter(ALGEBRA, SIMPLIFIERS, fast_math)


def simplify(
    jaxpr: Jaxpr, *, fast_math: bool, applied: Counter[Rule | Simplifier] | None = None
) -> Jaxpr:
    """`jaxpr` after the rules of algebra, to a fixed point.

    applied: counts how often each rule or simplifier is, if given.

    Before: { lambda ; a b. let c = neg b; d = sub a c; e = mul d 1.0 in (e,) }
    After:  { lambda ; a b. let c = neg b; d = add a b in (d,) }
    """
    return _rewriter(fast_math).rewrite(jaxpr, map_bodies, applied)
