"""Which equations share a kernel: few kernels, no work twice, equal kernels once, linear time."""

import numpy as np

from frit.codegen import grouping
from frit.codegen.kernels import Alias, KernelCall, check_plan, kernels_of, print_steps
from frit.ir.jaxpr import Literal
from frit.primitives.arithmetic import div
from frit.primitives.cumulative import cumsum
from frit.primitives.padding import pad
from frit.primitives.reductions import reduce_max
from frit.primitives.shapes import reshape, rev
from frit.primitives.slices import dynamic_update_slice
from frit.runtime.pipeline import is_lowered
from tests.runtime.compiled import (
    add,
    agrees,
    broadcast,
    exp,
    f32,
    mul,
    scan,
    sin,
    sub,
    total,
    trace,
)


def plan(function, *types):
    made = grouping.make_plan(trace(function, *types).jaxpr, is_lowered)
    check_plan(made)
    return made


def groups(made):
    """The operations of each kernel call, in order."""
    return [
        " ".join(eqn.primitive.name for eqn in step.kernel.eqns)
        for step in made.steps
        if isinstance(step, KernelCall)
    ]


def work(made):
    """How many equations all kernel calls hold together."""
    return sum(len(step.kernel.eqns) for step in made.steps if isinstance(step, KernelCall))


def test_pointwise_chains_share_a_kernel():
    assert groups(plan(lambda x, y: [sin(add(mul(x, y), x))], f32(100), f32(100))) == [
        "mul add sin"
    ]


def test_siblings_of_one_operand_share_a_kernel():
    assert groups(plan(lambda x: [sin(x), exp(x)], f32(1000))) == ["sin exp"]


def test_unrelated_large_arrays_do_not():
    assert len(groups(plan(lambda x, y: [sin(x), exp(y)], f32(1000), f32(1000)))) == 2
    assert len(groups(plan(lambda x, y: [sin(x), exp(y)], f32(10), f32(10)))) == 1


def test_producers_join_reductions():
    assert groups(plan(lambda x, y: [total(mul(x, y), 0)], f32(100), f32(100))) == [
        "mul reduce_sum"
    ]


def test_what_is_costly_and_read_twice_is_stored():
    made = plan(lambda x: [total(sin(x), 0), total(sin(x), 1)], f32(100, 100))
    assert sum(g.count("sin") for g in groups(made)) in (1, 2)
    made = plan(lambda x: (lambda y: [total(y, 0), total(y, 1)])(sin(x)), f32(100, 100))
    assert sum(g.count("sin") for g in groups(made)) == 1


def test_what_is_cheap_and_read_twice_is_computed_twice():
    made = plan(
        lambda x: (lambda y: [total(y, 0), total(y, 1)])(add(x, np.float32(1))), f32(100, 100)
    )
    assert groups(made) == ["add reduce_sum", "add reduce_sum"]


def test_costly_work_is_not_repeated_by_a_broadcast():
    made = plan(lambda x, y: [add(y, broadcast(sin(x), (64, 100), 1))], f32(100), f32(64, 100))
    assert groups(made) == ["sin", "broadcast_in_dim add"]


def test_softmax_takes_two_passes():
    def softmax(x):
        def rows(v):
            return broadcast(v, (32, 64), 0)

        e = exp(sub(x, rows(reduce_max(x, axes=(1,)))))
        return [div(e, rows(total(e, 1)))]

    found = groups(plan(softmax, f32(32, 64)))
    assert found == [
        "reduce_max broadcast_in_dim sub exp",
        "reduce_sum broadcast_in_dim div",
    ]


def test_a_row_statistic_of_short_rows_is_stored():
    def function(x):
        return [sub(x, broadcast(total(x, 1), (1000, 3), 0))]

    assert groups(plan(function, f32(1000, 3))) == ["reduce_sum", "broadcast_in_dim sub"]


