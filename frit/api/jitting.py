"""jit: trace once for each signature, compile, and run the machine code from then on."""

from __future__ import annotations

import functools
import inspect
import operator
import weakref
from collections import namedtuple
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import frit.config as config  # not `from frit import`: that name is also a variable of frit
from frit import trees
from frit.api import aot, signatures
from frit.api.aot import Lowered, Traced
from frit.api.control_flow import check_control_flow, convert
from frit.config import trace_settings
from frit.diagnostics import misses
from frit.diagnostics.traces import TraceReport
from frit.ir.dtypes import float0
from frit.ir.jaxpr import ClosedJaxpr, DebugInfo, run_closed
from frit.ir.primitive import Tracer, bottom_interpreter, current_interpreter
from frit.ir.types import ShapeDtypeStruct
from frit.primitives.calls import jit as jit_primitive
from frit.runtime import cache, events
from frit.runtime.array import Array
from frit.runtime.cache import StaticValue
from frit.runtime.dispatch import QuickCall, contents_of, quick_call, type_of
from frit.runtime.execute import execute, program_of
from frit.runtime.guards import Change, Guards
from frit.transforms.trace import trace_closed

CacheInfo = namedtuple("CacheInfo", "hits misses maxsize currsize")


_is_array = functools.partial(operator.is_, Array)


_jitted: weakref.WeakSet[JitFunction] = weakref.WeakSet()


def _forget_quick_calls() -> None:
    for function in list(_jitted):
        function._quick.clear()


cache.call_on_clear(_forget_quick_calls)


class Options(NamedTuple):
    """What `jit` was asked for beside the function."""

    static: signatures.Marked
    donated: signatures.Marked
    inline: bool
    keep_unused: bool
    captures: str | None
    bounds: str | None


