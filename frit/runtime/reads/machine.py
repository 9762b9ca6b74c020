"""The abstract interpreter: a stack of origins, one set of origins for each variable."""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

from frit.runtime.reads.origins import UNKNOWN, Call, Origin, Origins, Reads

_DEEPEST = 12  # attributes and items in one chain; beyond, the chain counts as used

_ENDS = {
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT",
}  # fmt: skip
_ENDING_OPCODES = frozenset(dis.opmap[name] for name in _ENDS if name in dis.opmap)
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_BACKWARD = frozenset(number for name, number in dis.opmap.items() if "BACKWARD" in name)

Handler = Callable[["Machine", int], None]


class Machine:
    """The abstract interpreter of one code object."""

    def __init__(self, code: CodeType, handlers: Sequence[Handler | None]) -> None:
        self.code, self.reads, self.handlers = code, Reads(code), handlers
        self.stack: list[Origins] = []
        self.arriving: dict[int, list[Origins]] = {}
        self.keyword_names: tuple[str, ...] = ()  # of the next call
        self.opcode = 0
        self.offset = self.following = 0
        self.free = frozenset(code.co_freevars)
        self.singles: dict[Origin, Origins] = {}
        self.derivations: dict[Any, Origins] = {}
        self.called: dict[Any, int] = {}
        self.constants: dict[int, Origins] = {}

    def run(self) -> None:
        falls_through = True
        for offset, following, opcode, arg in _instructions(self.code.co_code):
            self.offset, self.following, self.opcode = offset, following, opcode
            arriving = self.arriving.pop(self.offset, None)
            if arriving is not None:
                self.stack = _joined(self.stack, arriving) if falls_through else arriving
            elif not falls_through:
                self.stack = []  # the start of an exception handler
            handler = self.handlers[opcode]
            if handler is not None:
                handler(self, arg)
            else:
                self.unknown(arg)
            falls_through = self.opcode not in _ENDING_OPCODES

    # -- the stack

    def push(self, *values: Origins) -> None:
        self.stack.extend(values)

    def pop(self) -> Origins:
        return self.stack.pop() if self.stack else UNKNOWN

    def pop_many(self, count: int) -> list[Origins]:
        return [self.pop() for _ in range(count)][::-1]

    def use(self, origins: Origins) -> None:
        """The value is looked at as a whole here."""
        for origin in origins:
            self.reads.used.setdefault(origin, self.offset)

    def assigned(self, origins: Origins) -> None:
        """Something new is stored there."""
        for origin in origins:
            self.reads.assigned.setdefault(origin, self.offset)

    def jump(self, arg: int) -> None:
        """What the stack holds now arrives where the jump goes."""
        words = -arg if self.opcode in _BACKWARD else arg
        target = self.following + 2 * words
        before = self.arriving.get(target)
        stack = list(self.stack)
        self.arriving[target] = stack if before is None else _joined(before, stack)

    def unknown(self, arg: int) -> None:
        """Any other instruction: it uses what it pops or sees, and pushes unknown values."""
        self.use(self.stack[-1] if self.stack else UNKNOWN)
        effect = stack_effect(self.opcode, arg)
        jumps = self.opcode in _JUMPS
        pushed = max(0, effect) if jumps or effect > 0 else 1
        for value in self.pop_many(pushed - effect):
            self.use(value)
        self.push(*[UNKNOWN] * pushed)
        if jumps:
            self.jump(arg)

    # -- variables

    def variable(self, name: str) -> Origins:
        return self.single("cell" if name in self.free else "local", name)

    def name_of(self, number: int) -> str:
        """The variable of a number among locals, cells and free variables."""
        return self.code._varname_from_oparg(number)  # type: ignore[attr-defined,no-any-return]

    def assign(self, name: str, value: Origins) -> None:
        if name in self.free:
            self.assigned(frozenset({("cell", name)}))
            self.use(value)
        else:
            self.reads.variables.setdefault(name, set()).update(value)

    def derived(self, kind: str, base: Origins, *rest: Any) -> Origins:
        """The attribute, item … of each origin."""
        known = self.derivations.get((kind, base, *rest))
        if known is None:
            known = self.derivations[kind, base, *rest] = self._derived(kind, base, *rest)
        return known

    def _derived(self, kind: str, base: Origins, *rest: Any) -> Origins:
        deep = {o for o in base if _depth(o) >= _DEEPEST}
        self.use(frozenset(deep))
        return frozenset((kind, o, *rest) for o in base - deep)

    def call(
        self,
        callee: Origins,
        args: Iterable[Origins],
        kwargs: dict[str, Origins],
        rest: Origins = UNKNOWN,
    ) -> None:
        if callee == _SUPER and not args:
            self.push(frozenset({("super",)}))
            return
        key = (callee, tuple(args), tuple(kwargs.items()), rest)
        number = self.called.get(key)
        calls = self.reads.calls
        if number is None:
            number = self.called[key] = len(calls)
            calls.append(Call(*key, [self.offset]))
        else:
            calls[number].offsets.append(self.offset)
        self.push(self.single("result", number))

    def build(self, values: Iterable[Origins]) -> None:
        """A new container of values that are told apart no more."""
        built = self.reads.built
        built.append({o for value in values for o in value})
        self.push(self.single("built", len(built) - 1))

    def extend(self, depth: int, value: Origins) -> None:
        """Something is put into the container that lies so deep in the stack."""
        if depth > len(self.stack):
            self.use(value)
            return
        numbers = [o[1] for o in self.stack[-depth] if o[0] == "built"]
        if numbers:
            for number in numbers:
                self.reads.built[number] |= value
        else:
            self.build([value])
            built = self.pop()
            self.stack[-depth] |= built

    def single(self, *origin: Any) -> Origins:
        """The set of one origin; one object for equal ones."""
        found = self.singles.get(origin)
        if found is None:
            found = self.singles[origin] = frozenset({origin})
        return found


_SUPER = frozenset({("global", "super")})


def _depth(origin: Origin) -> int:
    depth = 0
    while origin[0] in ("attr", "item", "each"):
        origin, depth = origin[1], depth + 1
    return depth


def _joined(a: list[Origins], b: list[Origins]) -> list[Origins]:
    """Two stacks that meet, position by position from the top."""
    count = min(len(a), len(b))
    return [x | y for x, y in zip(a[len(a) - count :], b[len(b) - count :], strict=True)]


def _instructions(code: bytes) -> Iterator[tuple[int, int, int, int]]:
    """offset, offset of the next instruction, opcode and argument of each; caches left out."""
    size, offset, extended = len(code), 0, 0
    while offset < size:
        opcode, arg = code[offset], code[offset + 1] | extended
        following = offset + 2
        while following < size and code[following] == 0:  # an inline cache
            following += 2
        if opcode == dis.EXTENDED_ARG:
            extended = arg << 8
        else:
            extended = 0
            yield offset, following, opcode, arg
        offset = following


@functools.lru_cache(maxsize=4096)
def stack_effect(opcode: int, arg: int, jump: bool = False) -> int:
    return dis.stack_effect(opcode, arg if opcode >= dis.HAVE_ARGUMENT else None, jump=jump)
