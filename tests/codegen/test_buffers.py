"""Buffers: the text of plans, the arena, and a verifier that sees what goes wrong."""

import numpy as np
import pytest

from frit.codegen import carries, grouping, registers, storage
from frit.codegen.assign import assign_buffers
from frit.codegen.buffers import Arena, print_plan
from frit.codegen.buffers_check import BufferPlanError, check_buffers
from frit.primitives.shapes import rev
from frit.primitives.slices import dynamic_slice, dynamic_update_slice, slice
from frit.runtime.pipeline import is_lowered
from tests.runtime.compiled import add, f32, mul, scan, sin, total, trace


@pytest.fixture(autouse=True)
def loops_in_memory(monkeypatch):
    monkeypatch.setattr(registers, "fits", lambda eqn: False)


def buffers(function, *types, donated=None):
    plan = grouping.make_plan(trace(function, *types).jaxpr, is_lowered)
    made = assign_buffers(plan, lambda kernel: [], donated or [False] * len(types))
    check_buffers(made, plan)
    return made


def text(function, *types, donated=None):
    lines = print_plan(buffers(function, *types, donated=donated)).splitlines()
    return [line.strip() for line in lines]


def test_results_go_to_outputs_and_need_no_other_memory():
    found = text(lambda x, y: [total(mul(x, rev(y, dimensions=(0,))), 0)], f32(64), f32(64))
    assert found == [
        "arena 0 bytes, 0 pointers",
        "output0 = k0_rev_mul_reduce_sum(input1, input0)",
    ]


def test_a_donated_input_becomes_the_output():
    found = text(lambda x: [sin(x)], f32(64), donated=[True])
    assert found[1:] == ["input0 = k0_sin(input0)", "output0 is input0"]


def test_a_carry_that_is_overwritten_is_copied_once_before_the_loop():
    def body(c, i):
        return [dynamic_update_slice(c, _first(c), i), add(i, np.int32(1))]

    found = text(lambda c: scan(body, [], [c, np.int32(0)], [], length=4)[:1], f32(64))
    copies = [k for k, line in enumerate(found) if "copy" in line and "256 bytes" in line]
    start = next(k for k, line in enumerate(found) if line.startswith("repeat"))
    assert len(copies) == 1
    assert copies[0] < start


def _first(c):
    return dynamic_slice(c, np.int32(0), slice_sizes=(1,))


def test_carries_are_exchanged_and_not_copied():
    found = text(lambda a, b: scan(lambda a, b: [b, a], [], [a, b], [], length=3), f32(64), f32(64))
    inside = found[next(k for k, line in enumerate(found) if line.startswith("repeat")) + 1]
    assert inside == "pointer0, pointer1 = pointer1, pointer0"


def test_stacks_are_written_where_they_stand():
    found = text(
        lambda c, xs: scan(lambda c, x: [add(c, x), sin(x)], [], [c], [xs]), f32(64), f32(5, 64)
    )
    assert sum("copy" in line for line in found) == 1  # of the carry, before the loop
    assert "pointer1 = &output1 + step * 256" in found


def test_a_part_of_an_output_is_moved_before_the_rest_is_overwritten():
    def function(c, xs):
        _, ys = scan(lambda c, x: [mul(c, x), sin(c)], [], [c], [xs])
        part = slice(ys, start_indices=(21,), limit_indices=(25,), strides=None)
        return [add(ys, ys), part]

    found = text(function, f32(), f32(33))
    assert found[-3:] == [
        "arena+192 = copy output0+84, 16 bytes",
        "output0 = copy arena, 132 bytes",
        "output1 = copy arena+192, 16 bytes",
    ]


def test_the_arena_reuses_and_joins_ranges():
    arena = Arena()
    a, b, c = (arena.allocate(n) for n in (100, 64, 200))
    arena.release(*a)
    arena.release(*b)
    assert arena.allocate(192) == (0, 192)
    arena.release(*c)
    assert arena.allocate(300)[0] == 192
    assert arena.size == 192 + 320


MUTATIONS = {
    "operands read later are overwritten": (
        storage.Scope,
        "may_overwrite",
        lambda self, atom, number: (
            atom in self.values
            and self.values[atom].storage.owned
            and self.values[atom].storage.size == storage.byte_size(atom.aval)
        ),
    ),
    "carries are moved one after the other": (
        carries,
        "move_all",
        lambda scope, moves, exact=(): scope.statements.extend(
            m for m in moves if m.size and m.source != m.target
        ),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_verifier_sees_mistakes(name, monkeypatch):
    def function(a, b):
        c, d = sin(a), sin(b)
        e = dynamic_update_slice(c, _first(d), np.int32(1))
        x, y = scan(lambda x, y: [y, x], [], [e, c], [], length=3)
        return [x, y, add(c, d)]

    def copied(a, b):
        return scan(lambda a, b: [b, b], [], [a, b], [], length=3)

    def rotated(a, b):
        def body(a, b, c):
            return [sin(c), a, b]

        return scan(body, [], [a, b, b], [], length=3)

    for sound in (function, copied, rotated):
        buffers(sound, f32(64), f32(64), donated=[True, True])
    monkeypatch.setattr(*MUTATIONS[name])
    seen = 0
    for broken in (function, copied, rotated):
        try:
            buffers(broken, f32(64), f32(64), donated=[True, True])
        except BufferPlanError:
            seen += 1
    assert seen
