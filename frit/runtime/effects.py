"""Side effects of a traced function: what it does only once, while it is traced.

    with watching(possible) as watch:     # possible: found in the code, see captures
        trace()                           # text made of tracers is told by the tracers themselves
    watch.tell(function, statics)

text    a tracer was printed, logged, or formatted by the user's code
act     the clock, a random generator, the keyboard or a file was used (acts.py)
stored  a tracer was left in a global, an attribute or a container that outlives the trace

Calls are found in the code beforehand, and told only if the trace came by: their code objects, and
no others, are followed instruction by instruction.  Nothing is told of a trace that failed: what it
printed was seen, and helps.  The setting `trace_side_effects` says whether to warn (once a place),
raise, or ignore; its `with` block may be around the call or within the traced function.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from frit import config, errors
from frit.errors import SourceInfo, TraceSideEffectError, TraceSideEffectWarning
from frit.ir.primitive import Tracer, listening_to_text
from frit.runtime import events
from frit.runtime.acts import Act, act_of
from frit.runtime.guards import NO_GUARDS, Place
from frit.runtime.reads import Call, Origins, reads_of
from frit.runtime.users import is_library_file


@dataclass(frozen=True)
class Done:
    """A call that acts on the world: which act, the callee in words, and the line."""

    act: Act
    label: str
    place: SourceInfo


@dataclass(frozen=True)
class Stored:
    """A place that the code assigns, in words, and the line."""

    label: str
    place: SourceInfo


@dataclass(frozen=True)
class PossibleEffects:
    """What the code of a function may do: calls by instruction, and the places it assigns."""

    acts: Mapping[tuple[CodeType, int], Done]
    stores: Mapping[Place, Stored]


@dataclass(frozen=True)
class SideEffect:
    """One thing that was done while tracing: its kind, the user's line, and what to know of it."""

    kind: str
    place: SourceInfo
    text: str


def act_of_call(callee: Any, call: Call) -> Act | None:
    """What a call found in the code does to the world, or None."""
    if callee is open:
        modes = [value for name, value in call.kwargs if name == "mode"]
        return act_of(callee, _constant((*call.args[1:2], *modes)))
    return act_of(callee)


def _constant(values: Sequence[Origins]) -> Any:
    return next((o[1].value for origins in values for o in origins if o[0] == "const"), None)


# --------------------------------------------------------------------------------- while it traces


@dataclass
class Watch:
    """One trace that is watched."""

    possible: PossibleEffects
    found: list[SideEffect] = field(default_factory=list)

    def text_of(self, tracer: Any, frame: FrameType | None) -> None:
        """A tracer was made text by the caller of `frame`."""
        place = _place_of_text(frame)
        if place is None or config.trace_side_effects.value == "ignore":
            return
        kind = errors.short_type(tracer)
        self.found.append(
            SideEffect(
                "text",
                place,
                f"a traced value, {kind}, is made text here (print, logging, an f-string, str). It "
                "has no numbers yet, and this line does not run again when the compiled program "
                'runs. Write frit.debug.print("{}", x): it prints the numbers at each call, also '
                "under vmap, scan and grad, and with ordered=True in program order.",
            )
        )

    def reached(self, code: CodeType, offset: int) -> None:
        """An instruction that calls for an act is about to run."""
        if config.trace_side_effects.value == "ignore":
            return
        done = self.possible.acts[code, offset]
        called = done.label.replace("`", "")
        text = f"{called}() {done.act.what}. {done.act.instead}"
        self.found.append(SideEffect(done.act.kind, done.place, text))

    def tell(self, function: Any, statics: Sequence[Any]) -> None:
        """Warns of, or raises for, all that was found; the trace has succeeded."""
        if self.possible.stores and config.trace_side_effects.value != "ignore":
            self._find_stored(function, statics)
        for effect in self.found:
            tell(effect, function)

    def _find_stored(self, function: Any, statics: Sequence[Any]) -> None:
        for place, stored in self.possible.stores.items():
            value = NO_GUARDS.value_at(place, function, statics)
            label = stored.label.replace("`", "")
            for tracer, path in finished_tracers(value, label):
                tracer.level.remember(tracer, f"{path}, by {stored.place}")
                self.found.append(SideEffect("stored", stored.place, _text_of_store(tracer, path)))
                break


def _text_of_store(tracer: Any, path: str) -> str:
    return (
        f"{path} keeps a traced value, {errors.short_type(tracer)}, made at {tracer.made_at}. The "
        "assignment runs once for each trace, not at each call, and what it keeps has no numbers: "
        "using it later raises UnexpectedTracerError. Return the value from the function; to keep "
        "a log of each call, use frit.debug.callback."
    )


_UNWATCHED = Watch(PossibleEffects({}, {}))


@contextmanager
def watching(possible: PossibleEffects) -> Iterator[Watch]:
    """Watches the trace that runs within the block."""
    if config.trace_side_effects.value == "ignore":
        yield _UNWATCHED
        return
    watch = Watch(possible)
    with listening_to_text(watch.text_of), _following(watch):
        yield watch


# --------------------------------------------------------------------------------------------- text

_FORMATTING = ("__repr__", "__str__", "__format__")
_MACHINERY = ("logging", "dataclasses", "collections", "reprlib", "pprint", "string", "textwrap")
# Packages that print or log what they are given: whoever calls them prints.
_PRINTERS = tuple(
    os.sep + name + os.sep for name in (os.path.join("absl", "logging"), "loguru", "rich", "tqdm")
)
_DEBUGGERS = ("pdb.py", "bdb.py", "code.py", "pydevd.py")


