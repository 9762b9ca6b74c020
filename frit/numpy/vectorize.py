"""vectorize: a function of single values, or of arrays with named axes, over all leading axes.

signature = "(" names ")" {",(" names ")"} "->" "(" names ")" {...}      e.g. (n,m),(m)->(n)
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from frit import config, lax
from frit.api.mapping import vmap
from frit.numpy.creation import asarray
from frit.numpy.jitted import jitted
from frit.numpy.operands import canonical_axis, ensure_array
from frit.numpy.shapes import expand_dims

CoreDims = tuple[str, ...]

_NAMES = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(rf"^({_NAMES}(?:,{_NAMES})*)?->{_NAMES}(?:,{_NAMES})*$")


def parse_signature(signature: str) -> tuple[list[CoreDims], list[CoreDims]]:
    """The names of the axes of each argument and of each result."""
    compact = re.sub(r"\s", "", signature)
    if not _SIGNATURE.match(compact):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    given, results = (
        [tuple(re.findall(r"\w+", part)) for part in re.findall(_NAMES, side)]
        for side in compact.split("->")
    )
    return given, results


def _check_sizes(
    sizes: dict[str, int], shape: tuple[Any, ...], names: CoreDims, role: str, context: str
) -> None:
    if len(shape) < len(names):
        raise ValueError(
            f"{role} with shape {shape} does not have enough dimensions for all core dimensions "
            f"{names} {context}"
        )
    core = shape[len(shape) - len(names) :]
    if role == "output" and len(shape) != len(names):
        raise ValueError(f"output shape {shape} does not match core dimensions {names} {context}")
    for name, size in zip(names, core, strict=True):
        if name not in sizes:
            sizes[name] = size
        elif sizes[name] != size:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]} {context}"
            )


def _checked(
    function: Callable[..., Any], sizes: dict[str, int], results: list[CoreDims], context: str
) -> Callable[..., Any]:
    """`function`, whose results must have the axes that the signature names."""

    def call(*args: Any) -> Any:
        out = function(*args)
        found = out if isinstance(out, tuple) else (out,)
        if len(results) > 1 and not isinstance(out, tuple):
            raise TypeError(
                f"output must be a tuple when multiple outputs are expected, got: {out!r}\n"
                f"{context}"
            )
        if len(found) != len(results):
            raise TypeError(
                f"wrong number of output arguments: expected {len(results)}, got {len(found)} "
                f"{context}"
            )
        all_sizes = dict(sizes)
        for x, names in zip(found, results, strict=True):
            _check_sizes(all_sizes, np.shape(x), names, "output", context)
        return out

    return call


def _without_excluded(
    function: Callable[..., Any], excluded: Collection[Any], args: Sequence[Any], kwargs: dict
) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """The function of the remaining arguments, the excluded ones bound."""
    bound = {i: a for i, a in enumerate(args) if i in excluded}
    bound_kwargs = {k: v for k, v in kwargs.items() if k in excluded}
    if not bound and not bound_kwargs:
        return function, list(args), kwargs

    def call(*rest: Any, **more: Any) -> Any:
        remaining = iter(rest)
        full = [bound[i] if i in bound else next(remaining) for i in range(len(args))]
        return function(*full, **more, **bound_kwargs)

    kept = [a for i, a in enumerate(args) if i not in excluded]
    return call, kept, {k: v for k, v in kwargs.items() if k not in excluded}


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[Any] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """`pyfunc`, mapped over the leading axes of its arguments, which broadcast together.

    excluded: positions and names of arguments that are passed as they are.
    signature: the axes that `pyfunc` itself takes and gives, by name; none by default.
    """
    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError(
            "jax.numpy.vectorize can only exclude integer or string arguments, but "
            f"excluded={excluded!r}"
        )
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")
    parsed = None if signature is None else parse_signature(signature)
    context = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"

    @functools.wraps(pyfunc)
    def call(*args: Any, **kwargs: Any) -> Any:
        function, given, kwargs = _without_excluded(pyfunc, excluded, args, kwargs)
        if kwargs:
            function = functools.partial(function, **kwargs)
        core = [()] * len(given) if parsed is None else parsed[0]
        if len(given) != len(core):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(core)}, got {len(given)} "
                f"{context}"
            )
        absent = {i for i, a in enumerate(given) if a is None}
        if absent:
            if any(core[i] for i in absent):
                raise ValueError(
                    f"Cannot pass None at locations {absent} with signature={signature!r}"
                )
            core = [c for i, c in enumerate(core) if i not in absent]
            function, given, _ = _without_excluded(function, absent, given, {})
        arrays = [asarray(a) for a in given]
        sizes: dict[str, int] = {}
        for x, names in zip(arrays, core, strict=True):
            _check_sizes(sizes, x.shape, names, "input", context)
        if parsed is not None:
            function = _checked(function, sizes, parsed[1], context)
        return _map_leading(function, arrays, [len(c) for c in core], signature)

    return call


def _map_leading(
    function: Callable[..., Any], arrays: list[Any], core_ranks: list[int], signature: Any
) -> Any:
    """One vmap for each leading axis, innermost last; axes of size 1 are not mapped."""
    leading = [x.shape[: x.ndim - r] for x, r in zip(arrays, core_ranks, strict=True)]
    _check_rank_promotion(leading, arrays, signature)
    rank = len(lax.broadcast_shapes(*leading)) if leading else 0
    squeezed = [
        lax.squeeze(x, [i for i, s in enumerate(shape) if _is_one(s)])
        if any(map(_is_one, shape))
        else x
        for x, shape in zip(arrays, leading, strict=True)
    ]
    unmapped = []
    for axis in range(rank - 1, -1, -1):
        back = rank - axis
        in_axes = tuple(
            0 if len(shape) >= back and not _is_one(shape[-back]) else None for shape in leading
        )
        if all(a is None for a in in_axes):
            unmapped.append(axis)
        else:
            function = vmap(function, in_axes)
    result = function(*squeezed)
    if not unmapped:
        return result
    if isinstance(result, tuple):
        return tuple(expand_dims(r, unmapped) for r in result)
    return expand_dims(result, unmapped)


def _is_one(size: Any) -> bool:
    return isinstance(size, int) and size == 1


def _check_rank_promotion(leading: list[Any], arrays: list[Any], signature: Any) -> None:
    setting = config.numpy_rank_promotion.value
    ranks = {len(s) for s, x in zip(leading, arrays, strict=True) if x.ndim}
    if setting == "allow" or len(ranks) < 2:
        return
    message = (
        f"operands with shapes {[x.shape for x in arrays]} require rank promotion for "
        f"jnp.vectorize function with signature {signature}. Set the jax_numpy_rank_promotion "
        "config option to 'allow' to disable this message."
    )
    if setting == "warn":
        warnings.warn(message, stacklevel=4)
    else:
        raise ValueError(message)


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """func1d applied to every slice of `arr` along `axis`."""
    arr = ensure_array("apply_along_axis", arr)
    axis = canonical_axis(axis, arr.ndim)
    function: Callable[..., Any] = lambda a: func1d(a, *args, **kwargs)
    for i in range(1, arr.ndim - axis):
        function = vmap(function, in_axes=i, out_axes=-1)
    for _ in range(axis):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(arr)


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """func(a, axis) applied for each of `axes` in turn, each result keeping the rank."""
    a = ensure_array("apply_over_axes", a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        result = func(a, axis=axis)
        if result.ndim == a.ndim:
            a = result
        elif result.ndim == a.ndim - 1:
            a = expand_dims(result, axis)
        else:
            raise ValueError("function is not returning an array of the correct shape")
    return a


@jitted(static_argnames="funcs")
def _piecewise(x: Any, condlist: Any, consts: Any, funcs: Any, *args: Any, **kw: Any) -> Any:
    """The branch of each element: that of the last condition which holds, by lax.switch."""
    callables = dict(funcs)
    count = condlist.shape[0] + 1
    numbers = lax.broadcasted_iota(np.dtype(np.int32), condlist.shape, 0)
    held = lax.select(condlist, lax.add(numbers, np.int32(1)), lax.full_like(numbers, 0))
    chosen = lax.reduce_max(held, (0,))

    def branch(i: int) -> Callable[[Any], Any]:
        if i in callables:
            return lambda v: lax.convert_element_type(callables[i](v, *args, **kw), x.dtype)
        return lambda v: asarray(consts[i], dtype=x.dtype)

    branches = [branch(i) for i in range(count)]
    return vectorize(lambda index, value: lax.switch(index, branches, value))(chosen, x)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """For each element of x, the function (or constant) of the last condition that holds.

    One function more than there are conditions is for elements where none holds; else these are 0.
    """
    x = ensure_array("piecewise", x)
    conditions = [asarray(c, dtype=np.bool_) for c in condlist] if isinstance(
        condlist, (list, tuple)) else list(asarray(condlist, dtype=np.bool_))  # fmt: skip
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        functions = functions[-1:] + functions[:-1]
    elif len(functions) == len(conditions):
        functions = [0, *functions]
    else:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected; got {len(functions)}"
        )
    consts = {i: f for i, f in enumerate(functions) if not callable(f)}
    funcs = frozenset((i, f) for i, f in enumerate(functions) if callable(f))
    return _piecewise(x, lax.stack(conditions, axis=0), consts, funcs, *args, **kw)
