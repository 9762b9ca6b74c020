"""The compiler: from a closed jaxpr to a program, as one tuple of named stages.

    ClosedJaxpr  | optimized   flat, smaller                        a jaxpr
                 | kernels     which equations are computed together
                 | loops       each kernel as loops
                 | buffers     where values live
                 | llvm        text
                 | code        machine code, loaded

`run_stage` checks, shows (FRIT_SHOW=optimized,loops) and times (FRIT_TIME=1) each of them.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from frit import config
from frit.backends.llvm import driver, engine, openblas, tapes
from frit.backends.llvm.clock import Clock
from frit.backends.llvm.emit import emit_function
from frit.backends.llvm.module import Module
from frit.codegen import grouping, lapack, lower, units
from frit.codegen.assign import assign_buffers
from frit.codegen.buffers import BufferPlan, print_plan, requirements_of
from frit.codegen.buffers_check import check_buffers
from frit.codegen.kernels import Kernel, Plan, check_plan, kernels_of, print_steps
from frit.codegen.loops_check import print_function
from frit.codegen.nests import RULES
from frit.codegen.refusals import Decisions
from frit.codegen.scalars import element_type
from frit.errors import LoweringError
from frit.ir.check import check_jaxpr
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, storage_of
from frit.ir.types import ShapedArray, typeof
from frit.optimize.fingerprint import Constants, closed_key
from frit.optimize.passes import Rewrites, optimize
from frit.primitives.tapes import is_tape
from frit.runtime import tapes as owned_tapes
from frit.runtime.program import Executable, Program, ReferenceProgram, Tapes


@dataclass
class Notes:
    """What the stages did, for those who ask."""

    rewrites: Rewrites = field(default_factory=Rewrites)
    decisions: Decisions = field(default_factory=Decisions)


@dataclass(frozen=True)
class Compilation:
    """A program on its way through the stages; each fills what is its own.

    given: how many of the constants came with the program; decompositions may add more.
    notes: filled by the stages, if given.
    """

    closed: ClosedJaxpr
    constants: Constants
    donated: tuple[bool, ...]
    given: int
    jaxpr: Jaxpr = field(default=None)  # type: ignore[assignment]
    plan: Plan = field(default=None)  # type: ignore[assignment]
    functions: dict[int, Any] = field(default_factory=dict)
    buffers: BufferPlan = field(default=None)  # type: ignore[assignment]
    text: str = ""
    imported: tuple[str, ...] = ()
    executable: Executable = field(default=None)  # type: ignore[assignment]
    notes: Notes | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # that each stage took


@dataclass(frozen=True)
class Stage:
    """One step of the compiler: `run(subject) -> subject`; `check` raises, `show` gives text."""

    name: str
    run: Callable[[Compilation], Compilation]
    check: Callable[[Compilation], None]
    show: Callable[[Compilation], str]


def is_lowered(eqn: JaxprEqn) -> bool:
    """Whether kernels, library calls or callbacks compute the equation as it is."""
    name = eqn.primitive.name
    if name in units.LOOPS or name in units.CALLBACKS or name in units.NATIVE:
        return True
    if name == "library_call":
        return True
    return name in RULES


def _needs_no_decomposition(eqn: JaxprEqn) -> bool:
    return is_lowered(eqn) or lapack.expansion_of(eqn) is not None


def _optimize(subject: Compilation) -> Compilation:
    expansion_of = lapack.expansion_of
    rewrites = None if subject.notes is None else subject.notes.rewrites
    jaxpr = optimize(
        subject.closed, subject.constants, _needs_no_decomposition, expansion_of, rewrites
    )
    return replace(subject, jaxpr=jaxpr)


def _group(subject: Compilation) -> Compilation:
    decisions = None if subject.notes is None else subject.notes.decisions
    return replace(subject, plan=grouping.make_plan(subject.jaxpr, is_lowered, decisions))


def _lower(subject: Compilation) -> Compilation:
    functions = {}
    for kernel in kernels_of(subject.plan):
        try:
            functions[id(kernel)] = lower.lower_kernel(kernel, check=config.check.value)
        except (NotImplementedError, TypeError) as error:
            raise LoweringError(f"{_place_of(kernel)}: {error}") from error
    return replace(subject, functions=functions)


def _place_of(kernel: Kernel) -> str:
    """Where in the user's code a kernel comes from."""
    places = dict.fromkeys(str(e.source_info) for e in kernel.eqns if e.source_info.file)
    return f"while compiling {', '.join(list(places)[:3]) or kernel.name}"


