"""The bottom interpreter: computes at once, on arrays.

Pointwise and shape work runs by the NumPy definition of the primitive; calls, loops, branches and
whatever NumPy is slow at (`primitive.compiled`) are compiled, once for each signature.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from frit import config, errors
from frit.errors import UnexpectedTracerError
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, Var, new_equation, subjaxprs
from frit.ir.primitive import Interpreter, Level, Params, Primitive, Tracer, set_bottom_interpreter
from frit.ir.types import ShapedArray, typeof
from frit.runtime import number_checks
from frit.runtime.array import Array
from frit.runtime.execute import contents, execute
from frit.runtime.tapes import adopt, is_tape

_LIMIT = 4096


class _Memory:
    """A bounded dictionary; what was used longest ago goes first."""

    def __init__(self) -> None:
        self.entries: OrderedDict[Any, Any] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key: Any) -> Any:
        return self.entries.get(key)

    def put(self, key: Any, value: Any) -> None:
        with self.lock:
            self.entries[key] = value
            while len(self.entries) > _LIMIT:
                self.entries.popitem(last=False)

    def clear(self) -> None:
        with self.lock:
            self.entries.clear()


_result_types, _programs = _Memory(), _Memory()


def _key(primitive: Primitive, types: Sequence[Any], params: Params) -> Any:
    key = (primitive, tuple(types), tuple(params.items()), config.enable_x64.value)
    try:
        hash(key)
    except TypeError:
        return None
    return key


class EagerInterpreter(Interpreter):
    """Computes; its parent is itself."""

    def __init__(self) -> None:
        self.level = Level("the program")

    @property
    def parent(self) -> Interpreter:  # type: ignore[override]
        return self

    def apply(self, primitive: Primitive, operands: Sequence[Any], params: Params) -> Any:
        types = [typeof(x) for x in operands]
        for x in operands:
            if isinstance(x, Tracer):
                raise UnexpectedTracerError(x)
        key = _key(primitive, types, params)
        if primitive.compiled and _is_heavy(primitive, types) and not config.disable_jit.value:
            program = self._program(key, primitive, types, params)
            # A program of several equations is searched for the one that made a bad number.
            checked = number_checks.is_asked() and any(True for _ in subjaxprs(params))
            results = execute(program, operands, checked=checked)
            if number_checks.is_asked() and not checked:
                number_checks.check_operation(primitive.name, [], [x._data for x in results])
            return results if primitive.multiple_results else results[0]
        out_types = None if key is None else _result_types.get(key)
        if out_types is None:
            out_types = primitive.types_of_results(types, params)
            if key is not None:
                _result_types.put(key, out_types)
        buffers = list(map(contents, operands, types))
        found = primitive.evaluate(*buffers, **params)
        if number_checks.is_asked():
            results = found if primitive.multiple_results else [found]
            number_checks.check_operation(primitive.name, buffers, results)
        if not primitive.multiple_results:
            return _wrap(found, out_types[0], primitive)
        return [_wrap(f, t, primitive) for f, t in zip(found, out_types, strict=True)]

    def _program(
        self, key: Any, primitive: Primitive, types: Sequence[Any], params: Params
    ) -> ClosedJaxpr:
        """The jaxpr of one equation."""
        if primitive.name == "jit":
            return params["jaxpr"]
        closed = None if key is None else _programs.get(key)
        if closed is None:
            invars = [Var(t) for t in types]
            outvars = [Var(t) for t in primitive.types_of_results(types, params)]
            eqn = new_equation(invars, outvars, primitive, params, errors.source_info())
            closed = ClosedJaxpr(Jaxpr((), invars, outvars, [eqn]))
            if key is not None:
                _programs.put(key, closed)
        return closed

    def custom_jvp(
        self,
        primitive: Primitive,
        function: Any,
        rule: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        return list(function(*operands))

    def custom_vjp(
        self,
        primitive: Primitive,
        function: Any,
        forward: Any,
        backward: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        return list(function(*operands))


def _is_heavy(primitive: Primitive, types: Sequence[Any]) -> bool:
    """Whether a primitive that is compiled, always or from a number of elements on, is so here."""
    least = primitive.compiled
    return least is True or sum(t.size for t in types) >= least


def _wrap(found: Any, aval: Any, primitive: Primitive) -> Any:
    data = np.asarray(found)
    assert isinstance(aval, ShapedArray)
    if data.dtype != aval.storage_dtype or data.shape != aval.shape:
        raise AssertionError(
            f"evaluate of {primitive} gave {data.dtype}{data.shape} where its type rule says {aval}"
        )
    array = Array(data, aval)
    if is_tape(aval):
        adopt(array, data)
    return array


def clear_caches() -> None:
    """Forgets the programs and types of eager operations."""
    _result_types.clear()
    _programs.clear()


def install() -> None:
    """Makes this the bottom interpreter."""
    set_bottom_interpreter(EagerInterpreter())
