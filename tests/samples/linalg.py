"""Samples of decompositions of matrices, and of solves with them."""

import numpy as np

from frit.primitives.linalg import (
    cholesky,
    cholesky_update,
    eig,
    eigh,
    geqp3,
    geqrf,
    hessenberg,
    householder_product,
    lu,
    lu_pivots_to_permutation,
    ormqr,
    qr,
    schur,
    svd,
    symmetric_product,
    triangular_solve,
    tridiagonal,
    tridiagonal_solve,
)
from frit.primitives.linalg.matrices import symmetrized
from frit.primitives.linalg.svd import SvdAlgorithm
from tests.samples import Sample, complex_numbers, numbers

_DTYPES = ("f4", "f8", "c8", "c16")
_DERIVATIVES = ("derivative", "second derivative", "transpose", "second transpose")
_GAUGE = dict.fromkeys(
    _DERIVATIVES, "the factors turn freely by phases; see tests/primitives/test_linalg.py"
)
_EIGH = {"lower": True, "sort_eigenvalues": True, "subset_by_index": None, "algorithm": None}


def _matrices(*shape, dtype="f4", seed=1):
    if np.dtype(dtype).kind == "c":
        return complex_numbers(*shape, seed=seed, dtype=dtype)
    return numbers(*shape, seed=seed, low=-1.0, dtype=dtype)


def _positive(*shape, dtype="f4"):
    """Hermitian matrices with eigenvalues of at least 1, and distinct ones."""
    x = _matrices(*shape, dtype=dtype)
    return (x @ x.conj().swapaxes(-1, -2) + np.diag(np.arange(1, shape[-1] + 1))).astype(dtype)


def _hermitian(primitive, x, *args, **more):
    """The derivative of these is along Hermitian matrices."""
    return Sample(
        primitive, (x,), *args, prepare=lambda y: [symmetrized(y)], tolerance=1e-4, **more
    )


def _eig(x, left, right, **more):
    params = {
        "compute_left_eigenvectors": left,
        "compute_right_eigenvectors": right,
        "enable_eigvec_derivs": True,
        "implementation": None,
    }
    return Sample(eig, (x,), params, note=f"{left}{right}", **more)


def _qr(x, pivoting, full, **more):
    params = {"pivoting": pivoting, "full_matrices": full, "use_magma": None}
    return Sample(qr, (x,), params, note=f"{pivoting}{full}", tolerance=1e-4, **more)


def _svd(x, full, uv, algorithm=None, **more):
    params = {
        "full_matrices": full,
        "compute_uv": uv,
        "subset_by_index": None,
        "algorithm": algorithm,
    }
    return Sample(svd, (x,), params, note=f"{full}{uv}", tolerance=1e-4, **more)


def _schur(x, vectors):
    params = {
        "compute_schur_vectors": vectors,
        "sort_eig_vals": False,
        "select_callable": None,
    }
    return Sample(schur, (x,), params, note=str(vectors))


def _triangular(a, b, left, lower, transpose=False, conjugate=False, unit=False):
    params = {
        "left_side": left,
        "lower": lower,
        "transpose_a": transpose,
        "conjugate_a": conjugate,
        "unit_diagonal": unit,
    }
    note = "".join("ft"[bool(v)] for v in params.values())
    return Sample(triangular_solve, (a, b), params, note=note, tolerance=1e-4)


def _tridiagonal(n, columns, perturb, dtype="f4", batch=()):
    """A strong diagonal, or a weak one, which asks for row interchanges."""
    lower, middle, upper, right = (
        _matrices(*batch, *shape, dtype=dtype, seed=s)
        for s, shape in enumerate(((n,), (n,), (n,), (n, columns)))
    )
    operands = lower, middle + (0 if perturb else 4), upper, right
    params = {"perturb_singular": perturb}
    return Sample(tridiagonal_solve, operands, params, note=str(perturb), tolerance=1e-4)


def _packed(x):
    return tuple(map(np.asarray, geqrf.evaluate(x)))


_TALL, _WIDE, _SQUARE = _matrices(5, 3), _matrices(3, 5), _matrices(4, 4)

