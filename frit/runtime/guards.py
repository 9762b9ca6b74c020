"""Guards: what a trace relied on outside its arguments, and a quick test whether it still holds.

    place   =  root step…             where a value is found again at the next call
    root    =  ("function",)          the traced function, given with each question
            |  ("static", n)          a static argument of the call
            |  ("module", name)       the variables of a module
            |  ("object", id)         an object held (weakly where it can be) by the guards
    step    =  ("attr", name) | ("item", key)

A guard expects something of the value at a place.  Two values are equal if they have the same type
and the same bits: True, 1 and 1.0 are three, -0.0 is not 0.0, nan is nan.  The test is generated
Python code that compares identities only; where one differs, the values are compared.
"""

from __future__ import annotations

import functools
import math
import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from frit.ir.primitive import Tracer
from frit.ir.types import typeof

Step = tuple[str, Any]
_Test = Callable[[Any, Sequence[Any]], bool]
Place = tuple[tuple[Any, ...], tuple[Step, ...]]


class _Missing:
    def __repr__(self) -> str:
        return "<not defined>"


MISSING = _Missing()


@dataclass(frozen=True, eq=False)
class Guard:
    """What is expected of the value at `place`.

    kind       expected
    value      a number, string, tuple of such …: equal in type and bits
    identity   an object, held weakly where it can be; an immutable array
    code       the code of a function, whose own captures are guarded one by one
    class      the class of the value
    length     the number of elements of a sequence
    keys       the keys of a dict, in order
    content    the bytes of a small NumPy array
    tracer     the type of a traced value
    buffer     the shape, dtype and identity of a large NumPy array, which is read at each call
    """

    place: Place
    kind: str
    expected: Any
    label: str
    where: str

    def holds(self, value: Any) -> bool:
        """Whether the value is what is expected."""
        if value is MISSING or self.expected is MISSING:
            return value is self.expected
        try:
            return _TESTS[self.kind](value, self.expected)
        except Exception:  # user code of __len__ or __eq__ may raise anything
            return False


@dataclass(frozen=True)
class Change:
    """A guard that does not hold, in words."""

    label: str
    where: str
    before: str
    now: str

    def __str__(self) -> str:
        at = f" ({self.where})" if self.where else ""
        return f"{self.label}{at}: {self.before} → {self.now}"


# ---------------------------------------------------------------------------------------- equality


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal in type and bits; nan equals nan, and tuples by element."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b and math.copysign(1.0, a) == math.copysign(1.0, b) or (a != a and b != b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and (a.tobytes() == b.tobytes() or bool(a != a and b != b))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    try:
        return bool(a == b)
    except Exception:  # an equality that cannot be asked does not hold
        return False


def _same_content(value: Any, expected: Any) -> bool:
    return (
        type(value) is np.ndarray
        and value.dtype == expected.dtype
        and value.shape == expected.shape
        and _same_bytes(value, expected)
    )


def _same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    if a.flags.c_contiguous and b.flags.c_contiguous and a.dtype.kind != "O":
        return bool(np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)))
    return a.tobytes() == b.tobytes()


def _is_identical(value: Any, expected: Any) -> bool:
    return value is (expected() if isinstance(expected, weakref.ref) else expected)


def _same_buffer(value: Any, expected: Any) -> bool:
    array = expected()
    return value is array and array is not None


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "value": same,
    "identity": _is_identical,
    "code": lambda value, code: getattr(value, "__code__", None) is code,
    "class": lambda value, expected: type(value) is expected,
    "length": lambda value, n: len(value) == n,
    "keys": lambda value, keys: tuple(value) == keys,
    "content": _same_content,
    "tracer": lambda value, aval: isinstance(value, Tracer) and typeof(value) == aval,
    "buffer": _same_buffer,
}


def weakly(value: Any) -> Any:
    """A weak reference to an object, or the object itself where it can have none."""
    try:
        return weakref.ref(value)
    except TypeError:
        return value


def text_of(value: Any) -> str:
    """A value as it stands in a message: short."""
    if isinstance(value, weakref.ref):
        value = value()
    if isinstance(value, Tracer):
        return f"a traced {value.aval.str_short()}"
    if isinstance(value, FunctionType):
        return f"function {value.__qualname__}"
    aval = getattr(value, "aval", None)
    if aval is not None:
        return f"an array {aval.str_short()}"
    if isinstance(value, np.ndarray):
        return f"an ndarray {value.dtype}{list(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# ------------------------------------------------------------------------------------------ places


def module_variables(name: str) -> dict[str, Any]:
    return vars(sys.modules[name])


@dataclass(frozen=True)
class At:
    """Stands for the value at a place."""

    place: Place


