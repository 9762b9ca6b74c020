"""Custom rules: functions that tell their own derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from frit import config, errors, trees
from frit.api import signatures
from frit.errors import UnexpectedTracerError
from frit.ir import dtypes
from frit.ir.dtypes import float0
from frit.ir.jaxpr import run_jaxpr
from frit.ir.primitive import Tracer, current_interpreter
from frit.ir.types import typeof
from frit.primitives.calls import custom_jvp_call, custom_vjp_call
from frit.transforms.linear import Zero, add_tangents, instantiate, is_zero, zeros
from frit.transforms.trace import trace_to_jaxpr


class SymbolicZero:
    """A tangent or cotangent known to be zero, as rules with symbolic_zeros see it."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @property
    def shape(self) -> Any:
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

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, SymbolicZero) and self.aval == other.aval

    def __hash__(self) -> int:
        return hash(self.aval)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"

    @staticmethod
    def from_primal_value(value: Any) -> SymbolicZero:
        return SymbolicZero(typeof(value).tangent_type())


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a value."""
    aval = typeof(value).tangent_type()
    return SymbolicZero(aval) if symbolic_zeros else zeros(aval)


def _as_zero(tangent: Any) -> Any:
    return Zero(tangent.aval) if isinstance(tangent, SymbolicZero) else tangent


def resolve_positional(function: Any, args: Any, kwargs: Any, kind: str) -> tuple[Any, ...]:
    """The arguments of a call by position, defaults included.  TypeError if they do not fit."""
    opaque = isinstance(function, functools.partial)
    signature = None if opaque else signatures.signature_of(function)
    if signature is None:
        bound_args, rest = tuple(args), kwargs
    else:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"The input arguments to the {kind}-decorated function "
                f"{errors.function_place(function)} could not be resolved to positional-only "
                f"arguments. Binding failed with the error:\n{error}"
            ) from None
        bound.apply_defaults()
        bound_args, rest = bound.args, {k: v for k, v in bound.kwargs.items() if k in kwargs}
    if rest:
        raise TypeError(
            f"The input arguments to the {kind}-decorated function "
            f"{errors.function_place(function)} could not be resolved to positional-only "
            "arguments. Binding failed with the error:\nThe following keyword arguments could not "
            f"be resolved to positions: {', '.join(rest)}"
        )
    return bound_args


def _refuse_tracers(fixed: Sequence[Any]) -> None:
    for leaf in trees.leaves(list(fixed)):
        if isinstance(leaf, Tracer):
            raise UnexpectedTracerError(
                "Found a JAX Tracer object passed as an argument to a custom_vjp function in a "
                "position indicated by nondiff_argnums as non-differentiable. Tracers cannot be "
                "passed as non-differentiable arguments to custom_vjp functions; instead, "
                "nondiff_argnums should only be used for arguments that can't be or contain JAX "
                "tracers, e.g. function-valued arguments. In particular, array-valued arguments "
                "should typically not be indicated as nondiff_argnums."
            )


class _Bound:
    """One call of a custom function: arguments that are differentiated, flat, and those that are not."""

    def __init__(
        self, function: Any, nondiff: tuple[int, ...], args: Any, kwargs: Any, kind: str
    ) -> None:
        args = resolve_positional(function, args, kwargs, kind)
        self.function, self.args = function, args
        self.nondiff = tuple(i % len(args) if args else i for i in nondiff)
        self.fixed = [args[i] for i in self.nondiff]
        self.leaves, self.tree = trees.flatten(
            tuple(x for i, x in enumerate(args) if i not in self.nondiff)
        )
        self.out_tree: Any = None
        self.out_types: Any = None

    def call(self, *leaves: Any) -> list[Any]:
        given = iter(self.tree.unflatten(leaves))
        full = [self.args[i] if i in self.nondiff else next(given) for i in range(len(self.args))]
        values, self.out_tree = trees.flatten(self.function(*full))
        self.out_types = [typeof(v) for v in values]
        return values


def _indices(function: Any, numbers: Sequence[int], names: Sequence[str] = ()) -> tuple[int, ...]:
    positional = signatures.positional_names(signatures.signature_of(function))
    return (*numbers, *[positional.index(n) for n in names])


class custom_jvp:
    """A function with its own forward derivative, given by `defjvp` or `defjvps`.

    >>> import frit as jax, frit.numpy as jnp
    >>> f = jax.custom_jvp(lambda x: jnp.sin(x))
    >>> f.defjvps(lambda t, ans, x: 2. * t)
    >>> float(jax.grad(f)(1.0))
    2.0
    """

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = _indices(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Sets the rule `jvp(*nondiff, primals, tangents) -> results, tangents of results`."""
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets a rule `(tangent, result, *primals) -> tangent` for each argument; None: no tangent."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            result = self(*primals)
            terms = [
                rule(t, result, *primals)
                for rule, t in zip(jvps, tangents, strict=True)
                if rule is not None
            ]
            if not terms:
                return result, trees.map(lambda x: zeros(typeof(x).tangent_type()), result)
            return result, functools.reduce(lambda a, b: trees.map(add_tangents, a, b), terms)

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = signatures.function_name(self.fun)
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {name} using defjvp. Call "
                f"{name}.defjvp(rule) first."
            )
        bound = _Bound(self.fun, self.nondiff_argnums, args, kwargs, "custom_jvp")
        rule = _JVPRule(self.jvp, name, bound, self.symbolic_zeros)
        params = {"name": name, "symbolic_zeros": self.symbolic_zeros, "num_consts": 0}
        results = current_interpreter().custom_jvp(
            custom_jvp_call, _named(bound.call, name), rule, bound.leaves, params
        )
        tree = bound.out_tree if bound.out_tree is not None else rule.out_tree
        return tree.unflatten(results)


