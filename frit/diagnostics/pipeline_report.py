"""One call, through every stage: what `frit.explain(f)(*args)` collects.

    explain_call(Call) -> (Facts, results)

The program is compiled anew, told to note what it does, and once more with a driver that looks at
the clock around each step. Both run on the caller's arrays, several times, unless Python code
would run as often: a program with callbacks runs once.
"""

from __future__ import annotations

import linecache
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from frit.backends.llvm import engine, openblas
from frit.codegen import buffers
from frit.codegen.kernels import kernels_of
from frit.codegen.loops_check import print_function
from frit.codegen.refusals import Refusal
from frit.codegen.storage import byte_size
from frit.diagnostics import roofline
from frit.diagnostics.facts import (
    COMPOSITE,
    Edge,
    Facts,
    KernelText,
    Rewrite,
    Source,
    Stage,
    Step,
    reason_text,
)
from frit.diagnostics.listings import llvm_of, machine_code_of
from frit.diagnostics.quantities import plural, size_text
from frit.diagnostics.work import Work, work_of_function, work_of_library
from frit.ir.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var
from frit.optimize.passes import count_equations
from frit.optimize.rewrite import Rule, rule_text
from frit.runtime.dispatch import quick_call
from frit.runtime.measuring import Measured, Times
from frit.runtime.pipeline import Compilation, Notes, compile_noted
from frit.runtime.program import Program

MEASURED_SECONDS = 0.3  # how long a program is run to time it


@dataclass
class Call:
    """A traced function and the buffers of one call of it."""

    name: str
    place: str
    closed: ClosedJaxpr
    arrays: Sequence[np.ndarray]
    argument_names: Sequence[str]
    trace_seconds: float


def explain_call(call: Call) -> tuple[Facts, list[np.ndarray]]:
    """The facts of one call, and its results."""
    subject, program, notes = compile_noted(call.closed)
    measured = Measured(subject)
    arrays = list(call.arrays)
    results, best, runs = _best_times(measured, program.constants, arrays, subject)
    collector = _Collector(subject, notes, best)
    collector.statements(subject.buffers.statements, None, {})
    facts = Facts(
        function=call.name,
        place=call.place,
        arguments=[
            f"{name}: {t.str_short(short_dtypes=True)}"
            for name, t in zip(call.argument_names, call.closed.in_avals, strict=True)
        ],
        seconds=_seconds_of(program, call.closed.out_avals, arrays, runs, collector.steps),
        measured_runs=runs,
        stages=_stages(call, subject, notes, collector.steps),
        jaxpr=str(call.closed),
        optimized=str(subject.jaxpr),
        passes=notes.rewrites.passes,
        rewrites=[_rewrite(rule, n) for rule, n in notes.rewrites.rules.most_common()],
        clock_seconds=best.overhead,
        steps=collector.steps,
        edges=collector.edges,
        kernels=_texts(subject),
        arena_bytes=subject.executable.arena_bytes,
        input_bytes=sum(a.nbytes for a in arrays),
        output_bytes=sum(map(byte_size, call.closed.out_avals)),
        constant_bytes=sum(np.asarray(c).nbytes for c in program.constants),
        machine=_machine(collector.steps),
    )
    return facts, results


def _best_times(
    measured: Measured, constants: Any, arrays: list[np.ndarray], subject: Compilation
) -> tuple[list[np.ndarray], Times, int]:
    """The results, the shortest time of each statement, and how many runs there were."""
    results, best = measured.run(constants, arrays)
    if subject.buffers.callbacks:
        return results[:-1], best, 1
    count, memory = 1, None

    def run() -> float:
        nonlocal best, count, memory
        start = time.perf_counter()
        memory, times = measured.run(constants, arrays, memory)
        best, count = best.least(times), count + 1
        return time.perf_counter() - start

    roofline.fastest(run, MEASURED_SECONDS)
    return results[:-1], best, count


def _seconds_of(
    program: Program,
    types: Sequence[Any],
    arrays: list[np.ndarray],
    runs: int,
    steps: list[Step],
) -> float:
    """The shortest time of a whole call without clocks in it; of one run, the sum of its steps.

    The call is the one that a jitted function makes when its arguments are arrays of known types.
    """
    if runs == 1:
        return sum(s.seconds for s in steps if s.parent is None)
    quick, operands = quick_call(program, types), tuple(arrays)

    def run() -> float:
        start = time.perf_counter()
        if quick is None or quick(operands) is None:
            program.run(operands)
        return time.perf_counter() - start

    return roofline.fastest(run, MEASURED_SECONDS)


