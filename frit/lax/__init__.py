"""The public functions of frit.lax: thin layers over the primitives, with JAX's names."""

from frit.lax import linalg as linalg
from frit.lax.branching import *
from frit.lax.contraction import *
from frit.lax.conversion import *
from frit.lax.convolution import *
from frit.lax.elementwise import *
from frit.lax.fourier import *
from frit.lax.indexing import *
from frit.lax.loops import *
from frit.lax.marks import *
from frit.lax.parallel import *
from frit.lax.prefixes import *
from frit.lax.reductions import *
from frit.lax.shapes import *
from frit.lax.solves import *
from frit.lax.sorting import *
