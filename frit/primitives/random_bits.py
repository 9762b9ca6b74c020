"""Random keys and the bits made of them: threefry2x32, a hash of counters (Salmon et al. 2011).

    random_seed[impl]              int[*s]                 ->  key<fry>[*s]
    random_wrap[impl]              u32[*s, 2]              ->  key<fry>[*s]
    random_unwrap[impl]            key<fry>[*s]            ->  u32[*s, 2]        (impl unprinted)
    random_split[shape]            key<fry>[*s]            ->  key<fry>[*s, *shape]
    random_fold_in                 key<fry>[*s], u32[*s]   ->  key<fry>[*s]
    random_bits[bit_width shape]   key<fry>[*s]            ->  u{bit_width}[*s, *shape]
    threefry2x32                   four u32[*s]            ->  two u32[*s]

A key is opaque bits in storage, 64 here (its words are `storage.view(uint32)`). Element i of a
split or of bits, counted in row-major order as a 64-bit number, is the hash of i under the key: so
draws do not depend on how an array is divided, and a longer vector begins as a shorter one.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from frit.config import default_prng_impl
from frit.ir import dims
from frit.ir.dtypes import ExtendedDType, is_integer, prng_key
from frit.ir.primitive import Primitive, absent
from frit.ir.types import ShapedArray
from frit.transforms.linear import axis_to_front
from frit.transforms.rules import batch_pointwise, not_differentiable

_UINT32 = np.dtype(np.uint32)
_WORDS = 2


@dataclasses.dataclass(frozen=True)
class PRNGImpl:
    """A generator: the shape of a key's words, what makes and uses them, its name and dtype's tag.

    The functions are traceable, of the words of one key: `seed(int) -> words`,
    `split(words, shape) -> words[*shape]`, `random_bits(words, bit_width, shape) -> uint[*shape]`,
    `fold_in(words, uint32) -> words`. Those of THREEFRY are the primitives of this module.
    """

    key_shape: tuple[int, ...]
    seed: Callable | None = None
    split: Callable | None = None
    random_bits: Callable | None = None
    fold_in: Callable | None = None
    name: str = "<unnamed>"
    tag: str = "?"

    def __str__(self):
        return self.tag


THREEFRY = PRNGImpl((_WORDS,), name="threefry2x32", tag="fry")
IMPLEMENTATIONS = {THREEFRY.name: THREEFRY}


def default_implementation():
    """The generator that the setting `default_prng_impl` names. ValueError for an unknown name."""
    name = default_prng_impl.value
    if name not in IMPLEMENTATIONS:
        raise ValueError(
            f"default_prng_impl is {name!r}, but the generators are {', '.join(IMPLEMENTATIONS)}."
        )
    return IMPLEMENTATIONS[name]


class KeyTy(ExtendedDType):
    """The element type of keys of one generator; prints `key<fry>`."""

    type = prng_key

    def __init__(self, impl):
        self._impl = impl
        self.storage = np.dtype(f"V{4 * math.prod(impl.key_shape)}")

    @property
    def name(self):
        return f"key<{self._impl.tag}>"

    def __eq__(self, other):
        return type(other) is KeyTy and self._impl == other._impl

    def __hash__(self):
        return hash((KeyTy, self._impl))


def words_of(keys):
    """The words `uint32[*s, n]` of keys in storage, without a copy."""
    keys = np.asarray(keys, order="C")
    return keys[..., None].view(np.uint32)


def keys_of(words, impl=THREEFRY):
    """Keys in storage, made of their words `uint32[*s, *key_shape]`."""
    flat = np.ascontiguousarray(words, np.uint32)
    leading = flat.shape[: flat.ndim - len(impl.key_shape)]
    flat = flat.reshape(*leading, math.prod(impl.key_shape))
    return flat.view(KeyTy(impl).storage)[..., 0]


# ---- the hash -----------------------------------------------------------------------------------

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF


def hash_of(key0, key1, x0, x1):
    """The two words that threefry2x32, 20 rounds, makes of the counter (x0, x1) under a key.

    The operands are uint32 arrays that broadcast. Source: Salmon et al. 2011, Parallel random
    numbers: as easy as 1, 2, 3, section 5.1; the rotations are those of its reference code.
    """
    shape = np.broadcast_shapes(*map(np.shape, (key0, key1, x0, x1)))
    if math.prod(shape) <= 4:
        return _hash_few(shape, key0, key1, x0, x1)
    keys = key0, key1, key0 ^ key1 ^ np.uint32(_PARITY)
    x0, x1 = (np.broadcast_to(x + key, shape).copy() for x, key in ((x0, keys[0]), (x1, keys[1])))
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 += x1
            high = x1 << np.uint32(rotation)
            x1 >>= np.uint32(32 - rotation)
            x1 |= high
            x1 ^= x0
        x0 += keys[(group + 1) % 3]
        x1 += keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def _hash_few(shape, *operands):
    """`hash_of` of a few elements, in Python's integers: ten times faster than array calls."""
    columns = (np.broadcast_to(x, shape).ravel().tolist() for x in operands)
    pairs = [_hash_integers(*column) for column in zip(*columns, strict=True)]
    both = np.array(pairs, np.uint32).reshape(*shape, 2)
    return both[..., 0], both[..., 1]


