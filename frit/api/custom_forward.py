"""custom_jvp: functions that tell how their tangents move."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from frit import trees
from frit.api import signatures
from frit.api.custom_calls import (
    BoundCall,
    SymbolicZero,
    as_zero,
    check_same_types,
    forwarded_method,
    named,
    positions,
    types_text,
)
from frit.ir.dtypes import float0
from frit.ir.primitive import current_interpreter
from frit.ir.types import typeof
from frit.primitives.calls import custom_jvp_call
from frit.transforms.linear import Zero, add_tangents, is_zero, zeros


class custom_jvp:
    """A function with its own forward derivative, given by `defjvp` or `defjvps`.

    >>> import frit as jax, frit.numpy as jnp
    >>> f = jax.custom_jvp(lambda x: jnp.sin(x))
    >>> f.defjvps(lambda t, ans, x: 2. * t)
    >>> float(jax.grad(f)(1.0))
    2.0
    """

    followed = ("fun", "jvp")

    def __init__(
        self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, fun, updated=())
        self.fun = fun
        self.nondiff_argnums = positions(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return forwarded_method(self, name)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Sets the rule `jvp(*nondiff, primals, tangents) -> results, tangents of results`."""
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets a rule `(tangent, result, *primals) -> tangent`, or None, for each argument."""
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
        bound = BoundCall(self.fun, self.nondiff_argnums, args, kwargs, "custom_jvp")
        rule = _JVPRule(self.jvp, name, bound, self.symbolic_zeros)
        params = {"name": name, "symbolic_zeros": self.symbolic_zeros, "num_consts": 0}
        results = current_interpreter().custom_jvp(
            custom_jvp_call, named(bound.call, name), rule, bound.take_leaves(), params
        )
        tree = bound.out_tree if bound.out_tree is not None else rule.out_tree
        return tree.unflatten(results)


class _JVPRule:
    """The user's rule on flat values; it prints as its name."""

    def __init__(self, rule: Any, name: str, bound: BoundCall, symbolic_zeros: bool) -> None:
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
                "instead the JVP rule output's first element had container/pytree structure:\n"
                f"    {types_text(out_tree, [typeof(v) for v in values])}\n"
                f"while the custom_jvp-decorated function {self.name} had output container/pytree "
                f"structure:\n    {types_text(self.bound.out_tree, self.bound.out_types)}."
            )
        check_same_types("JVP rule", self.__name__, self.name, self.bound, values, out_tree)
        self.out_tree = out_tree
        return values, [self._checked(v, as_zero(t)) for v, t in zip(values, moved, strict=True)]

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