class Guards:
    """The guards of one trace, and their test.

    captured: the places of traced values that are operands of the trace, found anew at each call.
    unguarded: what was read and is not guarded, in words.
    """

    def __init__(
        self,
        guards: Sequence[Guard],
        unguarded: Sequence[str] = (),
        objects: dict[int, Any] | None = None,
    ) -> None:
        self.guards = list(guards)
        self.unguarded = tuple(unguarded)
        self.objects = objects or {}
        if not self.guards:
            self.hold = _always

    hold: _Test

    def __getattr__(self, name: str) -> Any:
        """The test is made at the first question: most traces are never asked."""
        if name != "hold":
            raise AttributeError(f"Guards have no attribute {name!r}")
        self.hold = test = compile_test(self)
        return test

    def changes(self, function: Any, statics: Sequence[Any]) -> list[Change]:
        """The guards that do not hold, in words."""
        found = []
        for guard in self._living():
            value = self.value_at(guard.place, function, statics)
            if not guard.holds(value):
                found.append(_change(guard, value))
        return found

    def value_at(self, place: Place, function: Any, statics: Sequence[Any]) -> Any:
        """The value at a place now, or MISSING."""
        return value_at(place, self.objects, function, statics)

    def refreshed(self, function: Any, statics: Sequence[Any]) -> bool:
        """Whether all guards hold by value; if so, the test expects the present identities."""
        if self.changes(function, statics):
            return False
        self.guards = [
            self._renewed(g, self.value_at(g.place, function, statics)) for g in self._living()
        ]
        del self.hold
        return True

    def _living(self) -> list[Guard]:
        """The guards but those of objects that are gone, which nothing can change any more."""
        dead = {n for n, held in self.objects.items() if type(held) is weakref.ref and not held()}
        return [g for g in self.guards if not (g.place[0][0] == "object" and g.place[0][1] in dead)]

    @staticmethod
    def _renewed(guard: Guard, value: Any) -> Guard:
        if guard.kind != "value":
            return guard
        return Guard(guard.place, guard.kind, value, guard.label, guard.where)

    def places(self, kind: str) -> list[Place]:
        return [g.place for g in self.guards if g.kind == kind]

    def places_of_tracers(
        self, captured: Sequence[Any], function: Any, statics: Sequence[Any]
    ) -> list[Any] | None:
        """The captured values, with places for traced ones; None if one has no known place."""
        if not any(isinstance(x, Tracer) for x in captured):
            return list(captured)
        known = {
            id(self.value_at(place, function, statics)): At(place)
            for place in self.places("tracer")
        }
        found = [known.get(id(x)) if isinstance(x, Tracer) else x for x in captured]
        return None if any(x is None for x in found) else found

    def alike(self, function: Any, statics: Sequence[Any]) -> list[int]:
        """Which of the traced values are one: for each, the first that is the same."""
        values = [id(self.value_at(p, function, statics)) for p in self.places("tracer")]
        return [values.index(v) for v in values]

    def without(self, broken: set[Place]) -> Guards:
        """The guards but those at the given places and below them."""
        kept = [g for g in self.guards if not any(_is_below(g.place, p) for p in broken)]
        return Guards(kept, self.unguarded, self.objects)

    def seen_from_outside(self, function: Any, statics: Sequence[Any]) -> Guards:
        """The same guards for an enclosing trace, which has another function and static values."""
        objects = dict(self.objects)

        def moved(place: Place) -> Place:
            root, steps = place
            if root[0] in ("module", "object"):
                return place
            value = root_of(root, self.objects, function, statics)
            objects[id(value)] = weakly(value)
            return ("object", id(value)), steps

        guards = [
            Guard(moved(g.place), g.kind, g.expected, g.label, g.where)
            for g in self.guards
            if g.kind != "tracer"
        ]
        return Guards(guards, self.unguarded, objects)

    def together_with(self, others: Sequence[Guards]) -> Guards:
        """These guards and others, each place and kind once."""
        if not others:
            return self
        guards = {(g.place, g.kind): g for g in self.guards}
        objects, unguarded = dict(self.objects), dict.fromkeys(self.unguarded)
        for other in others:
            for g in other.guards:
                guards.setdefault((g.place, g.kind), g)
            objects.update(other.objects)
            unguarded.update(dict.fromkeys(other.unguarded))
        return Guards(list(guards.values()), tuple(unguarded), objects)


def value_at(place: Place, objects: dict[int, Any], function: Any, statics: Sequence[Any]) -> Any:
    """The value at a place now, or MISSING."""
    root, steps = place
    try:
        value = root_of(root, objects, function, statics)
        for kind, key in steps:
            value = getattr(value, key) if kind == "attr" else value[key]
    except Exception:  # user code of a property or __getitem__ may raise anything
        return MISSING
    return value


