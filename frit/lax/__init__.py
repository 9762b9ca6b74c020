"""The public functions of frit.lax: thin layers over the primitives, with JAX's names."""

from frit.lax import linalg as linalg
from frit.lax.contraction import *
from frit.lax.control_flow import *
from frit.lax.convolution import *
from frit.lax.conversion import *
from frit.lax.elementwise import *
from frit.lax.fourier import *
from frit.lax.indexing import *
from frit.lax.parallel import *
from frit.lax.reductions import *
from frit.lax.shapes import *
from frit.lax.sorting import *
from frit.lax.solves import *
