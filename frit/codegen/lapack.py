"""Decompositions of matrices by LAPACK: each primitive as a few library calls between views.

Arrays are row-major, LAPACK reads columns, so a routine sees the transpose of each matrix. Where
the mathematics allows (cholesky, triangular_solve) that is turned to account and nothing
is moved; otherwise the matrix is transposed on the way in and out, in kernels that also mask and
replace what failed by nan.

Workspaces are what LAPACK's manual asks for, plus a block of 64 columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from frit.codegen.builders.pivots import NAME as PIVOTS
from frit.codegen.kernels import array_type
from frit.codegen.library import (
    PREFIX,
    RULES,
    Argument,
    ForeignCall,
    char,
    integer,
    library_call,
)
from frit.ir.jaxpr import JaxprEqn
from frit.ir.primitive import Primitive
from frit.ir.types import ShapedArray
from frit.primitives.comparison_and_bits import eq, ge, select_n
from frit.primitives.conversion import conj
from frit.primitives.elementwise import sub
from frit.primitives.padding import pad
from frit.primitives.padding import slice as slice_
from frit.primitives.shapes import iota
from frit.transforms.linear import broadcast_in_dim, transpose

INT = np.dtype("int32")
BLOCK = 64
REAL = {"c": "float32", "z": "float64"}


class Batch:
    """Calls over the leading axes of arrays of (…, m, n) matrices."""

    def __init__(self, x: Any) -> None:
        self.shape = tuple(x.shape[:-2])
        self.count = math.prod(self.shape)
        self.dtype = np.dtype(x.dtype)
        self.letter = PREFIX[self.dtype.name]
        self.real = np.dtype(REAL.get(self.letter, self.dtype.name))
        self.is_complex = self.letter in REAL
        self.operands: list[Any] = []
        self.types: list[ShapedArray] = []
        self.updates: list[tuple[int, int]] = []
        self.scratch = 0

    def read(self, x: Any, offset: int = 0) -> Argument:
        """x, which the routine only reads; `offset` elements in."""
        self.operands.append(x)
        return self._memory("operand", len(self.operands) - 1, x, offset)

    def change(self, x: Any, offset: int = 0) -> Argument:
        """x, which the routine overwrites: a result that begins as x."""
        self.operands.append(x)
        self.types.append(ShapedArray(x.shape, x.dtype))
        self.updates.append((len(self.types) - 1, len(self.operands) - 1))
        return self._memory("result", len(self.types) - 1, x, offset)

    def make(self, shape: Sequence[int], dtype: Any) -> Argument:
        """A further result of this shape for each member of the batch."""
        made = ShapedArray((*self.shape, *shape), np.dtype(dtype))
        self.types.append(made)
        return self._memory("result", len(self.types) - 1, made, 0)

    def info(self) -> Argument:
        return self.make((), INT)

    def work(self, count: int, dtype: Any = None) -> Argument:
        """Scratch memory for `count` numbers."""
        offset = self.scratch
        nbytes = max(1, count) * np.dtype(dtype or self.dtype).itemsize
        self.scratch += -(-nbytes // 64) * 64
        return Argument("scratch", 0, offset)

    def _memory(self, kind: str, number: int, x: Any, offset: int) -> Argument:
        size = np.dtype(x.dtype).itemsize
        member = math.prod(x.shape[len(self.shape) :]) * size
        return Argument(kind, number, offset * size, (member,) if self.count > 1 else ())

    def call(self, symbol: str, *arguments: Argument) -> list[Any]:
        """The results, in the order in which they were asked for."""
        call = ForeignCall(
            symbol,
            arguments,
            tuple(self.types),
            (self.count,) if self.count > 1 else (),
            tuple(self.updates),
            self.scratch,
            max(max(t.shape[-2:], default=1) for t in self.types) ** 3 // 64,
        )
        return library_call(*self.operands, call=call)

    def lapack(self, routine: str, *arguments: Argument) -> list[Any]:
        return self.call(f"lapack_{self.letter}{routine}", *arguments)


# ---------------------------------------------------------------------------------------- pieces


def turned(x: Any) -> Any:
    """The matrices transposed."""
    rank = len(x.shape)
    return transpose(x, permutation=(*range(rank - 2), rank - 1, rank - 2))


def _conjugated(x: Any) -> Any:
    return conj(x, input_dtype=x.dtype) if np.dtype(x.dtype).kind == "c" else x


def _filled(number: Any, shape: Sequence[int], dtype: Any) -> Any:
    scalar = np.dtype(dtype).type(number)
    if not shape:
        return scalar
    return broadcast_in_dim(scalar, shape=tuple(shape), broadcast_dimensions=(), sharding=None)


def _spread(flags: Any, shape: Sequence[int]) -> Any:
    """One flag for each member of a batch, for all elements of its array."""
    if len(flags.shape) == len(shape):
        return flags
    return broadcast_in_dim(
        flags,
        shape=tuple(shape),
        broadcast_dimensions=tuple(range(len(flags.shape))),
        sharding=None,
    )


def or_nan(ok: Any, x: Any) -> Any:
    """x where its member of the batch is ok, else nan."""
    number = complex(math.nan, math.nan) if np.dtype(x.dtype).kind == "c" else math.nan
    return select_n(_spread(ok, x.shape), _filled(number, x.shape, x.dtype), x)


def succeeded(info: Any) -> Any:
    return eq(info, _filled(0, info.shape, INT))


def triangle(x: Any, *, lower: bool) -> Any:
    """x with zeros on the other side of its diagonal."""
    shape = tuple(x.shape)
    rank = len(shape)
    row, column = (
        iota(dtype=INT, shape=shape, dimension=axis, sharding=None) for axis in (rank - 2, rank - 1)
    )
    kept = ge(row, column) if lower else ge(column, row)
    return select_n(kept, _filled(0, shape, x.dtype), x)


def part(x: Any, rows: int, columns: int) -> Any:
    """The leading rows and columns of each matrix."""
    shape = (*x.shape[:-2], rows, columns)
    if shape == tuple(x.shape):
        return x
    return slice_(x, start_indices=(0,) * len(shape), limit_indices=shape, strides=None)


def widened(x: Any, columns: int) -> Any:
    """Each matrix with columns of zeros added."""
    extra = columns - x.shape[-1]
    if not extra:
        return x
    zero = np.dtype(x.dtype).type(0)
    return pad(x, zero, padding_config=((0, 0, 0),) * (len(x.shape) - 1) + ((0, extra, 0),))


# ------------------------------------------------------------------------------- decompositions


def cholesky(x: Any, **_: Any) -> Any:
    """L with x = L L^H, from the lower triangle of x; nan where x is not positive definite.

    LAPACK sees conj(x) = U^H U, so U is L transposed: it is L in our order.
    """
    n = x.shape[-1]
    b = Batch(x)
    a, info = b.change(x), b.info()
    factor, info = b.lapack("potrf", char("U"), integer(n), a, integer(max(n, 1)), info)
    return or_nan(succeeded(info), triangle(factor, lower=True))


def lu(x: Any, **_: Any) -> list[Any]:
    """(L and U in one matrix, pivots, permutation) of x[permutation] = L U."""
    m, n = x.shape[-2:]
    b = Batch(x)
    a = b.change(turned(x))
    pivots, info = b.make((min(m, n),), INT), b.info()
    factors, pivots, info = b.lapack(
        "getrf", integer(m), integer(n), a, integer(max(m, 1)), pivots, info
    )
    zero = _filled(0, info.shape, INT)
    factors = or_nan(ge(info, zero), turned(factors))
    pivots = sub(pivots, _filled(1, pivots.shape, INT))
    return [factors, pivots, pivots_to_permutation(pivots, permutation_size=m)]


def _reflectors(x: Any) -> list[Any]:
    """(R above, reflectors below, their factors) of each matrix, in LAPACK's order."""
    m, n = x.shape[-2:]
    b = Batch(x)
    a, taus, info = b.change(turned(x)), b.make((min(m, n),), x.dtype), b.info()
    size = max(1, n) * BLOCK
    a, taus, _ = b.lapack(
        "geqrf", integer(m), integer(n), a, integer(max(m, 1)), taus, b.work(size), integer(size),
        info,
    )  # fmt: skip
    return [a, taus]


