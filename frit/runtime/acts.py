"""Acts on the world that tracing loses: a table of what a call of a known function does.

    act_of(time.perf_counter)  ->  ACTS["clock"]

An act is found by the very function that is called, or by the object that a method is bound to.
"""

from __future__ import annotations

import builtins
import io
import os
import sys
import types
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Act:
    """One kind of act: what becomes of it under tracing, and what to write instead."""

    kind: str
    what: str
    instead: str


ACTS = {
    act.kind: act
    for act in (
        Act(
            "clock",
            "reads the clock while the function is traced, and the compiled program keeps that "
            "reading",
            "Read the clock around the call, f(x).block_until_ready() in between, or pass the time "
            "as an argument.",
        ),
        Act(
            "random",
            "draws while the function is traced, and every call of the compiled program uses that "
            "draw",
            "Pass a key as an argument and draw with frit.random, or pass the numbers themselves.",
        ),
        Act(
            "input",
            "asks while the function is traced, and the compiled program keeps that answer",
            "Ask before the call and pass the answer as an argument; to ask at each call, use "
            "frit.experimental.io_callback.",
        ),
        Act(
            "file",
            "writes while the function is traced, and not when the compiled program runs",
            "Return what is to be written and write it after the call; to write at each call, use "
            "frit.experimental.io_callback.",
        ),
    )
}

# Functions and classes by module and name: a module is looked up only if the program has loaded it.
_FUNCTIONS = {
    "clock": {
        "time": [
            name + ending
            for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
            for ending in ("", "_ns")
        ],
    },
    "random": {
        os.urandom.__module__: ["urandom"],
        "uuid": ["uuid1", "uuid4"],
        "secrets": ["token_bytes", "token_hex", "token_urlsafe", "randbelow"],
    },
    "input": {"builtins": ["input"]},
    "file": {
        os.remove.__module__: ["remove", "rename", "replace", "mkdir", "rmdir", "write"],
        "os": ["makedirs"],
    },
}
_KINDS = {
    (module, name): kind
    for kind, modules in _FUNCTIONS.items()
    for module, names in modules.items()
    for name in names
}
_GENERATORS = {
    ("random", "Random"), ("numpy.random.mtrand", "RandomState"),
    ("numpy.random._generator", "Generator"),
}  # fmt: skip
_NO_DRAWS = frozenset(
    "seed getstate setstate get_state set_state spawn bit_generator jumped".split()
)
_READINGS = frozenset(("now", "utcnow", "today"))
_WRITES = frozenset(("write", "writelines", "truncate", "write_text", "write_bytes", "touch"))
_READERS = frozenset(("read", "readline", "readlines"))


def act_of(callee: Any, mode: Any = None) -> Act | None:
    """What a call of `callee` does to the world, or None; mode: the mode that `open` is given."""
    if callee is builtins.open:
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        return ACTS["file"] if writes else None
    if isinstance(callee, (types.BuiltinFunctionType, types.FunctionType)):
        kind = _KINDS.get((callee.__module__, callee.__name__))
        # A wrapper may have the name of what it wraps.
        if kind and vars(sys.modules[callee.__module__]).get(callee.__name__) is callee:
            return ACTS[kind]
    if not isinstance(callee, (types.BuiltinFunctionType, types.MethodType)):
        return None
    receiver = callee.__self__
    if receiver is None or isinstance(receiver, types.ModuleType):
        return None
    kind = _kind_of_method(receiver, callee.__name__)
    return None if kind is None else ACTS[kind]


def _names(kind: type) -> list[tuple[str, str]]:
    return [(base.__module__, base.__name__) for base in kind.__mro__]


def _kind_of_method(receiver: Any, name: str) -> str | None:
    names = _names(type(receiver))
    if not _GENERATORS.isdisjoint(names):
        return None if name in _NO_DRAWS else "random"
    if name in _READINGS and isinstance(receiver, type) and _DATE in _names(receiver):
        return "clock"
    if name in _WRITES and (isinstance(receiver, io.IOBase) or _is_path(names)):
        # What is printed to the terminal is seen at once: no one takes it for a part of the result.
        return None if receiver in (sys.stdout, sys.stderr) else "file"
    if name in _READERS and receiver is sys.stdin:
        return "input"
    return None


_DATE = ("datetime", "date")


def _is_path(names: list[tuple[str, str]]) -> bool:
    return any(module.startswith("pathlib") and name == "Path" for module, name in names)
