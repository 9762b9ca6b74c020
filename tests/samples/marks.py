"""Samples of marks: equations that change no value."""

from __future__ import annotations

from frit import lax
from frit.primitives.marks import dce_sink, sharding_constraint
from tests.samples import Sample, equation_of, numbers

_NOT_DIFFERENTIATED = dict.fromkeys(
    ("derivative", "second derivative", "transpose", "second transpose", "tracing"),
    "a composite is not differentiated, as in JAX: wrap it in custom_jvp",
)

SAMPLES = [
    equation_of(
        lax.composite(lambda x: lax.mul(x, lax.sin(x)), name="my.operation"),
        (numbers(3),),
        "composite",
        without=_NOT_DIFFERENTIATED,
    ),
    Sample(dce_sink, (numbers(3),)),
    Sample(sharding_constraint, (numbers(3),), {"sharding": None}),
]