def _assign(subject: Compilation) -> Compilation:
    functions = subject.functions

    def scratch_of(kernel: Kernel) -> list[int]:
        return [
            element_type(buffer.dtype).itemsize * int(np.prod(buffer.shape, dtype=np.int64))
            for buffer in functions[id(kernel)].scratch
        ]

    constants = len(subject.constants.values)
    donated = (*(False,) * constants, *subject.donated)
    return replace(subject, buffers=assign_buffers(subject.plan, scratch_of, donated))


def _emit(subject: Compilation) -> Compilation:
    text, imported = emit_module(subject)
    return replace(subject, text=text, imported=imported)


def emit_module(
    subject: Compilation, clock_of: Callable[[Module], Clock] | None = None
) -> tuple[str, tuple[str, ...]]:
    """The LLVM text of a program's kernels and driver, and the symbols it imports.

    clock_of: gives the clock of a driver that measures its statements.
    """
    target = engine.default_engine().target
    module = Module(has_fma=target.has_fma)
    functions = subject.functions
    for function in functions.values():
        emit_function(module, function, target)

    def symbol_of(kernel: Kernel) -> tuple[str, bool]:
        function = functions[id(kernel)]
        return function.name, function.fallible

    clock = None if clock_of is None else clock_of(module)
    imported = driver.emit_driver(module, subject.buffers, symbol_of, _threads_of, clock)
    return module.render(), tuple(sorted(imported))


def _threads_of(work: int) -> int | None:
    """Threads of BLAS for a call of so many multiplications, if they can be set."""
    if openblas.address(openblas.SET_THREADS) is None:
        return None
    if work < openblas.SMALL_WORK:
        return 1
    return config.num_threads.value or openblas.default_threads()


def _load(subject: Compilation) -> Compilation:
    types = [_array_type(t) for t in subject.jaxpr.out_avals]
    executable = load_module(subject, subject.text, subject.imported, types)
    return replace(subject, executable=executable)


_tape_allocator = owned_tapes.allocator()


def load_module(
    subject: Compilation, text: str, imported: Sequence[str], outputs: Sequence[ShapedArray]
) -> Executable:
    """Machine code of a program's LLVM text, whose entry writes `outputs`."""
    symbols = engine.default_engine().symbols
    for name in imported:
        address = _tape_allocator.get(name) or openblas.address(name)
        if address is not None:
            symbols.add(name, address)
    code = engine.default_engine().compile(text, exported=(driver.ENTRY,), imported=imported)
    pointer = ctypes.c_void_p
    entry = code.function(driver.ENTRY, ctypes.c_int32, pointer, pointer, pointer)
    plan = subject.buffers
    return Executable(
        entry,
        code.size,
        outputs,
        subject.constants.values[subject.given :],
        plan.constants,
        driver.arena_bytes(plan),
        plan.callbacks,
        plan.donated_outputs,
        text,
        requirements_of(plan),
        Tapes(
            tuple(k for k, v in enumerate(subject.jaxpr.invars) if is_tape(v.aval)),
            tuple(j for j, t in enumerate(outputs) if is_tape(t)),
            tapes.makes_tapes(plan),
        ),
    )


def _array_type(aval: Any) -> ShapedArray:
    return aval if isinstance(aval, ShapedArray) else ShapedArray((), np.dtype(bool))


def _show_functions(subject: Compilation) -> str:
    return "\n".join(print_function(f) for f in subject.functions.values())


def _nothing(subject: Compilation) -> None:
    """No check: what the stage calls verifies its input itself."""


