"""grad and its kin: derivatives of functions of pytrees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit import trees
from frit.api import signatures
from frit.api.mapping import vmap
from frit.ir import dtypes
from frit.ir.dtypes import float0
from frit.ir.jaxpr import ClosedJaxpr, Jaxpr, run_jaxpr
from frit.ir.types import ShapedArray, typeof
from frit.primitives.elementwise import constant
from frit.transforms import jvp as forward
from frit.transforms import split
from frit.transforms.linear import LinearOperand, Zero, instantiate, is_zero, zeros
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import backward_pass


def _flat(
    function: Callable[..., Any], tree: trees.PyTreeDef, out: list[Any]
) -> Callable[..., Any]:
    """`function(*args)` from leaves to leaves; the tree of results goes to `out`."""

    def flat(*leaves: Any) -> list[Any]:
        values, out_tree = trees.flatten(function(*tree.unflatten(leaves)))
        out[:] = [out_tree]
        for v in values:
            _check_result(v)
        return values

    return flat


def _flat_with_aux(
    function: Callable[..., Any], tree: trees.PyTreeDef, out: list[Any]
) -> Callable[..., Any]:
    """As `_flat`, for functions that return (result, auxiliary data): aux leaves come last."""

    def flat(*leaves: Any) -> list[Any]:
        pair = function(*tree.unflatten(leaves))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                "expected function with aux output to return a two-element tuple, but got type "
                f"{type(pair)} with value {pair!r}. With has_aux=True, return (result, aux)."
            )
        values, out_tree = trees.flatten(pair[0])
        aux, aux_tree = trees.flatten(pair[1])
        out[:] = [out_tree, aux_tree, len(values)]
        for v in values:
            _check_result(v)
        return [*values, *aux]

    return flat


def _check_result(value: Any) -> None:
    try:
        typeof(value)
    except TypeError:
        raise TypeError(
            f"the differentiated function returned {value!r} of type {type(value)}, which is not a "
            "valid JAX type. Return arrays, scalars or pytrees of them."
        ) from None


def _check_tangents(primals: Sequence[Any], tangents: Sequence[Any], who: str) -> list[Any]:
    checked = []
    for p, t in zip(primals, tangents, strict=True):
        if is_zero(t):
            checked.append(t)
            continue
        want, have = typeof(p).tangent_type(), typeof(t)
        if want.dtype != have.dtype:  # type: ignore[attr-defined]
            raise TypeError(
                "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
                "case of int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
                f"{typeof(p).dtype} and so expected tangent dtype "  # type: ignore[attr-defined]
                f"{_dtype_text(want.dtype)}, but got tangent dtype {_dtype_text(have.dtype)} instead."  # type: ignore[attr-defined]
            )
        if want.shape != have.shape:  # type: ignore[attr-defined]
            raise ValueError(
                f"{who} called with different primal and tangent shapes; Got primal shape "
                f"{want.shape} and tangent shape as {have.shape}"  # type: ignore[attr-defined]
            )
        checked.append(Zero(want) if want.dtype == float0 else t)  # type: ignore[attr-defined]
    return checked


def _dtype_text(dtype: Any) -> str:
    return "float0" if dtype == float0 else str(dtype)


def jvp(
    fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """(results, tangents of results) of `fun` at `primals` along `tangents`; with has_aux, aux too.

    primals, tangents: tuples of pytrees, one for each argument; tangents have the primals' shapes
    and dtypes (float0 for integers).
    """
    signatures.check_callable(fun, "jvp")
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    values, tree = trees.flatten(tuple(primals))
    moved, tangent_tree = trees.flatten(tuple(tangents))
    if tree != tangent_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"have tree structure {tree} whereas tangents have tree structure {tangent_tree}."
        )
    moved = _check_tangents(values, moved, "jvp")
    out: list[Any] = []
    if has_aux:
        results, t_out = forward.jvp(_flat_with_aux(fun, tree, out), values, moved)
        out_tree, aux_tree, n = out
        return (
            out_tree.unflatten(results[:n]),
            out_tree.unflatten(map(instantiate, t_out[:n])),
            aux_tree.unflatten(results[n:]),
        )
    results, t_out = forward.jvp(_flat(fun, tree, out), values, moved)
    return out[0].unflatten(results), out[0].unflatten(map(instantiate, t_out))


class LinearMap:
    """The linear function that `linearize` returns: tangents of arguments to tangents of results."""

    def __init__(self, jaxpr: Jaxpr, consts: Any, in_tree: Any, out_tree: Any, primals: Any,
                 nonzero: Any, tangent_types: Any) -> None:  # fmt: skip
        self.jaxpr_and_consts = ClosedJaxpr(jaxpr, consts)
        self.in_tree, self.out_tree = in_tree, out_tree
        self._primal_types, self._nonzero, self._types = primals, nonzero, tangent_types

    @property
    def jaxpr(self) -> Jaxpr:
        return self.jaxpr_and_consts.jaxpr

    @property
    def func(self) -> functools.partial[Any]:
        """The function as a partial of its jaxpr, where other code looks for it."""
        return functools.partial(run_jaxpr, self.jaxpr, self.jaxpr_and_consts.consts)

    def __call__(self, *tangents: Any) -> Any:
        leaves, tree = trees.flatten(tangents)
        if tree != self.in_tree:
            raise TypeError(
                "linearized function called with a different tree structure of tangents: expected "
                f"{self.in_tree}, got {tree}."
            )
        for t, want in zip(leaves, self._primal_types, strict=True):
            have = typeof(t)
            if (have.shape, have.dtype) != (want.shape, want.dtype):  # type: ignore[attr-defined]
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values: got tangent aval {have} for primal aval {want} but expected "
                    f"{want}."
                )
        closed = self.jaxpr_and_consts
        found = iter(run_jaxpr(closed.jaxpr, closed.consts, *leaves))
        return self.out_tree.unflatten(
            [
                next(found) if nz else zeros(t)
                for nz, t in zip(self._nonzero, self._types, strict=True)
            ]
        )


def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(results at `primals`, the linear map of tangents); with has_aux, aux as a third."""
    signatures.check_callable(fun, "linearize")
    values, tree = trees.flatten(primals)
    out: list[Any] = []
    flat = (_flat_with_aux if has_aux else _flat)(fun, tree, out)
    lin = split.linearize(flat, values, description="linearize")
    n = out[2] if has_aux else len(lin.results)
    kept = lin.nonzero_out[:n]
    jaxpr = lin.jaxpr.replace(outvars=lin.jaxpr.outvars[: sum(kept)])
    types = [typeof(v).tangent_type() for v in values]
    linear = LinearMap(jaxpr, lin.consts, tree, out[0], types, kept, lin.tangent_types[:n])
    result = out[0].unflatten(lin.results[:n])
    if has_aux:
        return result, linear, out[1].unflatten(lin.results[n:])
    return result, linear


