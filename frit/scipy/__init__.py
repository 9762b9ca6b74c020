"""jax.scipy: SciPy's functions over frit's arrays, module by module."""

from frit.scipy import linalg as linalg
from frit.scipy import special as special
from frit.scipy import stats as stats
