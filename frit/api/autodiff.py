"""Derivatives of functions of pytrees, as linear maps: jvp, linearize, vjp, linear_transpose."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from frit import trees
from frit.api import signatures
from frit.api.accumulation import deliver
from frit.ir import dtypes
from frit.ir.dtypes import float0
from frit.ir.jaxpr import Jaxpr, run_jaxpr
from frit.ir.primitive import Tracer, bottom_interpreter, current_interpreter
from frit.ir.types import ShapedArray, typeof
from frit.runtime.array import Array, array_of
from frit.transforms import jvp as forward
from frit.transforms import split
from frit.transforms.linear import LinearOperand, Zero, instantiate, is_zero, zeros
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import backward_pass


def _flat(
    function: Callable[..., Any], tree: trees.PyTreeDef, out: list[Any]
) -> Callable[..., Any]:
    """`function(*args)` from leaves to leaves; the tree of results goes to `out`."""
    check = signatures.result_check(function, "differentiation")

    def flat(*leaves: Any) -> list[Any]:
        result = function(*tree.unflatten(leaves))
        values, out_tree = trees.flatten(result)
        out[:] = [out_tree]
        check(result, values)
        return values

    return flat


def _flat_with_aux(
    function: Callable[..., Any], tree: trees.PyTreeDef, out: list[Any]
) -> Callable[..., Any]:
    """As `_flat`, for functions that return (result, auxiliary data): aux leaves come last."""
    check = signatures.result_check(function, "differentiation")

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
        check(pair[0], values)
        return [*values, *aux]

    return flat


def as_arrays(values: Sequence[Any], numbers: bool = True) -> list[Any]:
    """Results of a differentiated function: outside of traces, scalars are made Arrays.

    numbers: whether Python numbers are, too; forward mode returns those as the function did.
    """
    if current_interpreter() is not bottom_interpreter():
        return list(values)

    def stays(v: Any) -> bool:
        if isinstance(v, (Array, Tracer)) or _is_float0(v):
            return True
        return not numbers and type(v) in dtypes.PYTHON_SCALARS

    return [v if stays(v) else array_of(v) for v in values]


def _is_float0(value: Any) -> bool:
    return getattr(value, "dtype", None) == float0


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
                f"{_dtype_text(want.dtype)}, but got tangent dtype "  # type: ignore[attr-defined]
                f"{_dtype_text(have.dtype)} instead."  # type: ignore[attr-defined]
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
    if tree != tangent_tree or type(primals) is not type(tangents):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"have tree structure {trees.structure(primals)} whereas tangents have tree structure "
            f"{trees.structure(tangents)}."
        )
    moved = _check_tangents(values, moved, "jvp")
    out: list[Any] = []
    if has_aux:
        results, t_out = forward.jvp(_flat_with_aux(fun, tree, out), values, moved)
        out_tree, aux_tree, n = out
        return (
            out_tree.unflatten(as_arrays(results[:n], numbers=False)),
            out_tree.unflatten(as_arrays([instantiate(t) for t in t_out[:n]], numbers=False)),
            aux_tree.unflatten(results[n:]),
        )
    results, t_out = forward.jvp(_flat(fun, tree, out), values, moved)
    moved = [instantiate(t) for t in t_out]
    return out[0].unflatten(as_arrays(results, numbers=False)), out[0].unflatten(
        as_arrays(moved, numbers=False)
    )


class _LinearStatic:
    """What of a linear map is not a residual."""

    def __init__(self, jaxpr: Jaxpr, in_tree: Any, out_tree: Any, primal_types: Any,
                 nonzero: Any, tangent_types: Any) -> None:  # fmt: skip
        self.jaxpr, self.in_tree, self.out_tree = jaxpr, in_tree, out_tree
        self.primal_types, self.nonzero, self.tangent_types = primal_types, nonzero, tangent_types


class LinearMap:
    """The linear function that `linearize` returns: tangents of arguments to tangents of results.

    It is a pytree whose leaves are the residuals.
    """

    def __init__(self, residuals: Sequence[Any], static: _LinearStatic) -> None:
        self.residuals, self._static = list(residuals), static

    @property
    def jaxpr(self) -> Jaxpr:
        return self._static.jaxpr

    @property
    def func(self) -> functools.partial[Any]:
        """The function as a partial of its jaxpr, where other code looks for it."""
        return functools.partial(run_jaxpr, self.jaxpr, self.residuals)

    def __call__(self, *tangents: Any) -> Any:
        static = self._static
        leaves, tree = trees.flatten(tangents)
        if tree != static.in_tree:
            raise TypeError(
                "linearized function called with a different tree structure of tangents: expected "
                f"{static.in_tree}, got {tree}."
            )
        for t, want in zip(leaves, static.primal_types, strict=True):
            have = typeof(t)
            if (have.shape, have.dtype) != (want.shape, want.dtype):  # type: ignore[attr-defined]
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values: got tangent aval {have} for primal aval {want} but expected "
                    f"{want}."
                )
        found = iter(run_jaxpr(static.jaxpr, self.residuals, *leaves))
        return static.out_tree.unflatten(
            as_arrays(
                [
                    next(found) if nz else zeros(t)
                    for nz, t in zip(static.nonzero, static.tangent_types, strict=True)
                ]
            )
        )

    def __repr__(self) -> str:
        return f"LinearMap({self.jaxpr}, {self.residuals})"


trees.register_node(LinearMap, lambda f: (f.residuals, f._static), lambda s, r: LinearMap(r, s))


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
    static = _LinearStatic(jaxpr, tree, out[0], types, kept, lin.tangent_types[:n])
    linear = LinearMap(lin.consts, static)
    result = out[0].unflatten(as_arrays(lin.results[:n], numbers=False))
    if has_aux:
        return result, linear, out[1].unflatten(lin.results[n:])
    return result, linear


class NotNeeded:
    """Stands in `VJP.args_res` for an argument that the backward pass does not read."""

    def __repr__(self) -> str:
        return "NotNeeded()"


trees.register_node(NotNeeded, lambda _: ((), None), lambda *_: NotNeeded())


class VJP:
    """The function that `vjp` returns: cotangents of results to cotangents of arguments.

    It is a pytree whose leaves are the residuals.  args_res: those of them that are arguments, in a
    list as the arguments were, with `NotNeeded()` for the others; they may be taken out (set to
    None) and put back before the call.  opaque_residuals: all other residuals.
    """

    def __init__(
        self, args_res: list[Any], opaque_residuals: list[Any], static: _VJPStatic
    ) -> None:
        self.args_res, self.opaque_residuals, self._static = args_res, opaque_residuals, static

    in_tree = property(lambda self: self._static.in_tree)
    out_tree = property(lambda self: self._static.out_tree)
    jaxpr = property(lambda self: self._static.jaxpr)

    def _residuals(self) -> list[Any]:
        """The values of the jaxpr's constvars."""
        static = self._static
        try:
            leaves = static.in_tree.flatten_up_to(tuple(self.args_res))
        except ValueError as error:
            raise ValueError(
                "the args_res of a VJP must have the structure of the arguments of "
                f"{static.name}: {error}"
            ) from None
        found = []
        for kind, i in static.sources:
            value = leaves[i] if kind == "arg" else self.opaque_residuals[i]
            if value is None:
                raise ValueError(
                    f"the backward pass of {static.name} reads an argument that was set to None in "
                    "args_res: put its value back before calling the VJP function."
                )
            found.append(value)
        return found

    def __call__(self, *cotangents: Any) -> Any:
        static = self._static
        if len(cotangents) != 1:
            raise TypeError(
                f"The function returned by `jax.vjp` applied to {static.name} was called with "
                f"{len(cotangents)} arguments, but functions returned by `jax.vjp` must be called "
                "with a single argument corresponding to the single value returned by the function "
                "being differentiated (even if that returned value is a tuple or other container)."
                " For example, for a function that returns (x, y), write f_vjp((x_bar, y_bar))."
            )
        leaves, tree = trees.flatten(cotangents[0])
        if tree != static.out_tree:
            raise ValueError(_tree_mismatch(static, cotangents[0]))
        given = [
            _check_cotangent(ct, t, static.name)
            for ct, t in zip(leaves, static.tangent_types, strict=True)
        ]
        given = [ct for ct, nz in zip(given, static.nonzero_out, strict=True) if nz]
        operands = [LinearOperand(v.aval) for v in static.jaxpr.invars]
        found = backward_pass(static.jaxpr, self._residuals(), operands, given)
        return static.in_tree.unflatten(as_arrays([instantiate(ct) for ct in found]))

    def with_refs(self, *wanted: Any) -> Callable[[Any], tuple[Any, ...]]:
        """This function with a wish for each argument: a ref to add to, GradValue, DontWant."""
        return lambda cotangent: deliver(wanted, self(cotangent))

    def __repr__(self) -> str:
        return (
            f"VJP({self._static.name}, in_tree={self.in_tree}, out_tree={self.out_tree}, "
            f"args_res={self.args_res}, opaque_residuals={self.opaque_residuals})"
        )


