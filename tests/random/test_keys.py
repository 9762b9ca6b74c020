"""Keys: typed and raw, made, split, folded, wrapped, mapped over, and printed in jaxprs."""

import numpy as np
import pytest

import frit.numpy as jnp
from frit import grad, jit, make_jaxpr, random, vmap
from frit.primitives.random_bits import PRNGImpl, hash_of


def test_the_published_vectors_of_threefry2x32():
    # The known-answer tests of the Random123 distribution, 20 rounds.
    full = np.uint32(0xFFFFFFFF)
    pi = [np.uint32(w) for w in (0x13198A2E, 0x03707344, 0x243F6A88, 0x85A308D3)]
    vectors = {
        (0, 0, 0, 0): (0x6B200159, 0x99BA4EFE),
        (full, full, full, full): (0x1CB996FC, 0xBB002BE7),
        tuple(pi): (0xC4923A9C, 0x483DF7A0),
    }
    for operands, answer in vectors.items():
        few = hash_of(*(np.uint32(x) for x in operands))
        many = hash_of(*(np.full(9, x, np.uint32) for x in operands))
        assert tuple(map(int, few)) == answer
        assert [set(word.tolist()) for word in many] == [{answer[0]}, {answer[1]}]


def test_typed_and_raw_keys_are_the_same_words():
    typed, raw = random.key(7), random.PRNGKey(7)
    assert str(typed.dtype) == "key<fry>"
    assert typed.shape == ()
    assert (raw.shape, raw.dtype) == ((2,), jnp.uint32)
    np.testing.assert_array_equal(random.key_data(typed), raw)
    np.testing.assert_array_equal(random.key_data(random.split(typed, 3)), random.split(raw, 3))
    assert str(random.split(typed).dtype) == "key<fry>"


def test_a_prefix_of_more_keys_or_draws_is_fewer():
    key = random.key(0)
    few, many = random.split(key, 3), random.split(key, 10)
    np.testing.assert_array_equal(random.key_data(few), random.key_data(many)[:3])
    np.testing.assert_array_equal(random.bits(key, (5,)), random.bits(key, (20,))[:5])
    np.testing.assert_array_equal(random.bits(key, (4, 5)).ravel(), random.bits(key, (20,)))


def test_wrapping_is_the_inverse_of_key_data():
    keys = random.split(random.key(1), (2, 3))
    data = random.key_data(keys)
    assert data.shape == (2, 3, 2)
    again = random.wrap_key_data(data)
    assert (again.shape, again.dtype) == (keys.shape, keys.dtype)
    np.testing.assert_array_equal(random.key_data(again), data)
    np.testing.assert_array_equal(random.key_data(random.clone(keys)), data)


def test_the_generator_of_a_key():
    assert random.key_impl(random.key(0)) == "threefry2x32"
    assert random.key_dtype() == random.key(0).dtype
    assert random.key(3, impl="threefry2x32").dtype == random.key(3, dtype=random.key_dtype()).dtype


def test_keys_are_mapped_over():
    keys = random.split(random.key(2), 4)
    together = vmap(lambda key: random.normal(key, (3,)))(keys)
    apart = jnp.stack([random.normal(key, (3,)) for key in keys])
    np.testing.assert_array_equal(together, apart)
    folded = vmap(random.fold_in, in_axes=(None, 0))(random.key(2), jnp.arange(5))
    one = random.fold_in(random.key(2), 3)
    np.testing.assert_array_equal(random.key_data(folded)[3], random.key_data(one))
    split_again = vmap(random.split)(keys)
    assert split_again.shape == (4, 2)


def test_gamma_is_mapped_over_by_its_own_keys():
    keys = random.split(random.key(2), 3)
    a = jnp.array([0.5, 1.0, 5.0])
    together = vmap(lambda key, a: random.gamma(key, a, (2,)))(keys, a)
    apart = jnp.stack([random.gamma(key, x, (2,)) for key, x in zip(keys, a, strict=True)])
    np.testing.assert_allclose(together, apart, rtol=1e-6)


