"""Solves with derivatives by the implicit function theorem: custom_root, custom_linear_solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frit import errors, trees
from frit.api.autodiff import linearize
from frit.api.custom import custom_jvp
from frit.ir.jaxpr import ClosedJaxpr, constants_as_inputs, run_closed
from frit.ir.types import typeof
from frit.lax.elementwise import neg
from frit.primitives.solves import Solvers
from frit.primitives.solves import custom_linear_solve as linear_solve_p
from frit.transforms.jvp import jvp
from frit.transforms.linear import LinearOperand, instantiate, zeros
from frit.transforms.trace import trace_to_jaxpr
from frit.transforms.transpose import backward_pass

__all__ = ["custom_linear_solve", "custom_root", "linear_solve_p"]


def _traced(
    function: Callable[..., Any], arguments: Any, name: str
) -> tuple[ClosedJaxpr, list[Any], Any]:
    """`function(argument)` as a jaxpr with its captured values as leading inputs."""
    errors.check_function(function, f"the function {name} of a solver")
    leaves, tree = trees.flatten(arguments)
    out: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        results, out_tree = trees.flatten(function(*tree.unflatten(values)))
        out[:] = [out_tree]
        return results

    flat.__name__ = name
    jaxpr, consts = trace_to_jaxpr(flat, [typeof(x) for x in leaves])
    return ClosedJaxpr(constants_as_inputs(jaxpr)), consts, out[0]


def _check_shapes(name: str, expected: Any, closed: ClosedJaxpr, tree: Any, want_tree: Any) -> None:
    if tree != want_tree:
        raise TypeError(
            f"{name} output must have the same pytree structure as the argument: {want_tree}, got "
            f"{tree}."
        )
    for a, b in zip(expected, closed.out_avals, strict=False):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise ValueError(
                f"{name} must return arrays of the argument's type {a.str_short()}, got "
                f"{b.str_short()}."
            )


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """x with `matvec(x) = b`, found by `solve(matvec, b)`, differentiated implicitly.

    transpose_solve(vecmat, b) solves with the transposed map (needed in reverse mode); a
    `symmetric` map needs none.  With has_aux, the solvers return (x, auxiliary data).
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = trees.flatten(b)
    types = [typeof(x) for x in leaves]
    product, product_consts, product_tree = _traced(matvec, (b,), "matvec")
    _check_shapes("matvec", types, product, product_tree, tree)
    solver, solver_consts, solver_tree = _traced(lambda v: solve(matvec, v), (b,), "solve")
    x_tree = solver_tree.children()[0] if has_aux else solver_tree
    _check_shapes("solve", types, solver, x_tree, tree)
    transposed, transposed_consts = None, []
    back, back_consts = None, []
    if transpose_solve is not None:
        if symmetric:
            vecmat: Callable[[Any], Any] = matvec
            transposed, transposed_consts = product, product_consts
        else:

            def vecmat(ct: Any) -> Any:
                given = trees.leaves(ct)
                count = len(product_consts)
                operands = [*product_consts, *[LinearOperand(t) for t in types]]
                found = backward_pass(product.jaxpr, (), operands, given)[count:]
                return tree.unflatten(map(instantiate, found))

            transposed, transposed_consts, _ = _traced(vecmat, (b,), "vecmat")
        back, back_consts, _ = _traced(
            lambda v: transpose_solve(vecmat, v), (b,), "transpose_solve"
        )
    counts = (
        len(product_consts), len(transposed_consts), len(solver_consts), len(back_consts)
    )  # fmt: skip
    results = linear_solve_p(
        *product_consts, *transposed_consts, *solver_consts, *back_consts, *leaves,
        solvers=Solvers(product, transposed, solver, back, counts),
    )  # fmt: skip
    return solver_tree.unflatten(results)


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """x with `f(x) = 0`, found by `solve(f, initial_guess)`, differentiated implicitly.

    tangent_solve(g, y) solves g(x) = y for the linear map g, the derivative of f at the root:
    dx = -(df/dx)^-1 (df/dp) dp for the values p that f closes over.
    """
    leaves, tree = trees.flatten(initial_guess)
    types = [typeof(x) for x in leaves]
    residual, captured, residual_tree = _traced(f, (initial_guess,), "f")
    _check_shapes("f", types, residual, residual_tree, tree)
    out: list[Any] = []

    def run(captured: Any, guess: Any) -> Any:
        def with_captured(x: Any) -> Any:
            return tree.unflatten(run_closed(residual, *captured, *trees.leaves(x)))

        found = solve(with_captured, guess)
        x = found[0] if has_aux else found
        if trees.structure(x) != tree:
            raise TypeError(
                f"solve output must have the structure of the initial guess: {tree}, got "
                f"{trees.structure(x)}."
            )
        out[:] = [found]
        return found

    root = custom_jvp(run)

    def rule(primals: Any, tangents: Any) -> Any:
        (values, guess), (moved, _) = primals, tangents
        found = root(values, guess)
        x = found[0] if has_aux else found
        x_leaves = trees.leaves(x)
        zero = [zeros(typeof(v).tangent_type()) for v in x_leaves]
        _, change = jvp(
            lambda *xs: run_closed(residual, *xs), [*values, *x_leaves], [*moved, *zero]
        )
        _, push = linearize(lambda v: tree.unflatten(
            run_closed(residual, *values, *trees.leaves(v))), x)  # fmt: skip
        right = tree.unflatten([neg(instantiate(c)) for c in change])
        dx = tangent_solve(push, right)
        if not has_aux:
            return found, dx
        aux_zero = trees.map(lambda a: zeros(typeof(a).tangent_type()), found[1])
        return found, (dx, aux_zero)

    root.defjvp(rule)
    return root(captured, initial_guess)
