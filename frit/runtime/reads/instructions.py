"""What each instruction of the bytecode does to origins, for Python 3.11 to 3.14."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import CodeType

from frit.runtime.reads.machine import Handler, Machine, stack_effect
from frit.runtime.reads.origins import NULL, UNKNOWN, Constant, Made, Origin, Origins

_HANDLERS: dict[str, Handler] = {}


def _handles(*names: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = handler
        return handler

    return register


@_handles(
    "RESUME", "CACHE", "PRECALL", "NOP", "COPY_FREE_VARS", "MAKE_CELL", "EXTENDED_ARG",
    "LIST_TO_TUPLE", "DELETE_FAST", "DELETE_GLOBAL", "DELETE_DEREF", "NOT_TAKEN", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "SETUP_ANNOTATIONS", "ENTER_EXECUTOR",
)  # fmt: skip
def _nothing(machine: Machine, arg: int) -> None:
    pass


@_handles("JUMP_FORWARD")
def _jump_forward(machine: Machine, arg: int) -> None:
    machine.jump(arg)


@_handles("PUSH_NULL")
def _push_null(machine: Machine, arg: int) -> None:
    machine.push(NULL)


@_handles("LOAD_CONST")
def _load_const(machine: Machine, arg: int) -> None:
    known = machine.constants.get(arg)
    if known is None:
        value = Constant(machine.code.co_consts[arg])
        known = machine.constants[arg] = frozenset({("const", value)})
    machine.push(known)


@_handles("LOAD_SMALL_INT")
def _load_int(machine: Machine, arg: int) -> None:
    machine.push(frozenset({("const", Constant(arg))}))


@_handles("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF")
def _load_variable(machine: Machine, arg: int) -> None:
    machine.push(machine.variable(machine.name_of(arg)))


@_handles("LOAD_FAST_AND_CLEAR")
def _load_and_clear(machine: Machine, arg: int) -> None:
    machine.push(UNKNOWN)


def _two_names(machine: Machine, arg: int) -> tuple[str, str]:
    return machine.name_of(arg >> 4), machine.name_of(arg & 15)


@_handles("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(machine: Machine, arg: int) -> None:
    machine.push(*map(machine.variable, _two_names(machine, arg)))


@_handles("STORE_FAST", "STORE_DEREF", "STORE_FAST_MAYBE_NULL")
def _store_variable(machine: Machine, arg: int) -> None:
    machine.assign(machine.name_of(arg), machine.pop())


@_handles("STORE_FAST_STORE_FAST")
def _store_two(machine: Machine, arg: int) -> None:
    for name in _two_names(machine, arg):
        machine.assign(name, machine.pop())


@_handles("STORE_FAST_LOAD_FAST")
def _store_and_load(machine: Machine, arg: int) -> None:
    stored, loaded = _two_names(machine, arg)
    machine.assign(stored, machine.pop())
    machine.push(machine.variable(loaded))


@_handles("LOAD_CLOSURE")
def _load_closure(machine: Machine, arg: int) -> None:
    machine.push(UNKNOWN)


@_handles("LOAD_NAME")
def _load_name(machine: Machine, arg: int) -> None:
    machine.push(frozenset({("global", machine.code.co_names[arg])}))


@_handles("LOAD_GLOBAL")
def _load_global(machine: Machine, arg: int) -> None:
    value = machine.single("global", machine.code.co_names[arg >> 1])
    # With NULL, for the call to come; which of the two is first differs, and the call looks.
    machine.push(*((NULL, value) if arg & 1 else (value,)))


@_handles("STORE_GLOBAL", "STORE_NAME")
def _store_global(machine: Machine, arg: int) -> None:
    machine.use(machine.pop())
    machine.assigned(frozenset({("global", machine.code.co_names[arg])}))


@_handles("LOAD_METHOD")
def _load_method(machine: Machine, arg: int) -> None:
    machine.push(NULL, machine.derived("attr", machine.pop(), machine.code.co_names[arg]))


@_handles("LOAD_ATTR")
def _load_attribute(machine: Machine, arg: int) -> None:
    if "LOAD_METHOD" not in dis.opmap:  # since 3.12 the lowest bit marks a method
        if arg & 1:
            _load_method(machine, arg >> 1)
            return
        arg >>= 1
    machine.push(machine.derived("attr", machine.pop(), machine.code.co_names[arg]))


@_handles("LOAD_SUPER_ATTR")
def _load_super_attribute(machine: Machine, arg: int) -> None:
    machine.pop_many(3)
    value: Origins = frozenset({("attr", ("super",), machine.code.co_names[arg >> 2])})
    machine.push(*((NULL, value) if arg & 1 else (value,)))


@_handles("STORE_ATTR")
def _store_attribute(machine: Machine, arg: int) -> None:
    base = machine.pop()
    machine.use(machine.pop())
    machine.assigned(machine.derived("attr", base, machine.code.co_names[arg]))


@_handles("BINARY_SUBSCR")
def _subscript(machine: Machine, arg: int) -> None:
    key, base = machine.pop(), machine.pop()
    machine.push(_item(machine, base, key))


_SUBSCRIPT = 26


@_handles("BINARY_OP")
def _binary_operation(machine: Machine, arg: int) -> None:
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


def _item(machine: Machine, base: Origins, key: Origins) -> Origins:
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
def _store_item(machine: Machine, arg: int) -> None:
    key, base = machine.pop(), machine.pop()
    machine.use(machine.pop())
    machine.assigned(_item(machine, base, key))


@_handles("BUILD_TUPLE", "BUILD_LIST")
def _build_sequence(machine: Machine, arg: int) -> None:
    if arg == 0:
        machine.build(())
        return
    values = machine.pop_many(arg)
    machine.push(frozenset({("group", tuple(values))}) if any(values) else UNKNOWN)


@_handles("BUILD_SLICE")
def _build_slice(machine: Machine, arg: int) -> None:
    for value in machine.pop_many(arg):
        machine.use(value)
    machine.push(machine.single("slice"))


@_handles("BUILD_SET")
def _build_set(machine: Machine, arg: int) -> None:
    machine.build(machine.pop_many(arg))


@_handles("BUILD_MAP")
def _build_map(machine: Machine, arg: int) -> None:
    entries = machine.pop_many(2 * arg)
    for key in entries[::2]:
        machine.use(key)
    machine.build(entries[1::2])


@_handles("BUILD_CONST_KEY_MAP")
def _build_map_of_names(machine: Machine, arg: int) -> None:
    machine.pop()
    machine.build(machine.pop_many(arg))


@_handles("LIST_APPEND", "SET_ADD")
def _append(machine: Machine, arg: int) -> None:
    machine.extend(arg, machine.pop())


@_handles("MAP_ADD")
def _add_entry(machine: Machine, arg: int) -> None:
    value = machine.pop()
    machine.use(machine.pop())
    machine.extend(arg, value)


@_handles("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _extend(machine: Machine, arg: int) -> None:
    machine.extend(arg, machine.derived("each", machine.pop()))


@_handles("CALL_FUNCTION_EX")
def _call_with_star(machine: Machine, arg: int) -> None:
    given = [machine.pop() for _ in range(2 if arg & 1 or _ALWAYS_NAMED else 1)]
    second, first = machine.pop(), machine.pop()
    callee = second if first == NULL else first
    rest = frozenset(o for value in given for o in machine.derived("each", value))
    machine.call(callee, (), {}, rest)


_ALWAYS_NAMED = sys.version_info >= (3, 14)  # **kwargs, or NULL, is always there


@_handles("UNPACK_SEQUENCE")
def _unpack(machine: Machine, arg: int) -> None:
    value, count = machine.pop(), arg
    machine.push(*[machine.derived("item", value, i) for i in reversed(range(count))])


@_handles("GET_ITER")
def _iterate(machine: Machine, arg: int) -> None:
    machine.push(machine.derived("each", machine.pop()))


@_handles("FOR_ITER")
def _next(machine: Machine, arg: int) -> None:
    # The origin of an iterator is that of its elements.  Where the loop ends, what the iterator
    # leaves on the stack differs between versions.
    left = stack_effect(machine.opcode, arg, True)
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
def _copy(machine: Machine, arg: int) -> None:
    depth = arg
    machine.push(machine.stack[-depth] if depth <= len(machine.stack) else UNKNOWN)


@_handles("SWAP")
def _swap(machine: Machine, arg: int) -> None:
    stack, depth = machine.stack, arg
    while len(stack) < depth:
        stack.insert(0, UNKNOWN)
    stack[-1], stack[-depth] = stack[-depth], stack[-1]


@_handles("POP_TOP", "POP_ITER", "END_FOR")
def _pop_top(machine: Machine, arg: int) -> None:
    machine.pop()


@_handles("RETURN_VALUE")
def _return(machine: Machine, arg: int) -> None:
    machine.reads.returned |= machine.pop()


@_handles("RETURN_CONST")
def _return_constant(machine: Machine, arg: int) -> None:
    pass


@_handles("KW_NAMES")
def _keyword_names(machine: Machine, arg: int) -> None:
    machine.keyword_names = machine.code.co_consts[arg]


_CALL_KW = dis.opmap.get("CALL_KW")


@_handles("CALL", "CALL_KW")
def _call(machine: Machine, arg: int) -> None:
    names = machine.keyword_names
    machine.keyword_names = ()
    if machine.opcode == _CALL_KW:
        names = next((o[1].value for o in machine.pop() if o[0] == "const"), ())
    values = machine.pop_many(arg)
    second, first = machine.pop(), machine.pop()
    callee = second if first == NULL else first
    if NULL not in (first, second):  # a method of 3.11: the receiver is the first argument
        values.insert(0, second)
    count = len(values) - len(names)
    machine.call(callee, values[:count], dict(zip(names, values[count:], strict=True)))


@_handles("MAKE_FUNCTION")
def _make_function(machine: Machine, arg: int) -> None:
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
def _set_function_attribute(machine: Machine, arg: int) -> None:
    function = machine.pop()
    machine.use(machine.pop())
    machine.push(function)


@_handles(
    "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE",
)  # fmt: skip
def _branch(machine: Machine, arg: int) -> None:
    machine.use(machine.pop())
    machine.jump(arg)


@_handles(
    "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
)  # fmt: skip
def _branch_on_none(machine: Machine, arg: int) -> None:
    machine.use(machine.derived("attr", machine.pop(), "__class__"))
    machine.jump(arg)


@_handles("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")
def _short_circuit(machine: Machine, arg: int) -> None:
    value = machine.pop()
    machine.use(value)
    machine.push(value)
    machine.jump(arg)
    machine.pop()


@_handles("TO_BOOL")
def _to_bool(machine: Machine, arg: int) -> None:
    machine.use(machine.pop())
    machine.push(UNKNOWN)


@_handles("IS_OP")
def _is(machine: Machine, arg: int) -> None:
    for value in machine.pop_many(2):
        machine.use(value)
    machine.push(UNKNOWN)


BY_OPCODE: list[Handler | None] = [_HANDLERS.get(name) for name in dis.opname[:256]]
