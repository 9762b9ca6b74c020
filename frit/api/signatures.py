"""Arguments of transformed functions: bound to the signature, static ones taken out, flat.

f(x, y=2.0), f(x, 2.0), f(y=2.0, x=x)    ->    one spelling: positional as far as they go
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from frit import errors, trees
from frit.ir.jaxpr import DebugInfo
from frit.ir.types import AbstractValue, is_value, shaped_type


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
        _check_marked(function, signature, nums, keys, what)
    if names is None and nums:
        keys = tuple(positional[n] for n in nums if -len(positional) <= n < len(positional))
    elif numbers is None and keys:
        nums = tuple(i for i, name in enumerate(positional) if name in keys)
    return Marked(nums, keys)


def _check_marked(
    function: Any, signature: inspect.Signature, nums: Sequence[int], keys: Sequence[str], what: str
) -> None:
    """ValueError for marks of arguments that the function does not take."""
    parameters = signature.parameters.values()
    kinds = {p.kind for p in parameters}
    positional = positional_names(signature)
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        for n in nums:
            if not -len(positional) <= n < len(positional):
                raise ValueError(
                    f"Jitted function has {what}_argnums={tuple(nums)}, but only accepts "
                    f"{len(positional)} positional arguments. {function_name(function)} has "
                    f"{tuple(positional)}."
                )
    unnamed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    refused = {p.name for p in parameters if p.kind in unnamed}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        refused |= set(keys) - {p.name for p in parameters}
    if wrong := refused & set(keys):
        raise ValueError(
            f"Jitted function has invalid argnames {set(wrong)} in {what}_argnames. Function does "
            f"not take these args. {function_name(function)} takes by name "
            f"{tuple(p.name for p in parameters if p.kind not in unnamed)}; positional-only "
            f"arguments are marked with {what}_argnums."
        )


def check_disjoint(static: Marked, donated: Marked) -> None:
    """ValueError for arguments that are both static and donated: there is no buffer to give up."""
    for kind, what, first, second in (
        ("names", "argnames", static.names, donated.names),
        ("numbers", "argnums", static.numbers, donated.numbers),
    ):
        if both := set(first) & set(second):  # type: ignore[arg-type]
            raise ValueError(
                f"static_{what} and donate_{what} cannot intersect. Argument {kind} {both} appear "
                f"in both static_{what} and donate_{what}. A static argument has no buffer to "
                "donate."
            )


def marks_agree(signature: inspect.Signature | None, marked: Marked) -> bool:
    """Whether marks by number and by name mean the same parameters."""
    positional = positional_names(signature)
    by_number = {positional[n] for n in marked.numbers if -len(positional) <= n < len(positional)}
    return by_number == {n for n in marked.names if n in positional}


def canonical_call(
    signature: inspect.Signature | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static: Sequence[str] = (),
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The one spelling of a call: positional as far as it goes, static arguments with defaults.

    A call that does not fit stays as it is: calling it tells.
    """
    if signature is None or not (kwargs or static):
        return args, kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    _fill(bound, [name for name in static if name in signature.parameters])
    return bound.args, bound.kwargs


def spelled_out(
    signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The call with every default given, or None where none is left out or one is no array."""
    if signature is None or len(args) + len(kwargs) == len(signature.parameters):
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    added = _fill(bound, signature.parameters)
    if not added or not all(is_value(bound.arguments[name]) for name in added):
        return None
    return bound.args, bound.kwargs


def _fill(bound: inspect.BoundArguments, names: Iterable[str]) -> list[str]:
    """Gives the arguments in `names` that are left out their defaults; which these were."""
    parameters = bound.signature.parameters
    added = [
        name
        for name in names
        if name not in bound.arguments and parameters[name].default is not inspect.Parameter.empty
    ]
    if added:
        given = {**bound.arguments, **{name: parameters[name].default for name in added}}
        bound.arguments = {name: given[name] for name in parameters if name in given}
    return added


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
    except OverflowError:
        raise _overflow(leaves, info()) from None
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


def _overflow(leaves: Sequence[Any], info: DebugInfo) -> OverflowError:
    for x, name in zip(leaves, info.argument_names, strict=False):
        try:
            shaped_type(x)
        except OverflowError as error:
            return OverflowError(
                "An overflow was encountered while parsing an argument to a jitted computation, "
                f"whose argument path is {name}. {error}"
            )
    raise AssertionError("no argument overflows")


def function_place_of(info: DebugInfo) -> str:
    return f"{info.function} at {info.place}" if info.place else info.function


def documented(
    function: Callable[..., Any], text: str, **names: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that gives a transformed function the name of `function`, and a docstring.

    text: what the transformed function is, with {fun} for the name; the original docstring follows.
    """

    def decorate(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapper = functools.wraps(function)(wrapper)
        original = getattr(function, "__doc__", None)
        doc = text.format(fun=function_name(function), **names)
        wrapper.__doc__ = doc + (f"\n\nOriginal documentation:\n\n{original}" if original else "")
        return wrapper

    return decorate


def check_callable(function: Any, transform: str) -> None:
    """TypeError if `function` cannot be called."""
    if isinstance(function, staticmethod):
        raise TypeError(
            f"staticmethod arguments are not supported, got {function}. Put the decorator "
            f"@staticmethod above @{transform}, so that it comes last."
        )
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
    check: Callable[[Any, Sequence[Any]], None] | None = None,
) -> Callable[..., list[Any]]:
    """`function` from flat leaves to flat leaves; the tree of its results is put into `out`.

    check(result, leaves of it): raises for results that are not allowed.
    """

    def flat(*leaves: Any) -> list[Any]:
        args, kwargs = in_tree.unflatten(leaves)
        if rebuild is not None:
            args, kwargs = rebuild(args, kwargs)
        result = function(*args, **kwargs)
        values, tree = trees.flatten(result)
        out[:] = [tree]
        if check is not None:
            check(result, values)
        return values

    flat.__name__ = function_name(function)
    return flat


def result_check(function: Any, transform: str) -> Callable[[Any, Sequence[Any]], None]:
    """A check that all results are arrays or scalars; its TypeError tells which is not."""

    def check(result: Any, values: Sequence[Any]) -> None:
        if all(is_value(v) for v in values):
            return
        paths = trees.paths(result)
        path, value = next((p, v) for p, v in zip(paths, values, strict=True) if not is_value(v))
        at = f" at output component {trees.keystr(path)}" if path else ""
        raise TypeError(
            f"function {errors.function_place(function)} traced for {transform} returned a value "
            f"of type {type(value)}{at}, which is not a valid JAX type. Return arrays, scalars, or "
            "pytrees of them."
        )

    return check