class VJP:
    """The function that `vjp` returns: cotangents of results to cotangents of arguments.

    It is a pytree whose leaves are the residuals.
    """

    def __init__(self, residuals: list[Any], static: _VJPStatic) -> None:
        self.residuals, self._static = residuals, static

    def __call__(self, *cotangents: Any) -> Any:
        static = self._static
        if len(cotangents) != 1:
            raise TypeError(
                "The function returned by `jax.vjp` applied to "
                f"{static.name} was called with {len(cotangents)} arguments, but functions returned "
                "by `jax.vjp` must be called with a single argument corresponding to the single "
                "value returned by the function."
            )
        leaves, tree = trees.flatten(cotangents[0])
        if tree != static.out_tree:
            difference = trees.first_difference(
                static.out_tree.unflatten([0] * static.out_tree.num_leaves), cotangents[0]
            )
            raise ValueError(
                f"unexpected tree structure of argument to vjp function: expected {static.out_tree}"
                f", the structure of the result of {static.name}, but got {tree} ({difference})."
            )
        given = [
            _check_cotangent(ct, t, static.name)
            for ct, t in zip(leaves, static.tangent_types, strict=True)
        ]
        given = [ct for ct, nz in zip(given, static.nonzero_out, strict=True) if nz]
        operands = [LinearOperand(v.aval) for v in static.jaxpr.invars]
        found = backward_pass(static.jaxpr, self.residuals, operands, given)
        return static.in_tree.unflatten(map(instantiate, found))


