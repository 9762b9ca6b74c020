"""What the doctor sees while a program runs: traces, compilations, calls, and what was told.

    with Examination().watching(JitFunction) as seen:
        program()
    seen.traces, seen.calls, …            read by findings.py

Traces lie within each other: a trace within another one has it as its parent, and what a trace
took by itself is its time less that of its children.  Only calls of jitted functions are timed by
replacing the class's `__call__`; all else are events that the runtime tells anyway.  A program that
is not examined has none of this.
"""

from __future__ import annotations

import inspect
import threading
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import CodeType, FrameType, MethodType
from typing import Any

import numpy as np

from frit import errors, trees
from frit.config import captures, enable_x64
from frit.diagnostics.causes import argument_at, causes_of, marked
from frit.diagnostics.doctor.observed import (
    Calls,
    Captured,
    Narrowed,
    Place,
    Stale,
    Static,
    Trace,
    Unhashable,
)
from frit.diagnostics.traces import LARGE
from frit.ir import dtypes
from frit.ir.primitive import bottom_interpreter, current_interpreter
from frit.ir.types import typeof
from frit.runtime import events
from frit.runtime.cache import Entry, FunctionTraces, static_value
from frit.runtime.guards import Change
from frit.runtime.users import is_library_file


class _Thread(threading.local):
    """What ended in this thread, within no other trace yet, and the seconds spent in all."""

    def __init__(self) -> None:
        self.ended: list[tuple[float, float, Trace | None]] = []
        self.spent = 0.0
        self.latest: Trace | None = None