def geqrf(x: Any, **_: Any) -> list[Any]:
    a, taus = _reflectors(x)
    return [turned(a), taus]


def householder_product(x: Any, taus: Any, **_: Any) -> Any:
    """The first columns of the product of reflectors."""
    m, n = x.shape[-2:]
    b = Batch(x)
    a, factors, info = b.change(turned(x)), b.read(taus), b.info()
    size = max(1, n) * BLOCK
    routine = "ungqr" if b.is_complex else "orgqr"
    q, _ = b.lapack(
        routine, integer(m), integer(n), integer(taus.shape[-1]), a, integer(max(m, 1)), factors,
        b.work(size), integer(size), info,
    )  # fmt: skip
    return turned(q)


def geqp3(x: Any, pivots: Any, **_: Any) -> list[Any]:
    """As geqrf with columns interchanged; pivots count from 1, 0 for a column free to move."""
    m, n = x.shape[-2:]
    b = Batch(x)
    a, columns = b.change(turned(x)), b.change(pivots)
    taus, info = b.make((min(m, n),), x.dtype), b.info()
    size = max(1, 2 * n + (n + 1) * BLOCK)
    work = [b.work(size), integer(size)]
    if b.is_complex:
        work.append(b.work(2 * n, b.real))
    a, columns, taus, _ = b.lapack(
        "geqp3", integer(m), integer(n), a, integer(max(m, 1)), columns, taus, *work, info
    )
    return [turned(a), columns, taus]