class _VJPStatic:
    """What of a VJP is not a residual."""

    def __init__(self, name: str, jaxpr: Jaxpr, in_tree: Any, out_tree: Any, nonzero_out: Any,
                 tangent_types: Any) -> None:  # fmt: skip
        self.name, self.jaxpr = name, jaxpr
        self.in_tree, self.out_tree = in_tree, out_tree
        self.nonzero_out, self.tangent_types = nonzero_out, tangent_types


trees.register_node(VJP, lambda f: (f.residuals, f._static), lambda s, r: VJP(list(r), s))


def _check_cotangent(ct: Any, want: ShapedArray, name: str) -> Any:
    if is_zero(ct):
        return ct
    have = typeof(ct)
    if have.dtype != want.dtype and not (want.dtype == float0):  # type: ignore[attr-defined]
        raise ValueError(
            f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got "
            f"{have.str_short()}, but expected {want.str_short()} because the corresponding output "
            f"of {name} has that type."
        )
    if have.shape != want.shape:  # type: ignore[attr-defined]
        raise ValueError(
            f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got "
            f"{have.str_short()}, but expected {want.str_short()} because the corresponding output "
            f"of {name} has that shape."
        )
    return ct


def vjp(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, reduce_axes: Any = ()
) -> Any:
    """(results at `primals`, the function from their cotangents to those of `primals`).

    With has_aux, `fun` returns (result, aux) and aux is a third result.
    """
    signatures.check_callable(fun, "vjp")
    values, tree = trees.flatten(primals)
    return _vjp(fun, values, tree, has_aux)


def _vjp(fun: Callable[..., Any], values: list[Any], tree: Any, has_aux: bool) -> Any:
    for v in values:
        _check_argument(v)
    out: list[Any] = []
    flat = (_flat_with_aux if has_aux else _flat)(fun, tree, out)
    lin = split.linearize(flat, values, description="vjp")
    n = out[2] if has_aux else len(lin.results)
    kept = lin.nonzero_out[:n]
    jaxpr = lin.jaxpr.replace(outvars=lin.jaxpr.outvars[: sum(kept)])
    name = signatures.function_name(fun)
    static = _VJPStatic(name, jaxpr, tree, out[0], kept, lin.tangent_types[:n])
    result = out[0].unflatten(lin.results[:n])
    pullback = VJP(lin.consts, static)
    if has_aux:
        return result, pullback, out[1].unflatten(lin.results[n:])
    return result, pullback


def _check_argument(value: Any) -> None:
    try:
        typeof(value)
    except TypeError:
        raise TypeError(
            f"Argument '{value}' of type {type(value)} is not a valid JAX type. Differentiated "
            "arguments must be arrays, scalars or pytrees of them."
        ) from None


def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Any:
    """The transpose of a linear function: from cotangents of its results to those of arguments.

    primals: arrays, or anything with shape and dtype, in whose place the function is linear.
    """
    values, tree = trees.flatten(primals)
    from_types = [_shaped(v) for v in values]
    inexact = [dtypes.is_inexact(t.dtype) for t in from_types]
    if not all(inexact) and not all(dtypes.is_integer(t.dtype) for t in from_types):
        raise TypeError(
            "linear_transpose only supports [float or complex -> float or complex, and integer -> "
            f"integer] functions, but got input dtypes {[str(t.dtype) for t in from_types]}."
        )
    out: list[Any] = []
    jaxpr, consts = trace_to_jaxpr(_flat(fun, tree, out), from_types)
    out_tree, out_types = out[0], [v.aval for v in jaxpr.outvars]

    def transposed(cotangent: Any) -> Any:
        leaves, ct_tree = trees.flatten(cotangent)
        if ct_tree != out_tree:
            raise TypeError(
                f"cotangent tree does not match function output, expected {out_tree} but got "
                f"{ct_tree}"
            )
        for ct, t in zip(leaves, out_types, strict=True):
            have = typeof(ct)
            if (have.shape, have.dtype) != (t.shape, t.dtype):  # type: ignore[attr-defined]
                raise TypeError(
                    "cotangent type does not match function output, expected "
                    f"{t.str_short()} but got {have.str_short()}"
                )
        operands = [LinearOperand(t) for t in from_types]
        found = backward_pass(jaxpr, consts, operands, leaves)
        return tree.unflatten(
            [zeros(t) if is_zero(ct) else ct for ct, t in zip(found, from_types, strict=True)]
        )

    return transposed


