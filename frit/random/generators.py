"""Generators: what makes and uses keys, for the built-in threefry2x32 and for any other.

A generator is a record of functions of one key's words (`PRNGImpl`). The functions of this module
take key arrays: those of threefry2x32 bind its primitives, those of others map the record's
functions over the words. Beside it there are, with the results of JAX:

    threefry4x32, philox2x32, philox4x32   hashes of a 64-bit counter under a key
    rbg, unsafe_rbg                        Philox streams, with keys derived by threefry or by bits
"""

import math
from functools import partial

import numpy as np

import frit.numpy as jnp
from frit import lax
from frit.api.mapping import vmap
from frit.primitives import random_bits as primitives
from frit.primitives.random_bits import IMPLEMENTATIONS, THREEFRY, PRNGImpl
from frit.random.hashes import philox2x32, philox4x32, threefry4x32

# ---- key arrays ---------------------------------------------------------------------------------


def random_wrap(words, *, impl):
    """Keys made of their words `uint32[*s, *key_shape]`. TypeError where they are no such words."""
    if not all(hasattr(words, name) for name in ("ndim", "shape", "dtype")):
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data to have ndim, shape, and "
            f"dtype attributes. Got {words}"
        )
    return primitives.random_wrap(words, impl=impl)


def random_unwrap(keys):
    """The words of keys. TypeError where `keys` is no array of keys."""
    dtype = getattr(keys, "dtype", None)
    if not isinstance(dtype, primitives.KeyTy):
        raise TypeError(
            f"random_unwrap takes key array operand, got keys.dtype={dtype}. Make keys with "
            "random.key(seed), or of their words with random.wrap_key_data(words)."
        )
    return primitives.random_unwrap(keys, impl=dtype._impl)


def random_seed(seeds, impl):
    """Keys made of integers, one of each."""
    if impl is THREEFRY:
        return primitives.random_seed(seeds, impl=impl)
    return random_wrap(_mapped(impl.seed, np.ndim(seeds))(seeds), impl=impl)


def random_split(keys, shape):
    """New keys, `shape` of each."""
    impl = keys.dtype._impl
    if impl is THREEFRY:
        return primitives.random_split(keys, shape=shape)
    split = _mapped(lambda words: impl.split(words, shape), keys.ndim)
    return random_wrap(split(random_unwrap(keys)), impl=impl)


def random_bits(keys, bit_width, shape):
    """Random bits, `shape` of each key."""
    impl = keys.dtype._impl
    if impl is THREEFRY:
        return primitives.random_bits(keys, bit_width=bit_width, shape=shape)
    draw = _mapped(lambda words: impl.random_bits(words, bit_width, shape), keys.ndim)
    return draw(random_unwrap(keys))


def random_fold_in(keys, data):
    """New keys, each of a key and an integer."""
    impl = keys.dtype._impl
    data = jnp.asarray(data)
    if impl is THREEFRY:
        return primitives.random_fold_in(keys, data)
    shape = lax.broadcast_shapes(keys.shape, data.shape)
    words = jnp.broadcast_to(random_unwrap(keys), (*shape, *impl.key_shape))
    fold = _mapped(impl.fold_in, len(shape))
    return random_wrap(fold(words, jnp.broadcast_to(data, shape)), impl=impl)


def _mapped(function, rank):
    for _ in range(rank):
        function = vmap(function)
    return function


# ---- threefry2x32 on words ----------------------------------------------------------------------


def threefry_2x32(keypair, count):
    """The hash of counters `uint32[*s]` in pairs: element i of the first half with i of the second.

    An odd last element is paired with 0. TypeError where an operand is not uint32.
    """
    key0, key1 = (jnp.asarray(word) for word in keypair)
    count = jnp.asarray(count)
    found = [word.dtype for word in (key0, key1, count)]
    if any(dtype != np.uint32 for dtype in found):
        raise TypeError(f"threefry_2x32 requires uint32 arguments, got {found}")
    flat = count.reshape(-1)
    if flat.size % 2:
        flat = jnp.concatenate([flat, jnp.zeros(1, np.uint32)])
    words = primitives.threefry2x32(key0, key1, *jnp.split(flat, 2))
    return jnp.concatenate(words)[: count.size].reshape(count.shape)


def threefry_seed(seed):
    """The words that threefry2x32 makes of an integer."""
    return random_unwrap(primitives.random_seed(seed, impl=THREEFRY))


def threefry_split(words, shape):
    """The words of new keys."""
    return random_unwrap(primitives.random_split(_threefry(words), shape=tuple(shape)))


def threefry_random_bits(words, bit_width, shape):
    """Random bits of a key's words."""
    return primitives.random_bits(_threefry(words), bit_width=bit_width, shape=tuple(shape))


def threefry_fold_in(words, data):
    """The words of a new key."""
    return random_unwrap(primitives.random_fold_in(_threefry(words), data))


def _threefry(words):
    return random_wrap(words, impl=THREEFRY)


# ---- hashes of a counter ------------------------------------------------------------------------


def _counters(shape):
    """The upper and lower words of 0, 1, .. prod(shape) - 1."""
    count = math.prod(shape)
    if count > 2**32:
        raise NotImplementedError(
            f"an array of {count} random elements: this generator counts to 2^32. Use threefry2x32."
        )
    return jnp.zeros(shape, np.uint32), lax.iota(np.uint32, count).reshape(shape)


