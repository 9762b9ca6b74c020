"""How equations become nodes and nests; importing this registers every rule.

`FUSED` names the primitives whose results are computed where they are read: they cost no memory,
and any number of them may share a kernel with what consumes them.
"""

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

FUSED = frozenset(
    (
        *pointwise.PLAIN,
        *views.NAMES,
        *"pow convert_element_type copy optimization_barrier add_any real imag complex".split(),
        *"bitcast_convert_type threefry2x32 random_wrap random_unwrap random_split".split(),
        *"random_fold_in random_bits random_seed random_clone gather dynamic_slice".split(),
        *"conj take_window stack unstack".split(),
    )
)
