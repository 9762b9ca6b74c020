"""Registers of values with lanes of their own, and the index of a vector loop."""

from frit.backends.llvm.values import poison


class Parts(list):
    """The machine vectors of a value with lanes of its own, lowest lanes first."""


class Lane:
    """The index of a vector loop: `base` in the first lane, one more in each further lane."""

    __slots__ = ("base",)

    def __init__(self, base):
        self.base = base


def flattened(register):
    """The LLVM values that a register consists of."""
    return register if isinstance(register, Parts) else (register,)


def as_parts(register):
    return register if isinstance(register, Parts) else Parts([register])


def regroup(b, parts, width):
    """The same lanes in machine vectors of `width` lanes."""
    have = parts[0].type.lanes
    if have == width:
        return Parts(parts)
    if have > width:
        made = Parts()
        for part in parts:
            for first in range(0, have, width):
                if width == 1:
                    made.append(b.extract_element(part, first))
                else:
                    made.append(b.shuffle(part, poison(part.type), range(first, first + width)))
        return made
    pairs = Parts(b.concatenate(parts[k], parts[k + 1]) for k in range(0, len(parts), 2))
    return regroup(b, pairs, width)
