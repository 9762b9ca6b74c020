"""What is said of bad input to transformations: the kind of error, and its lesson."""

from __future__ import annotations

import numpy as np
import pytest

import frit as jax
import frit.numpy as jnp
from frit import lax


def add(x, y):
    return x + y


ones = jnp.ones


class Callable:
    def __call__(self, x):
        return x


CASES = [
    # jit: marks of arguments
    (ValueError, "invalid argnames {'z'} in donate_argnames. Function does not take these args",
     lambda: jax.jit(add, donate_argnames="z")),
    (ValueError, "static_argnums=(5,), but only accepts 2 positional arguments",
     lambda: jax.jit(add, static_argnums=5)),
    (ValueError, "Argument names {'x'} appear in both static_argnames and donate_argnames",
     lambda: jax.jit(add, static_argnums=0, donate_argnums=0)),
    (TypeError, "takes an int or a sequence of ints, got 1.0",
     lambda: jax.jit(add, static_argnums=1.0)),
    (TypeError, "Expected a callable value, got 3", lambda: jax.jit(3)),
    (TypeError, "staticmethod arguments are not supported", lambda: jax.jit(staticmethod(add))),
    (ValueError, "Non-hashable static arguments are not supported",
     lambda: jax.jit(add, static_argnums=0)([1], 2)),
    # jit: arguments and results
    (TypeError, "was passed to the function at path x", lambda: jax.jit(add)(object(), 1)),
    (TypeError, "traced for jit returned a value of type <class 'object'> at output component [1]",
     lambda: jax.jit(lambda x: [x, object()])(1)),
    (OverflowError, "whose argument path is x", lambda: jax.jit(add)(2**40, 1)),
    (ValueError, "numpy masked arrays are not supported",
     lambda: jax.jit(add)(np.ma.array([1, 2]), 1)),
    # ahead of time
    (TypeError, "Argument 'x' compiled with float32[] and called with int32[]",
     lambda: jax.jit(add).lower(1.0, 2.0).compile()(1, 2)),
    (TypeError, "at args, seen tuple of length 2 but now given tuple of length 3",
     lambda: jax.jit(add).lower(1.0, 2.0).compile()(1.0, 2.0, 3.0)),
    (TypeError, "Detected argument of Tracer type",
     lambda: jax.grad(jax.jit(add).lower(1.0, 2.0).compile())(1.0, 2.0)),
    (jax.errors.JaxRuntimeError, "No such compile option: 'fast'",
     lambda: jax.jit(add).lower(1.0, 2.0).compile({"fast": True})),
    # vmap
    (ValueError, "must be passed at least one argument containing an array",
     lambda: jax.vmap(add)()),
    (ValueError, "at least one non-None value in in_axes",
     lambda: jax.vmap(add, in_axes=None)(1.0, 2.0)),
    (ValueError, "one axis had size 3: axis 0 of kwargs['y'] of type float32[3]",
     lambda: jax.vmap(add)(ones(2), y=ones(3))),
    (ValueError, "most axes (2 of them) had size 2, e.g. axis 0 of argument x of type float32[2]",
     lambda: jax.vmap(add, axis_size=3)(ones(2), ones(2))),
    (ValueError, "rank should be at least 4, but is only 1",
     lambda: jax.vmap(add, 3)(ones(1), ones(1))),
    (TypeError, "vmap in_axes must be an int, None, or (nested) container",
     lambda: jax.vmap(add, in_axes=(0, 1.0))),
    (ValueError, "got len(in_axes)=1, len(args)=2", lambda: jax.vmap(add, (0,))(ones(1), ones(1))),
    (ValueError, "vmap in_axes specification must be a tree prefix",
     lambda: jax.vmap(add, (0, [0]))(ones(1), (ones(1),))),
    (ValueError, "vmap has mapped output (axis_name=i) but out_axes is None",
     lambda: jax.vmap(add, out_axes=None, axis_name="i")(ones(1), ones(1))),
    (ValueError, "axis 3 is out of bounds for array of dimension 1",
     lambda: jax.vmap(add, out_axes=3)(ones(1), ones(1))),
    # derivatives
    (TypeError, "must be tuples or lists; found float and float", lambda: jax.jvp(add, 1.0, 2.0)),
    (TypeError, "must have the same tree structure", lambda: jax.jvp(add, (1.0,), [1.0])),
    (TypeError, "expected tangent dtype float0, but got tangent dtype float32",
     lambda: jax.jvp(add, (1.0, 2), (1.0, 1.0))),
    (ValueError, "jvp called with different primal and tangent shapes",
     lambda: jax.jvp(jnp.sin, (ones(3),), (ones(4),))),
    (TypeError, "requires at least 3 positional arguments", lambda: jax.grad(add, 2)(1.0, 2.0)),
    (TypeError, "Output had shape: (3,)", lambda: jax.grad(jnp.sin)(ones(3))),
    (TypeError, "grad requires real- or complex-valued inputs", lambda: jax.grad(add)(1, 2)),
    (TypeError, "grad requires real-valued outputs", lambda: jax.grad(lambda x: 1j * x)(1.0)),
    (TypeError, "return a two-element tuple", lambda: jax.grad(jnp.sin, has_aux=True)(1.0)),
    (ValueError, "out was a <class 'int'> in the original output, but a <class 'tuple'> here",
     lambda: jax.vjp(jnp.sin, 1.0)[1]((1.0,))),
    (ValueError, "got int32[], but expected float32[]", lambda: jax.vjp(jnp.sin, 1.0)[1](1)),
    (TypeError, "called with 2 arguments", lambda: jax.vjp(jnp.sin, 1.0)[1](1.0, 2.0)),
    (ValueError, "tangent values inconsistent", lambda: jax.linearize(jnp.sin, 1.0)[1](1)),
    (TypeError, "linear_transpose only supports",
     lambda: jax.linear_transpose(lambda x: 2.0 * x, 1)),
    # loops and branches
    (TypeError, "The input carry c is a pytree leaf but the corresponding component of the carry "
     "output is a <class 'tuple'>", lambda: lax.scan(lambda c, x: ((c, c), x), 1.0, ones(3))),
    (TypeError, "The input carry component c['a'] has type float32[3] but the corresponding output "
     "carry component has type float32[2], so the shapes do not match",
     lambda: lax.scan(lambda c, x: ({"a": ones(2)}, x), {"a": ones(3)}, ones(3))),
    (ValueError, "different leading axis sizes: 3, 4",
     lambda: lax.scan(add, 0.0, (ones(3), ones(4)))),
    (ValueError, "disagrees with leading axis sizes [3].",
     lambda: lax.scan(lambda c, x: (c, x), 0.0, ones(3), length=4)),
    (TypeError, "scan body output must be a pair", lambda: lax.scan(add, 0.0, ones(3))),
    (TypeError, "cond_fun must return a boolean scalar",
     lambda: lax.while_loop(lambda c: c, lambda c: c, 1)),
    (TypeError, "while_loop body function carry input and carry output must have equal types",
     lambda: lax.while_loop(lambda c: c < 3, lambda c: c * 1.5, jnp.int32(1))),
    (TypeError, "lower and upper arguments to fori_loop must have equal types",
     lambda: lax.fori_loop(jnp.float32(0), jnp.int32(3), lambda i, c: c, 1)),
    (TypeError, "true_fun output is a pytree leaf but false_fun output is a <class 'tuple'>",
     lambda: lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)),
    (TypeError, "the output of true_fun at path ['b'] has type int32[] but the corresponding "
     "output of false_fun has type float32[]",
     lambda: lax.cond(True, lambda x: {"a": x, "b": 1}, lambda x: {"a": 1, "b": 2.0}, 1.0)),
    (TypeError, "Pred must be a scalar", lambda: lax.cond(ones(2), jnp.sin, jnp.cos, 1.0)),
    (TypeError, "Index type must be an integer", lambda: lax.switch(1.0, [jnp.sin, jnp.cos], 1.0)),
    (ValueError, "Empty branch sequence", lambda: lax.switch(1, [], 1.0)),
    (NotImplementedError, "not found for platform",
     lambda: lax.platform_dependent(1.0, tpu=jnp.sin)),
    # custom rules
    (AttributeError, "No JVP defined for custom_jvp function sin",
     lambda: jax.custom_jvp(jnp.sin)(1.0)),
    (AttributeError, "No VJP defined for custom_vjp function sin",
     lambda: jax.custom_vjp(jnp.sin)(1.0)),
    # devices
    (ValueError, "Received invalid value for device_put device",
     lambda: jax.device_put(1.0, "cpu")),
    (ValueError, "Mismatch details (2 found)",
     lambda: jax.device_put({"a": 1, "b": 2}, {"a": [None], "b": (None,)})),
    (ValueError, "Number of devices 1 must be >=", lambda: jax.make_mesh((2,), ("x",))),
    (ValueError, "requires the ndim of its first argument",
     lambda: jax.sharding.Mesh(jax.devices(), ("x", "y"))),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "call"), CASES, ids=[text[:50] for _, text, _ in CASES])
