"""Keys: made from a seed, split, folded, and never used twice.

    key(seed) -> key<fry>[]      split(key, n) -> key<fry>[n]      fold_in(key, i) -> key<fry>[]

A typed key is one element of dtype `key<fry>`; a raw key is its two `uint32` words, as `PRNGKey`
returns them. Every function takes both and answers in kind.
"""

import numpy as np

import frit.numpy as jnp
from frit.config import enable_custom_prng, random_seed_offset
from frit.ir import dtypes
from frit.primitives.random_bits import (
    IMPLEMENTATIONS,
    KeyTy,
    PRNGImpl,
    default_implementation,
    random_clone,
)
from frit.random.checks import single_key, typed_keys
from frit.random.generators import (
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
)


def key(seed, *, impl=None, dtype=None):
    """A typed key made from an integer `seed`: a scalar array of dtype `key<fry>`.

    impl, dtype: the generator, by name (`"threefry2x32"`) or as `key_dtype()`; at most one of them.
    Raises TypeError where the seed is a key, an array with axes, or no integer.
    """
    if impl is not None and dtype is not None:
        raise ValueError(
            "Cannot specify both `impl` and `dtype` arguments to jax.random.key: both name the "
            "generator, so leave `impl` out."
        )
    return _key_from_seed("key", seed, dtype if impl is None else impl)


def PRNGKey(seed, *, impl=None):
    """A raw key made from an integer `seed`: its words, `uint32[2]`. Newer is `key(seed)`."""
    return _in_kind(_key_from_seed("PRNGKey", seed, impl), was_raw=True)


def _key_from_seed(name, seed, impl):
    implementation = implementation_of(impl)
    if hasattr(seed, "dtype") and dtypes.issubdtype(seed.dtype, dtypes.prng_key):
        raise TypeError(
            f"{name} accepts a scalar seed, but was given a PRNG key. It can be used as it is; for "
            "another one, split it: random.split(key)."
        )
    if np.ndim(seed):
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != ()."
            " Use jax.vmap for batching"
        )
    # A Python integer may be a hash of 64 bits: it is reduced to the words in use, not refused.
    seeds = jnp.asarray(np.int64(seed) if isinstance(seed, int) else seed)
    if not dtypes.issubdtype(seeds.dtype, np.integer):
        raise TypeError(
            f"PRNG key seed must be an integer; got {seed!r} of dtype {seeds.dtype}. Write "
            "random.key(int(seed))."
        )
    if random_seed_offset.value:
        seeds = seeds + random_seed_offset.value
    return random_seed(seeds, impl=implementation)


def implementation_of(spec):
    """The generator that `spec` (None, a name, a dtype, or a PRNGSpec) means.

    Raises ValueError for an unknown name, TypeError for anything else.
    """
    if spec is None:
        return default_implementation()
    if isinstance(spec, PRNGImpl):
        return spec
    if isinstance(spec, (PRNGSpec, KeyTy)):
        return spec._impl
    if isinstance(spec, str):
        if spec in IMPLEMENTATIONS:
            return IMPLEMENTATIONS[spec]
        names = ", ".join(f'"{name}"' for name in IMPLEMENTATIONS)
        raise ValueError(
            f'unrecognized PRNG implementation "{spec}". Did you mean one of: {names}?'
        )
    raise TypeError(
        f"unrecognized type {type(spec)} for specifying PRNG implementation: write its name, "
        '"threefry2x32", or random.key_dtype().'
    )


class PRNGSpec:
    """A generator as a value to pass on: what `key_impl` answers for an unnamed one."""

    __slots__ = ("_impl",)

    def __init__(self, impl):
        self._impl = impl

    def __repr__(self):
        return f"PRNGSpec({self._impl.name!r})"

    def __str__(self):
        return str(self._impl)

    def __hash__(self):
        return hash(self._impl)

    def __eq__(self, other):
        return isinstance(other, PRNGSpec) and self._impl == other._impl


def key_dtype(impl_spec=None):
    """The dtype of keys of a generator: `key<fry>` for the default one."""
    return KeyTy(implementation_of(impl_spec))


def fold_in(key, data):
    """A new key that depends on `key` and on the integer `data` (taken modulo 2^32).

    Use it to derive a key for step i: `fold_in(key, i)`.
    """
    keys, was_raw = single_key("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). "
            "Use jax.vmap for batching."
        )
    return _in_kind(random_fold_in(keys, jnp.asarray(data, dtype="uint32")), was_raw)


def split(key, num=2):
    """An array of `num` new keys (an int, or a shape), independent of each other and of `key`."""
    keys, was_raw = single_key("split", key)
    return _in_kind(split_typed(keys, num), was_raw)


def split_typed(key, num=2):
    """`split` of a key known to be typed and single: for use within samplers."""
    shape = (num,) if np.ndim(num) == 0 else tuple(num)
    if any(isinstance(n, (int, np.integer)) and n < 0 for n in shape):
        raise ValueError(f"split: the number of keys must not be negative, got {num}.")
    return random_split(key, shape=shape)


def _in_kind(keys, was_raw):
    return random_unwrap(keys) if was_raw and not enable_custom_prng.value else keys


def key_data(keys):
    """The words of `keys`: `uint32`, of the keys' shape and one more axis."""
    return random_unwrap(typed_keys("key_data", keys)[0])


def wrap_key_data(key_bits_array, *, impl=None, dtype=None):
    """Typed keys made of words, the inverse of `key_data`: `uint32[..., 2]` to `key<fry>[...]`."""
    if impl is not None and dtype is not None:
        raise ValueError(
            "Cannot specify both `impl` and `dtype` arguments to jax.random.wrap_key_data: both "
            "name the generator, so leave `impl` out."
        )
    return random_wrap(key_bits_array, impl=implementation_of(dtype if impl is None else impl))


def key_impl(keys):
    """The name of the generator of `keys`, or a PRNGSpec where it has no registered name."""
    implementation = typed_keys("key_impl", keys)[0].dtype._impl
    named = implementation.name in IMPLEMENTATIONS
    return implementation.name if named else PRNGSpec(implementation)


def clone(key):
    """`key` again: states that using the same key twice is meant."""
    return random_clone(key)
