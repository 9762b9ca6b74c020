"""What a code object reads from outside itself, found in its bytecode without running it.

    def step(x):                      reads    global cfg .lr
        c = cfg                                global scale
        return helper(x, c.lr) * scale         calls global helper with (local x, global cfg .lr)

The bytecode runs on a stack of *origins*: sets of expressions that say where a value may come from.

    origin  =  ("global", name) | ("cell", name) | ("local", name)
            |  ("attr", origin, name) | ("item", origin, key) | ("each", origin)
            |  ("result", number of a call) | ("made", number of a nested function)
            |  ("group", origins of the elements) | ("built", number of a container)
            |  ("const", value) | ("slice",) | ("super",)

A value of unknown origin is the empty set.  Each variable, and each container that the code builds,
has one set of origins, whatever the order of assignments, so loops need no fixed point.  The stack
has no bottom: what is popped from an empty one is unknown.  An instruction that this module does
not know (of another Python) makes the result coarser, never wrong: what it takes counts as used.
"""

from __future__ import annotations

import functools
from types import CodeType

from frit.runtime.reads.instructions import BY_OPCODE
from frit.runtime.reads.machine import Machine
from frit.runtime.reads.origins import UNKNOWN, Call, Made, Origin, Origins, Reads

__all__ = ["UNKNOWN", "Call", "Made", "Origin", "Origins", "Reads", "reads_of"]


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """The reads of a code object; made once."""
    machine = Machine(code, BY_OPCODE)
    machine.run()
    return machine.reads
