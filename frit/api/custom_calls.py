"""Calls of functions with rules of their own: which arguments are differentiated, and checks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from frit import errors, trees
from frit.api import signatures
from frit.ir.types import typeof
from frit.transforms.linear import Zero, zeros


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


def as_zero(tangent: Any) -> Any:
    """A tangent as transforms have it: a SymbolicZero is a Zero."""
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


class BoundCall:
    """One call of a custom function: differentiated arguments, flat, and the others."""

    def __init__(
        self, function: Any, nondiff: tuple[int, ...], args: Any, kwargs: Any, kind: str
    ) -> None:
        args = resolve_positional(function, args, kwargs, kind)
        self.function, self.count = function, len(args)
        self.nondiff = tuple(i % len(args) if args else i for i in nondiff)
        self.fixed = [args[i] for i in self.nondiff]
        self._leaves, self.tree = trees.flatten(
            tuple(x for i, x in enumerate(args) if i not in self.nondiff)
        )
        self.out_tree: Any = None
        self.out_types: Any = None

    def take_leaves(self) -> list[Any]:
        """The differentiated arguments, flat; given once, for a rule that is kept keeps none."""
        leaves, self._leaves = self._leaves, []
        return leaves

    def full(self, given: Any) -> list[Any]:
        """All arguments, from the differentiated ones as a tuple."""
        rest, fixed = iter(given), dict(zip(self.nondiff, self.fixed, strict=True))
        return [fixed[i] if i in fixed else next(rest) for i in range(self.count)]

    def call(self, *leaves: Any) -> list[Any]:
        full = self.full(self.tree.unflatten(leaves))
        values, self.out_tree = trees.flatten(self.function(*full))
        self.out_types = [typeof(v) for v in values]
        return values


def positions(function: Any, numbers: Sequence[int], names: Sequence[str] = ()) -> tuple[int, ...]:
    """Marked arguments by position."""
    positional = signatures.positional_names(signatures.signature_of(function))
    return (*numbers, *[positional.index(n) for n in names])


def types_text(tree: Any, types: Sequence[Any]) -> str:
    """A tree of types as text, without the quotes of strings."""
    texts = [t.str_short().removeprefix("~") for t in types]
    return str(tree.unflatten(texts)).replace("'", "")


def check_same_types(
    kind: str, rule: str, name: str, bound: BoundCall, values: Sequence[Any], tree: Any
) -> None:
    """TypeError if a rule's results have other types than the function's, as far as known."""
    if bound.out_types is None:
        return
    types = [typeof(v) for v in values]
    if all(
        (a.shape, a.dtype) == (b.shape, b.dtype)  # type: ignore[attr-defined]
        for a, b in zip(types, bound.out_types, strict=True)
    ):
        return
    found, want = (types_text(tree, ts) for ts in (types, bound.out_types))
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


def named(function: Any, name: str) -> Any:
    """`function` under a name that jaxprs show."""

    def call(*leaves: Any) -> Any:
        return function(*leaves)

    call.__name__ = name
    return call


def mismatch(want: Any, have: Any) -> str:
    """In what two types differ, as the end of a sentence."""
    parts = []
    if want.shape != have.shape:
        parts.append("the shapes do not match")
    if want.dtype != have.dtype:
        parts.append("the dtypes do not match")
    return f", so {' and '.join(parts)}" if parts else ""


def forwarded_method(custom: Any, name: str) -> Any:
    """A `def…` method of a decorator within: def_vmap of custom_jvp(custom_vmap(f))."""
    inner = vars(custom).get("fun")
    if not name.startswith("def") or inner is None:
        raise AttributeError(f"{type(custom).__name__!r} object has no attribute {name!r}")
    return getattr(inner, name)