class _VJPStatic:
    """What of a VJP is not a residual."""

    def __init__(self, name: str, jaxpr: Jaxpr, in_tree: Any, out_tree: Any, nonzero_out: Any,
                 tangent_types: Any, sources: Any) -> None:  # fmt: skip
        self.name, self.jaxpr, self.sources = name, jaxpr, sources
        self.in_tree, self.out_tree = in_tree, out_tree
        self.nonzero_out, self.tangent_types = nonzero_out, tangent_types


trees.register_node(
    VJP,
    lambda f: ((f.args_res, f.opaque_residuals), f._static),
    lambda static, children: VJP(children[0], children[1], static),
)


def _tree_mismatch(static: _VJPStatic, cotangent: Any) -> str:
    example = static.out_tree.unflatten([0] * static.out_tree.num_leaves)
    lines = [
        f"  * out{trees.keystr(path)} was a {a} in the original output, but a {b} here, so {why}."
        for path, a, b, why in trees.equality_errors(example, cotangent)
    ]
    return (
        "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` must "
        "match the pytree structure of the differentiated function "
        f"{static.name}.\n\nBut the tree structures differ:\n" + "\n".join(lines)
    )


def _with_arguments_apart(
    values: Sequence[Any], consts: Sequence[Any], tree: Any
) -> tuple[list[Any], list[Any], tuple[Any, ...]]:
    """Residuals divided into arguments and others, and where each of them is now."""
    positions = {id(v): i for i, v in reversed(list(enumerate(values)))}
    args: list[Any] = [NotNeeded()] * len(values)
    opaque: list[Any] = []
    sources: list[tuple[str, int]] = []
    for c in consts:
        at = positions.get(id(c))
        if at is None:
            sources.append(("opaque", len(opaque)))
            opaque.append(c)
        else:
            sources.append(("arg", at))
            args[at] = c
    return list(tree.unflatten(args)), opaque, tuple(sources)


