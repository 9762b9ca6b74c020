"""Ahead of time: trace, lower, compile and call, as separate steps.

jit(f).trace(x)  ->  Traced      .jaxpr  .out_info
     .lower()    ->  Lowered     .as_text()
     .compile()  ->  Compiled    (x)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from frit import trees
from frit.api import signatures
from frit.ir.jaxpr import ClosedJaxpr
from frit.ir.types import ShapeDtypeStruct, shaped_type
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
    static: signatures.Marked
    signature: Any

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

    def lower(self, **_: Any) -> Lowered:
        """The program, ready to be compiled."""
        return Lowered(self)


@dataclass
class Lowered:
    """A traced function on its way to the compiler."""

    traced: Traced

    @property
    def in_tree(self) -> Any:
        return self.traced.in_tree

    @property
    def out_tree(self) -> Any:
        return self.traced.out_tree

    @property
    def out_info(self) -> Any:
        return self.traced.out_info

    @property
    def args_info(self) -> Any:
        return self.traced.args_info

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return tuple(i for i, d in enumerate(self.traced.donated) if d)

    def as_text(self, dialect: str | None = None, **_: Any) -> str:
        """The program as a jaxpr."""
        return str(self.traced.jaxpr)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        return self.traced.jaxpr

    def cost_analysis(self) -> dict[str, Any]:
        return {}

    def compile(self, *_: Any, **__: Any) -> Compiled:
        """The machine code, as a callable."""
        return Compiled(self.traced)


class Compiled:
    """Machine code for one signature; TypeError for arguments of another."""

    def __init__(self, traced: Traced) -> None:
        self._traced = traced
        donated = (*(False for _ in traced.captured), *traced.donated)
        program_of(traced.jaxpr, donated if any(donated) else None)

    @property
    def in_tree(self) -> Any:
        return self._traced.in_tree

    @property
    def out_tree(self) -> Any:
        return self._traced.out_tree

    @property
    def out_info(self) -> Any:
        return self._traced.out_info

    @property
    def args_info(self) -> Any:
        return self._traced.args_info

    def as_text(self) -> str:
        return str(self._traced.jaxpr)

    def cost_analysis(self) -> dict[str, Any]:
        return {}

    def memory_analysis(self) -> None:
        return None

    def runtime_executable(self) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        traced = self._traced
        args, kwargs = signatures.canonical_call(traced.signature, args, kwargs)
        leaves, tree = trees.flatten((args, kwargs))
        if tree != traced.in_tree:
            raise TypeError(
                f"Function compiled with input pytree does not match the input pytree it was called "
                f"with: {traced.fun_name} was compiled for {traced.in_tree}, called with {tree}. "
                "Compile it for this structure, or call the jitted function, which retraces."
            )
        types = [shaped_type(x) for x in leaves]
        wanted = traced.jaxpr.in_avals[len(traced.captured) :]
        for x, t in zip(types, wanted, strict=True):
            if (x.shape, x.dtype) != (t.shape, t.dtype):  # type: ignore[attr-defined]
                raise TypeError(
                    "Argument types differ from the types for which this computation was compiled. "
                    f"{traced.fun_name} was compiled for {t.str_short()}, called with "
                    f"{x.str_short()}. Compile it for this type, or call the jitted function."
                )
        results = execute(traced.jaxpr, [*traced.captured, *leaves], traced.donated)
        return traced.out_tree.unflatten(results)
