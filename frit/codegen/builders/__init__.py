"""How equations become nodes and nests, a module a family; importing this registers every rule."""

from frit.codegen.builders import (
    contraction,
    convolution,
    cumulative,
    dynamic_slices,
    indexing,
    pointwise,
    random_bits,
    reductions,
    scattering,
    sorting,
    views,
    windows,
)