def test_a_chain_with_reversals_stays_linear():
    def function(x):
        for i in range(40):
            x = add(mul(sin(x), rev(x, dimensions=(0,))), np.float32(i))
        return [x]

    made = plan(function, f32(16))
    assert work(made) <= 4 * 40 + 4
    assert len(groups(made)) <= 42


def test_a_chain_of_cheap_views_stays_linear():
    def function(x):
        for _ in range(40):
            x = add(x, rev(add(x, np.float32(1)), dimensions=(0,)))
        return [x]

    assert work(plan(function, f32(1000))) <= 40 * 12


def test_equal_layers_share_kernels():
    def layers(count):
        def function(x):
            for _ in range(count):
                x = sub(mul(sin(x), x), broadcast(total(x, 0), (1000,)))
            return [x]

        return len(list(kernels_of(plan(function, f32(1000)))))

    assert layers(24) <= layers(3)


def test_large_clusters_are_divided():
    def function(x):
        for i in range(1000):
            x = add(mul(x, x), np.float32(i % 3))
        return [x]

    made = plan(function, f32(1000))
    assert max(len(k.eqns) for k in kernels_of(made)) <= grouping.MAX_KERNEL
    assert work(made) <= 2200


def test_views_of_stored_values_are_the_same_memory():
    def function(x):
        y = reshape(sin(x), new_sizes=(2, 50), dimensions=None, sharding=None)
        return [y]

    made = plan(function, f32(100))
    assert [type(s) for s in made.steps] == [KernelCall, Alias]


def test_updates_change_their_operand():
    made = plan(lambda x, u: [dynamic_update_slice(sin(x), u, np.int32(3))], f32(100), f32(2))
    *_, step = made.steps
    assert step.kernel.updates == {0: 0}


def test_bodies_share_kernels_with_the_program():
    def body(c):
        return [mul(sin(c), c)]

    made = plan(lambda x: [*scan(body, [], [x], [], length=3), *body(x)], f32(1000))
    assert len(list(kernels_of(made))) == 1
    assert "scan" in print_steps(made)


def test_literals_are_part_of_kernels():
    made = plan(lambda x: [mul(x, np.float32(3))], f32(5))
    (step,) = made.steps
    assert any(isinstance(a, Literal) for a in step.kernel.eqns[0].invars)
    assert len(step.operands) == 1


def test_rows_may_be_overwritten_after_they_are_reduced():
    def function(x):
        y = sin(x)
        return [div(y, broadcast(total(y, 1), (32, 64), 0))]

    first, second = plan(function, f32(32, 64)).steps
    assert first.kernel.inplace == {(0, 0)}
    assert second.kernel.inplace == {(0, 0)}
    agrees(function, f32(32, 64), donated=[True])


def test_what_is_read_at_another_place_is_not_overwritten():
    def function(x):
        y = sin(x)
        return [mul(y, rev(y, dimensions=(1,)))]

    *_, last = plan(function, f32(64, 64)).steps
    assert last.kernel.inplace == frozenset()
    agrees(function, f32(64, 64), donated=[True], tolerance=1e-3)


def test_one_element_that_is_padded_is_not_overwritten():
    """It is read under a mask and plainly, by two loads, of which one may come after a store."""

    def function(x):
        y = cumsum(x, axis=0, reverse=False)
        padded = pad(y, np.float32(1), padding_config=((0, 0, 1),))
        return [add(padded, padded), mul(padded, y)]

    *_, last = plan(function, f32(1)).steps
    assert len(last.kernel.eqns) == 3
    assert last.kernel.inplace == frozenset()
    agrees(function, f32(1), donated=[True])


def test_sums_of_columns_are_complete_before_their_operand_is_overwritten():
    def function(x):
        y = sin(x)
        return [div(y, broadcast(total(y, 0), (64, 64), 1))]

    agrees(function, f32(64, 64), donated=[True], tolerance=1e-3)