def test_keys_pass_through_jit():
    assert str(jit(random.split)(random.key(0)).dtype) == "key<fry>"
    assert jit(random.split)(random.PRNGKey(0)).dtype == jnp.uint32
    made = jit(random.key)(5)
    np.testing.assert_array_equal(random.key_data(made), random.key_data(random.key(5)))


def test_draws_are_differentiable_in_their_parameters():
    key = random.key(0)
    slope = grad(lambda scale: random.normal(key, (100,)).sum() * scale)(2.0)
    np.testing.assert_allclose(slope, random.normal(key, (100,)).sum(), rtol=1e-6)
    low = grad(lambda low: random.uniform(key, (4,), minval=low, maxval=2.0).sum())(0.0)
    np.testing.assert_allclose(low, 4 - random.uniform(key, (4,)).sum(), rtol=1e-5)


@pytest.mark.parametrize("a", [0.4, 1.0, 3.0])
def test_gamma_has_its_implicit_derivative(a):
    from scipy import stats

    x, slope = _value_and_slope(lambda a: random.gamma(random.key(5), a), a)
    h = 1e-4 * a
    quantile = stats.gamma(a).cdf(float(x))
    by_quantile = (stats.gamma(a + h).ppf(quantile) - stats.gamma(a - h).ppf(quantile)) / (2 * h)
    np.testing.assert_allclose(slope, by_quantile, rtol=5e-3)


def _value_and_slope(function, at):
    return function(at), grad(function)(at)


def test_the_text_of_a_typed_draw():
    text = str(make_jaxpr(lambda key: random.bits(key, (2,)))(random.key(0)))
    assert text == (
        "{ lambda ; a:key<fry>[]. let\n    b:u32[2] = random_bits[bit_width=32 shape=(2,)] a\n"
        "  in (b,) }"
    )


def test_the_text_of_raw_key_operations():
    text = str(make_jaxpr(lambda key: random.split(random.fold_in(key, 1)))(random.PRNGKey(0)))
    for equation in (
        "random_wrap[impl=fry]",
        "random_fold_in",
        "random_unwrap",
        "random_split[shape=(2,)]",
    ):
        assert equation in text
    assert "random_seed[impl=fry]" in str(make_jaxpr(random.key)(0))


def test_no_keys_at_all():
    none = random.split(random.key(0), 0)
    assert (none.shape, random.key_data(none).shape) == ((0,), (0, 2))
    assert random.bits(random.key(0), (0,)).shape == (0,)


@pytest.mark.parametrize("name", ["philox2x32", "philox4x32", "threefry4x32", "rbg", "unsafe_rbg"])
def test_other_generators_run_under_jit_and_vmap(name):
    key = random.key(4, impl=name)
    assert random.key_impl(key) == name
    draw = lambda key: random.normal(random.fold_in(key, 1), (3,))
    keys = random.split(key, 3)
    np.testing.assert_allclose(jit(draw)(key), draw(key), rtol=1e-6)
    apart = jnp.stack([draw(one) for one in keys])
    np.testing.assert_allclose(jit(vmap(draw))(keys), apart, rtol=1e-6)
    np.testing.assert_array_equal(keys == keys[1], [False, True, False])


def test_a_generator_of_ones_own():
    counting = PRNGImpl(
        (1,),
        seed=lambda seed: seed.astype(jnp.uint32)[None],
        split=lambda words, shape: (
            words + jnp.arange(np.prod(shape), dtype=jnp.uint32).reshape(*shape, 1)
        ),
        random_bits=lambda words, width, shape: jnp.full(shape, words[0]).astype(f"uint{width}"),
        fold_in=lambda words, data: words + data,
        name="counting",
        tag="count",
    )
    key = random.key(7, impl=counting)
    assert str(key.dtype) == "key<count>"
    np.testing.assert_array_equal(random.key_data(random.split(key, 3)), [[7], [8], [9]])
    np.testing.assert_array_equal(random.bits(random.fold_in(key, 2), (2,), "uint8"), [9, 9])
    np.testing.assert_array_equal(jit(lambda key: random.bits(key, (2,)))(key), [7, 7])
