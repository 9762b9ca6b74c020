"""Elementary and special functions on vectors, as internal LLVM functions of our own.

    symbol = function(module, "sin", "float32", 16)      defines @frit.sin.v16f32 in the module
    builder.call(symbol, x.type, [x])

No call of a C library, no instruction set beyond what the target declares, the same bits at every
width. Edges follow IEEE 754 and C99. Coefficients are derived in tools/coefficients.py and errors
measured by tools/accuracy.py.
"""

from frit.backends.llvm.vector_math import (
    bessel,
    error_functions,
    exponential,
    gamma,
    hyperbolic,
    incomplete,
    power,
    trigonometric,
    zeta,
)
from frit.backends.llvm.vector_math.definitions import (
    FUNCTIONS,
    float_operations,
    function,
    inline_cost,
)

NAMES = tuple(FUNCTIONS)
ACCURACY = {name: definition.ulps for name, definition in FUNCTIONS.items()}
OPERANDS = {name: definition.operands for name, definition in FUNCTIONS.items()}

__all__ = ["ACCURACY", "NAMES", "OPERANDS", "float_operations", "function", "inline_cost"]