def _check_cotangent(ct: Any, want: ShapedArray, name: str) -> Any:
    if is_zero(ct):
        return ct
    have = typeof(ct)
    dtype_differs = have.dtype != want.dtype and want.dtype != float0  # type: ignore[attr-defined]
    if dtype_differs or have.shape != want.shape:  # type: ignore[attr-defined]
        have_text, want_text = (t.str_short().removeprefix("~") for t in (have, want))
        raise ValueError(
            "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
            f"{have_text}, but expected {want_text} because the corresponding output of the "
            f"differentiated function {name} had JAX type {want_text}"
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
    return vjp_flat(fun, values, tree, has_aux)


def vjp_flat(fun: Callable[..., Any], values: list[Any], tree: Any, has_aux: bool) -> Any:
    """As `vjp`, of arguments that are flat."""
    for v in values:
        check_argument(v)
    out: list[Any] = []
    flat = (_flat_with_aux if has_aux else _flat)(fun, tree, out)
    lin = split.linearize(flat, values, description="vjp")
    n = out[2] if has_aux else len(lin.results)
    kept = lin.nonzero_out[:n]
    jaxpr = lin.jaxpr.replace(outvars=lin.jaxpr.outvars[: sum(kept)])
    name = signatures.function_name(fun)
    args, opaque, sources = _with_arguments_apart(values, lin.consts, tree)
    static = _VJPStatic(name, jaxpr, tree, out[0], kept, lin.tangent_types[:n], sources)
    result = out[0].unflatten(as_arrays(lin.results[:n], numbers=False))
    pullback = VJP(args, opaque, static)
    if has_aux:
        return result, pullback, out[1].unflatten(lin.results[n:])
    return result, pullback


def check_argument(value: Any) -> None:
    """TypeError for what is no array and no number."""
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
    out: list[Any] = []
    jaxpr, consts = trace_to_jaxpr(_flat(fun, tree, out), from_types)
    out_dtypes = [v.aval.dtype for v in jaxpr.outvars]  # type: ignore[attr-defined]
    floats = all(inexact) and all(map(dtypes.is_inexact, out_dtypes))
    integers = [dtypes.is_integer(d) for d in (*[t.dtype for t in from_types], *out_dtypes)]
    if not floats and not all(integers):
        raise TypeError(
            "linear_transpose only supports [float or complex -> float or complex, and integer -> "
            f"integer] functions, but got {[str(t.dtype) for t in from_types]} -> "
            f"{[str(d) for d in out_dtypes]}."
        )
    static = _TransposeStatic(jaxpr, tree, out[0], from_types)
    return TransposedMap(consts, static)


class _TransposeStatic:
    """What of a transposed function is not a constant."""

    def __init__(self, jaxpr: Jaxpr, in_tree: Any, out_tree: Any, in_types: Any) -> None:
        self.jaxpr, self.in_tree, self.out_tree, self.in_types = jaxpr, in_tree, out_tree, in_types


class TransposedMap:
    """The function that `linear_transpose` returns; a pytree whose leaves are its constants."""

    def __init__(self, consts: Sequence[Any], static: _TransposeStatic) -> None:
        self.consts, self._static = list(consts), static

    def __call__(self, cotangent: Any) -> Any:
        static = self._static
        leaves, ct_tree = trees.flatten(cotangent)
        if ct_tree != static.out_tree:
            raise TypeError(
                "cotangent tree does not match function output, expected "
                f"{static.out_tree} but got {ct_tree}"
            )
        for ct, v in zip(leaves, static.jaxpr.outvars, strict=True):
            have: Any = typeof(ct)
            want: Any = v.aval
            if (have.shape, have.dtype) != (want.shape, want.dtype):
                raise TypeError(
                    "cotangent type does not match function output, expected "
                    f"{want.str_short()} but got {have.str_short()}"
                )
        operands = [LinearOperand(t) for t in static.in_types]
        found = backward_pass(static.jaxpr, self.consts, operands, leaves)
        cts = [
            zeros(t) if is_zero(ct) else ct for ct, t in zip(found, static.in_types, strict=True)
        ]
        return static.in_tree.unflatten(as_arrays(cts))


trees.register_node(
    TransposedMap, lambda f: (f.consts, f._static), lambda s, consts: TransposedMap(consts, s)
)


def _shaped(value: Any) -> ShapedArray:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return ShapedArray(value.shape, value.dtype)
    return typeof(value)  # type: ignore[return-value]
