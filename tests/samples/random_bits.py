"""Samples of random bits: on words, on arrays of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from frit.ir.types import ShapedArray
from frit.primitives.random_bits import (
    THREEFRY,
    KeyTy,
    keys_of,
    random_bits,
    random_clone,
    random_fold_in,
    random_seed,
    random_split,
    random_unwrap,
    random_wrap,
    threefry2x32,
)
from frit.runtime.array import Array
from tests.samples import Sample


def words(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).randint(0, 2**32, shape, np.uint64).astype(np.uint32)


def keys(*shape: int) -> Array:
    """An array of keys, as no NumPy array can be."""
    data = keys_of(words(*shape, 2))
    return Array(data, ShapedArray(shape, KeyTy(THREEFRY)))


def of_keys(primitive: Any, *others: Any, **params: Any) -> list[Sample]:
    """The primitive on one key, and on arrays of keys."""
    shapes = ((), (3,), (2, 3), (0,))
    return [Sample(primitive, (keys(*shape), *others), params, smooth=False) for shape in shapes]


SAMPLES = [
    Sample(threefry2x32, (words(), words(seed=1), words(3), words(3, seed=2)), smooth=False),
    Sample(threefry2x32, tuple(words(2, 9, seed=i) for i in range(4)), smooth=False),
    Sample(threefry2x32, tuple(words(0, seed=i) for i in range(4)), smooth=False, note="empty"),
    Sample(threefry2x32, (np.uint32(0),) * 4, smooth=False, note="scalars"),
    Sample(random_wrap, (words(3, 2),), {"impl": THREEFRY}, smooth=False),
    Sample(random_seed, (np.int32(42),), {"impl": THREEFRY}, smooth=False),
    Sample(random_seed, (np.array([0, -1, 7], np.int32),), {"impl": THREEFRY}, smooth=False),
    *of_keys(random_unwrap, impl=THREEFRY),
    *of_keys(random_clone),
    *of_keys(random_split, shape=(2,)),
    *of_keys(random_fold_in, np.uint32(5)),
    *(
        sample
        for width in (8, 16, 32)
        for sample in of_keys(random_bits, bit_width=width, shape=(5,))
    ),
]
