"""A block of the user's code, run once and recorded as a jaxpr that stays open.

    Recording.run(block)     the block's equations are recorded
    Recording.close(values)  the jaxpr, and the values from outside that lead its operands

It stays open so that what two branches computed can be compared before the jaxprs end with values
of one type.  While a block runs, its site is active: `raise` and `assert` ask for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from frit import trees
from frit.ir.jaxpr import ClosedJaxpr, DebugInfo, constants_as_inputs
from frit.ir.primitive import Tracer, interpreting
from frit.ir.types import AbstractValue, ShapedArray, is_value, typeof
from frit.primitives.comparison_and_bits import and_, ne, not_
from frit.primitives.conversion import convert_element_type
from frit.runtime.guards import same
from frit.syntax import UNDEFINED, Site, Variables, Watch, shown_name
from frit.transforms.linear import zeros
from frit.transforms.trace import TraceInterpreter


@dataclass(frozen=True)
class Active:
    """A block that runs for a traced condition.  holds: computes the condition."""

    site: Site
    holds: Callable[[], Any]


_DEEPEST_RECURSION = 40
_active: ContextVar[tuple[Active, ...]] = ContextVar("active", default=())


def active_blocks() -> tuple[Active, ...]:
    return _active.get()


class Recording:
    """The trace of one block, with inputs of the given types."""

    def __init__(self, site: Site, types: Sequence[AbstractValue] = ()) -> None:
        place = f"{site.file}:{site.line}"
        info = DebugInfo(site.function, place, (), (), site.kind.strip("`"))
        self.site = site
        self.interpreter = TraceInterpreter(f"the {site}", info)
        self.inputs = [self.interpreter.new_input(t) for t in types]

    def insert_input(self, position: int, aval: AbstractValue) -> None:
        """One more input, that the block does not read."""
        self.interpreter.new_input(aval)
        invars = self.interpreter.invars
        invars.insert(position, invars.pop())

    def run(self, block: Callable[[], Any], holds: Callable[[], Any]) -> Any:
        """The block's result; the block runs because `holds()`."""
        token = _active.set((*_active.get(), Active(self.site, holds)))
        try:
            with interpreting(self.interpreter):
                return block()
        except BaseException:
            self.interpreter.level.finished = True
            raise
        finally:
            _active.reset(token)

    def owns(self, value: Any) -> bool:
        """Whether a value was computed by the block."""
        return isinstance(value, Tracer) and value.level is self.interpreter.level

    def close(self, outputs: Callable[[], Sequence[Any]]) -> tuple[ClosedJaxpr, list[Any]]:
        """The jaxpr that ends with `outputs()`, and the values that lead its operands."""
        try:
            with interpreting(self.interpreter):
                jaxpr, captured = self.interpreter.finish(outputs())
        finally:
            self.interpreter.level.finished = True
        return ClosedJaxpr(constants_as_inputs(jaxpr)), captured


def recorded(
    recording: Recording, block: Callable[[], Any], holds: Callable[[], Any], state: Variables
) -> dict[str, Any]:
    """The variables after a block, which are then put back as they were.

    Raises where the block changed an object in place.
    """
    before, watch = state.values(), Watch(state.blocks)
    try:
        recording.run(block, holds)
        after = state.values()
    finally:
        state.assign(before)
    refuse_changes(recording.site, watch)
    return after


def refuse_changes(site: Site, watch: Watch) -> None:
    """Raises if a block changed what it should not have, and puts it back."""
    changed = watch.changed()
    if not changed:
        return
    watch.restore()
    shown = " and ".join(f"`{c}`" for c in changed[:3])
    raise site.refuse(
        f"{shown} {'was' if len(changed) == 1 else 'were'} changed by code that runs for a traced "
        "condition. The code is run once, while the function is traced, so the change would happen "
        "whatever the condition is. Assign a variable of this function instead: "
        "`d = {**d, 'key': value}` for a dict, `rows = rows.at[i].set(row)` for a list that grows; "
        "store a value into an object, or count calls, outside the block."
    )


