"""The public functions of frit.lax: thin layers over the primitives, with JAX's names."""

from frit.lax.contraction import *  # noqa: F403
from frit.lax.indexing import *  # noqa: F403
from frit.lax.shapes import *  # noqa: F403