def _named(function: Any, name: str) -> Any:
    def call(*leaves: Any) -> Any:
        return function(*leaves)

    call.__name__ = name
    return call


def _check_same_types(
    kind: str, rule: str, name: str, bound: _Bound, values: Sequence[Any], tree: Any
) -> None:
    """TypeError if a rule's primal results have other types than the function's, where these are known."""
    if bound.out_types is None:
        return
    types = [typeof(v) for v in values]
    if all(
        (a.shape, a.dtype) == (b.shape, b.dtype)  # type: ignore[attr-defined]
        for a, b in zip(types, bound.out_types, strict=True)
    ):
        return
    found, want = (
        str(tree.unflatten([t.str_short() for t in ts])).replace("'", "")
        for ts in (types, bound.out_types)
    )
    raise TypeError(
        f"Custom {kind} {rule} for function {name} must produce a pair (list or tuple of length "
        f"two) where the first element represents the primal output {_PRIMAL_OUTPUT[kind](name)} "
        f"first element had shapes/dtypes of:\n    {found}\nwhile the {_DECORATOR[kind]}-decorated "
        f"function {name} had output shapes/dtypes of:\n    {want}"
    )


_DECORATOR = {"JVP rule": "custom_jvp", "VJP fwd rule": "custom_vjp"}
_PRIMAL_OUTPUT = {
    "JVP rule": lambda name: (
        f"(equal in value to the output of the custom_jvp-decorated function {name}, and in "
        "particular with leaves of the same shape/dtype), but instead the JVP rule output's"
    ),
    "VJP fwd rule": lambda name: (
        f"(equal to the output of the custom_vjp-decorated function {name}) and the second element "
        "represents residuals (i.e. values stored from the forward pass for use on the backward "
        "pass), but instead the fwd rule output's"
    ),
}


