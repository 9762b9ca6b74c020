"""The page docs/semantics.md, from the table in frit/primitives/semantics.py; see docs.py."""

import numpy as np

from frit.primitives.semantics import TABLE, Row

HEAD = """# Scalar semantics

Written by `make docs` from `frit/primitives/semantics.py`.

What elementwise primitives give at their edges. The results are JAX's (XLA's on the CPU), except
that subnormal numbers are never flushed to zero. Nothing is undefined: the operation is total, both
in the definition (`evaluate`, on NumPy) and in machine code, whose guards the last column names.
"""


def number(x):
    """A number as a reader writes it."""
    if isinstance(x, (bool, np.bool_)):
        return str(bool(x))
    if isinstance(x, (complex, np.complexfloating)):
        return str(complex(x))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    return f"{float(x):.9g}"


def case(row: Row, operands, result):
    shown = ", ".join(map(number, operands))
    extra = {k: v for k, v in row.params.items() if k in ("y", "new_dtype", "rounding_method")}
    params = "".join(f", {key}={value}" for key, value in extra.items())
    return f"`{row.primitive.name}({shown}{params}) = {number(result)}`"


def page():
    parts = [HEAD]
    for title, group in TABLE.items():
        parts.append(f"\n## {title}\n")
        for row in group:
            names = ", ".join(f"`{p.name}`" for p in row.primitives)
            parts.append(f"\n**{names}** on {row.kind}: {row.result}\n\nLLVM: {row.llvm}.\n")
            if row.cases:
                dtype = np.dtype(row.dtype).name
                cases = " · ".join(case(row, *c) for c in row.cases)
                parts.append(f"\nOn {dtype}: {cases}\n")
    return "".join(parts)
