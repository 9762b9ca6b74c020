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

import bisect
import dis
import functools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from frit.errors import SourceInfo

Origin = tuple[Any, ...]
Origins = frozenset[Origin]
UNKNOWN: Origins = frozenset()
_NULL: Origins = frozenset({("null",)})
_DEEPEST = 12  # attributes and items in one chain; beyond, the chain counts as used


@dataclass(frozen=True)
class Call:
    """A call: the callee, and the arguments as far as they are written one by one.

    rest: the arguments given as *args and **kwargs, in no order.  offsets: of the instructions that
    make this very call; a line that stands twice is one call.
    """

    callee: Origins
    args: tuple[Origins, ...]
    kwargs: tuple[tuple[str, Origins], ...]
    rest: Origins
    offsets: list[int]


@dataclass(frozen=True)
class Made:
    """A nested function (or comprehension, or class body) made by this code."""

    code: CodeType
    free: tuple[str, ...]
    defaults: tuple[Origins, ...]


@dataclass
class Reads:
    """What one code object does with values from outside."""

    code: CodeType
    used: dict[Origin, int] = field(default_factory=dict)  # origin -> offset of the instruction
    calls: list[Call] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    built: list[set[Origin]] = field(default_factory=list)  # what each container holds
    variables: dict[str, set[Origin]] = field(default_factory=dict)
    assigned: dict[Origin, int] = field(default_factory=dict)  # origin -> offset
    computed: set[Origin] = field(default_factory=set)  # operands of operators with no traced value
    returned: set[Origin] = field(default_factory=set)
    _lines: list[tuple[int, int, int | None]] = field(default_factory=list)

    def line_of(self, offset: int) -> int:
        """The source line of an instruction."""
        if not self._lines:
            self._lines.extend(self.code.co_lines())
        number = bisect.bisect_right(self._lines, offset, key=operator.itemgetter(0)) - 1
        return self._lines[number][2] or self.code.co_firstlineno

    def place_of(self, offset: int) -> SourceInfo:
        """Where an instruction stands in the source."""
        return SourceInfo(self.code.co_filename, self.line_of(offset), self.code.co_name)


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """The reads of a code object; made once."""
    machine = _Machine(code)
    machine.run()
    return machine.reads


_Handler = Callable[["_Machine", int], None]
_HANDLERS: dict[str, _Handler] = {}


def _handles(*names: str) -> Callable[[_Handler], _Handler]:
    def register(handler: _Handler) -> _Handler:
        for name in names:
            _HANDLERS[name] = handler
        return handler

    return register


class _Machine:
    """The abstract interpreter of one code object."""

    def __init__(self, code: CodeType) -> None:
        self.code, self.reads = code, Reads(code)
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
            handler = _BY_OPCODE[self.opcode]
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
        effect = _stack_effect(self.opcode, arg)
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
def _stack_effect(opcode: int, arg: int, jump: bool = False) -> int:
    return dis.stack_effect(opcode, arg if opcode >= dis.HAVE_ARGUMENT else None, jump=jump)


# ------------------------------------------------------------------------------------ instructions

_ENDS = {
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT",
}  # fmt: skip


@_handles(
    "RESUME", "CACHE", "PRECALL", "NOP", "COPY_FREE_VARS", "MAKE_CELL", "EXTENDED_ARG",
    "LIST_TO_TUPLE", "DELETE_FAST", "DELETE_GLOBAL", "DELETE_DEREF", "NOT_TAKEN", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "SETUP_ANNOTATIONS", "ENTER_EXECUTOR",
)  # fmt: skip
def _nothing(machine: _Machine, arg: int) -> None:
    pass


@_handles("JUMP_FORWARD")
def _jump_forward(machine: _Machine, arg: int) -> None:
    machine.jump(arg)


@_handles("PUSH_NULL")
def _push_null(machine: _Machine, arg: int) -> None:
    machine.push(_NULL)


@_handles("LOAD_CONST")
def _load_const(machine: _Machine, arg: int) -> None:
    known = machine.constants.get(arg)
    if known is None:
        value = _Constant(machine.code.co_consts[arg])
        known = machine.constants[arg] = frozenset({("const", value)})
    machine.push(known)


