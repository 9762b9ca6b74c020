"""Error classes with JAX's public names, source positions in user code, and message helpers.

An error is a lesson: what was asked, what was found, where in the user's file, what to write.
"""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, TypeVar

from frit.holders import holder_of

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# By identity, since a code object hashes its instructions; those that are keys are held.
_OURS: dict[int, tuple[bool, CodeType]] = {}
_REPLAYS: dict[int, bool] = {}  # by identity of code; whether it runs equations backward
_HIDDEN_MODULES = ("contextlib.py", "functools.py", "optree" + os.sep)


def _is_internal(code: CodeType) -> bool:
    known = _OURS.get(id(code))
    if known is None:
        name = code.co_filename
        ours = name.startswith((_PACKAGE, "<frozen", "<string>")) or any(
            part in name for part in _HIDDEN_MODULES
        )
        if len(_OURS) > 20_000:
            _OURS.clear()
        known = _OURS[id(code)] = (ours, code)
    return known[0]


def is_own_file(name: str) -> bool:
    """Whether a file, with or without a line behind it, is one of frit's."""
    return name.startswith(_PACKAGE)


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Where in the user's code an operation stands, and the scopes it was traced in."""

    file: str
    line: int
    function: str
    name_stack: tuple[str, ...] = ()
    backward: bool = False  # an operation of the backward pass of that line

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.function})" if self.file else "unknown place"


NOWHERE = SourceInfo("", 0, "")


def user_frame() -> FrameType | None:
    """The innermost frame outside frit, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_internal(frame.f_code):
        frame = frame.f_back
    return frame


def user_stack_level() -> int:
    """The `stacklevel` with which a warning names the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and _is_internal(frame.f_code):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level


def replays(function: Function) -> Function:
    """Marks a function of ours that goes through recorded equations, each as its local `eqn`.

    What happens meanwhile stands where that equation stands, not where the user asked for a
    derivative: so operations of a backward pass have the lines of the forward one.
    """
    _REPLAYS[id(function.__code__)] = False
    return function


def replays_backward(function: Function) -> Function:
    """As `replays`, for a function that runs the transposes of recorded equations."""
    _REPLAYS[id(function.__code__)] = True
    return function


def replayed(find: Callable[[FrameType], Any]) -> Any:
    """`find(frame)` of the innermost running backward pass, or None outside of one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _REPLAYS.get(id(frame.f_code)):
            return find(frame)
        frame = frame.f_back
    return None


def source_info(name_stack: tuple[str, ...] = ()) -> SourceInfo:
    """The place in user code that is running now, or whose recorded equation is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_internal(frame.f_code):
        if id(frame.f_code) in _REPLAYS:
            eqn = frame.f_locals.get("eqn")
            if eqn is not None and eqn.source_info.file:
                place: SourceInfo = eqn.source_info
                backward = place.backward or _REPLAYS[id(frame.f_code)]
                return SourceInfo(place.file, place.line, place.function, name_stack, backward)
        frame = frame.f_back
    if frame is None:
        return NOWHERE if not name_stack else SourceInfo("", 0, "", name_stack)
    code = frame.f_code
    return SourceInfo(code.co_filename, frame.f_lineno, code.co_name, name_stack)


def function_place(fun: Any) -> str:
    """`name at file:line` of a function, as far as it has these."""
    fun = getattr(fun, "__wrapped__", fun)
    fun = getattr(fun, "func", fun)
    code = getattr(fun, "__code__", None)
    name = getattr(fun, "__name__", None) or type(fun).__name__
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code else name


class JAXTypeError(TypeError):
    """Base of the errors about tracers that users may wish to catch."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where its number, not only its type, is needed.

    Use `lax.cond`, `lax.while_loop`, `jnp.where`, or mark the argument static.
    """

    def __init__(self, tracer: Any, context: str = "") -> None:
        if isinstance(tracer, str):
            super().__init__(tracer)
            return
        text = f"Abstract tracer value encountered where concrete value is expected: {tracer}"
        origin = tracer.origin_message() if hasattr(tracer, "origin_message") else ""
        super().__init__("\n".join(part for part in (text, context, origin, _here()) if part))


def _here() -> str:
    frame = user_frame()
    if frame is None:
        return ""
    return (
        f"This happened at {frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}."
    )


class TracerBoolConversionError(ConcretizationTypeError):
    """`if`, `while`, `and`, `or`, `not` or `bool()` met a traced value."""

    def __init__(self, tracer: Any) -> None:
        text = f"Attempted boolean conversion of traced array with shape {short_type(tracer)}."
        remedy = (
            "A Python `if` or `while` needs True or False while the function is traced. Write "
            "`lax.cond(predicate, true_function, false_function, *operands)` or "
            "`jnp.where(predicate, a, b)`; for a value known before the call, mark the argument "
            "with static_argnums or static_argnames."
        )
        super().__init__("\n".join(p for p in (text, _origin(tracer), _here(), remedy) if p))


class TracerIntegerConversionError(JAXTypeError):
    """`range`, an index of a list or `int`-like use met a traced value."""

    def __init__(self, tracer: Any) -> None:
        text = f"The __index__() method was called on traced array with shape {short_type(tracer)}."
        remedy = (
            "A Python `range` or list index needs the number while the function is traced. Write "
            "`lax.fori_loop(0, n, body, init)` or `lax.scan` for loops, `jnp.asarray(list)[i]` to "
            "index by a traced number; or mark the argument with static_argnums/static_argnames."
        )
        super().__init__("\n".join(p for p in (text, _origin(tracer), _here(), remedy) if p))


