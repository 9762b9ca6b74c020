"""`while` and `for` that only the program can count: the body recorded once, as a loop.

    while c: s        while_loop over the variables that s assigns
    for x in array    scan over the rows, where nothing leaves the loop early
    for i in range(n), or with `break` or `return`: while_loop with a counter

The loop carries the variables that a later iteration, or the code after it, reads.  Their types
stay; a Python number takes the type of the array that the body makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit import trees
from frit.api.iteration import Items, index_type
from frit.api.recording import (
    Recording,
    both,
    convert,
    described,
    filler,
    is_number,
    kind_of,
    none_of,
    recorded,
    refuse_unfit,
    same_constant,
    truth,
    unchanged,
)
from frit.ir import dtypes
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import Tracer
from frit.ir.types import ShapedArray, typeof
from frit.primitives.comparison_and_bits import lt
from frit.primitives.scans import scan
from frit.primitives.while_loops import while_
from frit.syntax import RESULT, UNDEFINED, Site, Variables


def while_loop(site: Site, test: Any, body: Any, state: Variables) -> None:
    """Runs `body` for as long as `test()` holds, as the program finds it."""

    def step(index: Any, rows: Any) -> None:
        if site.tested:
            test()
        body()

    _Loop(site, state, step, test, None).run()
    if site.tested:
        test()  # for the variables that the condition binds


def for_loop(site: Site, items: Items, body: Any, state: Variables) -> None:
    """Runs `body(item)` for the items, as many as the program finds."""
    if isinstance(items.length, int) and items.length == 0:
        return

    def step(index: Any, rows: Any) -> None:
        body(items.pick(index, rows))

    _Loop(site, state, step, None, items).run()


@dataclass
class _Carried:
    """One variable that goes around a loop; leaves that are no numbers stay as they are."""

    name: str
    tree: Any
    leaves: list[Any]

    def value(self, numbers: Any) -> Any:
        return self.tree.unflatten([next(numbers) if is_number(x) else x for x in self.leaves])


class _Promotion(Exception):
    """The body gives a carried Python number another type: the loop begins with that type."""


class _Loop:
    def __init__(
        self, site: Site, state: Variables, step: Callable[[Any, Any], None], test: Any,
        items: Items | None,
    ) -> None:  # fmt: skip
        refuse_unfit(site)
        self.site, self.state, self.step, self.test, self.items = site, state, step, test, items
        self.before = state.values()
        self.carried = [
            _Carried(name, trees.structure(value), trees.leaves(value))
            for name, value in self.before.items()
            if value is not UNDEFINED and name in site.at_head
        ]
        self.counted = items is not None and isinstance(items.length, int)
        self.scans = self.counted and not site.exits
        self.has_index = items is not None and (items.needs_index or not self.scans)
        self.new: dict[str, tuple[Any, list[Any]]] = {}  # variables that the loop defines

    def run(self) -> None:
        while True:
            try:
                results = self._scan() if self.scans else self._while()
                break
            except _Promotion:
                continue
        self.state.assign(results)

    # ------------------------------------------------------------------------------- the variables

    def _numbers(self) -> list[Any]:
        return [x for c in self.carried for x in c.leaves if is_number(x)]

    def _enter(self, inputs: Sequence[Any]) -> None:
        """The variables as an iteration finds them."""
        numbers = iter(inputs)
        entered = {c.name: c.value(numbers) for c in self.carried}
        self.state.assign({name: entered.get(name, UNDEFINED) for name in self.before})

    def _record_body(self) -> tuple[Recording, list[Any], Callable[[], list[Any]]]:
        """The recorded body, the types of all carried numbers, and their values after it."""
        index = [index_type(self.items)] if self.has_index and self.items is not None else []
        numbers = self._numbers()
        stacks = self.items.stacks if self.scans and self.items is not None else ()
        rows = [typeof(x).without_axis(0) for x in stacks]  # type: ignore[attr-defined]
        types = [typeof(x) for x in numbers]
        recording = Recording(self.site, [*index, *types, *rows])
        inputs = recording.inputs[len(index) : len(index) + len(types)]
        number: Any = recording.inputs[0] if index else None
        with unchanged(self.state):
            self._enter(inputs)
            block = lambda: self.step(
                number, iter(recording.inputs[len(index) + len(types) :]) if self.scans else None
            )
            after = recorded(recording, block, lambda: self._goes_on(inputs, number), self.state)
        outs = self._compared(recording, inputs, after)
        self.new = self._defined(after)
        for _, leaves in self.new.values():
            for leaf in filter(is_number, leaves):
                types.append(typeof(leaf))
                recording.insert_input(len(index) + len(types) - 1, types[-1])
                outs.append(leaf)

        def outputs() -> list[Any]:
            steps: list[Any] = [number + np.ones((), index[0].dtype)[()]] if index else []
            return [*steps, *[convert(x, t) for x, t in zip(outs, types, strict=True)]]

        self.outs, self.inputs = outs, inputs
        return recording, [*index, *types], outputs

    def _goes_on(self, inputs: Sequence[Any], number: Any) -> Any:
        """The condition under which the iteration that began with `inputs` runs."""
        with unchanged(self.state):
            self._enter(inputs)
            return self._condition(number)

    def _condition(self, number: Any) -> Any:
        holds = none_of([self.state[name] for name in self.site.exits])
        if self.test is not None:
            holds = both(holds, truth(self.test()))
        if number is not None and self.items is not None:
            length = self.items.length
            if not isinstance(length, Tracer):
                length = np.asarray(length).astype(number.dtype)[()]
            holds = both(holds, lt(number, length))
        return holds

    def _compared(self, recording: Recording, inputs: Sequence[Any], after: Any) -> list[Any]:
        """The carried numbers after the body.  _Promotion, or an error, where types differ."""
        outs: list[Any] = []
        given, promoted = iter(inputs), False
        for c in self.carried:
            value = after[c.name]
            if value is UNDEFINED or trees.structure(value) != c.tree:
                raise self._differ(c.name, c.tree.unflatten(c.leaves), value)
            for i, (path, x) in enumerate(
                zip(trees.paths(value), trees.leaves(value), strict=True)
            ):
                old = c.leaves[i]
                if not is_number(old):
                    if not same_constant(old, x):
                        raise self._differ(described(c.name, path), old, x)
                    continue
                next(given)
                aval = self._promoted(described(c.name, path), old, x)
                if aval is not None:
                    c.leaves[i], promoted = convert(old, aval), True
                outs.append(x)
        if promoted:
            recording.interpreter.level.finished = True
            raise _Promotion
        return outs

    def _promoted(self, what: str, old: Any, new: Any) -> Any:
        """The type that the loop must begin with instead, or None where it has a fitting one."""
        if not is_number(new):
            raise self._differ(what, old, new)
        a, b = typeof(old), typeof(new)
        if a == b:
            return None
        if not (isinstance(a, ShapedArray) and isinstance(b, ShapedArray)) or a.shape != b.shape:
            raise self._differ(what, old, new)
        if a.dtype == b.dtype:
            return b if a.weak_type and not b.weak_type else None
        extended = any(isinstance(d, dtypes.ExtendedDType) for d in (a.dtype, b.dtype))
        if extended or dtypes.is_bool(a.dtype) != dtypes.is_bool(b.dtype):
            raise self._differ(what, old, new)
        common, weak = dtypes.promote([(a.dtype, a.weak_type), (b.dtype, b.weak_type)])
        if a.weak_type and (common == b.dtype or b.weak_type):
            return ShapedArray(a.shape, common, weak)
        if b.weak_type and common == a.dtype:
            return None
        raise self._differ(what, old, new)

    def _defined(self, after: dict[str, Any]) -> dict[str, tuple[Any, list[Any]]]:
        """The variables that the body defines anew and that are needed after the loop."""
        carried = {c.name for c in self.carried}
        found = {}
        for name, value in after.items():
            if name in carried or value is UNDEFINED or name not in self.site.needed:
                continue
            if name != RESULT and not self.counted:
                raise self.site.refuse(
                    f"{described(name, ())} gets its first value inside the loop, and is used "
                    f"after it, but the loop may run not even once. Give `{name}` a value of the "
                    "same type before the loop."
                )
            leaves, tree = trees.flatten(value)
            found[name] = (tree, leaves)
        return found

    def _differ(self, name: str, old: Any, new: Any) -> Exception:
        what = described(name, ())
        if new is UNDEFINED:
            advice = "Do not delete it inside the loop."
        elif is_number(old) and is_number(new):
            advice = (
                "A variable of the loop keeps its type: begin with a value of the type that the "
                "body makes, or use `.astype(dtype)` in the body; a result that grows is an array "
                "of the full size, filled with `x.at[i].set(value)`."
            )
        elif trees.structure(old) != trees.structure(new):
            advice = (
                "A variable of the loop keeps its structure: begin with the structure that the "
                "body makes; rows that a list would collect go into an array with "
                "`x.at[i].set(row)`."
            )
        else:
            advice = (
                "Only arrays and numbers can change when the program runs. Use numbers, or a loop "
                "that Python can count."
            )
        return self.site.refuse(
            f"{what} is {kind_of(old)} before an iteration, but {kind_of(new)} after it. {advice}"
        )

    def _results(self, found: Sequence[Any]) -> dict[str, Any]:
        """The variables after the loop; what the body left as it was is what it was."""
        numbers = list(found)
        for i, (old, new, given) in enumerate(
            zip(self._numbers(), self.outs, self.inputs, strict=False)
        ):
            if new is given or same_constant(old, new):
                numbers[i] = old
        rest = iter(numbers)
        results: dict[str, Any] = dict.fromkeys(self.before, UNDEFINED)
        results.update({c.name: c.value(rest) for c in self.carried})
        for name, (tree, leaves) in self.new.items():
            results[name] = _Carried(name, tree, leaves).value(rest)
        return results

    # --------------------------------------------------------------------------------- the programs

    def _scan(self) -> dict[str, Any]:
        assert self.items is not None
        recording, types, outputs = self._record_body()
        body, captured = recording.close(outputs)
        index = [np.zeros((), types[0].dtype)[()]] if self.has_index else []
        carry = [*index, *self._starts(types[len(index) :])]
        values = [*captured, *carry, *self.items.stacks]
        found = scan(
            *values,
            jaxpr=body,
            length=self.items.length,
            num_consts=len(captured),
            num_carry=len(carry),
            reverse=False,
            unroll=1,
            linear=(False,) * len(values),
        )
        return self._results(found[len(index) :])

    def _while(self) -> dict[str, Any]:
        recording, types, outputs = self._record_body()
        body, captured = recording.close(outputs)
        count = 1 if self.has_index else 0
        test, test_captured = self._record_test(types, count)
        index = [np.zeros((), types[0].dtype)[()]] if count else []
        found = while_(
            *test_captured,
            *captured,
            *index,
            *self._starts(types[count:]),
            cond_nconsts=len(test_captured),
            cond_jaxpr=test,
            body_nconsts=len(captured),
            body_jaxpr=body,
        )
        return self._results(found[count:])

    def _record_test(self, types: Sequence[Any], count: int) -> tuple[ClosedJaxpr, list[Any]]:
        recording = Recording(self.site, types)
        inputs = recording.inputs
        number = inputs[0] if count else None
        with unchanged(self.state):
            self._enter(inputs[count:])
            holds = recording.run(lambda: self._condition(number), lambda: True)
        return recording.close(lambda: [convert(holds, ShapedArray((), np.dtype(bool)))])

    def _starts(self, types: Sequence[Any]) -> list[Any]:
        """The numbers that the loop begins with; those of new variables are never read."""
        numbers = self._numbers()
        known = [convert(x, t) for x, t in zip(numbers, types, strict=False)]
        return [*known, *[filler(t) for t in types[len(known) :]]]
