"""The bridge from Python to machine code: reads the addresses of arrays out of the array objects.

    i32 dispatch(entry, context, inputs: tuple, outputs: tuple)    -1: an input is not contiguous

It relies on the layout of CPython's tuples and NumPy's arrays, which is probed once; where the
probe fails there is no dispatcher, and callers collect the addresses themselves.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from frit.backends.llvm.engine import default_engine
from frit.backends.llvm.module import Module

_TUPLE_ITEMS = tuple.__basicsize__  # items follow the header
_TUPLE_SIZE = object.__basicsize__
_ARRAY_DATA = object.__basicsize__
_ARRAY_FLAGS = _ARRAY_DATA + 6 * ctypes.sizeof(ctypes.c_void_p)
_CONTIGUOUS = 0x0001
NOT_READY = -1

_TEXT = """
define i32 @dispatch(ptr %entry, ptr %context, ptr %inputs, ptr %outputs) {{
start:
  %size.in.at = getelementptr i8, ptr %inputs, i64 {size}
  %count.in = load i64, ptr %size.in.at
  %size.out.at = getelementptr i8, ptr %outputs, i64 {size}
  %count.out = load i64, ptr %size.out.at
  %total = add i64 %count.in, %count.out
  %slots = add i64 %total, 1
  %places = alloca ptr, i64 %slots
  %results = getelementptr ptr, ptr %places, i64 %count.in
  %items.in = getelementptr i8, ptr %inputs, i64 {items}
  %items.out = getelementptr i8, ptr %outputs, i64 {items}
  br label %head
head:
  %i = phi i64 [0, %start], [%i.next, %next]
  %more = icmp ult i64 %i, %total
  br i1 %more, label %body, label %run
body:
  %is.in = icmp ult i64 %i, %count.in
  %j = sub i64 %i, %count.in
  %k = select i1 %is.in, i64 %i, i64 %j
  %items = select i1 %is.in, ptr %items.in, ptr %items.out
  %item.at = getelementptr ptr, ptr %items, i64 %k
  %item = load ptr, ptr %item.at
  %flags.at = getelementptr i8, ptr %item, i64 {flags}
  %flags = load i32, ptr %flags.at
  %bit = and i32 %flags, {contiguous}
  %ready = icmp ne i32 %bit, 0
  br i1 %ready, label %next, label %slow
next:
  %data.at = getelementptr i8, ptr %item, i64 {data}
  %data = load ptr, ptr %data.at
  %place = getelementptr ptr, ptr %places, i64 %i
  store ptr %data, ptr %place
  %i.next = add i64 %i, 1
  br label %head
run:
  %status = call i32 %entry(ptr %context, ptr %places, ptr %results)
  ret i32 %status
slow:
  ret i32 {not_ready}
}}
"""


@functools.cache
def dispatcher() -> Any:
    """The generated function, or None where the layouts are not as expected."""
    if not _layout_is_as_expected():
        return None
    engine = default_engine()
    text = Module(has_fma=engine.target.has_fma).render() + _TEXT.format(
        size=_TUPLE_SIZE, items=_TUPLE_ITEMS, flags=_ARRAY_FLAGS, data=_ARRAY_DATA,
        contiguous=_CONTIGUOUS, not_ready=NOT_READY,
    )  # fmt: skip
    code = engine.compile(text, exported=("dispatch",))
    pointer = ctypes.c_void_p
    tuples = (ctypes.py_object, ctypes.py_object)
    return code.function("dispatch", ctypes.c_int32, pointer, pointer, *tuples)


def _layout_is_as_expected() -> bool:
    array, strided = np.arange(6.0).reshape(2, 3), np.arange(6.0)[::2]
    pair = (array, strided)

    def word(address: int) -> int:
        return ctypes.c_ssize_t.from_address(address).value

    def flags(x: np.ndarray) -> int:
        return ctypes.c_int.from_address(id(x) + _ARRAY_FLAGS).value & _CONTIGUOUS

    return (
        word(id(pair) + _TUPLE_SIZE) == 2
        and word(id(pair) + _TUPLE_ITEMS) == id(array)
        and word(id(array) + _ARRAY_DATA) == array.__array_interface__["data"][0]
        and bool(flags(array)) is True
        and bool(flags(strided)) is False
    )
