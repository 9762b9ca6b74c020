"""Lowers one equation, or a few, and runs them by the interpreter and as machine code."""

import importlib
import pkgutil
from functools import cache

import numpy as np

import frit
import frit.primitives
from frit.codegen.interpret import interpret
from frit.codegen.kernels import Kernel
from frit.codegen.lower import LOWERED, lower_kernel
from frit.codegen.scalars import element_type
from frit.ir.jaxpr import Literal, Var, new_equation
from frit.ir.primitive import Primitive
from frit.ir.types import ShapedArray
from frit.optimize.fingerprint import Constants
from frit.optimize.inline import inline_calls
from frit.runtime.program import ReferenceProgram
from tests.codegen.running import machine, same_bits


@cache
def primitives():
    """Every primitive by name."""
    found = {}
    for info in pkgutil.iter_modules(frit.primitives.__path__, "frit.primitives."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Primitive):
                found[value.name] = value
    return found


class Program:
    """Equations in the making: `p.apply(primitive, *operands, **params)` returns variables."""

    def __init__(self):
        self.inputs, self.arrays, self.equations = [], [], []

    def input(self, array):
        array = np.asarray(array)
        var = Var(ShapedArray(array.shape, array.dtype))
        self.inputs.append(var)
        self.arrays.append(array)
        return var

    def apply(self, primitive, *operands, **params):
        operands = [v if isinstance(v, (Var, Literal)) else Literal(v) for v in operands]
        types = primitive.types_of_results([v.aval for v in operands], params)
        results = [Var(t) for t in types]
        self.equations.append(new_equation(operands, results, primitive, params))
        return results if primitive.multiple_results else results[0]

    def kernel(self, *results, updates=None):
        return Kernel(
            "tested", tuple(self.inputs), tuple(results), tuple(self.equations), updates or {}
        )


def in_memory(array):
    """An array as the kernel's buffer holds it: complex numbers as pairs."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "c":
        return array.view(f"f{array.dtype.itemsize // 2}")
    return array


def run_kernel(kernel, arrays, *, slow=True, initial=None):
    """Results of a kernel, found equal bit by bit by the interpreter and by machine code."""
    function = lower_kernel(kernel)
    outputs = [None] * len(kernel.outvars)
    for position, replaced in kernel.updates.items():
        outputs[position] = in_memory(arrays[replaced])
    passed = [a for k, a in enumerate(arrays) if k not in kernel.updates.values()]
    arguments = [in_memory(a) for a in passed] + outputs
    arguments += [None] * (len(function.parameters) - len(arguments))
    fast = machine(function, arguments)
    first = len(passed)
    results = fast[first : first + len(kernel.outvars)]
    if slow:
        expected = interpret(function, arguments)[first : first + len(kernel.outvars)]
        for x, y in zip(expected, results, strict=True):
            assert same_bits(x, y), f"interpreter and machine code differ\n{x}\n{y}"
    return [
        r.view(_dtype(v.aval)).reshape(v.aval.shape)
        for r, v in zip(results, kernel.outvars, strict=True)
    ]


def _dtype(aval):
    if not isinstance(aval.dtype, np.dtype):
        return aval.dtype.storage
    return element_type(aval.dtype.name)


def run_equation(primitive, *arrays, slow=True, **params):
    """Results of one primitive on arrays, each an input."""
    program = Program()
    inputs = [program.input(array) for array in arrays]
    results = program.apply(primitive, *inputs, **params)
    results = results if primitive.multiple_results else [results]
    return run_kernel(program.kernel(*results), program.arrays, slow=slow)


def check_equation(primitive, *arrays, rtol=0.0, atol=0.0, slow=True, **params):
    """Checks a primitive against its meaning; exact unless a tolerance is given."""
    found = run_equation(primitive, *arrays, slow=slow, **params)
    with np.errstate(all="ignore"):
        expected = primitive.evaluate(*arrays, **params)
    expected = expected if primitive.multiple_results else [expected]
    for x, y in zip(found, expected, strict=True):
        compare(x, np.asarray(y), rtol, atol)
    return found


def traced_kernel(function, *arrays):
    """(one kernel of all equations that a function traces to, its arguments, its closed jaxpr)."""
    closed = frit.make_jaxpr(function)(*arrays)
    constants = Constants()
    flat = inline_calls(closed, constants, lambda eqn: eqn.primitive.name in LOWERED)
    outputs = tuple(var for var in flat.outvars if isinstance(var, Var))
    kernel = Kernel("traced", tuple(flat.invars), outputs, tuple(flat.eqns))
    return kernel, [*map(np.asarray, constants.values), *arrays], closed


def check_function(function, *arrays, rtol=0.0, atol=0.0, slow=True):
    """Checks a traced function as one kernel against NumPy's evaluation of its equations."""
    kernel, arguments, closed = traced_kernel(function, *arrays)
    found = run_kernel(kernel, arguments, slow=slow)
    with np.errstate(all="ignore"):
        every = ReferenceProgram(closed).run(arrays)
    known = [isinstance(var, Var) for var in closed.jaxpr.outvars]
    expected = [x for x, keep in zip(every, known, strict=True) if keep]
    for x, y in zip(found, expected, strict=True):
        compare(x, np.asarray(y), rtol, atol)
    return found


def compare(x, y, rtol, atol):
    """Asserts that x is y: within tolerances, or bit by bit without any."""
    assert x.shape == y.shape and x.dtype == y.dtype, (x.shape, x.dtype, y.shape, y.dtype)
    if rtol or atol:
        wide = np.complex128 if y.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(x.astype(wide), y.astype(wide), rtol=rtol, atol=atol)
    elif y.dtype.kind == "c":
        np.testing.assert_array_equal(x, y)
    else:
        assert same_bits(x, y), f"found\n{x}\nexpected\n{y}"