class JitFunction:
    """A function that is traced and compiled for each new signature of its arguments."""

    followed = ("_function",)
    __wrapped__: Callable[..., Any]

    def __init__(
        self,
        function: Callable[..., Any],
        options: Options,
        signature: inspect.Signature | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        # Attributes of the function are kept, but for those that would hide ours.
        own = (
            {k: v for k, v in vars(function).items() if not hasattr(type(self), k)}
            if hasattr(function, "__dict__")
            else {}
        )
        self.__dict__.update(own)
        self._function, self._options = function, options
        self._signature = signature = signature or signatures.signature_of(function)
        # Marks that differ by number and by name make the spelling of a call matter.
        agree = all(signatures.marks_agree(signature, m) for m in (options.static, options.donated))
        self._spelling = signature if agree else None
        self._quick: dict[Any, tuple[QuickCall, Any, Any, Guards | None, cache.Entry]] = {}
        _jitted.add(self)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_interpreter() is not bottom_interpreter():
            return self._call(args, kwargs)
        leaves, tree = trees.flatten((args, kwargs))
        if not all(map(_is_array, map(type, leaves))):
            return self._call(args, kwargs)
        # Types are told by identity here: equal types that are other objects take the long way.
        key = (tree.spec, trace_settings(), *map(id, map(type_of, leaves)))
        found = self._quick.get(key)
        if found is not None and (found[3] is None or found[3].hold(self._function, ())):
            results = found[0](tuple(map(contents_of, leaves)))
            if results is not None:
                found[4].hits += 1
                return found[1].unflatten(results)
        return self._call(args, kwargs, key, leaves)

    def _call(self, args: Any, kwargs: Any, quick_key: Any = None, arrays: Any = ()) -> Any:
        if config.disable_jit.value:
            return self._function(*args, **kwargs)
        events.tell("miss", function=self._function)
        entry, captured, leaves, donated = self._prepare(args, kwargs)
        interpreter = current_interpreter()
        operands = [*captured, *leaves]
        if interpreter is bottom_interpreter() and not any(isinstance(x, Tracer) for x in operands):
            results = execute(entry.closed, operands, (False,) * len(captured) + donated)
            plain = not captured and not any(donated) and len(leaves) == len(arrays)
            if quick_key is not None and plain:
                self._remember(quick_key, entry, arrays)
        elif self._options.inline:
            results = run_closed(entry.closed, *operands)
        else:
            results = jit_primitive(
                *operands,
                name=signatures.function_name(self._function),
                jaxpr=entry.closed,
                donated_invars=(False,) * len(captured) + donated,
                inline=self._options.inline,
                keep_unused=self._options.keep_unused,
            )
        return entry.out_tree.unflatten(results)

    def _remember(self, key: Any, entry: cache.Entry, arrays: Any) -> None:
        """Opens the quick way for calls with the very same types."""
        types = entry.closed.out_avals
        if any(getattr(t, "dtype", None) == float0 for t in types):
            return  # results of float0 are NumPy arrays, which the quick way does not make
        quick = quick_call(program_of(entry.closed), types)
        if quick is not None:
            if len(self._quick) >= cache.ENTRIES_PER_FUNCTION:
                self._quick.clear()
            # The types are held, so that their identities stay theirs.
            held = tuple(map(type_of, arrays))
            guarded = self._policy() != "freeze" and entry.guards.guards
            guards = entry.guards if guarded else None
            self._quick[key] = (quick, entry.out_tree, held, guards, entry)

    def _prepare(self, args: Any, kwargs: Any) -> tuple[cache.Entry, list[Any], list[Any], Any]:
        call = self._bound(args, kwargs)
        entry, captured = self._entry(call)
        return entry, captured, call.leaves, call.donated_flags()

    def _bound(self, args: Any, kwargs: Any) -> _Call:
        """The call in its one spelling.

        A call that leaves defaults out shares the trace of one that gave them, if there is one;
        else the defaults are constants of the trace, as Python code may need their numbers.
        """
        static = self._options.static.names
        args, kwargs = signatures.canonical_call(self._spelling, args, kwargs, static)
        full = signatures.spelled_out(self._spelling, args, kwargs)
        if full is not None:
            call = _Call(self, *full)
            types = signatures.types_of_leaves(call.leaves, call.info)
            key = self._key(call, types)
            if key in cache.traces_of(self._function).by_call:
                return call
        return _Call(self, args, kwargs)

    def _entry(self, call: _Call) -> tuple[cache.Entry, list[Any]]:
        types = signatures.types_of_leaves(call.leaves, call.info)
        key = self._key(call, types)

        def explain(traces: cache.FunctionTraces, changes: Sequence[Change]) -> None:
            misses.log_miss(self._function, key, traces, changes, call.info())

        with self._own_settings():
            return cache.trace_once(
                self._function,
                key,
                lambda: self._trace(call, types),
                self._options.captures,
                explain if config.explain_cache_misses.value else None,
            )

    def _key(self, call: _Call, types: Any) -> cache.CacheKey:
        frozen = ("frozen captures",) if self._policy() == "freeze" else None
        with self._own_settings():
            return cache.make_key("jit", types, call.tree, call.static, frozen)

    def _own_settings(self) -> Any:
        """A block in which the function's own settings hold."""
        bounds = self._options.bounds
        return nullcontext() if bounds is None else config.bounds(bounds)

    def _policy(self) -> str:
        return self._options.captures or config.captures.value  # type: ignore[no-any-return]

    def _trace(self, call: _Call, types: Any) -> tuple[ClosedJaxpr, list[Any], Any]:
        out: list[Any] = []
        flat = signatures.flat_function(
            self._function,
            call.tree,
            out,
            call.with_static,
            signatures.result_check(self._function, "jit"),
        )
        closed, captured = trace_closed(flat, types, call.info())
        return closed, captured, out[0]

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The traced function, before compilation."""
        call = _Call(self, args, kwargs)
        entry, captured = self._entry(call)
        return Traced(
            entry.closed,
            call.tree,
            entry.out_tree,
            signatures.function_name(self._function),
            captured,
            call.donated_flags(),
            call.info().argument_names,
            self._options.keep_unused,
        )

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function for these arguments (or ShapeDtypeStructs), ready to be compiled."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the results, without computing them."""
        traced = self.trace(*args, **kwargs)
        return traced.out_info

    def explain(self) -> TraceReport:
        """Every trace of the function: why it was made, what it cost, how often it was found.

        >>> import frit as jax, frit.numpy as jnp
        >>> f = jax.jit(lambda x: x + 1)
        >>> _ = f(jnp.ones(3)), f(jnp.ones(4))
        >>> f.explain().traces[1].causes
        ('argument `x`: f32[3] → f32[4]',)
        """
        return TraceReport(self._function, cache.traces_of(self._function))

    def clear_cache(self) -> None:
        """Forgets all traces of the function."""
        self._quick.clear()
        cache.clear(self._function)

    def cache_info(self) -> CacheInfo:
        """Hits, misses and number of traces."""
        traces = cache.traces_of(self._function)
        return CacheInfo(
            traces.hits(), traces.misses, cache.ENTRIES_PER_FUNCTION, len(traces.entries)
        )

    def _cache_size(self) -> int:
        return len(cache.traces_of(self._function).entries)

    def __repr__(self) -> str:
        try:
            return f"<PjitFunction of {self.__wrapped__!r}>"
        except Exception:  # a function whose text cannot be made has a jitted form nevertheless
            return "<PjitFunction>"

    def __reduce__(self) -> Any:
        return JitFunction, (self._function, self._options)


class _Call:
    """One call's arguments: static ones taken out, the others flat."""

    def __init__(self, jitted: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.jitted, self.args, self.kwargs = jitted, args, kwargs
        marked = jitted._options.static
        count = len(args)
        numbers = sorted({n % count if count else n for n in marked.numbers if -count <= n < count})
        names = [n for n in marked.names if n in kwargs]
        self.static_numbers, self.static_names = numbers, names
        function = signatures.function_name(jitted._function)
        self.static = tuple(
            [(n, StaticValue(args[n], self._name(n), function)) for n in numbers]
            + [(n, StaticValue(kwargs[n], repr(n), function)) for n in sorted(names)]
        )
        if numbers or names:
            args = tuple(x for i, x in enumerate(args) if i not in numbers)
            kwargs = {k: v for k, v in kwargs.items() if k not in names}
        self.dynamic_args, self.dynamic_kwargs = args, kwargs
        self.leaves, self.tree = trees.flatten((args, kwargs))

    def _name(self, number: int) -> str:
        names = signatures.positional_names(self.jitted._signature)
        return repr(names[number]) if number < len(names) else f"number {number}"

    def with_static(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The full arguments, from the dynamic ones."""
        if not self.static:
            return args, kwargs
        given = iter(args)
        full = [
            self.args[i] if i in self.static_numbers else next(given) for i in range(len(self.args))
        ]
        return full, {**kwargs, **{k: self.kwargs[k] for k in self.static_names}}

    def donated_flags(self) -> tuple[bool, ...]:
        marked = self.jitted._options.donated
        if not marked.numbers and not marked.names:
            return (False,) * len(self.leaves)
        flags: list[bool] = []
        count = len(self.args)
        numbers = {n % count if count else n for n in marked.numbers}
        for i, x in enumerate(self.args):
            if i not in self.static_numbers:
                flags += [i in numbers] * trees.structure(x).num_leaves
        for key in sorted(self.dynamic_kwargs):
            flags += [key in marked.names] * trees.structure(self.dynamic_kwargs[key]).num_leaves
        return tuple(flags)

    def info(self) -> DebugInfo:
        jitted = self.jitted
        kept = [i for i in range(len(self.args)) if i not in self.static_numbers]
        info = signatures.describe(
            jitted._function, None, self.dynamic_args, self.dynamic_kwargs, "jit"
        )
        positional = signatures.positional_names(jitted._signature)
        names = []
        for path, fallback in zip(
            trees.paths((self.dynamic_args, self.dynamic_kwargs)), info.argument_names, strict=True
        ):
            where, index, *rest = path
            number = kept[index.idx] if where.idx == 0 else None
            if number is not None and number < len(positional):
                names.append(positional[number] + trees.keystr(tuple(rest)))
            elif number is not None:
                names.append(f"args[{number - len(positional)}]" + trees.keystr(tuple(rest)))
            else:
                names.append(fallback)
        return DebugInfo(info.function, info.place, tuple(names), (), "jit")


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: Any = None,
    static_argnames: Any = None,
    donate_argnums: Any = None,
    donate_argnames: Any = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: Any = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: Any = None,
    captures: str | None = None,
    bounds: str | None = None,
    control_flow: str | None = None,
) -> Any:
    """`fun`, traced once for each signature of its arguments and run as machine code.

    Static arguments are part of the signature by value and must be hashable; donated ones give
    their buffers up.  Positional, keyword and default spellings of a call share one trace.  The
    globals, closures and attributes that the function reads are part of the signature too.

    captures: what a call does when one of those has changed since the trace: "retrace" (the
    setting's default), "warn" and keep the compiled value, "error" (CaptureChangedError), or
    "freeze": keep the compiled value without a word.

    bounds: "raise" gives IndexError, with the line, for an index out of bounds while the program
    runs; "clamp" (the setting's default) moves reads inside and drops writes.

    control_flow: "convert" makes Python's `if`, `while` and `for` on traced values branches and
    loops of the program, see `convert`.

    >>> import frit as jax
    >>> jax.jit(lambda x: x * 2)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            inline=inline,
            compiler_options=compiler_options,
            captures=captures,
            bounds=bounds,
            control_flow=control_flow,
        )
    signatures.check_callable(fun, "jit")
    check_control_flow(control_flow)
    if control_flow is not None:
        fun = convert(fun)
    signature = signatures.signature_of(fun)
    if signature is None and donate_argnames is not None:
        raise ValueError(
            f"Getting the signature of function {fun} failed. Pass donate_argnums instead of "
            "donate_argnames."
        )
    static = signatures.resolve_marked(fun, signature, static_argnums, static_argnames, "static")
    donated = signatures.resolve_marked(fun, signature, donate_argnums, donate_argnames, "donate")
    signatures.check_disjoint(static, donated)
    aot.check_compiler_options(compiler_options)
    if captures is not None:
        config.captures.check(captures)
    if bounds is not None:
        config.bounds.check(bounds)
    options = Options(static, donated, inline, keep_unused, captures, bounds)
    return JitFunction(fun, options, signature)


def shape_struct(aval: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
