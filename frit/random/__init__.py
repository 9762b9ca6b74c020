"""`jax.random`'s public names: keys, and samplers of them.

A sampler is a pure function of its key: `normal(key, (3,))` gives the same numbers every time.
For further draws make further keys: `key, subkey = split(key)`.
"""

from frit.random.choosing import categorical, choice, permutation
from frit.random.counting import binomial, geometric, multinomial, poisson
from frit.random.gamma import (
    ball,
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from frit.random.gamma_draws import random_gamma
from frit.random.inverse import (
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    pareto,
    triangular,
    weibull_min,
)
from frit.random.keys import (
    PRNGKey,
    PRNGSpec,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from frit.random.normal import (
    double_sided_maxwell,
    lognormal,
    maxwell,
    multivariate_normal,
    normal,
    orthogonal,
    rayleigh,
    truncated_normal,
    wald,
)
from frit.random.uniform import bernoulli, bits, rademacher, randint, uniform

random_gamma_p = random_gamma