STAGES = (
    Stage("optimized", _optimize, lambda s: check_jaxpr(s.jaxpr), lambda s: str(s.jaxpr)),
    Stage("kernels", _group, lambda s: check_plan(s.plan), lambda s: print_steps(s.plan)),
    Stage("loops", _lower, _nothing, _show_functions),
    Stage(
        "buffers", _assign,
        lambda s: check_buffers(s.buffers, s.plan), lambda s: print_plan(s.buffers),
    ),
    Stage("llvm", _emit, _nothing, lambda s: s.text),
    Stage(
        "asm", _load, _nothing,
        lambda s: engine.assembly(s.text, engine.default_engine().target),
    ),
)  # fmt: skip


def run_stage(stage: Stage, subject: Compilation) -> Compilation:
    """The subject after a stage: checked, shown and timed as the settings ask."""
    start = time.perf_counter()
    result = stage.run(subject)
    spent = time.perf_counter() - start
    subject.seconds[stage.name] = spent
    if config.check.value:
        stage.check(result)
    if stage.name in config.show.value.split(","):
        print(f"---- {stage.name}\n{stage.show(result)}", file=sys.stderr)
    if config.time.value:
        print(f"{stage.name:>10} {1e3 * spent:9.2f} ms", file=sys.stderr)
    return result


# ---------------------------------------------------------------------------------------- cache

CACHE_SIZE = 4096
_cache: OrderedDict[Any, Executable] = OrderedDict()
_lock = threading.RLock()


def compile_jaxpr(
    closed: ClosedJaxpr, donated: Sequence[bool] | None = None
) -> Program | ReferenceProgram:
    """The program of a closed jaxpr; programs of equal structure share their machine code.

    donated: for each input, whether the program may overwrite it.
    Raises LoweringError where an equation cannot be compiled.
    """
    if config.backend.value == "reference":
        return ReferenceProgram(closed)
    for aval in (*closed.in_avals, *closed.out_avals):
        if any(not isinstance(n, int) for n in getattr(aval, "shape", ())):
            raise LoweringError(
                f"a program on {aval} has dimensions that are not known; compiled code needs "
                "numbers for them. Trace the function on arrays, or on shapes with integers."
            )
    constants = Constants()
    structure = closed_key(closed, constants)
    given = len(constants.values)
    flags = tuple(map(bool, donated)) if donated is not None else (False,) * len(closed.in_avals)
    key = (structure, flags, config.fast_math.value, config.num_threads.value)
    with _lock:
        executable = _cache.get(key)
        if executable is not None:
            _cache.move_to_end(key)
    if executable is None:
        subject = Compilation(closed, constants, flags, given)
        executable = _compile(subject).executable
        executable.stage_seconds = subject.seconds
        with _lock:
            _cache[key] = executable
            while len(_cache) > CACHE_SIZE:
                _cache.popitem(last=False)
    return Program(executable, _arrays(constants.values[:given]), closed.in_avals)


def compile_noted(closed: ClosedJaxpr) -> tuple[Compilation, Program, Notes]:
    """A closed jaxpr compiled anew, what each stage made, and what each did.

    The caller sees to it that dimensions are known, as those of a call with arrays are.
    Raises LoweringError where an equation cannot be compiled.
    """
    constants, notes = Constants(), Notes()
    closed_key(closed, constants)
    flags = (False,) * len(closed.in_avals)
    given = len(constants.values)
    subject = _compile(Compilation(closed, constants, flags, given, notes=notes))
    program = Program(subject.executable, _arrays(constants.values[:given]), closed.in_avals)
    return subject, program, notes


def _arrays(values: Sequence[Any]) -> list[np.ndarray]:
    return [np.ascontiguousarray(storage_of(c, typeof(c))).reshape(np.shape(c)) for c in values]


def _compile(subject: Compilation) -> Compilation:
    if "jaxpr" in config.show.value.split(","):
        print(f"---- jaxpr\n{subject.closed}", file=sys.stderr)
    for stage in STAGES:
        subject = run_stage(stage, subject)
    return subject


def clear_cache() -> None:
    """Forgets all executables; those that programs hold stay valid."""
    with _lock:
        _cache.clear()


def cache_size() -> int:
    return len(_cache)