class _JVPRule:
    """The user's rule on flat values; it prints as its name."""

    def __init__(self, rule: Any, name: str, bound: _Bound, symbolic_zeros: bool) -> None:
        self.rule, self.name, self.bound = rule, name, bound
        self.symbolic_zeros = symbolic_zeros
        self.__name__ = signatures.function_name(rule)
        self.out_tree: Any = None

    def __call__(self, primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        tree = self.bound.tree
        if self.symbolic_zeros:
            tangents = [SymbolicZero(t.aval) if is_zero(t) else t for t in tangents]
        pair = self.rule(*self.bound.fixed, tree.unflatten(primals), tree.unflatten(tangents))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"Custom JVP rule {self.__name__} for function {self.name} must produce a pair "
                "(list or tuple of length two) representing primal and tangent outputs, but got "
                f"{pair!r}."
            )
        values, out_tree = trees.flatten(pair[0])
        moved, tangent_tree = trees.flatten(pair[1], is_leaf=lambda t: isinstance(t, SymbolicZero))
        if out_tree != tangent_tree:
            raise TypeError(
                f"Custom JVP rule {self.__name__} for function {self.name} must produce primal and "
                f"tangent outputs with equal container (pytree) structures, but got {out_tree} and "
                f"{tangent_tree} respectively."
            )
        if self.bound.out_tree is not None and self.bound.out_tree != out_tree:
            raise TypeError(
                f"Custom JVP rule {self.__name__} for function {self.name} must produce a pair "
                "(list or tuple of length two) where the first element represents the primal "
                "output (equal in value to the output of the custom_jvp-decorated function "
                f"{self.name}, and in particular of the same container/pytree structure), but "
                "instead the JVP rule output's first element had container/pytree structure:\n    "
                f"{out_tree}\nwhile the custom_jvp-decorated function {self.name} had output "
                f"container/pytree structure:\n    {self.bound.out_tree}"
            )
        self.out_tree = out_tree
        return values, [self._checked(v, _as_zero(t)) for v, t in zip(values, moved, strict=True)]

    def _checked(self, value: Any, tangent: Any) -> Any:
        if is_zero(tangent):
            return tangent
        want, have = typeof(value).tangent_type(), typeof(tangent)
        if want.dtype == float0:  # type: ignore[attr-defined]
            return Zero(want)
        if (want.shape, want.dtype) != (have.shape, have.dtype):  # type: ignore[attr-defined]
            raise TypeError(
                "Custom JVP rule must produce primal and tangent outputs with corresponding shapes "
                f"and dtypes. Expected {want.str_short()} (tangent type of "
                f"{typeof(value).str_short()}) but got {have.str_short()}. The rule is "
                f"{self.__name__}, of function {self.name}."
            )
        return tangent

    def __repr__(self) -> str:
        return self.__name__


class CustomVJPPrimal:
    """An argument as a forward rule with symbolic_zeros sees it: its value, and if it is perturbed."""

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value, self.perturbed = value, perturbed


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of the CustomVJPPrimal leaves of a tree."""
    return trees.map(lambda p: p.value, tree, is_leaf=lambda p: isinstance(p, CustomVJPPrimal))


class custom_vjp:
    """A function with its own backward derivative, given by `defvjp(fwd, bwd)`.

    fwd(*args) -> result, residuals;  bwd(*nondiff, residuals, cotangent) -> cotangents of arguments.
    """

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = _indices(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defvjp(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:  # fmt: skip
        """Sets the forward and backward rules."""
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = signatures.function_name(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {name} using defvjp. Call "
                f"{name}.defvjp(fwd, bwd) first."
            )
        bound = _Bound(self.fun, self.nondiff_argnums, args, kwargs, "custom_vjp")
        _refuse_tracers(bound.fixed)
        rules = _VJPRules(self, name, bound)
        params = {"name": name, "symbolic_zeros": self.symbolic_zeros, "num_consts": 0}
        results = current_interpreter().custom_vjp(
            custom_vjp_call,
            _named(bound.call, name),
            _Shown(rules.forward, self.fwd),
            _Shown(rules.backward, self.bwd),
            bound.leaves,
            params,
        )
        tree = bound.out_tree if bound.out_tree is not None else rules.out_tree
        return tree.unflatten(results)


class _Shown:
    """A rule that prints as the user's function."""

    def __init__(self, rule: Any, shown: Any) -> None:
        self.rule = rule
        self.__name__ = signatures.function_name(shown)

    def __call__(self, *args: Any) -> Any:
        return self.rule(*args)

    def __repr__(self) -> str:
        return self.__name__


