"""The laws that hold of every primitive, as functions of a sample; each raises where it is broken.

    types        evaluate gives what result_types says
    compiled     machine code gives what evaluate gives, within the primitive's accuracy
    decomposed   the decomposition, where there is one, gives what evaluate gives
    derivative   jvp = finite differences; "second derivative" says the same of the derivative
    transpose    <ct, J t> = <J^T ct, t>; "second transpose" says the same of the derivative
    batch        mapped = looped and stacked, for every operand and axis
    tracing      running the jaxpr of f = running f; transforms commute with tracing
    eager        jit(f) = f
    printing     text is the same each time

The samples are in tests/samples; `Inapplicable` says that a law does not concern a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import frit
from frit.api.jitting import jit
from frit.ir import dtypes
from frit.ir.jaxpr import ClosedJaxpr, run_closed, run_jaxpr, subjaxprs
from frit.ir.types import typeof
from frit.runtime.execute import execute
from frit.transforms.batch import Axis, batch, batch_jaxpr, to_axis
from frit.transforms.jvp import jvp, jvp_jaxpr
from frit.transforms.linear import LinearOperand, Zero, instantiate, is_zero
from frit.transforms.split import linearize
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import backward_pass
from tests.samples import Sample

Function = Callable[..., list[Any]]
Law = Callable[[Sample], None]


class Inapplicable(Exception):
    """The law says nothing about this sample; the message says why."""


# -------------------------------------------------------------------------------- samples at work


def function_of(sample: Sample) -> Function:
    """The sample's primitive with its parameters, as a function of operands to a list."""

    def function(*operands: Any) -> list[Any]:
        if sample.prepare is not None:
            operands = tuple(sample.prepare(*operands))
        results = sample.primitive.bind(*operands, **sample.params)
        return list(results) if sample.primitive.multiple_results else [results]

    return function


def trace(function: Function, operands: Sequence[Any]) -> ClosedJaxpr:
    return ClosedJaxpr(*trace_to_jaxpr(function, [typeof(x) for x in operands]))


def run_compiled(sample: Sample) -> list[Any]:
    """The results of the sample as machine code computes them."""
    return execute(trace(function_of(sample), sample.operands), sample.operands)


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.ndarray, np.generic))


def require_numbers(sample: Sample) -> None:
    if not all(map(is_number, sample.operands)):
        raise Inapplicable("an operand is not made of numbers")


def storage(x: Any) -> np.ndarray:
    """The operand as the NumPy array that `evaluate` gets."""
    if is_number(x):
        return np.asarray(x, typeof(x).storage_dtype)
    return np.asarray(x._data if hasattr(x, "_data") else x)


def widened(sample: Sample) -> Sample:
    """The sample in double precision, operands and types among the parameters alike."""
    if sample.wide is not None:
        return sample.wide()
    wide = {np.dtype("f4"): np.dtype("f8"), np.dtype("c8"): np.dtype("c16")}

    def widen(x: Any) -> Any:
        dtype = typeof(x).dtype
        return np.asarray(x).astype(wide.get(dtype, dtype))

    params = {
        key: wide.get(value, value) if isinstance(value, np.dtype) else value
        for key, value in sample.params.items()
    }
    operands = tuple(map(widen, sample.operands))
    changed = {"operands": operands, "params": params}
    return Sample(**{**vars(sample), **changed})


def differentiable(sample: Sample) -> list[int]:
    return [
        i
        for i, x in enumerate(sample.operands)
        if i not in sample.fixed and dtypes.is_inexact(typeof(x).dtype)
    ]


def require_derivative(sample: Sample) -> list[int]:
    """Positions to differentiate by."""
    require_numbers(sample)
    positions = differentiable(sample)
    if not positions:
        raise Inapplicable("no operand is differentiable")
    if not sample.primitive.jvp:
        raise Inapplicable(f"no jvp: {sample.primitive.jvp.reason}")
    if not sample.smooth:
        raise Inapplicable("no derivative at these operands")
    if any(typeof(sample.operands[i]).dtype.itemsize <= 2 for i in positions):
        raise Inapplicable("differences need more digits")
    return positions


def direction(like: Any, seed: int) -> Any:
    """Reproducible numbers of the type of `like`, about 1 in size."""
    generator = np.random.default_rng(seed)
    shape, dtype = np.shape(like), typeof(like).dtype
    drawn = generator.uniform(0.5, 1.5, shape) * generator.choice([-1, 1], shape)
    if dtypes.is_complex(dtype):
        drawn = drawn + 1j * generator.uniform(0.5, 1.5, shape)
    return np.asarray(drawn).astype(dtype)