def refuse_unfit(site: Site) -> None:
    """Raises where control flow stands in a place that a traced condition does not suit."""
    if sum(a.site.place == site.place for a in active_blocks()) > _DEEPEST_RECURSION:
        raise site.refuse(
            f"`{site.function}` calls itself under a traced condition, more than "
            f"{_DEEPEST_RECURSION} deep. Both branches are always traced, so that a recursion "
            "which only a traced condition ends has no end. Write it as a `while` loop, or bound "
            "its depth by a number that Python knows."
        )
    if site.declared:
        raise site.refuse(
            f"the global variable{'s' if len(site.declared) > 1 else ''} "
            f"{', '.join(f'`{n}`' for n in site.declared)} would be assigned under a traced "
            "condition, and keep a traced value. Use a local variable and return it."
        )
    if site.in_try:
        raise site.refuse(
            "a traced condition stands in the body of `try … except`. A compiled program raises no "
            "exceptions, so the handlers could never run for it. Take this block out of the "
            "`try`, or put the `try` around what is known before the program runs."
        )


# ------------------------------------------------------------------------------ values and types


def truth(value: Any) -> Any:
    """A traced value as a condition.  ValueError for an array of more than one element."""
    if getattr(value, "shape", ()):
        if value.size != 1:
            bool(value)  # raises, as NumPy does
        value = value.reshape(())
    aval = typeof(value)
    if isinstance(aval, ShapedArray) and aval.dtype == bool:
        return value
    zero = convert(0, aval)
    return ne(value, zero)


def negated(value: Any) -> Any:
    return not_(truth(value)) if isinstance(value, Tracer) else not value


def both(a: Any, b: Any) -> Any:
    """a and b, of conditions that are traced or known."""
    if not isinstance(a, Tracer):
        return b if a else False
    if not isinstance(b, Tracer):
        return a if b else False
    return and_(a, b)


def none_of(flags: Sequence[Any]) -> Any:
    """Whether no flag is set."""
    result: Any = True
    for flag in flags:
        result = both(result, negated(flag))
    return result


def is_number(leaf: Any) -> bool:
    return is_value(leaf)


def convert(value: Any, aval: Any) -> Any:
    """A value in the element type of `aval`, weakly typed as that is."""
    if typeof(value) == aval or not isinstance(aval, ShapedArray):
        return value
    if value is False or value is True or isinstance(value, (int, float, complex)):
        value = aval.storage_dtype.type(value)
        if not aval.weak_type:
            return value
    return convert_element_type(
        value, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None
    )


def filler(aval: Any) -> Any:
    """What stands for a value that is never read."""
    return convert(zeros(aval.strip_weak_type()), aval)


def same_constant(a: Any, b: Any) -> bool:
    """Whether two values known to Python are one: the same object, or equal to the bit."""
    if a is not b and is_value(a) and not isinstance(a, (bool, int, float, complex)):
        return False  # arrays, traced or not
    return same(a, b)


def kind_of(value: Any) -> str:
    """A value, as messages describe it."""
    if value is UNDEFINED:
        return "not defined"
    if value is None:
        return "None"
    if isinstance(value, (str, bool, int, float, complex)):
        return f"{value!r}"
    if is_value(value):
        return typeof(value).str_short().removeprefix("~")
    structure = trees.structure(value)
    if structure == trees.LEAF:
        return f"{value!r}"
    return f"a {type(value).__name__} {trees.map(_short, value)!r}"


class _Text(str):
    __repr__ = str.__str__


def _short(leaf: Any) -> Any:
    return _Text(kind_of(leaf))


def described(name: str, path: Any) -> str:
    """A variable, or a part of one."""
    return shown_name(name) + (f" at {trees.keystr(path)}" if path else "")


@contextmanager
def unchanged(state: Variables) -> Iterator[None]:
    """Puts the variables back as they were at the end."""
    before = state.values()
    try:
        yield
    finally:
        state.assign(before)