def test_bad_input_is_told(kind, text, call):
    with pytest.raises(kind) as error:
        call()
    assert text in str(error.value)


def test_tracers_that_escape_are_named_with_their_line():
    kept = []
    with jax.trace_side_effects("ignore"):
        jax.jit(lambda x: kept.append(jnp.sin(x)))(1.0)
    with pytest.raises(
        jax.errors.UnexpectedTracerError, match="was created on line .*test_messages"
    ):
        kept[0] + 1


def test_a_leak_is_found_where_it_happens():
    kept = []
    with (
        jax.checking_leaks(),
        pytest.raises(Exception, match="Leaked trace of the trace of") as error,
    ):
        jax.jit(lambda x: kept.append(x))(1.0)
    assert "is referred to by <list" in str(error.value)
    with jax.checking_leaks():
        assert float(jax.jit(jax.grad(jnp.sin))(0.0)) == 1.0


def test_conversions_of_traced_values():
    for function, text in [(float, r"x\.astype\(float\)"), (int, r"x\.astype\(int\)")]:
        with pytest.raises(TypeError, match=text):
            jax.jit(function)(1.0)
    with pytest.raises(TypeError, match="Only integer scalar arrays"):
        jax.jit(lambda x: range(x))(ones(3))
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        jax.jit(lambda x: 1 if x else 2)(ones(3))
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"with shape bool\[\]\.[^.]"):
        jax.jit(lambda x: 1 if x > 0 else 2)(1.0)


def test_closing_over_values_being_differentiated_is_told():
    def outer(x):
        f = jax.custom_jvp(lambda y: x * y)
        f.defjvp(lambda p, t: (f(*p), t[0]))
        return f(2.0)

    with pytest.raises(jax.errors.UnexpectedTracerError, match="can't close over"):
        jax.grad(outer)(1.0)


def test_forward_mode_of_a_backward_rule():
    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
    with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\)"):
        jax.jvp(f, (1.0,), (1.0,))