def root_of(
    root: tuple[Any, ...], objects: dict[int, Any], function: Any, statics: Sequence[Any]
) -> Any:
    """The value of a place's root."""
    if root[0] == "function":
        return function
    if root[0] == "static":
        return statics[root[1]]
    if root[0] == "module":
        return module_variables(root[1])
    held = objects[root[1]]
    return held() if isinstance(held, weakref.ref) else held


def _always(function: Any, statics: Sequence[Any]) -> bool:
    return True


NO_GUARDS = Guards(())


def _is_below(place: Place, other: Place) -> bool:
    return place[0] == other[0] and place[1][: len(other[1])] == other[1]


def _change(guard: Guard, value: Any) -> Change:
    before, now = text_of(guard.expected), text_of(value)
    if guard.kind == "code":
        before, now = f"code of {guard.expected.co_name}", f"other code, {now}"
    elif guard.kind in ("length", "keys") and value is not MISSING:
        before = f"{guard.expected} elements" if guard.kind == "length" else f"keys {before}"
        now = f"{len(value)} elements" if guard.kind == "length" else f"keys {tuple(value)!r}"
    elif guard.kind == "tracer":
        before = f"a traced {guard.expected.str_short()}"
    elif guard.kind == "class":
        before, now = guard.expected.__name__, type(value).__name__
    elif before == now:
        now = f"another object, {now}"
    return Change(guard.label, guard.where, before, now)


# -------------------------------------------------------------------------------- generated tests


def compile_test(guards: Guards) -> _Test:
    """A function (function, statics) -> whether all guards hold, compared by identity.

    Places that begin alike are walked once:

        def test(f, s):
            v1 = M0['cfg']
            v2 = v1.opt
            if v2.lr is not E0: return False
            return True
    """
    writer = _TestWriter(guards)
    for guard in guards.guards:
        writer.write(guard)
    return writer.finish()


class _TestWriter:
    def __init__(self, guards: Guards) -> None:
        self.guards = guards
        self.names: dict[str, Any] = {"missing": MISSING, "tests": _TESTS}
        self.lines: list[str] = []
        self.variables: dict[Place, str] = {}
        self.uses: dict[Place, int] = {}
        for guard in guards.guards:
            root, steps = guard.place
            for i in range(len(steps) + 1):
                self.uses[root, steps[:i]] = self.uses.get((root, steps[:i]), 0) + 1

    def hold(self, value: Any) -> str:
        name = f"E{len(self.names)}"
        self.names[name] = value
        return name

    def expression(self, place: Place) -> str:
        """The value at a place, in a variable where several guards read it."""
        known = self.variables.get(place)
        if known is not None:
            return known
        root, steps = place
        if not steps:
            text = self._root(root)
        else:
            before = self.expression((root, steps[:-1]))
            kind, key = steps[-1]
            if kind == "item":
                text = f"{before}[{repr(key) if type(key) in (int, str) else self.hold(key)}]"
            elif key.isidentifier():
                text = f"{before}.{key}"
            else:
                text = f"getattr({before}, {key!r})"
        if self.uses[place] > 1 and not text.isidentifier():
            name = f"v{len(self.variables)}"
            self.lines.append(f"{name} = {text}")
            text = name
        self.variables[place] = text
        return text

    def _root(self, root: tuple[Any, ...]) -> str:
        if root[0] == "function":
            return "f"
        if root[0] == "static":
            return f"s[{root[1]}]"
        if root[0] == "module":
            return self.hold(module_variables(root[1]))
        held = self.guards.objects[root[1]]
        return self.hold(held) + ("()" if isinstance(held, weakref.ref) else "")

    def write(self, guard: Guard) -> None:
        if guard.expected is MISSING:
            ask, objects = self.hold(value_at), self.hold(self.guards.objects)
            self._require(f"{ask}({self.hold(guard.place)}, {objects}, f, s) is missing")
            return
        value, kind, expected = self.expression(guard.place), guard.kind, guard.expected
        held = self.hold(expected)
        if kind == "value":
            self._require(f"{value} is {held}")
        elif kind in ("identity", "buffer"):
            self._require(f"{value} is {held}" + "()" * isinstance(expected, weakref.ref))
        elif kind == "code":
            self._require(f"{value}.__code__ is {held}")
        elif kind == "class":
            self._require(f"type({value}) is {held}")
        elif kind == "length":
            self._require(f"len({value}) == {expected}")
        else:
            self._require(f"tests[{kind!r}]({value}, {held})")

    def _require(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return False")

    def finish(self) -> _Test:
        defaults = "".join(f", {name}={name}" for name in self.names)
        body = "\n        ".join(self.lines) or "pass"
        text = (
            f"def test(f, s{defaults}):\n    try:\n        {body}\n"
            "    except Exception:\n        return False\n    return True\n"
        )
        space = dict(self.names)
        exec(_compiled(text), space)
        return space["test"]  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    """The code of a test; a function that is traced again has the same one."""
    return compile(text, "<guards>", "exec")