def on_positions(function: Function, operands: Sequence[Any], positions: Sequence[int]) -> Function:
    """`function` of the operands at `positions` only, and of its inexact results only."""

    def fewer(*given: Any) -> list[Any]:
        values = list(operands)
        for i, x in zip(positions, given, strict=True):
            values[i] = x
        return [r for r in function(*values) if dtypes.is_inexact(typeof(r).dtype)]

    return fewer


# ------------------------------------------------------------------------------------- comparisons


OF_THE_LARGEST = 64  # from so many ulps on, they are those of the largest number of an array


def assert_close(actual: Any, expected: Any, ulps: float = 0, tolerance: float = 0.0) -> None:
    """Equal, with nan = nan, up to `ulps` units in the last place or a relative tolerance."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    assert actual.dtype == expected.dtype, f"types {actual.dtype} and {expected.dtype}"
    if actual.dtype == dtypes.float0 or actual.size == 0:
        return
    if not dtypes.is_inexact(actual.dtype) or not (ulps or tolerance):
        np.testing.assert_array_equal(_plain(actual), _plain(expected))
        return
    limits = ml_dtypes.finfo(np.abs(np.zeros((), actual.dtype)).dtype)
    x, y = _plain(actual), _plain(expected)
    bound = np.maximum(ulps * float(limits.eps), tolerance)
    floor = ulps * float(limits.tiny) + tolerance
    with np.errstate(all="ignore"):
        size = np.abs(y) if ulps < OF_THE_LARGEST else np.max(np.abs(y[np.isfinite(y)]), initial=0)
        close = (np.abs(x - y) <= bound * size + floor) | (x == y) | ((x != x) & (y != y))
    assert np.all(close), f"apart at {np.argwhere(~close)[:3].tolist()}:\n{x}\n{y}"


def _plain(x: np.ndarray) -> np.ndarray:
    """x in a type that NumPy compares well."""
    if dtypes.is_complex(x.dtype):
        return x.astype(np.complex128)
    return x.astype(np.float64) if dtypes.is_floating(x.dtype) else x


# Exact on real numbers; of complex ones the definition computes in double precision, code does not.
ROUNDED_COMPLEX = ("div", "integer_pow", "sign", "sqrt", "square")


def slack(sample: Sample) -> float:
    """How many ulps two ways of computing the sample may differ by."""
    bodies = [eqn.primitive.accuracy for j in subjaxprs(sample.params) for eqn in j.eqns]
    if any(accuracy.kind != "exact" for accuracy in bodies):
        return OF_THE_LARGEST
    kind = sample.primitive.accuracy
    wide = any(np.asarray(x).dtype.itemsize >= 8 for x in sample.operands if is_number(x))
    if kind.kind == "exact":
        of_complex = any(
            dtypes.is_complex(typeof(x).dtype) for x in sample.operands if is_number(x)
        )
        return 8 if of_complex and sample.primitive.name in ROUNDED_COMPLEX else 0
    return OF_THE_LARGEST if kind.kind == "order" else kind.ulps + (4 if wide else 1)


# --------------------------------------------------------------------------------------------- laws


def types(sample: Sample) -> None:
    avals = [typeof(x) for x in sample.operands]
    expected = sample.primitive.types_of_results(avals, sample.params)
    found = sample.primitive.evaluate(*map(storage, sample.operands), **sample.params)
    found = list(found) if sample.primitive.multiple_results else [found]
    assert len(found) == len(expected)
    for x, aval in zip(found, expected, strict=True):
        x = np.asarray(x)
        assert x.dtype == aval.storage_dtype, f"evaluate gives {x.dtype}, the type is {aval}"
        assert x.shape[: len(aval.shape)] == aval.shape, f"evaluate gives {x.shape}, not {aval}"


def compiled(sample: Sample) -> None:
    found = sample.primitive.evaluate(*map(storage, sample.operands), **sample.params)
    found = list(found) if sample.primitive.multiple_results else [found]
    for x, y in zip(run_compiled(sample), found, strict=True):
        assert_close(storage(x), y, slack(sample))


def decomposed(sample: Sample) -> None:
    if sample.primitive.decompose is None:
        raise Inapplicable("no decomposition")
    require_numbers(sample)
    operands = [storage(x) for x in sample.operands]
    expected = sample.primitive.evaluate(*operands, **sample.params)
    with frit.enable_x64(True):
        found = sample.primitive.decompose(*operands, **sample.params)
    if not sample.primitive.multiple_results:
        found, expected = [found], [expected]
    for x, y in zip(found, expected, strict=True):
        assert_close(storage(x), y, slack(sample))


def _assert_derivative(function: Function, primals: Sequence[Any], tolerance: float) -> None:
    ts = [direction(x, 10 + i) for i, x in enumerate(primals)]
    _, found = jvp(function, primals, ts)
    step = 1e-5
    above = function(*[np.asarray(x + step * t) for x, t in zip(primals, ts, strict=True)])
    below = function(*[np.asarray(x - step * t) for x, t in zip(primals, ts, strict=True)])
    for t, hi, lo in zip(found, above, below, strict=True):
        difference = (storage(hi) - storage(lo)) / (2 * step)
        assert_close(storage(instantiate(t)), difference, tolerance=tolerance)


def derivative(sample: Sample) -> None:
    positions = require_derivative(sample)
    with frit.enable_x64(True):
        sample = widened(sample)
        function = on_positions(function_of(sample), sample.operands, positions)
        primals = [sample.operands[i] for i in positions]
        _assert_derivative(function, primals, sample.tolerance)


def _tangent_function(function: Function, primals: Sequence[Any]) -> Function:
    """x -> J(x) t, with t fixed."""
    ts = [direction(x, 20 + i) for i, x in enumerate(primals)]
    return lambda *xs: [instantiate(t) for t in jvp(function, xs, ts)[1]]


def second_derivative(sample: Sample) -> None:
    positions = require_derivative(sample)
    with frit.enable_x64(True):
        sample = widened(sample)
        function = on_positions(function_of(sample), sample.operands, positions)
        primals = [sample.operands[i] for i in positions]
        _assert_derivative(_tangent_function(function, primals), primals, 10 * sample.tolerance)


def _inner(xs: Sequence[Any], ys: Sequence[Any]) -> float:
    """The sum of the real parts of products."""
    pairs = zip(xs, ys, strict=True)
    return float(sum(np.sum(np.real(storage(x) * storage(y))) for x, y in pairs))


def _assert_transpose(function: Function, primals: Sequence[Any]) -> None:
    linear = linearize(function, primals)
    ts = [direction(x, 30 + i) for i, x in enumerate(primals)]
    moved = run_jaxpr(linear.jaxpr, linear.consts, *ts)
    if not moved:
        return
    cts = [direction(t, 40 + i) for i, t in enumerate(moved)]
    holes = [LinearOperand(v.aval) for v in linear.jaxpr.invars]
    back = backward_pass(linear.jaxpr, linear.consts, holes, cts)
    for ct, x in zip(back, primals, strict=True):
        assert np.shape(instantiate(ct)) == np.shape(x), f"a cotangent of type {typeof(ct)} for {x}"
    left, right = _inner(cts, moved), _inner([instantiate(ct) for ct in back], ts)
    assert np.isclose(left, right, rtol=1e-8, atol=1e-8), (
        f"<ct, J t> = {left}, <J^T ct, t> = {right}"
    )


def transpose(sample: Sample) -> None:
    positions = require_derivative(sample)
    with frit.enable_x64(True):
        sample = widened(sample)
        function = on_positions(function_of(sample), sample.operands, positions)
        _assert_transpose(function, [sample.operands[i] for i in positions])


def second_transpose(sample: Sample) -> None:
    positions = require_derivative(sample)
    with frit.enable_x64(True):
        sample = widened(sample)
        function = on_positions(function_of(sample), sample.operands, positions)
        primals = [sample.operands[i] for i in positions]
        _assert_transpose(_tangent_function(function, primals), primals)


def _lanes(x: Any, count: int) -> list[np.ndarray]:
    """`count` different values of the type of x."""
    x = storage(x)
    if x.size > 1:
        return [np.roll(x.ravel(), i).reshape(x.shape) for i in range(count)]
    if dtypes.is_inexact(x.dtype):
        return [
            (x * np.asarray(1 - 0.06 * i).astype(x.dtype)).astype(x.dtype) for i in range(count)
        ]
    if x.dtype == bool:
        return [np.asarray(x ^ (i % 2 == 1)) for i in range(count)]
    return [x] * count


def _assert_batch(sample: Sample, places: Sequence[int | None]) -> None:
    count = 3
    lanes = [
        [storage(x)] * count if d is None else _lanes(x, count)
        for x, d in zip(sample.operands, places, strict=True)
    ]
    stacked = [xs[0] if d is None else np.stack(xs, d) for xs, d in zip(lanes, places, strict=True)]
    function = function_of(sample)
    found, axes = batch(function, Axis(None, count), stacked, places)
    each = [function(*[xs[i] for xs in lanes]) for i in range(count)]
    for k, (result, axis) in enumerate(zip(found, axes, strict=True)):
        together = storage(to_axis(result, axis, 0, count))
        looped = np.stack([storage(results[k]) for results in each])
        assert_close(together, looped, slack(sample))


def batched(sample: Sample) -> None:
    require_numbers(sample)
    if not sample.primitive.batch:
        raise Inapplicable(f"no batch rule: {sample.primitive.batch.reason}")
    ranks = [np.ndim(x) for x in sample.operands]
    for i, rank in enumerate(ranks):
        for axis in range(rank + 1):
            _assert_batch(sample, [axis if k == i else None for k in range(len(ranks))])
    if len(ranks) > 1:
        _assert_batch(sample, [0] * len(ranks))
        _assert_batch(sample, ranks)


def tracing(sample: Sample) -> None:
    function = function_of(sample)
    closed = trace(function, sample.operands)
    for x, y in zip(run_closed(closed, *sample.operands), function(*sample.operands), strict=True):
        assert typeof(x) == typeof(y), f"the jaxpr gives {typeof(x)}, the function {typeof(y)}"
        assert_close(storage(x), storage(y), slack(sample))
    _assert_jvp_commutes(sample, closed)
    _assert_batch_commutes(sample, closed)


def _assert_jvp_commutes(sample: Sample, closed: ClosedJaxpr) -> None:
    """The jvp of the jaxpr is the jaxpr of the jvp."""
    nonzero = tuple(i in differentiable(sample) for i in range(len(sample.operands)))
    if not sample.primitive.jvp or not any(nonzero):
        return

    def both(*values: Any) -> list[Any]:
        primals, given = values[: len(nonzero)], iter(values[len(nonzero) :])
        ts = [
            next(given) if nz else Zero(typeof(x).tangent_type())
            for x, nz in zip(primals, nonzero, strict=True)
        ]
        results, moved = jvp(function_of(sample), primals, ts)
        return [*results, *(instantiate(t) for t in moved if not is_zero(t))]

    tangents = [x for x, nz in zip(sample.operands, nonzero, strict=True) if nz]
    direct = trace(both, [*sample.operands, *tangents])
    assert str(jvp_jaxpr(closed, nonzero)[0]) == str(direct)


def _assert_batch_commutes(sample: Sample, closed: ClosedJaxpr) -> None:
    """The batched jaxpr is the jaxpr of the batched function."""
    if not sample.primitive.batch or not sample.operands:
        return
    axis = Axis(None, 3)
    stacked = [t.with_axis(0, 3) for t in closed.in_avals]

    def function(*values: Any) -> list[Any]:
        results, axes = batch(function_of(sample), axis, values, [0] * len(values))
        return [r if d is None else to_axis(r, d, 0, 3) for r, d in zip(results, axes, strict=True)]

    direct = ClosedJaxpr(*trace_to_jaxpr(function, stacked))
    assert str(batch_jaxpr(closed, axis, (True,) * len(stacked))[0]) == str(direct)


def eager(sample: Sample) -> None:
    function = function_of(sample)
    now = function(*sample.operands)
    for x, y in zip(jit(function)(*sample.operands), now, strict=True):
        assert typeof(x) == typeof(y)
        assert_close(storage(x), storage(y), slack(sample))


def printing(sample: Sample) -> None:
    function = function_of(sample)
    first, second = (str(trace(function, sample.operands)) for _ in range(2))
    assert first == second


LAWS: dict[str, Law] = {
    "types": types,
    "compiled": compiled,
    "decomposed": decomposed,
    "derivative": derivative,
    "second derivative": second_derivative,
    "transpose": transpose,
    "second transpose": second_transpose,
    "batch": batched,
    "tracing": tracing,
    "eager": eager,
    "printing": printing,
}
