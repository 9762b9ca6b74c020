"""Arguments of transformed functions: bound to the signature, divided into static and dynamic, flat.

f(x, y=2.0), f(x, 2.0), f(y=2.0, x=x)    ->    one spelling: positional as far as they go
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from frit import errors, trees
from frit.ir.jaxpr import DebugInfo
from frit.ir.types import AbstractValue, shaped_type


def function_name(function: Any) -> str:
    """The name that jaxprs and messages give a callable."""
    name = getattr(function, "__name__", None)
    if name is None and hasattr(function, "func"):
        return function_name(function.func)
    return name if isinstance(name, str) else type(function).__name__


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional_names(signature: inspect.Signature | None) -> list[str]:
    if signature is None:
        return []
    return [p.name for p in signature.parameters.values() if p.kind in _POSITIONAL]


def as_index_tuple(value: Any, what: str) -> tuple[int, ...]:
    """`3` or `(0, 3)` as a tuple of ints."""
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        entries = value
    else:
        entries = (value,)
    try:
        return tuple(operator.index(i) for i in entries)
    except TypeError:
        raise TypeError(f"{what} takes an int or a sequence of ints, got {value!r}") from None


def as_name_tuple(value: Any, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(n, str) for n in names):
        raise TypeError(f"{what} takes a str or an iterable of str, got {value!r}")
    return names


@dataclass(frozen=True)
class Marked:
    """Arguments marked by position and by name (static, or donated)."""

    numbers: tuple[int, ...]
    names: tuple[str, ...]


def resolve_marked(
    function: Any, signature: inspect.Signature | None, numbers: Any, names: Any, what: str
) -> Marked:
    """Marks by number and by name, each inferred from the other where only one is given."""
    nums = as_index_tuple(numbers, f"{what}_argnums")
    keys = as_name_tuple(names, f"{what}_argnames")
    positional = positional_names(signature)
    if signature is not None:
        parameters = signature.parameters.values()
        any_position = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
        any_name = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
        for n in nums:
            if not any_position and not -len(positional) <= n < len(positional):
                raise ValueError(
                    f"jitted function has {what}_argnums={nums}, but only accepts "
                    f"{len(positional)} positional arguments: {function_name(function)} has "
                    f"{tuple(positional)}."
                )
        for k in keys:
            if not any_name and k not in signature.parameters:
                raise ValueError(
                    f"jitted function has invalid argnames {{{k!r}}} in {what}_argnames. Function "
                    f"does not take these args. {function_name(function)} takes "
                    f"{tuple(signature.parameters)}."
                )
            if (
                k in signature.parameters
                and signature.parameters[k].kind is inspect.Parameter.POSITIONAL_ONLY
            ):
                raise ValueError(
                    f"jitted function has invalid argnames {{{k!r}}} in {what}_argnames. These are "
                    f"positional-only; use {what}_argnums."
                )
    if names is None and nums:
        keys = tuple(positional[n] for n in nums if -len(positional) <= n < len(positional))
    elif numbers is None and keys:
        nums = tuple(i for i, name in enumerate(positional) if name in keys)
    return Marked(nums, keys)


def canonical_call(
    signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The one spelling of a call.  A call that does not fit is left as it is: calling it tells why."""
    if not kwargs or signature is None:
        return args, kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    return bound.args, bound.kwargs


def argument_names(
    signature: inspect.Signature | None, args_paths: Sequence[Any]
) -> tuple[str, ...]:
    """The names of flat arguments, from their paths in (args, kwargs): `x`, `params['w']`."""
    positional = positional_names(signature)
    variadic = next(
        (
            p.name
            for p in (signature.parameters.values() if signature else ())
            if p.kind is inspect.Parameter.VAR_POSITIONAL
        ),
        "args",
    )
    names = []
    for path in args_paths:
        where, index, *rest = path
        key = getattr(index, "idx", getattr(index, "key", index))
        if where.idx == 1:
            head = str(key)
        elif key < len(positional):
            head = positional[key]
        else:
            head = f"{variadic}[{key - len(positional)}]"
        names.append(head + trees.keystr(tuple(rest)))
    return tuple(names)


def describe(
    function: Any,
    signature: inspect.Signature | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    transform: str,
) -> DebugInfo:
    """Names of a traced function and its arguments, for messages."""
    place = errors.function_place(function)
    return DebugInfo(
        function_name(function),
        place.partition(" at ")[2],
        argument_names(signature, trees.paths((args, kwargs))),
        (),
        transform,
    )


def types_of_leaves(leaves: Sequence[Any], info: Callable[[], DebugInfo]) -> list[AbstractValue]:
    """The type of each argument.  TypeError names the argument that is not an array."""
    try:
        return [shaped_type(x) for x in leaves]
    except TypeError:
        names = info().argument_names
        for x, name in zip(leaves, names, strict=False):
            try:
                shaped_type(x)
            except TypeError as error:
                raise TypeError(
                    f"Error interpreting argument to {function_place_of(info())} as an abstract "
                    f"array. The problematic value is of type {type(x)} and was passed to the "
                    f"function at path {name}.\nThis typically means that a jit-wrapped function "
                    "was called with a non-array argument, and this argument was not marked as "
                    "static using the static_argnums or static_argnames parameters of jax.jit. "
                    f"({error})"
                ) from None
        raise


def function_place_of(info: DebugInfo) -> str:
    return f"{info.function} at {info.place}" if info.place else info.function


def check_callable(function: Any, transform: str) -> None:
    """TypeError if `function` cannot be called."""
    if not callable(function):
        raise TypeError(f"Expected a callable value, got {function!r} (in {transform}).")
    if inspect.isgeneratorfunction(function):
        raise TypeError(
            f"Expected a function, got a generator function: {function!r}; {transform} cannot "
            "trace a function that yields."
        )


def flat_function(
    function: Callable[..., Any],
    in_tree: trees.PyTreeDef,
    out: list[Any],
    rebuild: Callable[[Any, Any], tuple[Any, Any]] | None = None,
    check: Callable[[Any], None] | None = None,
) -> Callable[..., list[Any]]:
    """`function` from flat leaves to flat leaves; the tree of its results is put into `out`."""

    def flat(*leaves: Any) -> list[Any]:
        args, kwargs = in_tree.unflatten(leaves)
        if rebuild is not None:
            args, kwargs = rebuild(args, kwargs)
        result = function(*args, **kwargs)
        values, tree = trees.flatten(result)
        out[:] = [tree]
        for value in values:
            if check is not None:
                check(value)
        return values

    flat.__name__ = function_name(function)
    return flat