def _place_of_text(frame: FrameType | None) -> SourceInfo | None:
    """The user's line that makes text, or None where a library, frit or a debugger does."""
    while frame is not None and _only_formats(frame.f_code):
        frame = frame.f_back
    if frame is None or is_library_file(frame.f_code.co_filename):
        return None
    outer = frame.f_back
    if outer is not None and outer.f_code.co_filename.endswith(_DEBUGGERS):
        return None
    if _asks_for_repr(frame):
        return None
    return SourceInfo(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _asks_for_repr(frame: FrameType) -> bool:
    """Whether the line calls `repr`, which is how one asks for the text of a tracer itself."""
    reads = reads_of(frame.f_code)
    return any(
        ("global", "repr") in call.callee and reads.line_of(offset) == frame.f_lineno
        for call in reads.calls
        for offset in call.offsets
    )


def _only_formats(code: CodeType) -> bool:
    file = code.co_filename
    if code.co_name in _FORMATTING or file == "<string>":
        return True
    if any(file == getattr(sys.modules.get(name), "__file__", None) for name in _MACHINERY):
        return True
    return any(name in file for name in _PRINTERS)


# ----------------------------------------------------------------------------------- calls reached


class _Follower:
    """A trace function of Python's that stops only in code objects with calls to be told of."""

    def __init__(self) -> None:
        self.wanted: dict[CodeType, dict[int, list[Watch]]] = {}

    def add(self, watch: Watch, acts: Sequence[tuple[CodeType, int]]) -> None:
        for code, offset in acts:
            self.wanted.setdefault(code, {}).setdefault(offset, []).append(watch)

    def remove(self, watch: Watch, acts: Sequence[tuple[CodeType, int]]) -> None:
        for code, offset in acts:
            self.wanted[code][offset].remove(watch)

    def enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code not in self.wanted:
            return None
        frame.f_trace_opcodes = True
        return self.step

    def step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode":
            for watch in self.wanted[frame.f_code].get(frame.f_lasti, ())[-1:]:
                watch.reached(frame.f_code, frame.f_lasti)
        return self.step


@contextmanager
def _following(watch: Watch) -> Iterator[None]:
    """Notes which of the possible acts come about.  None do where a debugger holds the tracing."""
    acts = [at for at, done in watch.possible.acts.items() if _is_news(done.act.kind, done.place)]
    before = sys.gettrace()
    follower = getattr(before, "__self__", None)
    if not acts or not (before is None or isinstance(follower, _Follower)):
        yield
        return
    if not isinstance(follower, _Follower):
        follower = _Follower()
    trace = follower.enter
    follower.add(watch, acts)
    if before is None:
        sys.settrace(trace)
    try:
        yield
    finally:
        follower.remove(watch, acts)
        if before is None and sys.gettrace() is trace:
            sys.settrace(None)


# ------------------------------------------------------------------------------------------ stores

_DEEPEST = 4
_MOST_ELEMENTS = 2000  # of a container, the newest


def finished_tracers(value: Any, path: str) -> Iterator[tuple[Any, str]]:
    """The tracers within a value whose transformation has ended, and where each is: `log[0]`."""
    yield from _tracers_in(value, path, _DEEPEST, set())


def _tracers_in(value: Any, path: str, depth: int, seen: set[int]) -> Iterator[tuple[Any, str]]:
    if isinstance(value, Tracer):
        if value.level.finished:
            yield value, path
        return
    if depth == 0 or id(value) in seen:
        return
    seen.add(id(value))
    for text, inner in _elements(value):
        yield from _tracers_in(inner, path + text, depth - 1, seen)


def _elements(value: Any) -> Sequence[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"[{k!r}]", v) for k, v in islice(reversed(dict.items(value)), _MOST_ELEMENTS)]
    if isinstance(value, (list, tuple)):
        first = max(0, len(value) - _MOST_ELEMENTS)
        return [(f"[{first + i}]", inner) for i, inner in enumerate(value[first:])]
    if isinstance(value, (set, frozenset)) or type(value).__name__ == "deque":
        return [("[…]", inner) for inner in islice(value, _MOST_ELEMENTS)]
    if type(value).__module__.startswith(("frit.", "numpy", "builtins")):
        return []
    return [(f".{name}", inner) for name, inner in getattr(value, "__dict__", {}).items()]


# --------------------------------------------------------------------------------------- told once

_told: set[tuple[str, str, int]] = set()


def _is_news(kind: str, place: SourceInfo) -> bool:
    return config.trace_side_effects.value == "error" or (kind, place.file, place.line) not in _told


def tell(effect: SideEffect, function: Any) -> None:
    """TraceSideEffectError, or a warning told once for each kind and line."""
    where = errors.function_place(function)
    place = effect.place
    events.tell("side_effect", function=where, effect=effect)
    text = f"{place}, while {where} is traced: {effect.text}"
    if config.trace_side_effects.value == "error":
        raise TraceSideEffectError(text)
    if _is_news(effect.kind, place):
        warnings.warn_explicit(text, TraceSideEffectWarning, place.file, place.line)
        _told.add((effect.kind, place.file, place.line))


def forget() -> None:
    """Tells everything once more."""
    _told.clear()
