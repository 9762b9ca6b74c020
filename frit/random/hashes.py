"""Counter-based hashes of uint32 words, traceable: Philox and Threefry of two and four words.

Source: Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3, sections 5.1 and 5.2; the
constants are those of its reference code, Random123. Operands broadcast.
"""

import numpy as np

import frit.numpy as jnp
from frit import lax

_PHILOX_ROUNDS = 10
_WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)  # golden ratio, sqrt(3) - 1
_MULTIPLIER_2 = np.uint32(0xD256D193)
_MULTIPLIERS_4 = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)


def philox2x32(key, x0, x1):
    """The two words that ten rounds of Philox make of the counter (x0, x1) under a key of one."""
    key, x0, x1 = _arrays(key, x0, x1)
    for _ in range(_PHILOX_ROUNDS):
        high, low = _product(_MULTIPLIER_2, x0)
        x0, x1 = high ^ key ^ x1, low
        key = key + _WEYL[0]
    return x0, x1


def philox4x32(key0, key1, x0, x1, x2, x3):
    """The four words that ten rounds of Philox make of a counter of four under a key of two."""
    key0, key1, x0, x1, x2, x3 = _arrays(key0, key1, x0, x1, x2, x3)
    for _ in range(_PHILOX_ROUNDS):
        high0, low0 = _product(_MULTIPLIERS_4[0], x0)
        high1, low1 = _product(_MULTIPLIERS_4[1], x2)
        x0, x1, x2, x3 = high1 ^ x1 ^ key0, low1, high0 ^ x3 ^ key1, low0
        key0, key1 = key0 + _WEYL[0], key1 + _WEYL[1]
    return x0, x1, x2, x3


def _product(multiplier, x):
    """The upper and lower words of a product of words."""
    return lax.mulhi(jnp.full_like(x, multiplier), x), multiplier * x


_THREEFRY_ROUNDS = 20
_PARITY = np.uint32(0x1BD11BDA)
_ROTATIONS_4 = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))


def threefry4x32(key0, key1, key2, key3, x0, x1, x2, x3):
    """The four words that twenty rounds of Threefry make of a counter under a key, both of four."""
    *keys, x0, x1, x2, x3 = _arrays(key0, key1, key2, key3, x0, x1, x2, x3)
    keys.append(keys[0] ^ keys[1] ^ keys[2] ^ keys[3] ^ _PARITY)
    x = [word + key for word, key in zip((x0, x1, x2, x3), keys[:4], strict=True)]
    for round_ in range(_THREEFRY_ROUNDS):
        # Even rounds mix (0, 1) and (2, 3); odd ones (0, 3) and (2, 1).
        partners = ((0, 1), (2, 3)) if round_ % 2 == 0 else ((0, 3), (2, 1))
        for (a, b), rotation in zip(partners, _ROTATIONS_4[round_ % 8], strict=True):
            x[a] = x[a] + x[b]
            x[b] = _rotated(x[b], rotation) ^ x[a]
        if round_ % 4 == 3:
            group = round_ // 4 + 1
            x = [word + keys[(group + i) % 5] for i, word in enumerate(x)]
            x[3] = x[3] + np.uint32(group)
    return tuple(x)


def _rotated(x, distance):
    return (x << np.uint32(distance)) | (x >> np.uint32(32 - distance))


def _arrays(*words):
    """The words as arrays of their common shape."""
    arrays = [jnp.asarray(word, dtype=np.uint32) for word in words]
    shape = lax.broadcast_shapes(*(array.shape for array in arrays))
    return [jnp.broadcast_to(array, shape) for array in arrays]
