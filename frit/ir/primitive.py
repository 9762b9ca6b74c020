"""Primitive: the rules of one operation.  Interpreter: what `bind` runs.  Tracer: a value of one.

    primitive.bind(*operands, **params)  ->  current interpreter .apply(primitive, operands, params)

Interpreters are stacked: each has a parent, which runs its rules, down to the bottom one, which
computes.  A tracer belongs to a level; a value of another level is a constant to an interpreter.
A primitive without `multiple_results` has one bare result; with it, a list, in every rule alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, NoReturn

from frit import errors
from frit.errors import NOWHERE, SourceInfo
from frit.ir import dtypes, types
from frit.ir.types import AbstractValue

Params = dict[str, Any]


class Absent:
    """A rule that is missing on purpose; calling it says why."""

    def __init__(self, reason: str, error: type[Exception] = NotImplementedError) -> None:
        self.reason, self.error = reason, error

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise self.error(self.reason)

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"absent({self.reason!r})"


def absent(reason: str, error: type[Exception] = NotImplementedError) -> Any:
    """Marks a rule as missing, with the reason that docs and errors tell."""
    return Absent(reason, error)


_NO_MEANING = absent("no meaning was given")
_NOT_DIFFERENTIABLE = absent("not differentiable")
_NOT_LINEAR = absent("not linear")
_NOT_MAPPED = absent("cannot be mapped")


class Accuracy:
    """How close compiled results are to `evaluate`: exact, within ulps, or up to order of sums."""

    def __init__(self, kind: str, ulps: int = 0) -> None:
        self.kind, self.ulps = kind, ulps

    def __repr__(self) -> str:
        return f"ulps({self.ulps})" if self.kind == "ulps" else self.kind


exact = Accuracy("exact")
order = Accuracy("order")


def ulps(n: int) -> Accuracy:
    return Accuracy("ulps", n)


class Effect:
    """Something an equation does beside computing results; equations with one are never dropped."""

    ordered = False
    # Whether it may happen more often than the program says, or for lanes that have stopped.
    repeatable = True

    def __repr__(self) -> str:
        return type(self).__name__


no_effects: frozenset[Any] = frozenset()


class Primitive:
    """One operation: a record whose fields are its rules.

    result_types(*types, **params)            -> type, or list of types
    effects(*types, **params)                 -> frozenset of effects
    evaluate(*numpy_arrays, **params)         -> array(s): the definition
    jvp(primals, tangents, **params)          -> result(s), tangent(s); a tangent may be a Zero
    transpose(cotangents, *operands, **params)-> a cotangent per operand (None where not linear);
                                                 a linear operand arrives as a LinearOperand
    batch(axis, operands, mapped, **params)   -> result(s), axis of each (None: not mapped)
    split(equation, unknown, needed, saveable)-> Split: see transforms/split.py
    prune(used_outputs, equation)             -> used operands, equation with only these
    decompose(*operands, **params)            -> the same in terms of other primitives
    enter(interpreter, operands, params)      -> result(s), for the function-valued primitives
    shown(equation)                           -> the parameters that a printed jaxpr shows
    text(writer, equation, read)              -> the printed equation, where it has its own form
    """

    __slots__ = (
        "accuracy", "batch", "commutative", "compiled", "decompose", "effects", "enter", "evaluate",
        "jvp", "multiple_results", "name", "pointwise", "prune", "result_types", "shown", "split",
        "text", "transpose", "uses_axis_names", "__weakref__", "__dict__",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        *,
        result_types: Callable[..., Any] | None = None,
        evaluate: Callable[..., Any] = _NO_MEANING,
        effects: Callable[..., frozenset[Any]] | None = None,
        jvp: Callable[..., Any] = _NOT_DIFFERENTIABLE,
        transpose: Callable[..., Any] = _NOT_LINEAR,
        batch: Callable[..., Any] = _NOT_MAPPED,
        split: Callable[..., Any] | None = None,
        prune: Callable[..., Any] | None = None,
        decompose: Callable[..., Any] | None = None,
        enter: Callable[..., Any] | None = None,
        shown: Callable[..., Params] | None = None,
        text: Callable[..., str] | None = None,
        multiple_results: bool = False,
        pointwise: bool = False,
        commutative: bool = False,
        uses_axis_names: bool = False,
        compiled: bool | int = False,
        accuracy: Accuracy = exact,
    ) -> None:
        self.name = name
        self.result_types = result_types or absent(f"the result types of {name} are not given")
        self.evaluate, self.effects = evaluate, effects
        self.jvp, self.transpose, self.batch = jvp, transpose, batch
        self.split, self.prune, self.decompose = split, prune, decompose
        self.enter, self.shown, self.text = enter, shown, text
        self.multiple_results, self.pointwise = multiple_results, pointwise
        self.commutative, self.uses_axis_names = commutative, uses_axis_names
        # Eager mode compiles it instead of running `evaluate`; a number: from so many elements on.
        self.compiled = compiled
        self.accuracy = accuracy

    def bind(self, *operands: Any, **params: Any) -> Any:
        """Runs the primitive under the current interpreter."""
        return self.bind_with(_current.get() or _Bottom.interpreter, operands, params)

    __call__ = bind

    def bind_with(self, interpreter: Interpreter, operands: Sequence[Any], params: Params) -> Any:
        if self.enter is not None:
            return self.enter(interpreter, operands, params)
        return interpreter.apply(self, operands, params)

    @property
    def impl(self) -> Callable[..., Any]:
        """How the primitive computes, as a function of arrays."""
        return self.evaluate

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Sets how the primitive computes; for those who bring primitives of their own."""
        self.evaluate = impl
        return impl

    def types_of_results(self, operand_types: Sequence[AbstractValue], params: Params) -> list[Any]:
        """The result types as a list, whether there is one or many."""
        found = self.result_types(*operand_types, **params)
        return list(found) if self.multiple_results else [found]

    def effects_of(self, operand_types: Sequence[AbstractValue], params: Params) -> frozenset[Any]:
        return no_effects if self.effects is None else self.effects(*operand_types, **params)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Level:
    """One run of a transformation; tracers made in it die with it.

    kept: where tracers that did not die were found, by id.
    """

    __slots__ = ("description", "finished", "kept")

    def __init__(self, description: str) -> None:
        self.description = description
        self.finished = False
        self.kept: dict[int, str] | None = None

    def remember(self, tracer: Tracer, place: str) -> None:
        """Notes who keeps a tracer of this level, for the error that its use will raise."""
        self.kept = {**(self.kept or {}), id(tracer): place}