def _hash_integers(key0, key1, x0, x1):
    keys = key0, key1, key0 ^ key1 ^ _PARITY
    x0, x1 = x0 + key0 & _MASK, x1 + key1 & _MASK
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1 & _MASK
            x1 = (x1 << rotation & _MASK | x1 >> 32 - rotation) ^ x0
        x0 = x0 + keys[(group + 1) % 3] & _MASK
        x1 = x1 + keys[(group + 2) % 3] + group + 1 & _MASK
    return x0, x1


def _hashes_of_counters(keys, shape):
    """For each key, the hashes of 0 .. prod(shape) - 1: two words, each `uint32[*s, *shape]`."""
    words = words_of(keys)
    room = (..., *(None for _ in shape))
    count = np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
    high, low = (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)
    return hash_of(words[..., 0][room], words[..., 1][room], high, low)


# ---- threefry2x32 -------------------------------------------------------------------------------


def _threefry_types(*operands):
    if any(x.dtype != _UINT32 for x in operands):
        raise TypeError(
            "Arguments to threefry2x32 must have uint32 type, got "
            f"{tuple(str(x) for x in operands)}: convert them with .astype(jnp.uint32)."
        )
    return [ShapedArray(_common_shape("threefry2x32", *operands), _UINT32)] * 2


def _common_shape(name, *operands):
    """The shape that operands of rank 0 or of one rank broadcast to; TypeError else."""
    shapes = [x.shape for x in operands if x.shape]
    if not shapes:
        return ()
    common = []
    for sizes in zip(*shapes, strict=False):
        wide = [size for size in sizes if not dims.same(size, 1)] or [1]
        if not all(dims.same(size, wide[0]) for size in wide):
            shapes.append(())
            break
        common.append(wide[0])
    if len({len(shape) for shape in shapes}) > 1:
        raise TypeError(
            f"{name} got incompatible shapes for broadcasting: "
            f"{', '.join(str(x.shape) for x in operands)}. Give the operands equal rank, and sizes "
            "that are equal or 1."
        )
    return tuple(common)


threefry2x32 = Primitive(
    "threefry2x32",
    multiple_results=True,
    result_types=_threefry_types,
    evaluate=lambda *operands: list(hash_of(*(np.asarray(x) for x in operands))),
    jvp=not_differentiable(lambda: threefry2x32),
    transpose=absent("integers have no cotangents"),
    batch=batch_pointwise(lambda: threefry2x32),
    pointwise=True,
)


# ---- keys <-> their words -----------------------------------------------------------------------


def _check_words(impl, words):
    lesson = "JAX encountered invalid PRNG key data: expected "
    if words.ndim < 1:
        raise TypeError(
            f"{lesson}key_data.ndim >= 1; got ndim={words.ndim}. Make a key from a seed with "
            "random.key(seed)."
        )
    if words.shape[-len(impl.key_shape) :] != impl.key_shape:
        raise TypeError(
            f"{lesson}key_data.shape to end with {impl.key_shape}; got shape={words.shape} for "
            f"impl={impl.name}."
        )
    if words.dtype != _UINT32:
        raise TypeError(
            f"{lesson}key_data.dtype = uint32; got dtype={words.dtype}. Make a key from a seed "
            "with random.key(seed)."
        )


def _wrap_types(words, *, impl):
    _check_words(impl, words)
    return ShapedArray(words.shape[: -len(impl.key_shape)], KeyTy(impl))


def _wrap_batch(axis, operands, mapped, *, impl):
    return random_wrap(axis_to_front(operands[0], mapped[0], axis.size), impl=impl), 0


random_wrap = Primitive(
    "random_wrap",
    result_types=_wrap_types,
    evaluate=lambda words, *, impl: keys_of(words, impl),
    jvp=not_differentiable(lambda: random_wrap),
    transpose=absent("keys have no cotangents"),
    batch=_wrap_batch,
)