SAMPLES = [
    *[_hermitian(cholesky, _positive(4, 4, dtype=d)) for d in _DTYPES],
    _hermitian(cholesky, _positive(2, 3, 3)),
    _hermitian(cholesky, -_positive(3, 3), smooth=False, note="negative"),
    Sample(cholesky, (numbers(0, 0),), smooth=False),
    Sample(cholesky_update, (np.triu(_positive(3, 3)), numbers(3))),
    *[
        Sample(symmetric_product, (_matrices(4, 3), _matrices(4, 4)), {"alpha": a, "beta": b})
        for a, b in ((1.0, 0.0), (2.0, -0.5))
    ],
    *[_hermitian(eigh, _positive(4, 4, dtype=d), _EIGH) for d in ("f4", "f8")],
    *[_hermitian(eigh, _positive(4, 4, dtype=d), _EIGH, without=_GAUGE) for d in ("c8", "c16")],
    _hermitian(eigh, _positive(2, 3, 3), {**_EIGH, "lower": False}),
    _eig(_SQUARE, False, False, tolerance=1e-4),
    _eig(_SQUARE, True, True, without=_GAUGE),
    _eig(_matrices(3, 3, dtype="c8"), False, True, without=_GAUGE),
    *[_svd(x, False, True) for x in (_TALL, _WIDE, _SQUARE)],
    _svd(_TALL, True, True, smooth=False, without={"tracing": "full bases have no derivative"}),
    _svd(_WIDE, False, False),
    _svd(_SQUARE, True, True, SvdAlgorithm.QR),
    _svd(_matrices(3, 2, dtype="c16"), False, True, without=_GAUGE),
    _svd(_matrices(2, 3, 2), False, False),
    _svd(numbers(0, 3), False, True, smooth=False),
    *[_qr(x, False, full) for x in (_TALL, _WIDE, _SQUARE) for full in (False, True)],
    _qr(_TALL, True, False),
    _qr(_WIDE, True, True),
    _qr(_matrices(4, 3, dtype="c8"), False, True, without=_GAUGE),
    _qr(_matrices(2, 3, 2), False, False),
    _qr(numbers(3, 0), False, True, smooth=False),
    *[Sample(lu, (_matrices(4, 4, dtype=d),), tolerance=1e-4) for d in _DTYPES],
    *[Sample(lu, (x,), tolerance=1e-4) for x in (_TALL, _WIDE, _matrices(2, 3, 3))],
    Sample(lu, (np.zeros((3, 3), "f4"),), smooth=False, note="singular"),
    Sample(
        lu_pivots_to_permutation, (np.array([[2, 2, 4], [0, 1, 2]], "i4"),), {"permutation_size": 5}
    ),
    *[Sample(geqrf, (x,)) for x in (_TALL, _WIDE, _matrices(3, 3, dtype="c16"))],
    *[
        Sample(geqp3, (x, np.array(pivots, "i4")), {"use_magma": None}, note=str(pivots))
        for x, pivots in ((_TALL, [0] * 3), (_SQUARE, [0, 0, 1, 1]), (_WIDE, [1, 0, 1, 0, 0]))
    ],
    Sample(householder_product, _packed(_TALL)),
    Sample(householder_product, _packed(_matrices(2, 4, 3, dtype="c8"))),
    *[
        Sample(ormqr, (*_packed(_TALL), c), {"left": left, "transpose": t}, note=f"{left}{t}")
        for left, c in ((True, _matrices(5, 2)), (False, _matrices(2, 5)))
        for t in (False, True)
    ],
    *[_schur(_matrices(4, 4, dtype=d), True) for d in _DTYPES],
    _schur(_SQUARE, False),
    *[Sample(hessenberg, (_matrices(4, 4, dtype=d),)) for d in ("f4", "c16")],
    *[
        Sample(tridiagonal, (_positive(4, 4, dtype=d),), {"lower": low}, note=str(low))
        for d in ("f4", "c8")
        for low in (True, False)
    ],
    *[
        _triangular(_positive(3, 3), _matrices(3, 2) if left else _matrices(2, 3), left, low, t)
        for left in (True, False)
        for low in (True, False)
        for t in (True, False)
    ],
    _triangular(_positive(3, 3, dtype="c8"), _matrices(3, 4, dtype="c8"), True, True, True, True),
    _triangular(_positive(3, 3, dtype="c8"), _matrices(3, 4, dtype="c8"), True, True, False, True),
    _triangular(_positive(2, 3, 3), _matrices(2, 3, 1), True, False, unit=True),
    *[_tridiagonal(4, 2, p, d) for d in ("f4", "c16") for p in (False, True)],
    _tridiagonal(1, 2, False),
    _tridiagonal(3, 1, True, batch=(2,)),
]
