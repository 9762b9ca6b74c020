"""custom_vjp and custom_gradient: functions that tell how cotangents come back through them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from frit import config, trees
from frit.api import signatures
from frit.api.custom_calls import (
    BoundCall,
    SymbolicZero,
    check_same_types,
    forwarded_method,
    mismatch,
    named,
    positions,
)
from frit.errors import UnexpectedTracerError
from frit.ir import dtypes
from frit.ir.dtypes import float0
from frit.ir.jaxpr import run_jaxpr
from frit.ir.primitive import Tracer, current_interpreter
from frit.ir.types import typeof
from frit.primitives.calls import custom_vjp_call
from frit.transforms.linear import Zero, instantiate, is_zero
from frit.transforms.trace import trace_to_jaxpr


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


class CustomVJPPrimal:
    """An argument as a forward rule with symbolic_zeros sees it: value, and if it is perturbed."""

    def __init__(self, value: Any, perturbed: bool) -> None:
        self.value, self.perturbed = value, perturbed


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of the CustomVJPPrimal leaves of a tree."""
    return trees.map(lambda p: p.value, tree, is_leaf=lambda p: isinstance(p, CustomVJPPrimal))


class custom_vjp:
    """A function with its own backward derivative, given by `defvjp(fwd, bwd)`.

    fwd(*args) -> result, residuals
    bwd(*nondiff, residuals, cotangent) -> cotangents of the arguments
    """

    followed = ("fun", "fwd", "bwd")

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.nondiff_argnums = positions(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return forwarded_method(self, name)

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
        bound = BoundCall(self.fun, self.nondiff_argnums, args, kwargs, "custom_vjp")
        _refuse_tracers(bound.fixed)
        rules = _VJPRules(self, name, bound)
        params = {"name": name, "symbolic_zeros": self.symbolic_zeros, "num_consts": 0}
        results = current_interpreter().custom_vjp(
            custom_vjp_call,
            named(bound.call, name),
            _Shown(rules.forward, self.fwd),
            _Shown(rules.backward, self.bwd),
            bound.take_leaves(),
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

    def __init__(self, custom: custom_vjp, name: str, bound: BoundCall) -> None:
        self.custom, self.name, self.bound = custom, name, bound
        self.out_tree: Any = None
        self.residual_tree: Any = None

    def forward(self, primals: list[Any], nonzero: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        given: list[Any] = primals
        if self.custom.symbolic_zeros:
            given = [CustomVJPPrimal(p, nz) for p, nz in zip(primals, nonzero, strict=True)]
        full = self.bound.full(self.bound.tree.unflatten(given))
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
        check_same_types("VJP fwd rule", fwd_name, self.name, self.bound, values, self.out_tree)
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
            if not isinstance(found, tuple):
                raise ValueError("no tuple of cotangents")
            cts, prefix = trees.flatten(marked)
            subtrees = prefix.flatten_up_to(example)
            places = [trees.leaves(s) for s in subtrees]
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
        have: Any = ct.aval if isinstance(ct, SymbolicZero) else typeof(ct)
        same = have.shape == want.shape and (
            have.dtype == want.dtype
            or dtypes.is_inexact(want.dtype)
            or isinstance(have.dtype, dtypes.ExtendedDType)
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