def _halves(seed):
    """The upper and lower words of an integer seed, as threefry's."""
    words = threefry_seed(seed)
    return words[0], words[1]


def _of_width(bit_width, words, pairs):
    """`bit_width` bits of hash words: all of them together, or `pairs` as upper and lower half."""
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"requires 8-, 16-, 32- or 64-bit field width, got {bit_width}.")
    if bit_width == 64:
        high, low = (word.astype(np.uint64) for word in pairs)
        return lax.shift_left(high, np.uint64(32)) | low
    together = words[0]
    for word in words[1:]:
        together = together ^ word
    return together.astype(f"uint{bit_width}")


_ZERO = np.uint32(0)


def _philox2x32_impl():
    def bits(key, bit_width, shape):
        words = philox2x32(key[0], *_counters(shape))
        return _of_width(bit_width, words, words)

    return PRNGImpl(
        (1,),
        seed=lambda seed: philox2x32(_ZERO, *_halves(seed))[0][None],
        split=lambda key, shape: philox2x32(key[0], *_counters(shape))[0][..., None],
        random_bits=bits,
        fold_in=lambda key, data: philox2x32(key[0], _ZERO, data)[0][None],
        name="philox2x32",
        tag="phx2",
    )


def _philox4x32_impl():
    def bits(key, bit_width, shape):
        high, low = _counters(shape)
        words = philox4x32(*key, high, low, _ZERO, _ZERO)
        return _of_width(bit_width, words, words[:2])

    def split(key, shape):
        return jnp.stack(philox4x32(*key, _ZERO, _ZERO, *_counters(shape))[:2], -1)

    return PRNGImpl(
        (2,),
        seed=lambda seed: jnp.stack(philox4x32(_ZERO, _ZERO, *_halves(seed), _ZERO, _ZERO)[:2]),
        split=split,
        random_bits=bits,
        fold_in=lambda key, data: jnp.stack(philox4x32(*key, _ZERO, _ZERO, _ZERO, data)[:2]),
        name="philox4x32",
        tag="phx4",
    )


def _threefry4x32_impl():
    def bits(key, bit_width, shape):
        high, low = _counters(shape)
        a, b, c, d = threefry4x32(*key, high, low, _ZERO, _ZERO)
        return _of_width(bit_width, (a, b, c, d), (a ^ c, b ^ d))

    def split(key, shape):
        return jnp.stack(threefry4x32(*key, _ZERO, _ZERO, *_counters(shape)), -1)

    def seed(seed):
        return jnp.stack(threefry4x32(*_halves(seed), *(6 * (_ZERO,))))

    return PRNGImpl(
        (4,),
        seed=seed,
        split=split,
        random_bits=bits,
        fold_in=lambda key, data: jnp.stack(threefry4x32(*key, _ZERO, _ZERO, _ZERO, data)),
        name="threefry4x32",
        tag="fry4",
    )


# ---- streams ------------------------------------------------------------------------------------


def philox_stream(key, bit_width, shape):
    """Bits of the Philox4x32 stream that XLA's RngBitGenerator makes of four words.

    Words 0 and 1 are the key; the 128-bit counter starts from all four, 2 and 3 its lower half.
    Each count gives four words, in order; 64-bit elements take two, narrow ones one each.
    """
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"requires 8-, 16-, 32- or 64-bit field width, got {bit_width}.")
    count = math.prod(shape)
    words = count * (2 if bit_width == 64 else 1)
    carry, counter = lax.iota(np.uint32, -(-words // 4)), []
    for word in (key[2], key[3], key[0], key[1]):
        total = word + carry
        carry = (total < carry).astype(np.uint32)
        counter.append(total)
    flat = jnp.stack(philox4x32(key[0], key[1], *counter), -1).reshape(-1)[:words]
    if bit_width == 64:
        low, high = flat.reshape(-1, 2).T.astype(np.uint64)
        flat = lax.shift_left(high, np.uint64(32)) | low
    return flat.reshape(shape).astype(f"uint{bit_width}")


def _rbg_seed(seed):
    return jnp.tile(threefry_seed(seed), 2)


def _rbg_split(key, shape):
    halves = vmap(partial(threefry_split, shape=shape), out_axes=len(shape))(key.reshape(2, 2))
    return halves.reshape(*shape, 4)


def _rbg_fold_in(key, data):
    return vmap(threefry_fold_in, (0, None))(key.reshape(2, 2), data).reshape(4)


def _unsafe_rbg_split(key, shape):
    # Ten blocks stand in for a hash of the position.
    blocks = philox_stream(key, 32, (10 * math.prod(shape), 4))
    return blocks[::10].reshape(*shape, 4)


def _unsafe_rbg_fold_in(key, data):
    return key ^ philox_stream(_rbg_seed(data), 32, (10, 4))[-1]


def _rbg_impls():
    common = {"seed": _rbg_seed, "random_bits": philox_stream}
    yield PRNGImpl((4,), **common, split=_rbg_split, fold_in=_rbg_fold_in, name="rbg", tag="rbg")
    yield PRNGImpl(
        (4,),
        **common,
        split=_unsafe_rbg_split,
        fold_in=_unsafe_rbg_fold_in,
        name="unsafe_rbg",
        tag="urbg",
    )


for _impl in (_philox2x32_impl(), _philox4x32_impl(), _threefry4x32_impl(), *_rbg_impls()):
    IMPLEMENTATIONS[_impl.name] = _impl
