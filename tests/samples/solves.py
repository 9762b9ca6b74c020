"""Samples of solves that the user defines: the derivative is that of the equation solved."""

from __future__ import annotations

from typing import Any

from frit import lax
from tests.samples import equation_of, numbers


def _solve(a: Any, b: Any) -> Any:
    """x with a * x = b."""
    divide = lambda product, right: lax.div(right, a)
    return lax.custom_linear_solve(lambda x: lax.mul(a, x), b, divide, symmetric=True)


def _rotate(a: Any, b: Any) -> Any:
    """x with x reversed, times a, = b: a map that is not its own transpose."""
    turn = lambda x: lax.rev(x, (0,))
    return lax.custom_linear_solve(
        lambda x: lax.mul(a, turn(x)),
        b,
        lambda product, right: turn(lax.div(right, a)),
        transpose_solve=lambda product, right: lax.div(turn(right), a),
    )


def _one_matrix(*operands: Any) -> list[Any]:
    """The same numbers for the map and for each solver: only so does the solver solve."""
    first, *others, right = operands
    return [first, *(first for _ in others), right]


SAMPLES = [
    equation_of(
        _solve, (numbers(3), numbers(3, seed=1)), "custom_linear_solve", prepare=_one_matrix
    ),
    equation_of(
        _rotate,
        (numbers(3), numbers(3, seed=1)),
        "custom_linear_solve",
        prepare=_one_matrix,
        note="turned",
    ),
]