class Interpreter:
    """What gives primitives a meaning.  `level` marks its tracers, `parent` runs its rules."""

    level: Level
    parent: Interpreter

    def apply(self, primitive: Primitive, operands: Sequence[Any], params: Params) -> Any:
        raise NotImplementedError

    def custom_jvp(
        self,
        primitive: Primitive,
        function: Any,
        rule: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        """Runs `function(*operands)`, which differentiates by `rule(primals, tangents)`."""
        raise NotImplementedError

    def custom_vjp(
        self,
        primitive: Primitive,
        function: Any,
        forward: Any,
        backward: Any,
        operands: Sequence[Any],
        params: Params,
    ) -> list[Any]:
        """Runs `function(*operands)`, which differentiates by `forward` and `backward`."""
        raise NotImplementedError

    def owns(self, value: Any) -> bool:
        """Whether `value` is a tracer of this interpreter's level.

        Raises UnexpectedTracerError for a tracer whose level has ended.
        """
        if isinstance(value, Tracer):
            if value.level.finished:
                raise errors.UnexpectedTracerError(value)
            return value.level is self.level
        return False


class _Bottom:
    interpreter: Interpreter


_current: ContextVar[Interpreter | None] = ContextVar("interpreter", default=None)
_axis_sizes: ContextVar[dict[Any, Any] | None] = ContextVar("axis_sizes", default=None)
_scopes: ContextVar[tuple[str, ...]] = ContextVar("scopes", default=())


def set_bottom_interpreter(interpreter: Interpreter) -> None:
    """Installs the interpreter that computes: the hook by which the runtime is reached."""
    _Bottom.interpreter = interpreter


def bottom_interpreter() -> Interpreter:
    return _Bottom.interpreter


def current_interpreter() -> Interpreter:
    return _current.get() or _Bottom.interpreter


@contextmanager
def interpreting(interpreter: Interpreter) -> Iterator[None]:
    """Makes `interpreter` the current one within the block."""
    token = _current.set(interpreter)
    try:
        yield
    finally:
        _current.reset(token)


def under_trace() -> bool:
    """Whether some transformation is running."""
    return (_current.get() or _Bottom.interpreter) is not _Bottom.interpreter


@contextmanager
def axis_bound(name: Any, size: Any) -> Iterator[None]:
    """Within the block, `name` is a mapped axis of `size`."""
    token = _axis_sizes.set({**(_axis_sizes.get() or {}), name: size})
    try:
        yield
    finally:
        _axis_sizes.reset(token)


def axis_sizes() -> dict[Any, Any]:
    """The mapped axes in force, by name, outermost first."""
    return _axis_sizes.get() or {}


def axis_size(name: Any) -> Any:
    """The size of a mapped axis.  NameError where no vmap binds it."""
    sizes = axis_sizes()
    try:
        known = name in sizes
    except TypeError as error:
        raise TypeError(f"an axis name must be hashable, got {name!r} ({error}).") from None
    if not known:
        raise NameError(
            f"unbound axis name: {name}. The axis names in force are {tuple(sizes)}; bind one with "
            f"vmap(..., axis_name={name!r})."
        )
    return sizes[name]


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Equations traced within the block carry `name` in their name stack."""
    token = _scopes.set((*_scopes.get(), name))
    try:
        yield
    finally:
        _scopes.reset(token)


def scopes() -> tuple[str, ...]:
    return _scopes.get()


_TextListener = Callable[[Any, FrameType | None], None]
_text_listener: ContextVar[_TextListener | None] = ContextVar("text of tracers", default=None)


@contextmanager
def listening_to_text(listener: _TextListener) -> Iterator[None]:
    """Within the block, `listener(tracer, frame)` is told where a tracer is made text."""
    token = _text_listener.set(listener)
    try:
        yield
    finally:
        _text_listener.reset(token)


_SCALARS_ONLY = "Only scalar arrays can be converted to Python scalars."


class Tracer:
    """A value of an interpreter: it has a type; its operators (from frit.numpy) bind primitives."""

    __slots__ = ("__weakref__", "aval", "level", "made_at")
    __array_priority__ = 1000
    aval: Any
    level: Level
    made_at: SourceInfo

    def __init__(self, level: Level, aval: AbstractValue, made_at: SourceInfo = NOWHERE) -> None:
        self.level, self.aval, self.made_at = level, aval, made_at

    def concrete(self) -> Any:
        """The number(s) behind the tracer where they are known, else None."""
        return None

    def origin_message(self) -> str:
        """Which arguments the value depends on, for error messages; empty where unknown."""
        return ""

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> Any:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.itemsize

    @property
    def sharding(self) -> Any:
        raise AttributeError(
            f"{type(self).__name__} has no sharding while it is traced; jax.typeof(x) tells what "
            "is known of it."
        )

    @property
    def committed(self) -> bool:
        return False

    def _concrete_or(self, error: Callable[[Any], Exception]) -> Any:
        value = self.concrete()
        if value is None:
            raise error(self)
        return value

    def _check_scalar(self, error: type[Exception], message: str) -> None:
        """Raises `error` where no value of this type could be converted, whatever its numbers."""
        if getattr(self.aval, "shape", ()) != ():
            raise error(f"{message} Got {self.aval.str_short()}.")

    def __bool__(self) -> bool:
        if self.aval.shape and self.aval.size != 1:
            kind = (
                "empty array is" if self.aval.size == 0 else ("array with more than one element is")
            )
            raise ValueError(f"The truth value of an {kind} ambiguous. Use a.any() or a.all().")
        return bool(self._concrete_or(errors.TracerBoolConversionError))

    def __index__(self) -> int:
        message = "Only integer scalar arrays can be converted to a scalar index."
        self._check_scalar(TypeError, message)
        if not dtypes.is_integer(self.aval.dtype) and not dtypes.is_bool(self.aval.dtype):
            raise TypeError(f"{message} Got {self.aval.str_short()}.")
        return self._concrete_or(errors.TracerIntegerConversionError).__index__()

    def __int__(self) -> int:
        self._check_scalar(TypeError, _SCALARS_ONLY)
        return int(self._concrete_or(_conversion("int")))

    def __float__(self) -> float:
        self._check_scalar(TypeError, _SCALARS_ONLY)
        return float(self._concrete_or(_conversion("float")))

    def __complex__(self) -> complex:
        self._check_scalar(TypeError, _SCALARS_ONLY)
        return complex(self._concrete_or(_conversion("complex")))

    def item(self, *args: Any) -> Any:
        return self._concrete_or(_conversion("item")).item(*args)

    def tolist(self) -> Any:
        return self._concrete_or(_conversion("tolist")).tolist()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.TracerArrayConversionError(self)

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__}. Arrays compare by value, so they cannot be "
            "keys of dicts or members of sets; use id(x), or the numbers as a tuple."
        )

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def block_until_ready(self) -> Any:
        return self

    def copy_to_host_async(self) -> None:
        return None

    def __reduce__(self) -> Any:
        raise errors.ConcretizationTypeError(self, "Traced values cannot be pickled.")

    def __format__(self, spec: str) -> str:
        value = self.concrete()
        return format(value, spec) if value is not None and spec else repr(self)

    def __repr__(self) -> str:
        listener = _text_listener.get()
        if listener is not None and self.concrete() is None:
            listener(self, sys._getframe(1))
        return self.text()

    def text(self) -> str:
        """How the tracer is shown."""
        kind = type(self).__name__.removesuffix("Tracer")
        return f"{kind}Tracer<{self.aval.str_short(short_dtypes=True)}>"


def _conversion(kind: str) -> Callable[[Any], Exception]:
    return lambda tracer: errors.ConcretizationTypeError(
        tracer,
        f"The problem arose with the `{kind}` function. If trying to convert the data type of a "
        f"value, try using `x.astype({kind})` or `jnp.array(x, {kind})` instead."
        if kind in ("int", "float", "complex")
        else f"The method `.{kind}()` needs the number, which is not known while tracing.",
    )


types.register_value_type(Tracer, lambda tracer: tracer.aval)
