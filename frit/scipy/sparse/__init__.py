"""jax.scipy.sparse: linear systems given as functions."""

from frit.scipy.sparse import linalg as linalg
