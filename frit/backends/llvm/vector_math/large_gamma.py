"""The incomplete gamma function of large a: expansions in 1/a, in f64.

With x = a (1 + m) and eta**2 / 2 = m - log(1 + m), eta of m's sign (Temme 1979, DLMF 8.12):
Q(a, x) = erfc(eta sqrt(a/2)) / 2 + exp(-a eta**2 / 2) / sqrt(2 pi a) (c0(eta) + c1(eta) / a + ...)
"""

import math

from frit.backends.llvm.vector_math.coefficients import TEMME_0, TEMME_1
from frit.backends.llvm.vector_math.exponential import log1p_excess


def gamma_of_large(kit, a, x, *, complement):
    """Q(a, x) if complement, else P(a, x), to full accuracy for a >= 1e6."""
    # Beyond |m| = 0.2 the result is 0 or 1.
    m = ((x - a) / a).larger(-0.2).smaller(0.2)
    half_square = -log1p_excess(kit, m)
    eta = (half_square * 2.0).sqrt().copysign(m)
    argument = (half_square * a).sqrt().copysign(m)
    series = kit.polynomial(eta, TEMME_0) + kit.polynomial(eta, TEMME_1) / a
    rest = kit.call("exp", -half_square * a) * series / (a * (2 * math.pi)).sqrt()
    if complement:
        return kit.call("erfc", argument) * 0.5 + rest
    return kit.call("erfc", -argument) * 0.5 - rest


def sample_slope_of_large(kit, a, x):
    """dx/da at constant P(a, x), for a >= 1e6.

    By the expansion of Cornish and Fisher in s = sqrt(a), with z the normal quantile of P:
    x = a + s z + (z**2 - 1)/3 + (z**3 - 7z)/(36 s) - (6 z**4 + 14 z**2 - 32)/(1620 a) + ...
    """
    inverse = 1.0 / a.sqrt()
    w = (x - a) * inverse
    square = w * w
    z = w - (square - 1.0) * inverse * (1 / 3)
    z = z + w * (square * 7.0 - 1.0) * (inverse * inverse) * (1 / 36)
    square = z * z
    third = z * (square - 7.0) * (1 / 72)
    fourth = (square * (square * 6.0 + 14.0) - 32.0) * (1 / 1620)
    return 1.0 + inverse * (z * 0.5 - (inverse * inverse) * (third - inverse * fourth))