@_handles("LOAD_SMALL_INT")
def _load_int(machine: _Machine, arg: int) -> None:
    machine.push(frozenset({("const", _Constant(arg))}))


class _Constant:
    """A constant told by identity, so that 1, 1.0 and True stay three, and lists may be held."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@_handles("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF")
def _load_variable(machine: _Machine, arg: int) -> None:
    machine.push(machine.variable(machine.name_of(arg)))


@_handles("LOAD_FAST_AND_CLEAR")
def _load_and_clear(machine: _Machine, arg: int) -> None:
    machine.push(UNKNOWN)


def _two_names(machine: _Machine, arg: int) -> tuple[str, str]:
    return machine.name_of(arg >> 4), machine.name_of(arg & 15)


@_handles("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(machine: _Machine, arg: int) -> None:
    machine.push(*map(machine.variable, _two_names(machine, arg)))


@_handles("STORE_FAST", "STORE_DEREF", "STORE_FAST_MAYBE_NULL")
def _store_variable(machine: _Machine, arg: int) -> None:
    machine.assign(machine.name_of(arg), machine.pop())


@_handles("STORE_FAST_STORE_FAST")
def _store_two(machine: _Machine, arg: int) -> None:
    for name in _two_names(machine, arg):
        machine.assign(name, machine.pop())


@_handles("STORE_FAST_LOAD_FAST")
def _store_and_load(machine: _Machine, arg: int) -> None:
    stored, loaded = _two_names(machine, arg)
    machine.assign(stored, machine.pop())
    machine.push(machine.variable(loaded))


@_handles("LOAD_CLOSURE")
def _load_closure(machine: _Machine, arg: int) -> None:
    machine.push(UNKNOWN)


@_handles("LOAD_NAME")
def _load_name(machine: _Machine, arg: int) -> None:
    machine.push(frozenset({("global", machine.code.co_names[arg])}))


@_handles("LOAD_GLOBAL")
def _load_global(machine: _Machine, arg: int) -> None:
    value = machine.single("global", machine.code.co_names[arg >> 1])
    # With NULL, for the call to come; which of the two is first differs, and the call looks.
    machine.push(*((_NULL, value) if arg & 1 else (value,)))


@_handles("STORE_GLOBAL", "STORE_NAME")
def _store_global(machine: _Machine, arg: int) -> None:
    machine.use(machine.pop())
    machine.assigned(frozenset({("global", machine.code.co_names[arg])}))


@_handles("LOAD_METHOD")
def _load_method(machine: _Machine, arg: int) -> None:
    machine.push(_NULL, machine.derived("attr", machine.pop(), machine.code.co_names[arg]))


@_handles("LOAD_ATTR")
def _load_attribute(machine: _Machine, arg: int) -> None:
    if "LOAD_METHOD" not in dis.opmap:  # since 3.12 the lowest bit marks a method
        if arg & 1:
            _load_method(machine, arg >> 1)
            return
        arg >>= 1
    machine.push(machine.derived("attr", machine.pop(), machine.code.co_names[arg]))


@_handles("LOAD_SUPER_ATTR")
def _load_super_attribute(machine: _Machine, arg: int) -> None:
    machine.pop_many(3)
    value: Origins = frozenset({("attr", ("super",), machine.code.co_names[arg >> 2])})
    machine.push(*((_NULL, value) if arg & 1 else (value,)))


@_handles("STORE_ATTR")
def _store_attribute(machine: _Machine, arg: int) -> None:
    base = machine.pop()
    machine.use(machine.pop())
    machine.assigned(machine.derived("attr", base, machine.code.co_names[arg]))


@_handles("BINARY_SUBSCR")
def _subscript(machine: _Machine, arg: int) -> None:
    key, base = machine.pop(), machine.pop()
    machine.push(_item(machine, base, key))


_SUBSCRIPT = 26


@_handles("BINARY_OP")
def _binary_operation(machine: _Machine, arg: int) -> None:
    right, left = machine.pop(), machine.pop()
    if arg == _SUBSCRIPT:  # how 3.14 writes it
        machine.push(_item(machine, left, right))
        return
    machine.use(left)
    machine.use(right)
    if all(map(_is_outside, left)) and all(map(_is_outside, right)) and left and right:
        machine.reads.computed |= left | right
    machine.push(UNKNOWN)


def _is_outside(origin: Origin) -> bool:
    """Whether a value is certainly none that is computed here."""
    while origin[0] in ("attr", "item", "each"):
        origin = origin[1]
    return origin[0] in ("global", "cell", "const")


def _item(machine: _Machine, base: Origins, key: Origins) -> Origins:
    if ("slice",) in key:  # a part of the container: which elements is not known
        machine.build([machine.derived("each", base)])
        return machine.pop()
    constants = [o[1].value for o in key if o[0] == "const"]
    if len(key) == 1 and constants and type(constants[0]) in (int, str):
        return machine.derived("item", base, constants[0])
    machine.use(key)
    # Which entry is read is not known: any may be.
    return machine.derived("each", base)


@_handles("STORE_SUBSCR")
def _store_item(machine: _Machine, arg: int) -> None:
    key, base = machine.pop(), machine.pop()
    machine.use(machine.pop())
    machine.assigned(_item(machine, base, key))


@_handles("BUILD_TUPLE", "BUILD_LIST")
def _build_sequence(machine: _Machine, arg: int) -> None:
    if arg == 0:
        machine.build(())
        return
    values = machine.pop_many(arg)
    machine.push(frozenset({("group", tuple(values))}) if any(values) else UNKNOWN)


@_handles("BUILD_SLICE")
def _build_slice(machine: _Machine, arg: int) -> None:
    for value in machine.pop_many(arg):
        machine.use(value)
    machine.push(machine.single("slice"))


@_handles("BUILD_SET")
def _build_set(machine: _Machine, arg: int) -> None:
    machine.build(machine.pop_many(arg))


@_handles("BUILD_MAP")
def _build_map(machine: _Machine, arg: int) -> None:
    entries = machine.pop_many(2 * arg)
    for key in entries[::2]:
        machine.use(key)
    machine.build(entries[1::2])


@_handles("BUILD_CONST_KEY_MAP")
def _build_map_of_names(machine: _Machine, arg: int) -> None:
    machine.pop()
    machine.build(machine.pop_many(arg))


@_handles("LIST_APPEND", "SET_ADD")
def _append(machine: _Machine, arg: int) -> None:
    machine.extend(arg, machine.pop())


@_handles("MAP_ADD")
def _add_entry(machine: _Machine, arg: int) -> None:
    value = machine.pop()
    machine.use(machine.pop())
    machine.extend(arg, value)


@_handles("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _extend(machine: _Machine, arg: int) -> None:
    machine.extend(arg, machine.derived("each", machine.pop()))


@_handles("CALL_FUNCTION_EX")
def _call_with_star(machine: _Machine, arg: int) -> None:
    given = [machine.pop() for _ in range(2 if arg & 1 or _ALWAYS_NAMED else 1)]
    second, first = machine.pop(), machine.pop()
    callee = second if first == _NULL else first
    rest = frozenset(o for value in given for o in machine.derived("each", value))
    machine.call(callee, (), {}, rest)


_ALWAYS_NAMED = sys.version_info >= (3, 14)  # **kwargs, or NULL, is always there


@_handles("UNPACK_SEQUENCE")
def _unpack(machine: _Machine, arg: int) -> None:
    value, count = machine.pop(), arg
    machine.push(*[machine.derived("item", value, i) for i in reversed(range(count))])


@_handles("GET_ITER")
def _iterate(machine: _Machine, arg: int) -> None:
    machine.push(machine.derived("each", machine.pop()))


@_handles("FOR_ITER")
def _next(machine: _Machine, arg: int) -> None:
    # The origin of an iterator is that of its elements.  Where the loop ends, what the iterator
    # leaves on the stack differs between versions.
    left = _stack_effect(machine.opcode, arg, True)
    if left < 0:
        iterator = machine.pop()
        machine.jump(arg)
        machine.push(iterator, iterator)
        return
    machine.push(*[UNKNOWN] * left)
    machine.jump(arg)
    machine.pop_many(left)
    machine.push(machine.stack[-1] if machine.stack else UNKNOWN)


@_handles("COPY")
def _copy(machine: _Machine, arg: int) -> None:
    depth = arg
    machine.push(machine.stack[-depth] if depth <= len(machine.stack) else UNKNOWN)


@_handles("SWAP")
def _swap(machine: _Machine, arg: int) -> None:
    stack, depth = machine.stack, arg
    while len(stack) < depth:
        stack.insert(0, UNKNOWN)
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


@_handles("POP_TOP", "POP_ITER", "END_FOR")
def _pop_top(machine: _Machine, arg: int) -> None:
    machine.pop()


@_handles("RETURN_VALUE")
def _return(machine: _Machine, arg: int) -> None:
    machine.reads.returned |= machine.pop()


@_handles("RETURN_CONST")
def _return_constant(machine: _Machine, arg: int) -> None:
    pass


@_handles("KW_NAMES")
def _keyword_names(machine: _Machine, arg: int) -> None:
    machine.keyword_names = machine.code.co_consts[arg]


_CALL_KW = dis.opmap.get("CALL_KW")


@_handles("CALL", "CALL_KW")
def _call(machine: _Machine, arg: int) -> None:
    names = machine.keyword_names
    machine.keyword_names = ()
    if machine.opcode == _CALL_KW:
        names = next((o[1].value for o in machine.pop() if o[0] == "const"), ())
    values = machine.pop_many(arg)
    second, first = machine.pop(), machine.pop()
    callee = second if first == _NULL else first
    if _NULL not in (first, second):  # a method of 3.11: the receiver is the first argument
        values.insert(0, second)
    count = len(values) - len(names)
    machine.call(callee, values[:count], dict(zip(names, values[count:], strict=True)))


@_handles("MAKE_FUNCTION")
def _make_function(machine: _Machine, arg: int) -> None:
    flags = arg
    code = next((o[1].value for o in machine.pop() if o[0] == "const"), None)
    attributes = [machine.pop() for flag in (8, 4, 2, 1) if flags & flag]
    defaults: tuple[Origins, ...] = ()
    if flags & 1 and attributes:
        defaults = next((o[1] for o in attributes[-1] if o[0] == "group"), ())
        if not defaults:
            machine.use(attributes[-1])
    if not isinstance(code, CodeType):
        machine.push(UNKNOWN)
        return
    machine.reads.made.append(Made(code, code.co_freevars, defaults))
    machine.push(frozenset({("made", len(machine.reads.made) - 1)}))


@_handles("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(machine: _Machine, arg: int) -> None:
    function = machine.pop()
    machine.use(machine.pop())
    machine.push(function)


@_handles(
    "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE",
)  # fmt: skip
def _branch(machine: _Machine, arg: int) -> None:
    machine.use(machine.pop())
    machine.jump(arg)


@_handles(
    "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
)  # fmt: skip
def _branch_on_none(machine: _Machine, arg: int) -> None:
    machine.use(machine.derived("attr", machine.pop(), "__class__"))
    machine.jump(arg)


@_handles("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")
def _short_circuit(machine: _Machine, arg: int) -> None:
    value = machine.pop()
    machine.use(value)
    machine.push(value)
    machine.jump(arg)
    machine.pop()


@_handles("TO_BOOL")
def _to_bool(machine: _Machine, arg: int) -> None:
    machine.use(machine.pop())
    machine.push(UNKNOWN)


@_handles("IS_OP")
def _is(machine: _Machine, arg: int) -> None:
    for value in machine.pop_many(2):
        machine.use(value)
    machine.push(UNKNOWN)


_BY_OPCODE: list[_Handler | None] = [_HANDLERS.get(name) for name in dis.opname[:256]]
_ENDING_OPCODES = frozenset(dis.opmap[name] for name in _ENDS if name in dis.opmap)
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_BACKWARD = frozenset(number for name, number in dis.opmap.items() if "BACKWARD" in name)