class _Collector:
    """Walks the statements of a program: steps, what they read and write, and edges between."""

    def __init__(self, subject: Compilation, notes: Notes, times: Times) -> None:
        self.subject, self.decisions, self.times = subject, notes.decisions, times
        self.works = {
            id(kernel): work_of_function(subject.functions[id(kernel)])
            for kernel in kernels_of(subject.plan)
        }
        self.steps: list[Step] = []
        self.edges: list[Edge] = []

    def statements(
        self, statements: Sequence[Any], parent: int | None, maker: dict[Var, tuple[int, Var]]
    ) -> float:
        """Adds the steps of a body; returns the seconds of their clocks, for the outer step.

        maker: for a variable the step that wrote it, and the variable it was written as.
        """
        clocks = 0.0
        for statement in statements:
            if isinstance(statement, buffers.Same):
                if statement.operand in maker:
                    maker[statement.result] = maker[statement.operand]
                continue
            runs = self.times.runs[id(statement)]
            clocks += 2 * self.times.overhead * runs
            if isinstance(statement, (buffers.Point, buffers.Permute)):
                continue
            step = Step(len(self.steps), _kind(statement), "", parent, runs)
            self.steps.append(step)
            inner = sum(
                self.statements(body.statements, step.id, {})
                for body in buffers.bodies_of(statement)
            )
            clocks += inner
            spent = self.times.seconds[id(statement)] - self.times.overhead * runs - inner
            children = sum(s.seconds for s in self.steps if s.parent == step.id)
            step.seconds = max(spent, children, 0.0)
            self.describe(step, statement, maker)
        return clocks

    def describe(self, step: Step, statement: Any, maker: dict[Var, tuple[int, Var]]) -> None:
        reads, writes = _names(statement)
        step.reads = [_type_text(a) for a in reads]
        step.writes = [_type_text(v) for v in writes]
        equations = next(
            (found for v in writes if (found := self.decisions.equations.get(v))), ()
        ) or self.own_equations(statement)
        step.sources = sources_of(equations)
        step.title = _title(statement, equations)
        self.measure(step, statement, [a for a in reads if isinstance(a, Var)], writes)
        for atom in dict.fromkeys(a for a in reads if isinstance(a, Var) and a in maker):
            source, written = maker[atom]
            refusal = self.decisions.refusals.get(written, Refusal("whole"))
            self.edges.append(
                Edge(
                    source,
                    step.id,
                    _type_text(atom),
                    byte_size(atom.aval),
                    refusal.reason,
                    reason_text(refusal, in_body=step.parent is not None),
                )  # fmt: skip
            )
        maker.update((v, (step.id, v)) for v in writes)

    def own_equations(self, statement: Any) -> tuple[JaxprEqn, ...]:
        """The equation of a statement that has one, and no result that is known by name."""
        if isinstance(statement, buffers.Callback):
            return (self.subject.buffers.callbacks[statement.number],)
        eqn = getattr(statement, "eqn", None)
        return () if eqn is None else (eqn,)

    def measure(self, step: Step, statement: Any, reads: list[Var], writes: list[Var]) -> None:
        """Work and roofline, where the statement is a kernel, a library call or a copy."""
        match statement:
            case buffers.Run(kernel=kernel):
                step.kernel, work = kernel.name, self.works[id(kernel)]
            case buffers.Library(call=call):
                size = [sum(byte_size(v.aval) for v in side) for side in (reads, writes)]
                work = work_of_library(call, *size)
            case buffers.Copy(size=size):
                work = Work(size, size)
            case _:
                return
        runs = step.runs
        step.bytes_read, step.bytes_written = work.read * runs, work.written * runs
        step.flops, step.dtype, step.exact = work.flops * runs, work.dtype, work.exact
        least, step.bound = roofline.attainable(
            work, library=isinstance(statement, buffers.Library)
        )
        step.attainable = least * runs
        if step.attainable and step.seconds > runs * self.times.overhead:
            step.share = step.attainable / step.seconds


_KINDS = {
    buffers.Run: "kernel", buffers.Library: "library", buffers.Callback: "callback",
    buffers.Copy: "copy", buffers.Repeat: "loop", buffers.While: "while",
    buffers.Branch: "branch",
}  # fmt: skip


def _kind(statement: Any) -> str:
    return _KINDS.get(type(statement), "native")


