"""Every primitive has each rule or says why not, has machine code or says why not, and a sample."""

import pathlib
import sys

import pytest

import frit
from frit.codegen import library, lower, units
from frit.ir.primitive import Absent, Primitive
from tests.samples import all_samples

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"
RULES = ("evaluate", "jvp", "transpose", "batch")

# Primitives that stand for a function or an effect: their tests are with the interface they serve.
WITHOUT_SAMPLES = {
    "axis_index": "needs a mapped axis",
    "blank": "opaque elements: tests/primitives/test_while_reverse.py",
    **dict.fromkeys(
        ("tape_length", "tape_read", "tape_sum", "tape_write", "taped_scan", "taped_while"),
        "work on tapes: tests/primitives/test_while_reverse.py",
    ),
    "require": "an effect: tests/primitives/test_while_reverse.py",
    "closed_call": "made by tracing only",
    "custom_jvp_call": "function-valued: tests/api",
    "custom_lin": "made by differentiation only",
    **dict.fromkeys(("new_ref", "get", "swap"), "cells: tests/primitives/test_refs.py"),
    "custom_vjp_call": "function-valued: tests/api",
    "check_index": "an effect: tests/api/test_bounds.py",
    "debug_callback": "an effect",
    "debug_print": "an effect",
    "dim_as_value": "needs a symbolic dimension",
    "io_callback": "an effect",
    "jit": "function-valued: tests/api",
    "pure_callback": "calls the user's function",
    "name": "an identity",
    "remat2": "function-valued: tests/api",
    "stage": "gives what it got",
    **dict.fromkeys(
        ("all_gather", "all_to_all", "pmax", "pmin", "ppermute", "psum", "reduce_scatter"),
        "needs a mapped axis",
    ),
}
WITHOUT_MACHINE_CODE = {
    "custom_lin": "transposed away before anything is compiled",
    **dict.fromkeys(("new_ref", "get", "swap"), "cells are discharged before compilation"),
    "dim_as_value": "sizes are known when a program is compiled",
    "stage": "a value, by the time it is traced",
    **dict.fromkeys(
        ("axis_index", "all_gather", "all_to_all", "ppermute", "reduce_scatter"),
        "batching over its axis replaces it",
    ),
}
DISSOLVED = frozenset(
    ("jit", "closed_call", "remat2", "custom_jvp_call", "custom_vjp_call", "name")
)


def all_primitives():
    """name -> record, of every module that makes one."""
    sys.path.insert(0, str(TOOLS))
    try:
        import docs
    finally:
        sys.path.pop(0)
    return {p.name: p for members in docs.primitives().values() for p in members}


PRIMITIVES = all_primitives()


@pytest.mark.parametrize("primitive", PRIMITIVES.values(), ids=str)
def test_a_missing_rule_has_its_reason(primitive):
    for rule in RULES:
        found = getattr(primitive, rule)
        assert callable(found)
        assert not isinstance(found, Absent) or found.reason, f"{rule} of {primitive}"
    assert callable(primitive.result_types)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_has_a_sample(name):
    sampled = {sample.primitive.name for sample in all_samples()}
    assert name in sampled or name in WITHOUT_SAMPLES


@pytest.mark.parametrize("name", PRIMITIVES)
def test_a_primitive_has_machine_code(name):
    has_code = (
        name in lower.LOWERED
        or name in library.RULES
        or name in units.LOOPS
        or name in units.CALLBACKS
        or name in units.NATIVE
        or name in DISSOLVED
        or PRIMITIVES[name].decompose is not None
    )
    assert has_code or name in WITHOUT_MACHINE_CODE


def test_exceptions_are_primitives():
    assert {*WITHOUT_SAMPLES, *WITHOUT_MACHINE_CODE} <= set(PRIMITIVES)


def test_every_primitive_of_lax_is_public():
    known = {id(p) for p in PRIMITIVES.values()}
    public = [v for k, v in vars(frit.lax).items() if k.endswith("_p") and isinstance(v, Primitive)]
    assert public and all(id(p) in known for p in public)
