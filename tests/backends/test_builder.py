"""The text builder: what it writes parses, verifies, and means what its methods say."""

import ctypes

import llvmlite.binding as binding
import numpy as np
import pytest

from frit.backends.llvm.builder import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I32,
    I64,
    PTR,
    VOID,
    Builder,
    Module,
    constant,
    constant_lanes,
)

binding.initialize_native_target()
binding.initialize_native_asmprinter()


def run(module, name, *arguments):
    """Runs `name` of the module on array addresses and integers, in this process."""
    parsed = binding.parse_assembly(module.render())
    parsed.verify()
    machine = binding.Target.from_default_triple().create_target_machine(opt=1, jit=True)
    with binding.create_mcjit_compiler(parsed, machine) as engine:
        engine.finalize_object()
        raw = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments]
        kinds = [
            ctypes.c_void_p if isinstance(x, np.ndarray) else ctypes.c_int64 for x in arguments
        ]
        ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(name))(*raw)


def test_loop_with_masked_tail_sums_and_doubles():
    module = Module()
    function = module.function("double", VOID, [PTR, PTR, I64])
    source, target, count = function.parameters
    b = Builder(function)
    wide = F32.with_lanes(8)
    with b.loop(0, count, 8, carries=[constant(wide, 0)]) as loop:
        mask = b.mask_below(loop.index, count, 8)
        x = b.masked_load(wide, b.gep(source, loop.index, F32), mask)
        b.masked_store(b.fmul(x, 2.0), b.gep(target, loop.index, F32), mask)
        loop.results = [b.fadd(loop.carries[0], x)]
    b.store(b.reduce("fadd", loop.carries[0]), b.gep(target, count, F32))
    b.ret()
    source_array = np.arange(19, dtype=np.float32)
    target_array = np.zeros(20, np.float32)
    run(module, "double", source_array, target_array, 19)
    np.testing.assert_array_equal(target_array[:19], source_array * 2)
    assert target_array[19] == source_array.sum()


def test_gather_scatter_and_switch():
    module = Module()
    function = module.function("reverse", VOID, [PTR, PTR, I64])
    source, target, count = function.parameters
    b = Builder(function)
    numbers = b.lane_numbers(I64, 4)
    x = b.gather(I32.with_lanes(4), b.gep(source, numbers, I32))
    b.scatter(x, b.gep(target, b.sub(3, numbers), I32))
    yes, no, after = b.new_block("yes"), b.new_block("no"), b.new_block("after")
    b.switch(count, no, [(1, yes), (2, after)])
    b.position_at_end(yes)
    b.store(constant(I32, -7), target)
    b.br(after)
    b.position_at_end(no)
    b.br(after)
    b.position_at_end(after)
    b.ret()
    source_array, target_array = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    run(module, "reverse", source_array, target_array, 1)
    assert target_array.tolist() == [-7, 2, 1, 0]


def test_every_instruction_verifies():
    module = Module()
    function = module.function("all", VOID, [F64.with_lanes(4), I32.with_lanes(4), PTR, F32])
    x, n, p, s = function.parameters
    b = Builder(function)
    scope = module.alias_scope(module.alias_domain())
    other = module.alias_scope(module.alias_domain())
    for method in (b.fadd, b.fsub, b.fmul, b.fdiv, b.frem, b.copysign, b.minimum, b.maximum):
        method(x, x)
    for method in (b.minnum, b.maxnum):
        method(x, 1.0)
    for method in (b.fabs, b.sqrt, b.floor, b.ceil, b.trunc_float, b.round_even, b.round_away):
        method(x)
    for method in (b.add, b.sub, b.mul, b.udiv, b.sdiv, b.urem, b.srem, b.and_, b.or_, b.xor):
        method(n, 3)
    for method in (b.shl, b.lshr, b.ashr, b.smin, b.smax, b.umin, b.umax, b.sadd_sat, b.usub_sat):
        method(n, 3)
    for method in (b.ctpop, b.bswap, b.ctlz, b.cttz, b.abs, b.neg, b.not_):
        method(n)
    b.fshl(n, n, 5)
    b.product_error(x, x, b.fmul(x, x))
    b.fptosi(x, I32), b.sitofp(n, F64), b.fptrunc(x, F32), b.saturating_fptosi(x, I32)
    b.zext(n, I64), b.trunc(n, I8), b.bitcast(n, I64.with_lanes(2))
    b.select(b.fcmp("olt", x, 1.0), x, 2.0), b.select(b.any(b.is_nan(x)), x, x)
    b.splat(s, 16), b.concatenate(x, x), b.concatenate(s, s)
    b.reduce("fadd", x), b.reduce("fmaximum", x), b.reduce("smax", n), b.all(b.icmp("eq", n, n))
    b.insert_element(x, 1.0, b.extract_element(n, 0))
    aliasing = module.alias_metadata([scope], [other])
    b.store(b.load(F32, p, metadata=aliasing), b.alloca(F32, 4, align=16), 4)
    masked = b.masked_load(F64.with_lanes(4), p, constant(I1.with_lanes(4), 1), metadata=aliasing)
    b.masked_store(masked, p, constant_lanes(I1, [1, 0, 1, 0]))
    b.atomicrmw("fadd", p, s), b.atomicrmw("add", p, constant(I32, 1), "seq_cst")
    b.atomic_store(b.atomic_load(I32, p), p)
    b.memcpy(p, p, 8), b.memset(p, 0, 8), b.memmove(p, p, 8)
    b.ret()
    parsed = binding.parse_assembly(module.render())
    parsed.verify()
    assert "fast" not in str(parsed) and "nsw" not in str(parsed)


@pytest.mark.parametrize("number", [0.0, -0.0, 0.1, 1e-45, 3e38, float("inf"), float("nan")])
def test_constants_are_exact(number):
    module = Module()
    function = module.function("f", VOID, [PTR])
    b = Builder(function)
    for position, type in enumerate((F64, F32, F16, BF16)):
        b.store(constant(type, number), b.gep(function.parameters[0], 8 * position, I8))
    b.ret()
    found = np.zeros(4, np.float64)
    run(module, "f", found)
    with np.errstate(over="ignore"):
        half, single = np.float16(number), np.float32(number)
    assert found[0].tobytes() == np.float64(number).tobytes()
    assert found[1:2].view(np.float32)[0].tobytes() == single.tobytes()
    assert found[2:3].view(np.float16)[0].tobytes() == half.tobytes()
    bits = int(single.view(np.uint32))
    rounded = 0x7FC0 if number != number else (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    assert int(found[3:4].view(np.uint16)[0]) == rounded


def test_names_are_unique_and_blocks_end():
    module = Module()
    module.function("f", VOID, [])
    with pytest.raises(ValueError, match="names are unique"):
        module.function("f", VOID, [])
    Builder(module.functions["f"])
    with pytest.raises(ValueError, match="no terminator"):
        module.render()
