"""grad and value_and_grad: gradients of scalar functions in reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit import trees
from frit.api import signatures
from frit.api.autodiff import check_argument, vjp, vjp_flat
from frit.ir import dtypes
from frit.ir.types import typeof
from frit.primitives.elementwise import constant


def with_argnums(fun: Any, argnums: Any, args: Any, kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
    """`fun` of the arguments that `argnums` names, the others being fixed; and these arguments."""
    numbers = differentiated_arguments(argnums, args)

    def partial(*chosen: Any) -> Any:
        full = list(args)
        for i, x in zip(numbers, chosen, strict=True):
            full[i] = x
        return fun(*full, **kwargs)

    if hasattr(fun, "__name__"):
        partial.__name__ = fun.__name__
    return partial, tuple(args[i] for i in numbers)


def differentiated_arguments(argnums: Any, args: tuple[Any, ...]) -> list[int]:
    """The positions of the arguments that `argnums` names.  TypeError where there are fewer."""
    single = not isinstance(argnums, (tuple, list))
    numbers = [argnums] if single else list(argnums)
    found = []
    for n in numbers:
        i = signatures.as_index_tuple(n, "argnums")[0]
        if not -len(args) <= i < len(args):
            raise TypeError(
                f"differentiating with respect to argnums={argnums} requires at least "
                f"{max(numbers) + 1} positional arguments to be passed by the caller, but got only "
                f"{len(args)} positional arguments."
            )
        found.append(i % len(args))
    return found


_VALUE_AND_GRAD_DOC = (
    "Value and gradient of {fun} with respect to positional argument(s) {argnums}. Takes the same "
    "arguments as {fun} but returns a two-element tuple where the first element is the value of "
    "{fun} and the second element is the gradient, which has the same shape as the arguments at "
    "positions {argnums}."
)
_GRAD_DOC = (
    "Gradient of {fun} with respect to positional argument(s) {argnums}. Takes the same arguments "
    "as {fun} but returns the gradient, which has the same shape as the arguments at positions "
    "{argnums}."
)


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """A function that returns (value, gradient) of the scalar function `fun`.

    The gradient has the structure of argument `argnums`, or is a tuple of such for a tuple of
    argnums.  With has_aux, `fun` returns (scalar, aux) and the value is that pair.
    """
    signatures.check_callable(fun, "grad")
    _check_argnums(argnums)

    @signatures.documented(fun, _VALUE_AND_GRAD_DOC, argnums=argnums)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = with_argnums(fun, argnums, args, kwargs)
        values, tree = trees.flatten(chosen)
        for v in values:
            check_grad_input(v, holomorphic, allow_int)
        result, pullback, *aux = vjp_flat(partial, values, tree, has_aux)
        _check_grad_output(result, holomorphic)
        found = pullback(_one(result))
        gradient = found if isinstance(argnums, (tuple, list)) else found[0]
        if isinstance(argnums, (tuple, list)):
            gradient = tuple(found)
        return ((result, aux[0]) if has_aux else result), gradient

    return value_and_gradient


def _check_argnums(argnums: Any) -> None:
    signatures.as_index_tuple(argnums, "argnums")


def _one(result: Any) -> Any:
    """The cotangent that grad starts with: 1, weakly typed where the result is."""
    return constant(result, 1)


def check_grad_input(value: Any, holomorphic: bool, allow_int: bool, name: str = "grad") -> None:
    """TypeError for an argument that reverse mode cannot differentiate."""
    check_argument(value)
    dtype = typeof(value).dtype  # type: ignore[attr-defined]
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(f"{name} cannot use a random key as an input: got {dtype}.")
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtype.name}."
            )
        return
    if dtypes.is_integer(dtype) or dtypes.is_bool(dtype):
        if not allow_int:
            raise TypeError(
                f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype "
                f"of np.inexact), but got {dtype.name}. If you want to use Boolean- or "
                "integer-valued inputs, use vjp or set allow_int to True."
            )
    elif not dtypes.is_inexact(dtype):
        raise TypeError(
            f"{name} requires numerical-valued inputs (input dtype that is a sub-dtype of np.bool_ "
            f"or np.number), but got {dtype.name}."
        )


def _check_grad_output(result: Any, holomorphic: bool, name: str = "grad") -> None:
    leaves = trees.leaves(result)
    if len(leaves) != 1 or trees.structure(result) != trees.LEAF:
        raise TypeError(
            "Gradient only defined for scalar-output functions. Output was: "
            f"{result}. Return one scalar; for auxiliary results use has_aux=True."
        )
    aval = typeof(result)
    if aval.shape != ():  # type: ignore[attr-defined]
        raise TypeError(
            "Gradient only defined for scalar-output functions. Output had shape: "
            f"{aval.shape}. Reduce it to a scalar, e.g. with .sum(), or use jacrev."  # type: ignore[attr-defined]
        )
    dtype = aval.dtype  # type: ignore[attr-defined]
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(
                f"{name} with holomorphic=True requires outputs with complex dtype, but got "
                f"{dtype.name}."
            )
    elif dtypes.is_complex(dtype):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtype.name}. For holomorphic differentiation, pass "
            "holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            "outputs, use jax.vjp directly."
        )
    elif not dtypes.is_floating(dtype):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtype.name}. For differentiation of functions with integer "
            "outputs, use jax.vjp directly."
        )


def grad(
    fun: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """A function that returns the gradient of the scalar function `fun`; see `value_and_grad`.

    >>> import frit as jax
    >>> jax.grad(lambda x: x ** 2)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @signatures.documented(fun, _GRAD_DOC, argnums=argnums)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: Any, has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`fun` as a forward function that returns residuals, and the backward one that uses them."""

    def fwd(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = with_argnums(fun, argnums, args, kwargs)
        return vjp(partial, *chosen, has_aux=has_aux)

    def bwd(pullback: Any, cotangent: Any) -> Any:
        found = pullback(cotangent)
        return found if isinstance(argnums, (tuple, list)) else found[0]

    return fwd, bwd