def qr(x: Any, *, pivoting: bool, full_matrices: bool, **_: Any) -> list[Any]:
    """(q, r), and the columns' order where pivoting."""
    m, n = x.shape[-2:]
    k = m if full_matrices else min(m, n)
    if pivoting:
        packed, columns, taus = geqp3(x, _filled(0, (*x.shape[:-2], n), INT))
        columns = [sub(columns, _filled(1, columns.shape, INT))]
    else:
        packed, taus = geqrf(x)
        columns = []
    r = triangle(part(packed, k, n), lower=False)
    basis = part(packed, m, min(k, n)) if k <= n else widened(packed, k)
    return [householder_product(basis, taus), r, *columns]


def ormqr(x: Any, taus: Any, c: Any, *, left: bool, transpose: bool, **_: Any) -> Any:
    """The product of reflectors (or its adjoint) times c, from the left or the right."""
    m, n = c.shape[-2:]
    b = Batch(x)
    a, factors = b.read(turned(x)), b.read(taus)
    target, info = b.change(turned(c)), b.info()
    size = max(1, m, n) * BLOCK + BLOCK * (BLOCK + 1)
    routine = "unmqr" if b.is_complex else "ormqr"
    adjoint = "C" if b.is_complex else "T"
    product, _ = b.lapack(
        routine, char("L" if left else "R"), char(adjoint if transpose else "N"), integer(m),
        integer(n), integer(taus.shape[-1]), a, integer(max(1, x.shape[-2])), factors, target,
        integer(max(1, m)), b.work(size), integer(size), info,
    )  # fmt: skip
    return turned(product)


def eigh(x: Any, *, lower: bool, **_: Any) -> list[Any]:
    """(eigenvectors as columns, eigenvalues in ascending order) of Hermitian matrices.

    LAPACK would see conj(x) in place, but then choose other signs of vectors than everyone's.
    """
    n = x.shape[-1]
    b = Batch(x)
    a, values, info = b.change(turned(x)), b.make((n,), b.real), b.info()
    if b.is_complex:
        size = 2 * n + n * n + n * BLOCK
        real = 1 + 5 * n + 2 * n * n
        work = [b.work(size), integer(size), b.work(real, b.real), integer(real)]
    else:
        size = 1 + 6 * n + 2 * n * n + n * BLOCK
        work = [b.work(size), integer(size)]
    whole = 3 + 5 * n
    vectors, values, info = b.lapack(
        "heevd" if b.is_complex else "syevd", char("V"), char("L" if lower else "U"), integer(n), a,
        integer(max(n, 1)), values, *work, b.work(whole, INT), integer(whole), info,
    )  # fmt: skip
    ok = succeeded(info)
    return [or_nan(ok, turned(vectors)), or_nan(ok, values)]


