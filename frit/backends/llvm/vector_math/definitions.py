"""The table of vector functions, and how one becomes LLVM text of a type and a width.

    formula(kit, *operands) -> Lanes        one for both float types and every width

Each (function, dtype, width) is an `internal` LLVM function, written once a process and kept as
text; a module absorbs the text with all that it calls.
"""

import dataclasses
import functools

import numpy as np

from frit.backends.llvm.builder import F32, F64, Builder, Module, Type
from frit.backends.llvm.vector_math.lanes import Kit


@dataclasses.dataclass(frozen=True, slots=True)
class VectorFunction:
    """One function: how many operands, how exact, and its formula.

    ulps: bound on the error of the result, in units in the last place, of f32 and of f64, where the
    function is well conditioned.
    """

    name: str
    operands: int
    ulps: int
    formula: object
    f32_by_f64: bool


FUNCTIONS: dict[str, VectorFunction] = {}


def vector_function(name, *, ulps, operands=1, f32_by_f64=False):
    """Registers the decorated formula as the function `name`.

    f32_by_f64: the f32 function is the f64 one on widened operands, rounded at the end.
    """

    def register(formula):
        FUNCTIONS[name] = VectorFunction(name, operands, ulps, formula, f32_by_f64)
        return formula

    return register


def float_type(dtype):
    """F32 or F64 for a NumPy-like dtype or a builder type; TypeError for others."""
    element = dtype.element if isinstance(dtype, Type) else None
    if element is None:
        element = {"float32": F32, "float64": F64}.get(np.dtype(dtype).name)
    if element is not F32 and element is not F64:
        raise TypeError(
            f"vector math is written for float32 and float64, not {dtype}; convert float16 and "
            "bfloat16 operands to float32 and round the result"
        )
    return element


def function(module, name, dtype, width):
    """The symbol of the vector function `name` for `dtype` and `width`, defined in `module`.

    The function takes and returns `<width x dtype>`, or the scalar type when width is 1; call it
    with `Builder.call`. Raises KeyError for a name that is not in NAMES.
    """
    element = float_type(dtype)
    symbol = _symbol(name, element, width)
    if symbol not in module:
        module.absorb(_fragment(name, element, width, module.has_fma))
    return symbol


def inline_cost(name, dtype="float32"):
    """How many instructions the function's own body has, to weigh inlining it."""
    element = float_type(dtype)
    fragment = _fragment(name, element, 4, has_fma=True)
    return fragment.texts[_symbol(name, element, 4)].count(" = ")


def float_operations(name, dtype="float32"):
    """How many operations on floats one element of the function takes; a fused one counts twice.

    Those of the rare lanes that helpers compute are not counted.
    """
    element = float_type(dtype)
    fragment = _fragment(name, element, 4, has_fma=True)
    return _operations_of(fragment, _symbol(name, element, 4))


def _operations_of(fragment, symbol):
    head, _, text = fragment.texts[symbol].partition("\n")
    if "noinline" in head:
        return 0
    plain = sum(text.count(f" {operation} ") for operation in ("fadd", "fsub", "fmul", "fdiv"))
    called = sum(
        text.count(f"@{other}(") * _operations_of(fragment, other)
        for other in fragment.texts
        if f"@{other}(" in text
    )
    return plain + 2 * text.count("@llvm.fma.") + called


def _symbol(name, element, width):
    return f"frit.{name}.{element.with_lanes(width).code}"


@functools.lru_cache(maxsize=1024)
def _fragment(name, element, width, has_fma):
    """The text of one function and of all that it calls."""
    if name not in FUNCTIONS:
        raise KeyError(f"no vector function {name!r}; there are {', '.join(sorted(FUNCTIONS))}")
    definition = FUNCTIONS[name]
    module = Module("fragment", has_fma=has_fma)
    type = element.with_lanes(width)
    written = module.function(
        _symbol(name, element, width),
        type,
        [type] * definition.operands,
        linkage="internal",
        attributes="nounwind",
    )
    builder = Builder(written)
    kit = Kit(builder, element, width, _call)
    operands = [kit.wrap(value) for value in written.parameters]
    if element is F32 and definition.f32_by_f64:
        wide = kit.in_double()
        result = wide.call(name, *(x.to(F64) for x in operands)).to(F32)
    else:
        result = definition.formula(kit, *operands)
    builder.ret(result.value)
    return module.fragment()


def _call(kit, name, operands):
    symbol = function(kit.builder.module, name, kit.element, kit.width)
    return kit.wrap(kit.builder.call(symbol, kit.type, [x.value for x in operands]))


def scalar_helper(module, symbol, element, parameters, formula):
    """Defines a noinline scalar function in the module once, for rare lanes; returns its symbol."""
    if symbol not in module:
        helper = Module("fragment", has_fma=module.has_fma)
        written = helper.function(
            symbol,
            element,
            [element] * parameters,
            linkage="internal",
            attributes="nounwind noinline",
        )
        builder = Builder(written)
        kit = Kit(builder, element, 1, _call)
        builder.ret(formula(kit, *(kit.wrap(x) for x in written.parameters)).value)
        module.absorb(helper.fragment())
    return symbol