class _VJPRules:
    """The user's two rules on flat values."""

    def __init__(self, custom: custom_vjp, name: str, bound: _Bound) -> None:
        self.custom, self.name, self.bound = custom, name, bound
        self.out_tree: Any = None
        self.residual_tree: Any = None

    def forward(self, primals: list[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        given: list[Any] = primals
        if self.custom.symbolic_zeros:
            given = [CustomVJPPrimal(p, nz) for p, nz in zip(primals, nonzero, strict=True)]
        rest = iter(self.bound.tree.unflatten(given))
        count = len(self.bound.args)
        full = [self.bound.args[i] if i in self.bound.nondiff else next(rest) for i in range(count)]
        pair = self.custom.fwd(*full)  # type: ignore[misc]
        fwd_name = signatures.function_name(self.custom.fwd)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"Custom VJP fwd rule {fwd_name} for function {self.name} must produce a pair "
                "(list or tuple of length two) where the first element represents the primal "
                f"output (equal to those of the custom_vjp-decorated function {self.name}) and the "
                "second element represents residuals (i.e. values stored from the forward pass for "
                f"use on the backward pass), but instead the fwd rule output had type {type(pair)}."
            )
        values, self.out_tree = trees.flatten(pair[0])
        if self.bound.out_tree is not None and self.bound.out_tree != self.out_tree:
            raise TypeError(
                f"Custom VJP fwd rule {fwd_name} for function {self.name} must produce a pair "
                "(list or tuple of length two) where the first element represents the primal "
                f"output (equal to the output of the custom_vjp-decorated function {self.name}) "
                "and the second element represents residuals (i.e. values stored from the forward "
                "pass for use on the backward pass), but instead the fwd rule output's first "
                f"element had container/pytree structure:\n    {self.out_tree}\nwhile the "
                f"custom_vjp-decorated function {self.name} had output container/pytree "
                f"structure:\n    {self.bound.out_tree}"
            )
        _check_same_types("VJP fwd rule", fwd_name, self.name, self.bound, values, self.out_tree)
        residuals, self.residual_tree = trees.flatten(pair[1])
        self.in_types = [typeof(p).tangent_type() for p in primals]
        return values, residuals

    def backward(self, residuals: list[Any], cts: list[Any]) -> list[Any]:
        if self.custom.symbolic_zeros:
            cts = [SymbolicZero(ct.aval) if is_zero(ct) else ct for ct in cts]
        else:
            cts = [instantiate(ct) for ct in cts]
        found = self.custom.bwd(  # type: ignore[misc]
            *self.bound.fixed, self.residual_tree.unflatten(residuals), self.out_tree.unflatten(cts)
        )
        return self._flat_cotangents(found)

    def _flat_cotangents(self, found: Any) -> list[Any]:
        """One cotangent for each differentiated leaf; None for a whole subtree means zero."""
        tree = self.bound.tree
        example = tree.unflatten(range(tree.num_leaves))
        if isinstance(found, list) and len(found) == len(example):
            found = tuple(found)
        marked = trees.map(lambda ct: _NONE if ct is None else ct, found, is_leaf=_is_none)
        try:
            cts, prefix = trees.flatten(marked)
            subtrees = prefix.flatten_up_to(example)
            places = [trees.leaves(s) for s in subtrees]
            if any(
                ct is not _NONE and p != [s] for ct, p, s in zip(cts, places, subtrees, strict=True)
            ):
                raise ValueError("an array stands for a container")
        except (ValueError, TypeError):
            raise TypeError(
                f"Custom VJP bwd rule {signatures.function_name(self.custom.bwd)} must produce an "
                "output with the same container (pytree) structure as the args tuple of the primal "
                "function, and in particular must produce a tuple of length equal to the number of "
                f"arguments to the primal function, but got bwd output structure "
                f"{trees.structure(found)} for primal input structure {tree}."
            ) from None
        flat: list[Any] = [None] * tree.num_leaves
        for ct, leaves in zip(cts, places, strict=True):
            for i in leaves:
                flat[i] = ct
        paths = trees.paths(example)
        return [self._checked(c, t, p) for c, t, p in zip(flat, self.in_types, paths, strict=True)]

    def _checked(self, ct: Any, want: Any, path: Any) -> Any:
        if ct is _NONE or want.dtype == float0:
            return Zero(want)
        where, rule = trees.keystr(path), signatures.function_name(self.custom.bwd)
        have = ct.aval if isinstance(ct, SymbolicZero) else typeof(ct)
        same = have.shape == want.shape and (  # type: ignore[attr-defined]
            have.dtype == want.dtype  # type: ignore[attr-defined]
            or dtypes.is_inexact(want.dtype)
            or isinstance(have.dtype, dtypes.ExtendedDType)  # type: ignore[attr-defined]
        )
        if isinstance(ct, SymbolicZero):
            if not same:
                raise ValueError(
                    f"Custom VJP bwd rule {rule} produced a SymbolicZero with a shape/dtype that "
                    "does not match the corresponding input tangent shape/dtype: at "
                    f"output{where} the SymbolicZero had shape/dtype {have.str_short()} while the "
                    f"corresponding input had shape/dtype {want.str_short()}. Consider just "
                    "returning a None here instead of a SymbolicZero object."
                )
            return Zero(want)
        if not same and not config.custom_vjp_disable_shape_check.value:
            raise ValueError(
                f"Custom VJP bwd rule {rule} must produce an output with the same type as the args "
                f"tuple of the primal function, but at output{where} the bwd rule produced an "
                f"output of type {have.str_short()} corresponding to an input of type "
                f"{want.str_short()}{mismatch(want, have)}"
            )
        return ct


def mismatch(want: Any, have: Any) -> str:
    """In what two types differ, as the end of a sentence."""
    parts = []
    if want.shape != have.shape:
        parts.append("the shapes do not match")
    if want.dtype != have.dtype:
        parts.append("the dtypes do not match")
    return f", so {' and '.join(parts)}" if parts else ""


def _is_none(x: Any) -> bool:
    return x is None


_NONE = object()


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns (result, vjp function): its derivative is what the latter says."""

    @functools.wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result, _ = fun(*args, **kwargs)
        return result

    def fwd(*args: Any, **kwargs: Any) -> Any:
        result, rule = fun(*args, **kwargs)
        values, out_tree = trees.flatten(result)

        def flat_rule(*cts: Any) -> list[Any]:
            found = rule(out_tree.unflatten(cts))
            return trees.leaves(found)

        jaxpr, consts = trace_to_jaxpr(flat_rule, [typeof(v).tangent_type() for v in values])
        return result, _Residuals(jaxpr, consts)

    def bwd(residuals: _Residuals, ct: Any) -> Any:
        return tuple(run_jaxpr(residuals.jaxpr, residuals.consts, *trees.leaves(ct)))

    inner = custom_vjp(wrapped)
    inner.defvjp(fwd, bwd)
    return inner


class _Residuals:
    """A traced backward function: a pytree whose leaves are its constants."""

    def __init__(self, jaxpr: Any, consts: Any) -> None:
        self.jaxpr, self.consts = jaxpr, list(consts)


trees.register_node(
    _Residuals, lambda r: (r.consts, r.jaxpr), lambda jaxpr, consts: _Residuals(jaxpr, consts)
)


def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """`fun` with the values it closes over as trailing arguments, and those values.

    Only values that can be differentiated are taken out.
    """
    leaves, tree = trees.flatten(example_args)
    out: list[Any] = []
    flat = signatures.flat_function(lambda *a: fun(*a), _as_call(tree), out)
    jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves])
    moved = [dtypes.is_inexact(typeof(c).dtype) for c in consts]  # type: ignore[attr-defined]
    kept = [c for c, m in zip(consts, moved, strict=True) if not m]
    hoisted = [c for c, m in zip(consts, moved, strict=True) if m]
    out_tree = out[0]

    def converted(*args: Any) -> Any:
        given, values = args[: len(args) - len(hoisted)], args[len(args) - len(hoisted) :]
        flat_args, in_tree = trees.flatten(given)
        if in_tree != tree:
            raise TypeError(
                f"The converted function was called with structure {in_tree}; it was made for "
                f"{tree}."
            )
        rest, known = iter(values), iter(kept)
        full = [next(rest) if m else next(known) for m in moved]
        return out_tree.unflatten(run_jaxpr(jaxpr, full, *flat_args))

    converted.__name__ = signatures.function_name(fun)
    return converted, hoisted


def _as_call(tree: trees.PyTreeDef) -> Any:
    class _Call:
        @staticmethod
        def unflatten(leaves: Any) -> Any:
            return tree.unflatten(leaves), {}

    return _Call


def linear_call(
    fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any
) -> Any:
    """`fun(residual_args, linear_args)`, linear in the second, transposed by `fun_transpose`."""
    call = custom_vjp(fun)
    call.defvjp(
        lambda r, x: (fun(r, x), r),
        lambda r, ct: (
            trees.map(lambda v: zeros(typeof(v).tangent_type()), r),
            fun_transpose(r, ct),
        ),
    )
    return call(residual_args, linear_args)