def svd(
    x: Any, *, full_matrices: bool, compute_uv: bool, algorithm: Any = None, **_: Any
) -> list[Any]:
    """(singular values, u, v^H), turned both ways, so that signs are everyone's.

    SvdAlgorithm.QR asks for gesvd; the divide and conquer of gesdd is the default.
    """
    m, n = x.shape[-2:]
    low, high = min(m, n), max(m, n)
    b = Batch(x)
    a, values = b.change(turned(x)), b.make((low,), b.real)
    job = "N" if not compute_uv else "A" if full_matrices else "S"
    rows, columns = (m, n) if full_matrices else (low, low)
    if compute_uv:
        left, right = b.make((rows, m), x.dtype), b.make((n, columns), x.dtype)
    else:
        left, right = b.work(1), b.work(1)
    info = b.info()
    size = 4 * low * low + 7 * low + high * BLOCK + 2 * low * BLOCK
    work = [b.work(size), integer(size)]
    if b.is_complex:
        real = max(5 * low * low + 7 * low, 2 * high * low + 2 * low * low + low)
        work.append(b.work(real, b.real))
    by_qr = getattr(algorithm, "name", None) == "QR"
    found = b.lapack(
        "gesvd" if by_qr else "gesdd", *[char(job)] * (1 + by_qr), integer(m), integer(n), a,
        integer(max(m, 1)), values, left, integer(max(m, 1)), right, integer(max(columns, 1)),
        *work, *([] if by_qr else [b.work(8 * low, INT)]), info,
    )  # fmt: skip
    ok = succeeded(found[-1])
    return [or_nan(ok, found[1]), *(or_nan(ok, turned(y)) for y in found[2:-1])]


