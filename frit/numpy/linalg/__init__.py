"""jax.numpy.linalg: linear algebra with NumPy's names, over batches of matrices (…, m, n)."""

from frit.numpy.linalg.conditioning import cond, matrix_rank
from frit.numpy.linalg.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from frit.numpy.linalg.determinants import det, slogdet
from frit.numpy.linalg.norms import matrix_norm, norm, vector_norm
from frit.numpy.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from frit.numpy.linalg.solving import (
    inv,
    lstsq,
    matrix_power,
    pinv,
    solve,
    tensorinv,
    tensorsolve,
)

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