def _key_type(name, keys):
    if not isinstance(keys.dtype, KeyTy):
        raise TypeError(
            f"{name} takes key array operand, got keys.dtype={keys.dtype}. Make keys with "
            "random.key(seed), or of their words with random.wrap_key_data(words)."
        )
    return keys.dtype


def _unwrap_types(keys, *, impl=None):
    impl = _key_type("random_unwrap", keys)._impl
    return ShapedArray((*keys.shape, *impl.key_shape), _UINT32)


def _unwrap_evaluate(keys, *, impl=THREEFRY):
    return words_of(keys).reshape(*np.shape(keys), *impl.key_shape)


def _batch_leading(primitive):
    """The batch rule where each key is used by itself and new axes come last: maps axis 0."""

    def batch(axis, operands, mapped, **params):
        return primitive()(axis_to_front(operands[0], mapped[0], axis.size), **params), 0

    return batch


random_unwrap = Primitive(
    "random_unwrap",
    result_types=_unwrap_types,
    evaluate=_unwrap_evaluate,
    jvp=not_differentiable(lambda: random_unwrap),
    transpose=absent("keys have no cotangents"),
    batch=_batch_leading(lambda: random_unwrap),
    shown=lambda equation: {},
)


# ---- making keys --------------------------------------------------------------------------------


def _seed_types(seeds, *, impl):
    if not is_integer(seeds.dtype):
        raise TypeError(
            f"PRNG key seed must be an integer; got {seeds}. Write random.key(int(seed))."
        )
    return ShapedArray(seeds.shape, KeyTy(impl))


def _seed_evaluate(seeds, *, impl):
    """The words are the halves of the seed as a 64-bit number; a narrower one has no upper half."""
    seeds = np.asarray(seeds)
    low = seeds.astype(np.uint32)
    wide = seeds.dtype.itemsize == 8
    high = (seeds.view(np.uint64) >> np.uint64(32)).astype(np.uint32) if wide else 0 * low
    return keys_of(np.stack([high, low], -1))


random_seed = Primitive(
    "random_seed",
    result_types=_seed_types,
    evaluate=_seed_evaluate,
    jvp=not_differentiable(lambda: random_seed),
    transpose=absent("integers have no cotangents"),
    batch=_batch_leading(lambda: random_seed),
)


def _split_evaluate(keys, *, shape):
    return keys_of(np.stack(_hashes_of_counters(keys, shape), -1))


random_split = Primitive(
    "random_split",
    result_types=lambda keys, *, shape: ShapedArray(
        (*keys.shape, *shape), _key_type("random_split", keys)
    ),
    evaluate=_split_evaluate,
    jvp=not_differentiable(lambda: random_split),
    transpose=absent("keys have no cotangents"),
    batch=_batch_leading(lambda: random_split),
)


def _fold_in_types(keys, data):
    dtype = _key_type("random_fold_in", keys)
    return ShapedArray(_common_shape("random_fold_in", keys, data), dtype)


def _fold_in_evaluate(keys, data):
    words = words_of(keys)
    low = np.asarray(data).astype(np.uint32)
    return keys_of(np.stack(hash_of(words[..., 0], words[..., 1], np.zeros_like(low), low), -1))


random_fold_in = Primitive(
    "random_fold_in",
    result_types=_fold_in_types,
    evaluate=_fold_in_evaluate,
    jvp=not_differentiable(lambda: random_fold_in),
    transpose=absent("keys have no cotangents"),
    batch=batch_pointwise(lambda: random_fold_in),
)

random_clone = Primitive(
    "random_clone",
    result_types=lambda keys: keys,
    evaluate=np.asarray,
    jvp=not_differentiable(lambda: random_clone),
    transpose=absent("keys have no cotangents"),
    batch=lambda axis, operands, mapped: (random_clone(*operands), mapped[0]),
)


# ---- using them ---------------------------------------------------------------------------------


def _bits_types(keys, *, bit_width, shape):
    _key_type("random_bits", keys)
    if bit_width not in (8, 16, 32, 64):
        raise TypeError(f"requires 8-, 16-, 32- or 64-bit field width, got bit_width={bit_width}.")
    return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


def _bits_evaluate(keys, *, bit_width, shape):
    high, low = _hashes_of_counters(keys, shape)
    if bit_width == 64:
        return high.astype(np.uint64) << np.uint64(32) | low
    return (high ^ low).astype(f"uint{bit_width}")


random_bits = Primitive(
    "random_bits",
    result_types=_bits_types,
    evaluate=_bits_evaluate,
    jvp=not_differentiable(lambda: random_bits),
    transpose=absent("integers have no cotangents"),
    batch=_batch_leading(lambda: random_bits),
)