def triangular_solve(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:  # fmt: skip
    """X with op(a) X = b, or X op(a) = b; seen transposed, sides and triangles trade places."""
    if conjugate_a and not transpose_a:
        a, conjugate_a = _conjugated(a), False
    rows, columns = b.shape[-2:]
    n = a.shape[-1]
    batch = Batch(a)
    matrix, target = batch.read(a), batch.change(b)
    name = batch.dtype.name
    operation = "N" if not transpose_a else "C" if conjugate_a else "T"
    (solved,) = batch.call(
        f"blas_{batch.letter}trsm", char("R" if left_side else "L"), char("U" if lower else "L"),
        char(operation), char("U" if unit_diagonal else "N"), integer(columns), integer(rows),
        Argument(name, batch.dtype.type(1).item()), matrix, integer(max(n, 1)), target,
        integer(max(columns, 1)),
    )  # fmt: skip
    return solved


def schur(x: Any, *, compute_schur_vectors: bool, **_: Any) -> list[Any]:
    """(triangular form, vectors) of square matrices."""
    n = x.shape[-1]
    b = Batch(x)
    a = b.change(turned(x))
    vectors = b.make((n, n), x.dtype) if compute_schur_vectors else b.work(1)
    values = [b.work(n)] if b.is_complex else [b.work(n), b.work(n)]
    size = max(1, n) * BLOCK
    more = [b.work(n, b.real)] if b.is_complex else []
    info = b.info()
    form, *vectors_found, info = b.lapack(
        "gees", char("V" if compute_schur_vectors else "N"), char("N"), Argument("null"),
        integer(n), a, integer(max(n, 1)), b.work(1, INT), *values, vectors, integer(max(n, 1)),
        b.work(size),
        integer(size), *more, b.work(n, INT), info,
    )  # fmt: skip
    ok = succeeded(info)
    return [or_nan(ok, turned(y)) for y in (form, *vectors_found)]


def hessenberg(x: Any, **_: Any) -> list[Any]:
    n = x.shape[-1]
    b = Batch(x)
    a, taus, info = b.change(turned(x)), b.make((max(n - 1, 0),), x.dtype), b.info()
    size = max(1, n) * BLOCK + BLOCK * (BLOCK + 1)
    form, taus, info = b.lapack(
        "gehrd", integer(n), integer(1), integer(n), a, integer(max(n, 1)), taus, b.work(size),
        integer(size), info,
    )  # fmt: skip
    ok = succeeded(info)
    return [or_nan(ok, turned(form)), or_nan(ok, taus)]


def tridiagonal(x: Any, *, lower: bool, **_: Any) -> list[Any]:
    """(reflectors, diagonal, off-diagonal, factors) of Hermitian matrices."""
    n = x.shape[-1]
    b = Batch(x)
    a = b.change(turned(x))
    d, e = b.make((n,), b.real), b.make((n - 1,), b.real)
    taus, info = b.make((n - 1,), x.dtype), b.info()
    size = max(1, n) * BLOCK
    form, d, e, taus, info = b.lapack(
        "hetrd" if b.is_complex else "sytrd", char("L" if lower else "U"), integer(n), a,
        integer(max(n, 1)), d, e, taus, b.work(size), integer(size), info,
    )  # fmt: skip
    ok = succeeded(info)
    return [or_nan(ok, y) for y in (turned(form), d, e, taus)]


def tridiagonal_solve(dl: Any, d: Any, du: Any, rhs: Any, **_: Any) -> Any:
    """X with T X = rhs; the first of dl and the last of du are not read."""
    n, columns = rhs.shape[-2:]
    b = Batch(rhs)
    below, middle, above = b.change(dl, offset=1), b.change(d), b.change(du)
    target, info = b.change(turned(rhs)), b.info()
    *_ignored, solved, info = b.lapack(
        "gtsv", integer(n), integer(columns), below, middle, above, target, integer(max(n, 1)), info
    )
    return or_nan(succeeded(info), turned(solved))


def _pivots_types(pivots: Any, *, permutation_size: int) -> ShapedArray:
    return ShapedArray((*pivots.shape[:-1], permutation_size), INT)


pivots_to_permutation = Primitive(PIVOTS, result_types=_pivots_types)

_SOLVERS: tuple[Callable[..., Any], ...] = (
    cholesky, lu, geqrf, householder_product, geqp3, qr, ormqr, eigh, svd, triangular_solve, schur,
    hessenberg, tridiagonal, tridiagonal_solve,
)  # fmt: skip


def _expansion(solver: Callable[..., Any]) -> Callable[[JaxprEqn], Callable[..., Any] | None]:
    def expand(eqn: JaxprEqn) -> Callable[..., Any] | None:
        first = array_type(eqn.invars[0])
        if first.dtype.name not in PREFIX or eqn.params.get("perturb_singular"):
            return None
        if not all(math.prod(array_type(a).shape) for a in eqn.invars):
            return lambda *xs: _of_nothing(eqn)
        return lambda *xs: solver(*xs, **eqn.params)

    return expand


def _of_nothing(eqn: JaxprEqn) -> Any:
    """Results for matrices without elements: zeros; the identity for a basis of a whole space."""
    made = []
    for var in eqn.outvars:
        shape, dtype = array_type(var).shape, array_type(var).dtype
        zeros = _filled(0, shape, dtype)
        if math.prod(shape) and len(shape) >= 2 and eqn.primitive.name in ("qr", "svd"):
            rank = len(shape)
            row, column = (
                iota(dtype=INT, shape=shape, dimension=axis, sharding=None)
                for axis in (rank - 2, rank - 1)
            )
            zeros = select_n(eq(row, column), zeros, _filled(1, shape, dtype))
        made.append(zeros)
    return made if eqn.primitive.multiple_results else made[0]


def expansion_of(eqn: JaxprEqn) -> Callable[..., Any] | None:
    """A function of the operands that computes the equation by library calls, or None."""
    rule = RULES.get(eqn.primitive.name)
    return None if rule is None else rule(eqn)


RULES.update({solver.__name__: _expansion(solver) for solver in _SOLVERS})
