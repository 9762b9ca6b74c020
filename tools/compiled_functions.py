"""Functions of vector math in machine code, as functions of arrays."""

import ctypes

import llvmlite.binding as binding
import numpy as np

from frit.backends.llvm import vector_math
from frit.backends.llvm.builder import F32, F64, I64, PTR, VOID, Builder, Module
from frit.backends.llvm.engine import host_target
from frit.backends.llvm.operations import Operations

ELEMENTS = {"float32": F32, "float64": F64}


class Compiled:
    """A vector function in machine code; call it with arrays of equal length.

    as_operation: the operation of that name as programs compute it, for rsqrt by division.
    """

    def __init__(self, name, dtype, width, *, has_fma=True, features=None, as_operation=False):
        self.dtype, self.width = np.dtype(dtype), width
        module = Module(has_fma=has_fma)
        element = ELEMENTS[self.dtype.name]
        type = element.with_lanes(width)
        operands = vector_math.OPERANDS[name]
        outer = module.function("run", VOID, [PTR] * (operands + 1) + [I64])
        *sources, target, count = outer.parameters
        builder = Builder(outer)
        with builder.loop(0, count, width) as loop:
            x = [builder.load(type, builder.gep(p, loop.index, element)) for p in sources]
            if as_operation:
                operations = Operations(builder, host_target())
                dtypes = [self.dtype.name] * operands
                result = operations.apply(name, self.dtype.name, x, dtypes, {})
            else:
                symbol = vector_math.function(module, name, dtype, width)
                result = builder.call(symbol, type, x)
            builder.store(result, builder.gep(target, loop.index, element))
        builder.ret()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        self.text = module.render()
        parsed = binding.parse_assembly(self.text)
        parsed.verify()
        if features is None:
            features = binding.get_host_cpu_features().flatten()
        target = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name() if has_fma else "", features=features, opt=1, jit=True
        )
        self.engine = binding.create_mcjit_compiler(parsed, target)
        self.engine.finalize_object()
        kinds = [ctypes.c_void_p] * (operands + 1) + [ctypes.c_int64]
        self.run = ctypes.CFUNCTYPE(None, *kinds)(self.engine.get_function_address("run"))

    def __call__(self, *arrays):
        arrays = np.broadcast_arrays(*(np.asarray(x, self.dtype) for x in arrays))
        count = arrays[0].size
        padded = -(-count // self.width) * self.width
        arrays = [np.ascontiguousarray(np.resize(x, padded)) for x in arrays]
        result = np.empty(padded, self.dtype)
        self.run(*(x.ctypes.data for x in (*arrays, result)), padded)
        return result[:count]
