"""Samples of the primitives of random keys."""

from __future__ import annotations

import numpy as np

import frit
from frit.primitives import random_bits as r
from tests.samples import Sample, integers

_words = lambda *shape, seed=0: integers(*shape, seed=seed, low=0, high=2**32, dtype="u4")
_key, _keys = frit.random.key(7), frit.random.split(frit.random.key(8), 3)
_fry = {"impl": _key.dtype._impl}

SAMPLES = [
    Sample(r.threefry2x32, tuple(_words(4, seed=i) for i in range(4))),
    Sample(r.threefry2x32, (_words(), _words(seed=1), _words(5, seed=2), _words(5, seed=3))),
    Sample(r.random_wrap, (_words(2),), _fry),
    Sample(r.random_wrap, (_words(3, 2),), _fry),
    Sample(r.random_unwrap, (_key,)),
    Sample(r.random_unwrap, (_keys,)),
    Sample(r.random_seed, (np.int32(42),), _fry),
    Sample(r.random_seed, (np.array([-1, 5], np.int32),), _fry),
    Sample(r.random_split, (_key,), {"shape": (2,)}),
    Sample(r.random_split, (_keys,), {"shape": (2, 2)}),
    Sample(r.random_fold_in, (_key, np.uint32(3))),
    Sample(r.random_fold_in, (_keys, np.array([1, 2, 3], np.uint32))),
    Sample(r.random_clone, (_keys,)),
    Sample(r.random_bits, (_key,), {"bit_width": 32, "shape": (5,)}),
    Sample(r.random_bits, (_key,), {"bit_width": 8, "shape": (3, 3)}),
    Sample(r.random_bits, (_keys,), {"bit_width": 16, "shape": (4,)}),
]
