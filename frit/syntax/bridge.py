"""What converted code calls when it runs: Python's own meaning, unless a value is traced.

    if c: s            @frit.if_(site, c, then, other)         then, other, body, test: functions
    while c: s         @frit.while_(site, test, body)          inside the user's function, which
    for x in xs: s     @frit.for_(site, xs, body)              share its variables as cells
    a and b            @frit.and_(site, a, lambda: b)
    f(x)               @frit.called(f)(x)

Which values are traced, and what then happens, is told by a Runtime, passed in by a higher layer.
Variables keep their cells: an undefined one is an empty cell, and nested functions see changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import CellType, FunctionType
from typing import Any, Protocol

from frit.errors import ControlFlowConversionError
from frit.syntax.exits import RESULT


@dataclass(frozen=True)
class Site:
    """One place of control flow in the user's source.

    names: the variables that its blocks bind.  needed: those read after it.  at_head: for a loop,
    those read in a later iteration or after it.  exits: the flags that end a loop.  tested: the
    variables that a loop's condition binds.  declared: the global names that its blocks bind.
    """

    kind: str
    file: str
    line: int
    column: int
    function: str
    names: tuple[str, ...] = ()
    needed: frozenset[str] = frozenset()
    at_head: frozenset[str] = frozenset()
    exits: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    in_try: bool = False

    @property
    def place(self) -> tuple[str, str, int, int]:
        """What tells sites apart."""
        return self.kind, self.file, self.line, self.column

    def __str__(self) -> str:
        return f"{self.kind} at {self.file}:{self.line}, in {self.function}"

    def refuse(self, text: str) -> ControlFlowConversionError:
        """The error that control flow at this place cannot be converted."""
        return ControlFlowConversionError(f"{text}\nThis is about the {self}.")


class Undefined:
    """The value of a variable that has none."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class Variables:
    """The variables that blocks bind, by the cells in which the blocks keep them."""

    def __init__(self, names: Sequence[str], *blocks: Callable[..., Any] | None) -> None:
        self.blocks: list[FunctionType] = [b for b in blocks if isinstance(b, FunctionType)]
        cells: dict[str, CellType] = {}
        for block in self.blocks:
            cells.update(zip(block.__code__.co_freevars, block.__closure__ or (), strict=True))
        self.cells = {n: cells[n] for n in names if n in cells}

    def __getitem__(self, name: str) -> Any:
        try:
            return self.cells[name].cell_contents
        except ValueError:
            return UNDEFINED

    def __setitem__(self, name: str, value: Any) -> None:
        cell = self.cells[name]
        if value is not UNDEFINED:
            cell.cell_contents = value
        elif self[name] is not UNDEFINED:
            del cell.cell_contents

    def values(self) -> dict[str, Any]:
        """The values of all variables now."""
        return {name: self[name] for name in self.cells}

    def assign(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            self[name] = value


class Runtime(Protocol):
    """What happens where a value is traced."""

    def is_traced(self, value: Any) -> bool:
        """Whether Python cannot know the value."""

    def is_active(self, site: Site) -> bool:
        """Whether a block of the site is running for a traced condition."""

    def callee(self, function: Any) -> Any:
        """What is called in the place of `function`."""

    def items(self, iterable: Any) -> Any:
        """The items of a traced iterable, or None for one that Python iterates."""

    def branch(self, site: Site, test: Any, then: Any, other: Any, state: Variables) -> None: ...

    def while_loop(self, site: Site, test: Any, body: Any, state: Variables) -> None: ...

    def for_loop(self, site: Site, items: Any, body: Any, state: Variables) -> None: ...

    def choose(self, site: Site, test: Any, then: Any, other: Any) -> Any:
        """The result of one of two functions."""

    def negate(self, site: Site, value: Any) -> Any: ...

    def none_of(self, flags: Sequence[Any]) -> Any: ...

    def check(self, site: Site, test: Any, message: Any) -> None: ...


class Bridge:
    """The functions that the code converted from one function calls."""

    def __init__(self, runtime: Runtime, sites: Sequence[Site]) -> None:
        self.runtime, self.sites = runtime, sites
        self.called, self._is_traced = runtime.callee, runtime.is_traced

    # -------------------------------------------------------------------------------- statements

    def if_(self, site: int, test: Any, then: Callable[[], None], other: Any = None) -> None:
        if self._is_traced(test):
            place = self.sites[site]
            self.runtime.branch(place, test, then, other, Variables(place.names, then, other))
        elif test:
            then()
        elif other is not None:
            other()

    def while_(self, site: int, test: Callable[[], Any], body: Callable[[], None]) -> None:
        place = self.sites[site]
        state = Variables(place.names, body, test)
        while True:
            going = test()
            if self._is_traced(going):
                break
            if not going:
                return
            body()
            left = self._left(place, state)
            if left is not False:
                if left is True:
                    return
                break
        self.runtime.while_loop(place, test, body, state)

    def for_(self, site: int, iterable: Any, body: Callable[[Any], None]) -> None:
        place = self.sites[site]
        state = Variables(place.names, body)
        items = self.runtime.items(iterable)
        if items is not None:
            self.runtime.for_loop(place, items, body, state)
            return
        rest: Iterator[Any] = iter(iterable)
        for item in rest:
            body(item)
            if place.exits:
                left = self._left(place, state)
                if left is True:
                    return
                if left is not False:
                    self._rest_of_loop(place, iterable, rest, body, state)
                    return

    def _rest_of_loop(
        self, site: Site, iterable: Any, rest: Iterator[Any], body: Callable[[Any], None],
        state: Variables,
    ) -> None:  # fmt: skip
        """The iterations that remain once only the program knows whether the loop goes on.

        A range becomes a loop of the program; of anything else, each item is a branch.
        """
        if type(iterable) is range:
            remaining = iterable[len(iterable) - rest.__length_hint__() :]  # type: ignore
            self.runtime.for_loop(site, self.runtime.items(Counted(remaining)), body, state)
            return
        # What the next items read is needed, not only what comes after the loop.
        site = replace(site, needed=site.at_head)
        for item in rest:
            going = self.runtime.none_of([state[name] for name in site.exits])
            self.runtime.branch(site, going, lambda: body(item), None, state)
            if self._left(site, state) is True:
                return

    def _left(self, site: Site, state: Variables) -> Any:
        """Whether a loop has been left: True, False, or None where only the program knows."""
        flags = [state[name] for name in site.exits]
        if any(f is True for f in flags):
            return True
        return None if any(map(self._is_traced, flags)) else False

    def assert_(self, site: int, test: Any, message: Any = None) -> None:
        if self._is_traced(test):
            self.runtime.check(self.sites[site], test, message)
        elif not test:
            raise AssertionError(*(() if message is None else (message(),)))

    def raising(self, site: int) -> None:
        """Comes before a `raise` that stands directly in a branch or loop."""
        place = self.sites[site]
        if self.runtime.is_active(place):
            raise place.refuse(
                "a `raise` under a traced condition would always happen, while the function is "
                "traced. Write `assert condition, message`, which is checked when the program "
                "runs, or return a flag and raise outside."
            )

    def matched(self, site: int, subject: Any) -> Any:
        """The subject of a `match`."""
        if self._is_traced(subject):
            raise self.sites[site].refuse(
                "`match` needs the value while the function is traced, and its subject is traced. "
                "Write `if subject == …: … elif …`, or `lax.switch(index, branches)`."
            )
        return subject

    def known(self, site: int, test: Any) -> Any:
        """The condition of a comprehension or of a `case`."""
        if self._is_traced(test):
            place = self.sites[site]
            raise place.refuse(
                "the `if` of a comprehension decides how many elements there are, and its "
                "condition is traced. Write `jnp.where(condition, a, b)`, or a `for` loop that "
                "adds up under an `if`."
                if place.kind == "comprehension"
                else "the guard of a `case` is traced. Write `if … elif …` instead of `match`."
            )
        return test

    # ------------------------------------------------------------------------------- expressions

    def and_(self, site: int, first: Any, *rest: Callable[[], Any]) -> Any:
        for i, operand in enumerate(rest):
            if self._is_traced(first):
                later = rest[i + 1 :]
                then = lambda: self.and_(site, operand(), *later)
                return self.runtime.choose(self.sites[site], first, then, lambda: first)
            if not first:
                return first
            first = operand()
        return first

    def or_(self, site: int, first: Any, *rest: Callable[[], Any]) -> Any:
        for i, operand in enumerate(rest):
            if self._is_traced(first):
                later = rest[i + 1 :]
                other = lambda: self.or_(site, operand(), *later)
                return self.runtime.choose(self.sites[site], first, lambda: first, other)
            if first:
                return first
            first = operand()
        return first

    def not_(self, site: int, value: Any) -> Any:
        return self.runtime.negate(self.sites[site], value) if self._is_traced(value) else not value

    def if_else(
        self, site: int, test: Any, then: Callable[[], Any], other: Callable[[], Any]
    ) -> Any:
        if self._is_traced(test):
            return self.runtime.choose(self.sites[site], test, then, other)
        return then() if test else other()

    def chain(self, site: int, first: Any, *links: Any) -> Any:
        """A chained comparison: links are (compare, operand) pairs, each operand read once."""
        compare, operand, *rest = links
        second = operand()
        holds = compare(first, second)
        if not rest:
            return holds
        return self.and_(site, holds, lambda: self.chain(site, second, *rest))

    def none_of(self, *flags: Any) -> Any:
        if any(map(self._is_traced, flags)):
            return self.runtime.none_of(flags)
        return not any(flags)

    def result(self, returned: Callable[[], Any]) -> Any:
        """What a function returns that may have returned nothing."""
        try:
            return returned()
        except NameError:
            return None


@dataclass(frozen=True)
class Counted:
    """A range that is to be a loop of the program, though its bounds are known."""

    range: range


def shown_name(name: str) -> str:
    """A variable as messages call it."""
    if name == RESULT:
        return "the returned value"
    return name if " " in name else f"the variable `{name}`"