@dataclass
class Examination:
    """All that was seen of one program."""

    traces: list[Trace] = field(default_factory=list)
    calls: dict[Place, Calls] = field(default_factory=lambda: defaultdict(Calls))
    compiled_elsewhere: dict[Place, float] = field(default_factory=lambda: defaultdict(float))
    stale: dict[tuple[Any, ...], Stale] = field(default_factory=dict)
    narrowed: dict[tuple[Any, ...], Narrowed] = field(default_factory=dict)
    unhashable: Counter[Unhashable] = field(default_factory=Counter)
    effects: dict[tuple[Any, ...], tuple[Place, Any]] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._thread = _Thread()
        self._by_jaxpr: weakref.WeakKeyDictionary[Any, Trace] = weakref.WeakKeyDictionary()
        self._functions: weakref.WeakSet[Any] = weakref.WeakSet()
        self._frozen: weakref.WeakKeyDictionary[Any, list[list[Any]]] = weakref.WeakKeyDictionary()

    @contextmanager
    def watching(self, jitted: type) -> Iterator[Examination]:
        """Sees all that happens within the block. jitted: the class of jitted functions."""
        call = jitted.__call__
        jitted.__call__ = self._timed(call)  # type: ignore[method-assign]
        dtypes.on_narrowing.append(self._hear_narrowing)
        start = time.perf_counter()
        try:
            with events.listening(self._see):
                yield self
        finally:
            self.seconds = time.perf_counter() - start
            dtypes.on_narrowing.remove(self._hear_narrowing)
            jitted.__call__ = call  # type: ignore[method-assign]

    # ---- events

    def _see(self, event: str, facts: dict[str, Any]) -> None:
        seer = getattr(self, f"_see_{event}", None)
        if seer is not None:
            start = time.perf_counter()
            with self._noting_failures(), self._lock:
                seer(**facts)
            # What the doctor takes is no time of the program's functions.
            self._thread.spent += time.perf_counter() - start

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        """The program goes on where it cannot be examined, as where a `__repr__` of it raises."""
        try:
            yield
        except Exception as error:
            self.failures[f"{type(error).__name__}: {error}"] += 1

    def _see_trace(
        self, purpose: str, seconds: float, traced: Any, entry: Entry, traces: FunctionTraces,
        **more: Any,
    ) -> None:  # fmt: skip
        ended = time.perf_counter()
        names = entry.closed.jaxpr.debug_info.argument_names
        types = entry.key.types
        trace = Trace(
            place_of(traced),
            _user_line(""),
            purpose,
            seconds,
            tuple(causes_of(traced, entry, list(traces.entries.values()))),
            dict(zip(names[-len(types) :], types, strict=False)) if types else {},
            {marked(traced, mark): _static(static_value(v)) for mark, v in entry.key.static},
            tuple(_large_arrays(entry, traced)),
            self._is_new(traced),
        )
        self.traces.append(trace)
        self._by_jaxpr[entry.closed] = trace
        trace.own_seconds = self._end(ended, seconds, trace)
        self._thread.latest = trace
        if entry.key.extra == ("frozen captures",) or captures.value == "freeze":
            with _ignoring_unweakable():
                self._frozen.setdefault(traced, []).append([entry, entry.hits])

    def _is_new(self, function: Any) -> bool:
        try:
            known = function in self._functions
            self._functions.add(function)
        except TypeError:  # neither hash nor weak reference: nothing tells it apart
            return False
        return not known

    def _see_compile(self, seconds: float, closed: Any, **more: Any) -> None:
        self._end(time.perf_counter(), seconds, None)
        trace, line = self._by_jaxpr.get(closed), _user_line("")
        if trace is None:
            # What is compiled right after a trace, at the same line, was made of it: the two halves
            # of a derivative, a loop outside of jit.
            latest = self._thread.latest
            trace = latest if latest is not None and latest.caller == line else None
        if trace is not None:
            trace.compile_seconds += seconds
        else:
            self.compiled_elsewhere[replace(line, name="code outside of jit")] += seconds

    def _end(self, ended: float, seconds: float, trace: Trace | None) -> float:
        """What took `seconds` until now took by itself; what lies within it becomes its child."""
        thread, start = self._thread, ended - seconds
        own, within = seconds, 0.0
        while thread.ended and thread.ended[-1][0] >= start:
            _, took, child = thread.ended.pop()
            own, within = own - took, within + took
            if child is not None:
                child.parent = trace
                if child.place.own and trace is not None:
                    own, child.own_seconds = own + child.own_seconds, 0.0
        thread.ended.append((start, seconds, trace))
        thread.spent += seconds - within
        return max(own, 0.0)

    def _see_stale(
        self, function: Any, changes: Sequence[Change], policy: str, **more: Any
    ) -> None:
        place = place_of(function)
        for change in changes:
            key = (place, change.label, policy)
            seen = self.stale.setdefault(key, Stale(place, change, policy))
            seen.change, seen.calls = change, seen.calls + 1

    def _see_unhashable(self, function: str, argument: str, value: Any, **more: Any) -> None:
        place = _user_line(f"call of {function}")
        self.unhashable[Unhashable(place, argument, type(value).__name__)] += 1

    def _see_side_effect(self, function: Any, effect: Any, **more: Any) -> None:
        at = effect.place
        key = (effect.kind, at.file, at.line)
        self.effects.setdefault(key, (Place(at.function, at.file, at.line), effect))

    def _hear_narrowing(self, *facts: Any) -> None:
        with self._noting_failures():
            self._see_narrowing(*facts)

    def _see_narrowing(self, asked: Any, found: Any, what: str, value: Any = None) -> None:
        explicit = value is None
        if not explicit and not value.ndim:
            return
        lost = 0 if explicit else _count_lost(value, found)
        if not explicit and np.dtype(asked).kind in "iu" and not lost:
            return  # integers that fit are the same numbers
        place = _user_line("")
        with self._lock:
            seen = self.narrowed.setdefault(
                (what, place, str(asked)), Narrowed(str(asked), str(found), what, place, explicit)
            )
            seen.times += 1
            seen.bytes += getattr(value, "nbytes", 0)
            seen.lost += lost

    # ---- calls

    def _timed(self, call: Any) -> Any:
        """The `__call__` of jitted functions, which notes what a call took and what it was given"""

        def __call__(jitted: Any, *args: Any, **kwargs: Any) -> Any:
            function = jitted.__wrapped__
            place = place_of(function)
            if not enable_x64.value and not place.own:
                with self._noting_failures():
                    self._see_arguments(function, place, args, kwargs)
            if current_interpreter() is not bottom_interpreter():
                return call(jitted, *args, **kwargs)
            thread = self._thread
            spent, start = thread.spent, time.perf_counter()
            try:
                return call(jitted, *args, **kwargs)
            finally:
                took = time.perf_counter() - start - (thread.spent - spent)
                with self._noting_failures(), self._lock:
                    calls = self.calls[place]
                    calls.count += 1
                    calls.seconds += max(took, 0.0)
                    self._see_frozen(function, place)

        return __call__

    def _see_arguments(self, function: Any, place: Place, args: Any, kwargs: Any) -> None:
        """Notes NumPy arguments whose numbers do not stay as they are."""
        if not any(isinstance(x, np.ndarray) for x in trees.leaves((args, kwargs))):
            return
        for path, x in trees.flatten_with_path((args, kwargs))[0]:
            if isinstance(x, np.ndarray) and x.dtype in _WIDE:
                what = f"argument `{argument_at(function, path)}` of {place.name}"
                self._see_narrowing(x.dtype, dtypes.canonicalize(x.dtype), what, x)

    def _see_frozen(self, function: Any, place: Place) -> None:
        """Notes captures that changed, where the call went on with the old ones."""
        with _ignoring_unweakable():
            for noted in self._frozen.get(function, ()):
                entry, hits = noted
                if entry.hits != hits:
                    noted[1] = entry.hits
                    statics = [static_value(value) for _, value in entry.key.static]
                    changes = entry.guards.changes(function, statics)
                    self._see_stale(function, changes, "freeze")


