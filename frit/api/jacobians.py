"""jacfwd, jacrev, hessian: all derivatives of a function, by vmap over a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import trees
from frit.api import signatures
from frit.api.autodiff import check_argument, jvp, vjp_flat
from frit.api.gradients import check_grad_input, with_argnums
from frit.api.mapping import vmap
from frit.ir import dtypes
from frit.ir.types import typeof
from frit.primitives.conversion import convert_element_type

_JACOBIAN_DOC = (
    "Jacobian of {fun} with respect to positional argument(s) {argnums}. Takes the same arguments "
    "as {fun} but returns the jacobian of the output with respect to the arguments at positions "
    "{argnums}."
)


def _basis(leaves: Sequence[Any]) -> tuple[Any, list[int]]:
    """Unit vectors of the space of all elements of `leaves`: an array (total, *shape) for each."""
    sizes = [int(np.prod(typeof(x).shape)) for x in leaves]  # type: ignore[attr-defined]
    total, at, vectors = sum(sizes), 0, []
    for x, n in zip(leaves, sizes, strict=True):
        aval = typeof(x)
        eye = np.zeros((total, n), aval.dtype)  # type: ignore[attr-defined]
        eye[at : at + n] = np.eye(n)
        vectors.append(_typed_as(eye.reshape(total, *aval.shape), aval))  # type: ignore[attr-defined]
        at += n
    return vectors, sizes


def _typed_as(array: np.ndarray, aval: Any) -> Any:
    """`array`, weakly typed where `aval` is."""
    if not aval.weak_type:
        return array
    return convert_element_type(array, new_dtype=aval.dtype, weak_type=True, sharding=None)


def _split_leading(stacked: Any, tree: Any, leaves: Sequence[Any], sizes: Sequence[int]) -> Any:
    """A tree of `leaves`' structure from the leading axis of `stacked`."""
    at, parts = 0, []
    for x, n in zip(leaves, sizes, strict=True):
        shape = (*typeof(x).shape, *stacked.shape[1:])  # type: ignore[attr-defined]
        parts.append(stacked[at : at + n].reshape(shape))
        at += n
    return tree.unflatten(parts)


def jacfwd(
    fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column in forward mode.

    Result: the tree of results, in each leaf the tree of arguments, with shape result + argument.
    """
    signatures.check_callable(fun, "jacfwd")

    @signatures.documented(fun, _JACOBIAN_DOC, argnums=argnums)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = with_argnums(fun, argnums, args, kwargs)
        leaves, tree = trees.flatten(chosen)
        for v in leaves:
            _check_jacfwd_input(v, holomorphic)
        basis, sizes = _basis(leaves)

        def push(*tangents: Any) -> Any:
            return jvp(partial, chosen, tree.unflatten(tangents), has_aux=has_aux)

        aux_axes = (None, -1, None) if has_aux else (None, -1)
        result, columns, *aux = vmap(push, out_axes=aux_axes)(*basis)
        for leaf in trees.leaves(result):
            _check_jac_output(leaf, holomorphic, "jacfwd")

        def rows(out: Any, stacked: Any) -> Any:
            return _split_trailing(stacked, tree, leaves, sizes, argnums)

        found = trees.map(rows, result, columns)
        return (found, aux[0]) if has_aux else found

    return jacobian


def _split_trailing(
    stacked: Any, tree: Any, leaves: Sequence[Any], sizes: Sequence[int], argnums: Any
) -> Any:
    at, parts = 0, []
    for x, n in zip(leaves, sizes, strict=True):
        shape = (*stacked.shape[:-1], *typeof(x).shape)  # type: ignore[attr-defined]
        parts.append(stacked[..., at : at + n].reshape(shape))
        at += n
    whole = tree.unflatten(parts)
    return whole if isinstance(argnums, (tuple, list)) else whole[0]


def _check_jacfwd_input(value: Any, holomorphic: bool) -> None:
    check_argument(value)
    dtype = typeof(value).dtype  # type: ignore[attr-defined]
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(
                "jacfwd with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtype.name}."
            )
    elif not dtypes.is_floating(dtype):
        raise TypeError(
            "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex inputs or integer "
            "inputs, use jax.jvp directly."
        )


def _check_jac_output(value: Any, holomorphic: bool, name: str) -> None:
    dtype = typeof(value).dtype  # type: ignore[attr-defined]
    if holomorphic:
        if not dtypes.is_complex(dtype):
            raise TypeError(
                f"{name} with holomorphic=True requires outputs with complex dtype, but got "
                f"{dtype.name}."
            )
    elif name == "jacrev" and not dtypes.is_floating(dtype):
        raise TypeError(
            "jacrev requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtype.name}. For holomorphic differentiation, pass "
            "holomorphic=True. For differentiation of functions with integer or complex outputs, "
            "use jax.vjp directly."
        )


def jacrev(
    fun: Callable[..., Any],
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row in reverse mode.

    Result: the tree of results, in each leaf the tree of arguments, with shape result + argument.
    """
    signatures.check_callable(fun, "jacrev")

    @signatures.documented(fun, _JACOBIAN_DOC, argnums=argnums)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = with_argnums(fun, argnums, args, kwargs)
        values, tree = trees.flatten(chosen)
        for v in values:
            check_grad_input(v, holomorphic, allow_int, "jacrev")
        result, pullback, *aux = vjp_flat(partial, values, tree, has_aux)
        out_leaves, out_tree = trees.flatten(result)
        for leaf in out_leaves:
            _check_jac_output(leaf, holomorphic, "jacrev")
        basis, sizes = _basis(out_leaves)
        rows = vmap(lambda *cts: pullback(out_tree.unflatten(cts)))(*basis)
        rows = rows if isinstance(argnums, (tuple, list)) else rows[0]
        arg_leaves, arg_tree = trees.flatten(rows)
        per_argument = [_split_leading(r, out_tree, out_leaves, sizes) for r in arg_leaves]
        columns = [trees.leaves(t) for t in per_argument]
        found = out_tree.unflatten(
            [arg_tree.unflatten([c[i] for c in columns]) for i in range(len(out_leaves))]
        )
        return (found, aux[0]) if has_aux else found

    return jacobian


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The second derivatives of `fun`: jacfwd of jacrev."""
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
