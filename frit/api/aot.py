"""Ahead of time: trace, lower, compile and call, as separate steps.

jit(f).trace(x)  ->  Traced      .jaxpr  .out_info
     .lower()    ->  Lowered     .as_text()
     .compile()  ->  Compiled    (x)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from frit import trees
from frit.errors import JaxRuntimeError
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.primitive import Tracer
from frit.ir.types import ShapeDtypeStruct, shaped_type
from frit.runtime import events
from frit.runtime.execute import execute, program_of


@dataclass
class ArgInfo:
    """An argument of a lowered function: its type, and whether it is donated."""

    aval: Any
    donated: bool

    @property
    def shape(self) -> Any:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype


@dataclass
class Traced:
    """A function traced for one signature."""

    jaxpr: ClosedJaxpr
    in_tree: trees.PyTreeDef
    out_tree: trees.PyTreeDef
    fun_name: str
    captured: list[Any]
    donated: tuple[bool, ...]
    argument_names: tuple[str, ...]
    keep_unused: bool = False

    @property
    def out_info(self) -> Any:
        """The shapes and dtypes of the results."""
        return self.out_tree.unflatten(
            [
                ShapeDtypeStruct(t.shape, t.dtype, weak_type=t.weak_type)
                for t in self.jaxpr.out_avals
            ]
        )

    @property
    def in_avals(self) -> Any:
        return self.in_tree.unflatten(self.jaxpr.in_avals[len(self.captured) :])

    @property
    def out_avals(self) -> Any:
        return self.out_tree.unflatten(self.jaxpr.out_avals)

    @property
    def args_info(self) -> Any:
        types = self.jaxpr.in_avals[len(self.captured) :]
        return self.in_tree.unflatten(
            [ArgInfo(t, d) for t, d in zip(types, self.donated, strict=True)]
        )

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions of donated leaves."""
        return tuple(i for i, d in enumerate(self.donated) if d)

    def lower(self, **_: Any) -> Lowered:
        """The program, ready to be compiled."""
        return Lowered(self)


class _OfTraced:
    """What the later steps tell about the function, as the first one knows it."""

    _traced: Traced

    in_tree = property(lambda self: self._traced.in_tree)
    out_tree = property(lambda self: self._traced.out_tree)
    in_avals = property(lambda self: self._traced.in_avals)
    out_avals = property(lambda self: self._traced.out_avals)
    args_info = property(lambda self: self._traced.args_info)
    out_info = property(lambda self: self._traced.out_info)
    donate_argnums = property(lambda self: self._traced.donate_argnums)

    def cost_analysis(self) -> dict[str, Any]:
        """Nothing: the compiler does not estimate costs."""
        return {}


class Lowered(_OfTraced):
    """A traced function on its way to the compiler."""

    def __init__(self, traced: Traced) -> None:
        self._traced = traced

    def as_text(self, dialect: str | None = None, **_: Any) -> str:
        """The program as a jaxpr."""
        return str(self._traced.jaxpr)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        return self._traced.jaxpr

    def compile(self, compiler_options: Any = None, **_: Any) -> Compiled:
        """The machine code, as a callable."""
        check_compiler_options(compiler_options)
        return Compiled(self._traced)


class Compiled(_OfTraced):
    """Machine code for one signature; TypeError for arguments of another."""

    def __init__(self, traced: Traced) -> None:
        self._traced = traced
        donated = (*(False for _ in traced.captured), *traced.donated)
        program_of(traced.jaxpr, donated if any(donated) else None)

    def as_text(self) -> str:
        """The program as a jaxpr."""
        return str(self._traced.jaxpr)

    def memory_analysis(self) -> None:
        """Nothing: the compiler does not estimate memory."""
        return None

    def runtime_executable(self) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        traced = self._traced
        leaves, tree = trees.flatten((args, kwargs))
        _refuse_tracers(leaves)
        if tree != traced.in_tree:
            raise TypeError(_tree_mismatch(traced, args, kwargs))
        wanted = traced.jaxpr.in_avals[len(traced.captured) :]
        _check_types(traced, [shaped_type(x) for x in leaves], wanted)
        events.tell("aot_call", function=traced.fun_name)
        donated = (*(False for _ in traced.captured), *traced.donated)
        results = execute(traced.jaxpr, [*traced.captured, *leaves], donated)
        return traced.out_tree.unflatten(results)


def _refuse_tracers(leaves: Sequence[Any]) -> None:
    for x in leaves:
        if isinstance(x, Tracer):
            raise TypeError(
                "Cannot apply JAX transformations to a function lowered and compiled for a "
                "particular signature. Detected argument of Tracer type "
                f"{type(x)}. Transform the jitted function, then lower and compile."
            )


def _tree_mismatch(traced: Traced, args: Any, kwargs: Any) -> str:
    expected = traced.in_tree.unflatten([0] * traced.in_tree.num_leaves)
    lines = [
        f"    * at {_where(path)}, seen {a} but now given {b}, so {why}"
        for path, a, b, why in trees.equality_errors(expected, (args, kwargs))
    ]
    return (
        "Function compiled with input pytree does not match the input pytree it was called with. "
        f"There are {len(lines)} mismatches, including:\n" + "\n".join(lines)
    )


def _where(path: Any) -> str:
    if not path:
        return "the arguments"
    return ("args" if path[0].idx == 0 else "kwargs") + trees.keystr(path[1:])


def _check_types(traced: Traced, types: Sequence[Any], wanted: Sequence[Any]) -> None:
    wrong = [
        f"Argument '{name}' compiled with {w.str_short().removeprefix('~')} and called with "
        f"{t.str_short().removeprefix('~')}"
        for name, t, w in zip(traced.argument_names, types, wanted, strict=True)
        if (t.shape, t.dtype) != (w.shape, w.dtype)
    ]
    if wrong:
        raise TypeError(
            "Argument types differ from the types for which this computation was compiled. Perhaps "
            "you are calling the compiled executable with a different enable_x64 mode than when it "
            "was AOT compiled? The mismatches are:\n" + "\n".join(wrong)
        )


# Options of XLA that programs pass; frit's compiler has none, so they have no effect.
_IGNORED_OPTIONS = (
    "exec_time_optimization_effort", "memory_fitting_effort", "memory_fitting_level",
    "num_partitions", "num_replicas", "optimization_level", "use_spmd_partitioning",
)  # fmt: skip


def check_compiler_options(options: Any) -> None:
    """JaxRuntimeError for an option that is not one of XLA's: those are accepted, and ignored."""
    for name in options or ():
        if not name.startswith("xla_") and name not in _IGNORED_OPTIONS:
            raise JaxRuntimeError(
                f"No such compile option: '{name}'. frit's compiler is steered by frit.config; of "
                f"XLA's options, xla_* and {', '.join(_IGNORED_OPTIONS)} are accepted and ignored."
            )