_WIDE = tuple(map(np.dtype, ("float64", "complex128", "int64", "uint64")))


@contextmanager
def _ignoring_unweakable() -> Iterator[None]:
    """Callable objects without hash or weak references are not looked up."""
    try:
        yield
    except TypeError:
        pass


def _count_lost(value: Any, found: Any) -> int:
    """How many integers do not fit, and how many finite floats become infinite."""
    value = np.asarray(value)
    if not value.size:
        return 0
    if value.dtype.kind in "iu":
        limits = np.iinfo(found)
        return int(np.count_nonzero((value < limits.min) | (value > limits.max)))
    with np.errstate(all="ignore"):
        return int(np.count_nonzero(np.isfinite(value) & ~np.isfinite(value.astype(found))))


def _static(value: Any) -> Static:
    return Static(type(value).__qualname__, type(value).__eq__ is object.__eq__)


def _large_arrays(entry: Entry, function: Any) -> Iterator[Captured]:
    for x in entry.arrays():
        if x.nbytes > LARGE:
            text = typeof(x).str_short(short_dtypes=True)
            yield Captured(id(x), text, x.nbytes, _label_of(x, entry, function))


def _label_of(array: Any, entry: Entry, function: Any) -> str:
    """What the program calls a captured array; empty where no guard reads it."""
    statics = [static_value(value) for _, value in entry.key.static]
    for guard in entry.guards.guards:
        if entry.guards.value_at(guard.place, function, statics) is array:
            return f"{guard.label} ({guard.where})" if guard.where else guard.label
    return ""


# ------------------------------------------------------------------------------------- places


def unwrapped(function: Any) -> Any:
    """The user's function within partial objects, our wrappers and decorators."""
    for _ in range(32):
        if isinstance(function, partial):
            function = function.func
        elif (inner := getattr(function, "__wrapped__", None)) is not None:
            function = inner
        else:
            break
    return function


def code_of(function: Any) -> CodeType | None:
    """The code that runs when `function` is called, or None."""
    function = unwrapped(function)
    if isinstance(function, MethodType):
        function = unwrapped(function.__func__)
    if not hasattr(function, "__code__"):
        function = unwrapped(inspect.getattr_static(type(function), "__call__", None))
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def place_of(function: Any) -> Place:
    """Where a function is defined; of frit's own functions, where the user called them."""
    code = code_of(function)
    inner = unwrapped(function)
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    name = name.replace("<locals>.", "")
    if code is None:
        return Place(name)
    if errors.is_own_file(code.co_filename):
        return _user_line(name.lstrip("_"), own=True)
    return Place(name, code.co_filename, code.co_firstlineno)


def _user_line(name: str, own: bool = False) -> Place:
    """The innermost line that is neither frit's nor, if there is one, of an installed library."""
    frame = errors.user_frame()
    if frame is None:
        return Place(name, own=own)
    outer: FrameType | None = frame
    while outer is not None and is_library_file(outer.f_code.co_filename):
        outer = outer.f_back
    frame = outer or frame
    return Place(name, frame.f_code.co_filename, frame.f_lineno, own)
