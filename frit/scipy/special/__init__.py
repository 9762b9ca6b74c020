"""jax.scipy.special: special functions, elementwise, differentiable."""

from frit.numpy.softmax import logsumexp
from frit.scipy.special.bessel import bessel_jn, i0, i0e, i1, i1e
from frit.scipy.special.error_functions import (
    dawsn,
    erf,
    erfc,
    erfcx,
    erfinv,
    log_ndtr,
    ndtr,
    ndtri,
    owens_t,
    wofz,
)
from frit.scipy.special.gamma_functions import (
    bernoulli,
    beta,
    betainc,
    betaln,
    comb,
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    loggamma,
    multigammaln,
    poch,
    polygamma,
    zeta,
)
from frit.scipy.special.hypergeometric import hyp1f1, hyp2f1
from frit.scipy.special.integrals import exp1, expi, expn, fresnel, sici, spence
from frit.scipy.special.logarithms import (
    boxcox,
    boxcox1p,
    entr,
    expit,
    kl_div,
    log_softmax,
    logit,
    rel_entr,
    softmax,
    xlog1py,
    xlogy,
)
from frit.scipy.special.spherical_harmonics import sph_harm_y
