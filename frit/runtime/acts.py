"""Acts on the world that tracing loses: a table of what a call of a known function does.

    act_of(time.perf_counter)  ->  ACTS["clock"]

An act is found by the very function that is called, or by the object that a method is bound to.
"""

from __future__ import annotations

import builtins
import datetime
import io
import os
import pathlib
import random
import secrets
import sys
import time
import types
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np


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

_CLOCKS = [
    getattr(time, name + ending)
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")
    for ending in ("", "_ns")
]
_DRAWS = [
    os.urandom, uuid.uuid1, uuid.uuid4, secrets.token_bytes, secrets.token_hex,
    secrets.token_urlsafe, secrets.choice, secrets.randbelow, secrets.randbits,
]  # fmt: skip
_FILES = [os.remove, os.rename, os.replace, os.mkdir, os.makedirs, os.rmdir, os.write]
_BY_FUNCTION: dict[int, tuple[Any, str]] = {
    id(function): (function, kind)
    for kind, functions in (
        ("clock", _CLOCKS), ("random", _DRAWS), ("input", [builtins.input]), ("file", _FILES)
    )
    for function in functions
}  # fmt: skip

_METHODS = (types.BuiltinFunctionType, types.MethodType, type(np.random.normal))
_GENERATORS = (random.Random, np.random.RandomState, np.random.Generator)
_NO_DRAWS = frozenset(
    "seed getstate setstate get_state set_state spawn bit_generator jumped".split()
)
_READINGS = frozenset(("now", "utcnow", "today"))
_WRITES = frozenset(("write", "writelines", "truncate", "write_text", "write_bytes", "touch"))
_READERS = frozenset(("read", "readline", "readlines"))


def act_of(callee: Any, mode: Any = None) -> Act | None:
    """What a call of `callee` does to the world, or None; mode: the mode that `open` is given."""
    known = _BY_FUNCTION.get(id(callee))
    if known is not None:
        return ACTS[known[1]]
    if callee is builtins.open:
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        return ACTS["file"] if writes else None
    receiver = getattr(callee, "__self__", None) if isinstance(callee, _METHODS) else None
    if receiver is None or receiver is builtins:
        return None
    kind = _kind_of_method(receiver, getattr(callee, "__name__", ""))
    return None if kind is None else ACTS[kind]


def _kind_of_method(receiver: Any, name: str) -> str | None:
    if isinstance(receiver, _GENERATORS):
        return None if name in _NO_DRAWS else "random"
    if name in _READINGS and isinstance(receiver, type) and issubclass(receiver, datetime.date):
        return "clock"
    if name in _WRITES and isinstance(receiver, (io.IOBase, pathlib.Path)):
        # What is printed to the terminal is seen at once: no one takes it for a part of the result.
        return None if receiver in (sys.stdout, sys.stderr) else "file"
    if name in _READERS and receiver is sys.stdin:
        return "input"
    return None
