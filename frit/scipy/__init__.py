"""jax.scipy: SciPy's functions over frit's arrays, module by module."""

from frit.scipy import cluster as cluster
from frit.scipy import fft as fft
from frit.scipy import integrate as integrate
from frit.scipy import interpolate as interpolate
from frit.scipy import linalg as linalg
from frit.scipy import ndimage as ndimage
from frit.scipy import optimize as optimize
from frit.scipy import signal as signal
from frit.scipy import sparse as sparse
from frit.scipy import special as special
from frit.scipy import stats as stats
