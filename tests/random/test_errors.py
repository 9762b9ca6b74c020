"""Bad input gets JAX's exception, with what was found and what to write instead."""

import pytest

import frit.numpy as jnp
from frit import enable_custom_prng, jit, legacy_prng_key, random
from frit.errors import ConcretizationTypeError

KEY = random.key(0)
KEYS = random.split(KEY, 3)

CASES = {
    "no key": (
        lambda: random.normal(0),
        TypeError,
        ["unexpected PRNG key type", "random.key(seed)"],
    ),
    "a list for a key": (lambda: random.uniform([0, 1]), TypeError, ["unexpected PRNG key type"]),
    "words of a wrong dtype": (
        lambda: random.normal(jnp.zeros(2, jnp.int32)),
        TypeError,
        ["invalid PRNG key data", "dtype = uint32", "dtype=int32", "random.key(seed)"],
    ),
    "words of a wrong shape": (
        lambda: random.normal(jnp.zeros(3, jnp.uint32)),
        TypeError,
        ["invalid PRNG key data", "to end with (2,)", "shape=(3,)"],
    ),
    "several keys": (
        lambda: random.normal(KEYS, (2,)),
        ValueError,
        ["normal accepts a single key", "shape (3,) != ()", "Use jax.vmap for batching"],
    ),
    "several raw keys": (
        lambda: random.split(random.key_data(KEYS)),
        ValueError,
        ["split accepts a single key", "Use jax.vmap"],
    ),
    "a float seed": (
        lambda: random.key(1.5),
        TypeError,
        ["PRNG key seed must be an integer", "random.key(int(seed))"],
    ),
    "a seed with axes": (
        lambda: random.key(jnp.arange(3)),
        TypeError,
        ["key accepts a scalar seed", "shape (3,) != ()", "jax.vmap"],
    ),
    "a key for a seed": (
        lambda: random.PRNGKey(KEY),
        TypeError,
        ["PRNGKey accepts a scalar seed", "was given a PRNG key", "split it"],
    ),
    "a seed beyond 64 bits": (lambda: random.key(2**70), OverflowError, []),
    "an unknown generator": (
        lambda: random.key(0, impl="mersenne"),
        ValueError,
        ['unrecognized PRNG implementation "mersenne"', '"threefry2x32"'],
    ),
    "a generator that is none": (
        lambda: random.key(0, impl=3.5),
        TypeError,
        ["unrecognized type <class 'float'>", "PRNG implementation"],
    ),
    "two generators": (
        lambda: random.key(0, impl="threefry2x32", dtype=random.key_dtype()),
        ValueError,
        ["Cannot specify both `impl` and `dtype`"],
    ),
    "key_data of an integer array": (
        lambda: random.key_data(jnp.zeros((2, 2), jnp.int32)),
        TypeError,
        ["invalid PRNG key data"],
    ),
    "a vector folded in": (
        lambda: random.fold_in(KEY, jnp.arange(2)),
        TypeError,
        ["fold_in accepts a scalar", "(2,)", "jax.vmap"],
    ),
    "an integer dtype for floats": (
        lambda: random.normal(KEY, (), jnp.int32),
        ValueError,
        ["dtype argument to `normal` must be a float or complex dtype, got int32", ".astype("],
    ),
    "a complex dtype for uniform": (
        lambda: random.uniform(KEY, (), jnp.complex64),
        ValueError,
        ["dtype argument to `uniform` must be a float dtype, got complex64"],
    ),
    "a float dtype for integers": (
        lambda: random.randint(KEY, (), 0, 2, jnp.float32),
        TypeError,
        ["dtype argument to `randint` must be an int dtype, got float32"],
    ),
    "signed bits": (
        lambda: random.bits(KEY, (), jnp.int8),
        ValueError,
        ["dtype argument to `bits` must be an unsigned int dtype, got int8", "random.randint"],
    ),
    "a negative size": (
        lambda: random.uniform(KEY, (2, -1)),
        ValueError,
        ["`uniform` got shape (2, -1)", "nonnegative"],
    ),
    "a size that is no integer": (
        lambda: random.normal(KEY, (2.5,)),
        TypeError,
        ["Shapes must be 1D sequences of concrete values of integer type", "(2.5,)"],
    ),
    "a traced size": (
        lambda: jit(lambda n: random.normal(KEY, (n,)))(3),
        TypeError,
        ["Shapes must be 1D sequences", "static_argnums"],
    ),
    "parameters that do not fit": (
        lambda: random.gamma(KEY, jnp.ones(3), (2, 1)),
        ValueError,
        ["parameter shapes must be broadcast-compatible", "(2, 3)", "(2, 1)"],
    ),
    "a parameter that would lose bits": (
        lambda: random.beta(KEY, jnp.float32(1), jnp.float32(1), dtype=jnp.float16),
        ValueError,
        ["In arguments to beta", "float32", "float16", ".astype("],
    ),
    "an integer probability": (
        lambda: random.bernoulli(KEY, 1),
        TypeError,
        ["probability `p` must have a floating dtype, got int32", "p=0.5"],
    ),
    "an unknown mode": (
        lambda: random.gumbel(KEY, mode="best"),
        ValueError,
        ["valid mode for gumbel got: best", "'highest'"],
    ),
    "a permutation of a float": (
        lambda: random.permutation(KEY, 10.0),
        TypeError,
        ["x must be an integer or at least 1-dimensional"],
    ),
    "a traced count": (
        lambda: jit(random.permutation)(KEY, 10),
        ConcretizationTypeError,
        ["argument `x` of random.permutation", "static_argnums"],
    ),
    "a permutation along no axis": (
        lambda: random.permutation(KEY, 10, axis=3),
        ValueError,
        ["axis 3 is out of bounds"],
    ),
    "a choice of a shape that is none": (
        lambda: random.choice(KEY, 5, 2),
        TypeError,
        ["shape argument of jax.random.choice must be a sequence, got 2", "(2,)"],
    ),
    "too large a choice": (
        lambda: random.choice(KEY, 3, (4,), replace=False),
        ValueError,
        ["larger sample (size 4) than population (size 3)"],
    ),
    "a choice among none": (
        lambda: random.choice(KEY, 0, (1,)),
        ValueError,
        ["a must be greater than 0"],
    ),
    "probabilities of another size": (
        lambda: random.choice(KEY, 3, (1,), p=jnp.ones(2)),
        ValueError,
        ["same size as a.shape[axis]", "(2,)", "3"],
    ),
    "too many categories": (
        lambda: random.categorical(KEY, jnp.zeros(3), shape=(4,), replace=False),
        ValueError,
        ["Number of samples without replacement (4)", "(3)"],
    ),
    "a covariance that does not fit": (
        lambda: random.multivariate_normal(KEY, jnp.zeros(2), jnp.eye(3)),
        ValueError,
        ["cov.shape == (..., n, n) for n=2", "(3, 3)"],
    ),
    "a scalar mean": (
        lambda: random.multivariate_normal(KEY, 0.0, jnp.eye(1)),
        ValueError,
        ["requires mean.ndim >= 1", "random.normal"],
    ),
    "a method that is none": (
        lambda: random.multivariate_normal(KEY, jnp.zeros(2), jnp.eye(2), method="qr"),
        ValueError,
        ["method must be one of {'svd', 'eigh', 'cholesky'}", "'qr'"],
    ),
    "a scalar weight of a simplex": (
        lambda: random.dirichlet(KEY, 1.0),
        ValueError,
        ["dirichlet requires alpha.ndim >= 1", "jnp.full(k, alpha)"],
    ),
    "a sharding": (
        lambda: random.normal(KEY, (2,), out_sharding="x"),
        NotImplementedError,
        ["out_sharding", "one device"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    make, error, pieces = CASES[name]
    with pytest.raises(error) as caught:
        make()
    for piece in pieces:
        assert piece in str(caught.value)


def test_a_wide_dtype_is_narrowed_with_a_warning():
    with pytest.warns(UserWarning, match=r"Explicitly requested dtype float64.*jax_enable_x64"):
        assert random.normal(KEY, (2,), jnp.float64).dtype == jnp.float32


def test_raw_keys_can_be_forbidden():
    raw = random.PRNGKey(0)
    with legacy_prng_key("error"), pytest.raises(ValueError, match=r"Legacy uint32 key"):
        random.uniform(raw)
    with legacy_prng_key("warn"), pytest.warns(UserWarning, match=r"jax.random.key\(\)"):
        random.uniform(raw)


def test_raw_keys_can_be_replaced():
    with enable_custom_prng(True):
        assert str(random.PRNGKey(0).dtype) == "key<fry>"
