"""explain: one call of a function, through every stage of the compiler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from frit import trees
from frit.api import signatures
from frit.api.jitting import JitFunction, jit
from frit.ir.primitive import Tracer
from frit.runtime.execute import storage, wrap

if TYPE_CHECKING:
    from frit.diagnostics.report import PipelineReport


def explain(fun: Callable[..., Any]) -> Callable[..., PipelineReport]:
    """A function that calls `fun` under jit and reports what every stage of the compiler did.

    `fun` may be jitted already; its static arguments are kept, donated ones are not given up. The
    report has the jaxpr before and after the optimizer, which equations share a kernel and why
    others do not, and for each kernel its loops, its machine code, the bytes it moves, its flops
    and its time, measured, beside what this machine could do. The program runs several times; one
    that calls Python (debug.print, pure_callback) runs once.

    Raises TypeError where an argument is a traced value: a report measures a call of numbers.

    >>> import frit, frit.numpy as jnp
    >>> report = frit.explain(lambda x: jnp.tanh(x) * 2)(jnp.ones(4))
    >>> report.result
    Array([1.5231884, 1.5231884, 1.5231884, 1.5231884], dtype=float32)
    """
    signatures.check_callable(fun, "explain")

    @functools.wraps(fun, updated=())
    def explained(*args: Any, **kwargs: Any) -> PipelineReport:
        # Loaded when first asked for: reports would be a tenth of the time that frit takes to load.
        from frit.diagnostics.pipeline_report import Call, explain_call
        from frit.diagnostics.report import PipelineReport

        _refuse_tracers(fun, (args, kwargs))
        jitted = fun if isinstance(fun, JitFunction) else jit(fun)
        entry, captured, leaves, _ = jitted._prepare(args, kwargs)
        closed, info = entry.closed, entry.closed.jaxpr.debug_info
        names = [f"captured {k}" for k in range(len(captured))]
        given = list(info.argument_names)[-len(leaves) :] if leaves else []
        given += [f"argument {k}" for k in range(len(given), len(leaves))]
        arrays = [storage(x, t) for x, t in zip([*captured, *leaves], closed.in_avals, strict=True)]
        facts, results = explain_call(
            Call(info.function, info.place, closed, arrays, [*names, *given], entry.seconds)
        )
        wrapped = [wrap(r, t) for r, t in zip(results, closed.out_avals, strict=True)]
        return PipelineReport(facts, entry.out_tree.unflatten(wrapped))

    return explained


def _refuse_tracers(fun: Callable[..., Any], arguments: Any) -> None:
    for x in trees.flatten(arguments)[0]:
        if isinstance(x, Tracer):
            raise TypeError(
                f"explain({signatures.function_name(fun)}) measures a call, so its arguments must "
                f"be arrays, but it got the traced value {x}. Call it outside of jit, grad and "
                "vmap, and explain the transformed function: explain(grad(f))(x)."
            )