class TracerArrayConversionError(JAXTypeError):
    """NumPy asked a traced value for its numbers."""

    def __init__(self, tracer: Any) -> None:
        text = (
            "The numpy.ndarray conversion method __array__() was called on traced array with shape "
            f"{short_type(tracer)}."
        )
        remedy = (
            "NumPy functions need numbers. Use the function of the same name in frit.numpy, or "
            "`pure_callback` to call NumPy when the program runs."
        )
        super().__init__("\n".join(p for p in (text, _origin(tracer), _here(), remedy) if p))


class JAXIndexError(IndexError):
    """Base of the errors about indices that users may wish to catch."""


class JaxRuntimeError(RuntimeError):
    """A compiled program failed while running."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index: the result's shape would depend on its values."""

    def __init__(self, tracer: Any) -> None:
        super().__init__(
            "Array boolean indices must be concrete; got "
            f"{short_type(tracer)}. The result's shape would depend on the mask's values. Write "
            "`jnp.where(mask, x, fill)`, `x.at[mask].set(scalar)`, or `jnp.nonzero(mask, size=n)`."
            f"\n{_origin(tracer)}"
        )


class ControlFlowConversionError(JAXTypeError):
    """Python control flow that `convert` cannot turn into branches and loops of the program."""


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after, or outside, the transformation that made it."""

    tracer: Any = None

    def __init__(self, tracer: Any) -> None:
        if isinstance(tracer, str):
            super().__init__(tracer)
            return
        self.tracer = tracer
        made = getattr(tracer, "made_at", NOWHERE)
        super().__init__(
            "Encountered an unexpected tracer. A function transformed by frit had a side effect, "
            "allowing for a reference to an intermediate value with type "
            f"{short_type(tracer)} to escape the scope of the transformation: it was used after "
            f"{tracer.level.description} had ended.\n"
            f"The leaked intermediate value was created on line {made}.\n"
            f"{_kept(tracer)}"
            "Functions must return what they compute, and not save intermediate values to global "
            "state: a global, an attribute or a container. `frit.debug.print` shows values at run "
            "time; the context manager `frit.checking_leaks()` finds who keeps the value."
        )


def _kept(tracer: Any) -> str:
    """Where a tracer was stored, as a line of a message."""
    known = (getattr(tracer.level, "kept", None) or {}).get(id(tracer))
    place = known or holder_of(tracer)
    return f"It was stored in {place}.\n" if place else ""


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""


class InconclusiveDimensionOperation(Exception):
    """A comparison of symbolic dimensions has no answer that holds for all their values."""


class CaptureChangedError(RuntimeError):
    """A value that a compiled function read from outside changed, under captures="error"."""


class CaptureChangedWarning(UserWarning):
    """A value that a compiled function read from outside changed, or keeps changing."""


class TraceSideEffectWarning(UserWarning):
    """A traced function did something that happens once, while it is traced, and not at each call.

    Silenced by the setting `trace_side_effects`.
    """


class TraceSideEffectError(RuntimeError):
    """As TraceSideEffectWarning, under trace_side_effects="error"."""


class LoweringError(NotImplementedError):
    """An equation has no lowering to machine code."""


class DeletedArrayError(RuntimeError):
    """An array that was donated or deleted was used again."""


def short_type(tracer: Any) -> str:
    aval: Any = getattr(tracer, "aval", None)
    text = aval.str_short(short_dtypes=False) if hasattr(aval, "str_short") else str(aval)
    return text.removeprefix("~")


def _origin(tracer: Any) -> str:
    return tracer.origin_message() if hasattr(tracer, "origin_message") else ""


def as_integer(value: Any, what: str) -> int:
    """`value` as an int.  TypeError, naming `what` it is to be, for anything but an integer."""
    try:
        return operator.index(value)
    except TypeError as error:
        if isinstance(error, JAXTypeError):
            raise  # a traced value: its own lesson
        raise TypeError(
            f"{what} must be an integer, got {value!r} of type {type(value).__name__} ({error})."
        ) from None


def as_sequence(value: Any, what: str) -> tuple[Any, ...]:
    """`value` as a tuple.  TypeError, naming `what` it is to be, if it has no elements."""
    try:
        return tuple(value)
    except TypeError as error:
        raise TypeError(
            f"{what} must be a sequence, got {value!r} of type {type(value).__name__} ({error})."
        ) from None


def as_pair(value: Any, what: str) -> tuple[Any, Any]:
    """`value` as a tuple of two.  TypeError, naming `what` it is to be, for anything else."""
    found = as_sequence(value, what)
    if len(found) != 2:
        raise TypeError(f"{what} must have two elements, got {len(found)}: {value!r}.")
    return found


def check_function(function: Any, what: str) -> None:
    """TypeError, naming `what` it is to be, if `function` cannot be called."""
    if not callable(function):
        raise TypeError(
            f"{what} must be a function, got {function!r} of type {type(function).__name__}."
        )


def ordinal(n: int) -> str:
    """1 -> '1st', 2 -> '2nd' …"""
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"
