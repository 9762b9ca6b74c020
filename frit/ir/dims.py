"""Symbolic dimensions: integer polynomials in named sizes, each at least 1 unless told otherwise.

    Dim = sum of integer x product of (name | floordiv(Dim, Dim) | mod(Dim, Dim)) ** power

A shape is a tuple of `int | Dim`.  `==` and hash are structural; order comparisons answer only when
the answer holds for every value of the sizes, and raise InconclusiveDimensionOperation otherwise.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from frit.errors import InconclusiveDimensionOperation

_Monomial = tuple[tuple[Any, int], ...]  # sorted ((atom, power), …)


class _Operation:
    """floordiv or mod of two dimensions, as an atom."""

    __slots__ = ("kind", "left", "right")

    def __init__(self, kind: str, left: Any, right: Any) -> None:
        self.kind, self.left, self.right = kind, left, right

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Operation) and (self.kind, self.left, self.right) == (
            other.kind,
            other.left,
            other.right,
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.left, self.right))

    def __str__(self) -> str:
        return f"{self.kind}({self.left}, {self.right})"


def _order(item: tuple[_Monomial, int]) -> tuple[int, str]:
    return -sum(p for _, p in item[0]), str([(str(a), p) for a, p in item[0]])


class Dim:
    """A symbolic size, `Dim("n")`, or integer arithmetic on such sizes."""

    __slots__ = ("_hash", "terms")
    terms: tuple[tuple[_Monomial, int], ...]

    def __init__(self, name: str) -> None:
        if not name.isidentifier():
            raise ValueError(f"a symbolic dimension is named by an identifier, got {name!r}")
        self._set({((name, 1),): 1})

    def _set(self, terms: dict[_Monomial, int]) -> None:
        self.terms = tuple(sorted(((m, c) for m, c in terms.items() if c), key=_order))
        self._hash = hash(self.terms)

    @staticmethod
    def _of(terms: dict[_Monomial, int]) -> Any:
        dim = Dim.__new__(Dim)
        dim._set(terms)
        if not dim.terms:
            return 0
        return dim.terms[0][1] if dim.terms[0][0] == () and len(dim.terms) == 1 else dim

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Any) -> Any:
        if not _is_dim(other):
            return NotImplemented
        total = dict(self.terms)
        for monomial, c in _terms(other):
            total[monomial] = total.get(monomial, 0) + c
        return Dim._of(total)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Dim._of({m: -c for m, c in self.terms})

    def __sub__(self, other: Any) -> Any:
        return self + (-other) if _is_dim(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other if _is_dim(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if not _is_dim(other):
            return NotImplemented
        total: dict[_Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in _terms(other):
                m = _times(m1, m2)
                total[m] = total.get(m, 0) + c1 * c2
        return Dim._of(total)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Any:
        return product([self] * operator.index(power))

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return _divide(self, other)

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return _divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _divide(self, other)[0] if _is_dim(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _divide(other, self)[0] if _is_dim(other) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return _divide(self, other)[1] if _is_dim(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return _divide(other, self)[1] if _is_dim(other) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return _compare(self - other, ">=", self, other)

    def __le__(self, other: Any) -> bool:
        return _compare(other - self, "<=", self, other)

    def __gt__(self, other: Any) -> bool:
        return _compare(self - other - 1, ">", self, other)

    def __lt__(self, other: Any) -> bool:
        return _compare(other - self - 1, "<", self, other)

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"the size `{self}` is symbolic: its number is not known while tracing. Trace with "
            "concrete shapes, or write the operation with frit.numpy so that it stays symbolic."
        )

    __index__ = __int__

    def __str__(self) -> str:
        text = ""
        for monomial, c in self.terms:
            body = "*".join(f"{a}^{p}" if p != 1 else str(a) for a, p in monomial)
            size = body if abs(c) == 1 and body else f"{abs(c)}*{body}" if body else str(abs(c))
            sign = "-" if c < 0 else "+"
            text += f" {sign} {size}" if text else ("-" if c < 0 else "") + size
        return text

    __repr__ = __str__

    def evaluate(self, sizes: dict[str, int]) -> int:
        """The number this size has when each name has the value that `sizes` tells."""
        return sum(c * product([_atom_value(a, sizes) ** p for a, p in m]) for m, c in self.terms)

    def names(self) -> frozenset[str]:
        found: set[str] = set()
        for m, _ in self.terms:
            for a, _p in m:
                found |= (
                    {a}
                    if isinstance(a, str)
                    else set().union(*(d.names() for d in (a.left, a.right) if isinstance(d, Dim)))
                )
        return frozenset(found)


def _atom_value(atom: Any, sizes: dict[str, int]) -> int:
    if isinstance(atom, str):
        return sizes[atom]
    left, right = (d.evaluate(sizes) if isinstance(d, Dim) else d for d in (atom.left, atom.right))
    return left // right if atom.kind == "floordiv" else left % right


def _is_dim(x: Any) -> bool:
    return isinstance(x, Dim) or (isinstance(x, int) and not isinstance(x, bool))


def _terms(x: Any) -> tuple[tuple[_Monomial, int], ...]:
    return x.terms if isinstance(x, Dim) else (((), x),)


def _times(a: _Monomial, b: _Monomial) -> _Monomial:
    powers: dict[Any, int] = dict(a)
    for atom, p in b:
        powers[atom] = powers.get(atom, 0) + p
    return tuple(sorted(((k, p) for k, p in powers.items() if p), key=lambda item: str(item[0])))


def _quotient(a: _Monomial, b: _Monomial) -> _Monomial | None:
    powers: dict[Any, int] = dict(a)
    for atom, p in b:
        powers[atom] = powers.get(atom, 0) - p
        if powers[atom] < 0:
            return None
    return tuple(sorted(((k, p) for k, p in powers.items() if p), key=lambda item: str(item[0])))


def _divide(left: Any, right: Any) -> tuple[Any, Any]:
    """Quotient and remainder; exact polynomial division where it goes, an opaque atom elsewhere."""
    if isinstance(right, int) and right == 0:
        raise ZeroDivisionError("division of a dimension by zero")
    quotient: Any = 0
    rest = left
    lead_m, lead_c = _terms(right)[0]
    while isinstance(rest, Dim) or (isinstance(rest, int) and rest):
        for m, c in _terms(rest):
            q = _quotient(m, lead_m)
            if q is not None and c % lead_c == 0:
                step = Dim._of({q: c // lead_c})
                quotient, rest = quotient + step, rest - step * right
                break
        else:
            break
    if isinstance(rest, int) and rest == 0:
        return quotient, 0
    if isinstance(rest, int) and isinstance(right, int):
        return quotient + rest // right, rest % right
    atom = Dim._of({((_Operation("floordiv", rest, right), 1),): 1})
    remainder = Dim._of({((_Operation("mod", rest, right), 1),): 1})
    return quotient + atom, remainder


def _lower_bound(x: Any) -> float:
    """A number that `x` never falls below, with every named size at least 1."""
    total: float = 0
    for m, c in _terms(x):
        if c > 0:
            total += c * product([0 if isinstance(a, _Operation) else 1 for a, _ in m])
        elif m:
            return float("-inf")
        else:
            total += c
    return total


def _compare(difference: Any, symbol: str, left: Any, right: Any) -> bool:
    if isinstance(difference, int):
        return difference >= 0
    if _lower_bound(difference) >= 0:
        return True
    if _lower_bound(-difference - 1) >= 0:
        return False
    raise InconclusiveDimensionOperation(
        f"Symbolic dimension comparison `{left} {symbol} {right}` is inconclusive: it depends on "
        "the sizes, which are not known while tracing."
    )


def is_symbolic(shape: Iterable[Any]) -> bool:
    return any(isinstance(d, Dim) for d in shape)


def product(sizes: Iterable[Any]) -> Any:
    """The product of sizes; 1 for none."""
    total: Any = 1
    for size in sizes:
        total = size * total if isinstance(size, Dim) else total * size
    return total


def same(a: Any, b: Any) -> bool:
    """Whether two sizes are equal for all values of the symbols."""
    return a is b or (type(a) is type(b) and a == b) or (_both_int(a, b) and a == b)


def _both_int(a: Any, b: Any) -> bool:
    return not isinstance(a, Dim) and not isinstance(b, Dim)


def at_least(size: Any, bound: Any) -> bool:
    """Whether `size >= bound` for sure; False where it depends on the symbols."""
    try:
        return bool(size >= bound)
    except InconclusiveDimensionOperation:
        return False


def check_sizes(shape: Any, what: str) -> None:
    """TypeError if a size is known to be negative."""
    if any(type(d) is int and d < 0 for d in shape):
        raise TypeError(f"{what} must have every element be nonnegative, got {tuple(shape)}.")


def check_shape(shape: Any) -> tuple[Any, ...]:
    """`shape` as a tuple of ints and Dims.  TypeError names the entry that is neither."""
    if not isinstance(shape, (tuple, list)):
        try:
            shape = tuple(shape)
        except TypeError as error:
            raise TypeError(
                f"Shapes must be sequences of integers, got {shape!r} ({error})"
            ) from None
    return tuple(d if type(d) is int or type(d) is Dim else _check_size(d, shape) for d in shape)


def _check_size(size: Any, shape: Any) -> Any:
    try:
        return operator.index(size)
    except Exception:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape}. "
            f"{size!r} is not an integer"
            + (
                "; a traced value has no number while the function is traced: mark the argument "
                "with static_argnums or static_argnames."
                if hasattr(size, "aval")
                else "."
            )
        ) from None