def _names(statement: Any) -> tuple[list[Any], list[Var]]:
    """What a statement reads and writes, as the scope around it names these."""
    names = getattr(statement, "names", None)
    if names is not None:
        return [a for a, _ in names.reads], [v for v, _ in names.writes]
    bodies = buffers.bodies_of(statement)
    reads = dict.fromkeys(outer for body in bodies for _, _, outer in body.enters)
    return list(reads), [v for v, _ in getattr(statement, "results", ())]


def _type_text(atom: Any) -> str:
    text = atom.aval.str_short(short_dtypes=True)
    return f"{atom.val}:{text}" if isinstance(atom, Literal) else text


def _title(statement: Any, equations: Sequence[JaxprEqn]) -> str:
    """What a step is, in a few words."""
    match statement:
        case buffers.Library(call=call):
            return call.symbol.removeprefix("blas_").removeprefix("lapack_")
        case buffers.Copy():
            return "copy"
        case buffers.Repeat(length=length):
            return f"repeat {length:,}"
        case buffers.While():
            return "while"
        case buffers.Branch(cases=cases):
            return f"one of {len(cases)} branches"
    names = [e.primitive.name for e in equations]
    counted = [n for n in names if n not in _QUIET] or names
    shown = " ".join(counted[-3:])
    return f"{shown} +{len(counted) - 3}" if len(counted) > 3 else shown or _kind(statement)


_QUIET = frozenset(
    ("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "convert_element_type")
)


def sources_of(equations: Sequence[JaxprEqn]) -> list[Source]:
    """The user's lines that some equations come from, in the order of file and line."""
    found: dict[tuple[str, int], Source] = {}
    for eqn in equations:
        place = eqn.source_info
        key = (place.file, place.line)
        if key not in found:
            code = linecache.getline(place.file, place.line).strip() if place.file else ""
            found[key] = Source(place.file, place.line, place.function, code)
        types = " ".join(v.aval.str_short(short_dtypes=True) for v in eqn.outvars)
        found[key].operations.append(f"{eqn.primitive.name} {types}")
    return [found[key] for key in sorted(found)]


def _stages(call: Call, subject: Compilation, notes: Notes, steps: list[Step]) -> list[Stage]:
    """Each stage with its time and the size of its result."""
    seconds, kernels = subject.seconds, list(kernels_of(subject.plan))
    calls = [s for s in steps if s.kind not in COMPOSITE]
    loops = sum(print_function(f).count("\n") + 1 for f in subject.functions.values())
    executable = subject.executable
    sizes = {
        "optimized": plural(count_equations(subject.jaxpr), "equation"),
        "kernels": f"{plural(len(kernels), 'kernel')}, {plural(len(calls), 'step')}",
        "loops": plural(loops, "line"),
        "buffers": f"arena of {size_text(executable.arena_bytes)}",
        "llvm": plural(subject.text.count("\n"), "line"),
        "asm": f"object of {size_text(executable.code_bytes)}",
    }
    return [
        Stage("jaxpr", call.trace_seconds, plural(count_equations(call.closed.jaxpr), "equation")),
        *(Stage(name, seconds[name], sizes.get(name, "")) for name in seconds),
    ]


def _rewrite(rule: Any, count: int) -> Rewrite:
    if isinstance(rule, Rule):
        return Rewrite(rule_text(rule), count, rule.exact)
    text = " ".join((rule.__doc__ or rule.__name__).split("\n\n")[0].split())
    return Rewrite(text, count, True)


def _texts(subject: Compilation) -> dict[str, KernelText]:
    """Each kernel as loops, as LLVM and as assembly."""
    llvm = llvm_of(subject.text)
    assembly = machine_code_of(engine.assembly(subject.text, engine.default_engine().target))
    found = {}
    for kernel in kernels_of(subject.plan):
        function = subject.functions[id(kernel)]
        found[kernel.name] = KernelText(
            len(kernel.eqns),
            print_function(function),
            llvm.get(function.name, ""),
            assembly.get(function.name, ""),
        )
    return found


def _machine(steps: list[Step]) -> dict[str, Any]:
    """What was found out about this machine, as far as the report needed it."""
    target = engine.host_target()
    dtypes = {"float32", *(s.dtype for s in steps if s.dtype)}
    return {
        "cpu": target.cpu,
        "vector_bits": 8 * target.vector_bytes,
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "blas_threads": openblas.default_threads(),
        "bandwidth": [
            {"bytes": n, "bytes_per_second": speed} for n, speed in roofline.bandwidths()
        ],
        "flops_per_second": {
            dtype: {
                "arithmetic": roofline.arithmetic_peak(dtype),
                "product": roofline.product_peak(dtype),
            }
            for dtype in sorted(dtypes)
        },
    }