def _shaped(value: Any) -> ShapedArray:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return ShapedArray(value.shape, value.dtype)
    return typeof(value)  # type: ignore[return-value]


def _argnums(argnums: Any, args: tuple[Any, ...], name: str) -> list[int]:
    single = not isinstance(argnums, (tuple, list))
    numbers = [argnums] if single else list(argnums)
    found = []
    for n in numbers:
        i = signatures.as_index_tuple(n, "argnums")[0]
        if not -len(args) <= i < len(args):
            raise ValueError(
                f"Differentiating with respect to argnums={argnums} requires at least "
                f"{max(numbers) + 1} positional arguments to be passed by the caller, but got only "
                f"{len(args)} positional arguments."
            )
        found.append(i % len(args))
    return found


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

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        numbers = _argnums(argnums, args, signatures.function_name(fun))

        def partial(*chosen: Any) -> Any:
            full = list(args)
            for i, x in zip(numbers, chosen, strict=True):
                full[i] = x
            return fun(*full, **kwargs)

        functools.update_wrapper(partial, fun, assigned=("__name__",), updated=())
        chosen = tuple(args[i] for i in numbers)
        values, tree = trees.flatten(chosen)
        for v in values:
            _check_grad_input(v, holomorphic, allow_int)
        result, pullback, *aux = _vjp(partial, values, tree, has_aux)
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


def _check_grad_input(value: Any, holomorphic: bool, allow_int: bool, name: str = "grad") -> None:
    _check_argument(value)
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
                f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
                f"np.inexact), but got {dtype.name}. If you want to use Boolean- or integer-valued "
                "inputs, use vjp or set allow_int to True."
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
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex outputs, use jax.vjp "
            "directly."
        )
    elif not dtypes.is_floating(dtype):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. For differentiation of functions with integer outputs, use "
            "jax.vjp directly."
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

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def _basis(leaves: Sequence[Any]) -> tuple[Any, list[int]]:
    """Unit vectors of the space of all elements of `leaves`: an array (total, *shape) for each."""
    sizes = [int(np.prod(typeof(x).shape)) for x in leaves]  # type: ignore[attr-defined]
    total, at, vectors = sum(sizes), 0, []
    for x, n in zip(leaves, sizes, strict=True):
        aval = typeof(x)
        eye = np.zeros((total, n), aval.dtype)  # type: ignore[attr-defined]
        eye[at : at + n] = np.eye(n)
        vectors.append(eye.reshape(total, *aval.shape))  # type: ignore[attr-defined]
        at += n
    return vectors, sizes


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

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _partial(fun, argnums, args, kwargs)
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


def _partial(fun: Any, argnums: Any, args: Any, kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
    numbers = _argnums(argnums, args, signatures.function_name(fun))

    def partial(*chosen: Any) -> Any:
        full = list(args)
        for i, x in zip(numbers, chosen, strict=True):
            full[i] = x
        return fun(*full, **kwargs)

    return partial, tuple(args[i] for i in numbers)


def _check_jacfwd_input(value: Any, holomorphic: bool) -> None:
    _check_argument(value)
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
            "jacrev requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of functions with integer or complex outputs, use jax.vjp directly."
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

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _partial(fun, argnums, args, kwargs)
        values, tree = trees.flatten(chosen)
        for v in values:
            _check_grad_input(v, holomorphic, allow_int, "jacrev")
        result, pullback, *aux = _vjp(partial, values, tree, has_aux)
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


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: Any, has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`fun` as a forward function that returns residuals, and the backward function that uses them."""

    def fwd(*args: Any, **kwargs: Any) -> Any:
        partial, chosen = _partial(fun, argnums, args, kwargs)
        return vjp(partial, *chosen, has_aux=has_aux)

    def bwd(pullback: Any, cotangent: Any) -> Any:
        found = pullback(cotangent)
        return found if isinstance(argnums, (tuple, list)) else found[0]

    return fwd, bwd
