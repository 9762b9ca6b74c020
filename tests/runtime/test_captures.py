"""What a function reads from outside its arguments is part of its signature."""

import dataclasses
import functools
import gc
import importlib
import math
import operator
import threading
import warnings

import numpy as np
import pytest

import frit
import frit.numpy as jnp
from frit import lax
from frit.config import captures
from frit.errors import CaptureChangedError, CaptureChangedWarning
from frit.ir.primitive import Tracer
from frit.runtime.cache import traces_of
from frit.runtime.execute import program_of

RATE = 0.1


class Config:
    def __init__(self, **entries):
        self.__dict__.update(entries)


CONFIG = Config(lr=0.1, opt=Config(beta=2.0))
TABLE = {"lr": 3.0, "nested": {"w": 4.0}}
SEQUENCE = [1.0, 2.0]
WEIGHTS = jnp.ones(3)
COUNTER = 0
TRACES = []


def helper(x):
    return x * RATE


def through_helper(x):
    return helper(x) + 1.0


@dataclasses.dataclass
class Model:
    scale: float

    def __call__(self, x):
        return x * self.scale

    @property
    def double(self):
        return self.scale * 2.0

    def apply(self, x):
        return x * self.double


MODEL = Model(2.0)
MODELS = [Model(1.0), Model(3.0)]
OPERATIONS = [lambda x: x * RATE, lambda x: x + RATE]


def changed_call(monkeypatch, function, change, x=2.0, wrap=frit.jit):
    """The results before and after a change, each beside that of plain Python."""
    compiled = wrap(function)
    expected = function(x)
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-6)
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-6)
    change()
    now = function(x)
    assert float(now) != float(expected)
    np.testing.assert_allclose(compiled(x), now, rtol=1e-6)


def set_global(name, value):
    def change():
        globals()[name] = value

    return change


@pytest.fixture(autouse=True)
def restored():
    """The module's globals, as they were."""
    names = ("RATE", "WEIGHTS", "COUNTER", "MODEL", "CONFIG", "TABLE", "SEQUENCE", "MODELS")
    before = {name: globals()[name] for name in names}
    frit.clear_caches()
    CONFIG.lr, CONFIG.opt.beta = 0.1, 2.0
    TABLE.update(lr=3.0, nested={"w": 4.0})
    SEQUENCE[:] = [1.0, 2.0]
    MODEL.scale = 2.0
    yield
    globals().update(before)
    MODELS[:] = MODELS[:2]


# ---- each way to read


def read_global(x):
    return x * RATE


def read_attribute(x):
    return x * CONFIG.lr


def read_chain(x):
    return x * CONFIG.opt.beta


def read_item(x):
    return x * TABLE["lr"] * TABLE["nested"]["w"]


def read_alias(x):
    c = CONFIG
    deeper = c.opt
    return x * deeper.beta


def read_by_variable_key(x):
    total = x
    for key in ("lr",):
        total = total * TABLE[key]
    return total


def read_by_iteration(x):
    return sum(x * s for s in SEQUENCE)


def read_by_loop_over_items(x):
    for _, (_, entry) in enumerate(TABLE.items()):
        if not isinstance(entry, dict):
            x = x * entry
    return x


def read_in_comprehension(x):
    return sum([x * RATE for _ in range(2)])


def read_in_nested_function(x):
    def inner(y):
        return y * RATE

    return inner(x)


def read_in_lambda(x):
    return (lambda y: y * RATE)(x)


def read_by_getattr(x):
    return x * getattr(CONFIG, "lr")  # noqa: B009 - the spelling is what is tested


def read_property(x):
    return x * MODEL.double


def read_method(x):
    return MODEL.apply(x)


def read_callable_object(x):
    return MODEL(x)


def read_in_list_of_functions(x):
    return sum(f(x) for f in OPERATIONS)


def read_objects_of_list(x):
    for model in MODELS:
        x = model(x)
    return x


def read_by_index(x):
    for i in range(2):
        x = MODELS[i](x)
    return x


def read_conditionally(x):
    return x * (CONFIG.lr if RATE else CONFIG.opt.beta)


def get_config():
    return CONFIG


def read_through_getter(x):
    return x * get_config().lr


def with_default(x, config=CONFIG):
    return x * config.lr


def pass_config(x):
    return use_config(x, CONFIG, opt=CONFIG.opt)


def use_config(x, config, opt=None):
    return x * config.lr * opt.beta


def set_attribute(target, name, value):
    return lambda: setattr(target, name, value)


READS = {
    "global": (read_global, set_global("RATE", 0.5)),
    "helper": (through_helper, set_global("RATE", 0.5)),
    "attribute": (read_attribute, set_attribute(CONFIG, "lr", 7.0)),
    "rebound object": (read_attribute, set_global("CONFIG", Config(lr=9.0))),
    "chain": (read_chain, set_attribute(CONFIG.opt, "beta", 7.0)),
    "item": (read_item, lambda: TABLE["nested"].update(w=9.0)),
    "alias": (read_alias, set_attribute(CONFIG.opt, "beta", 7.0)),
    "variable key": (read_by_variable_key, lambda: TABLE.update(lr=9.0)),
    "iteration": (read_by_iteration, lambda: SEQUENCE.append(5.0)),
    "iteration, element": (read_by_iteration, lambda: SEQUENCE.__setitem__(0, 5.0)),
    "items": (read_by_loop_over_items, lambda: TABLE.update(lr=9.0)),
    "comprehension": (read_in_comprehension, set_global("RATE", 0.5)),
    "nested function": (read_in_nested_function, set_global("RATE", 0.5)),
    "lambda": (read_in_lambda, set_global("RATE", 0.5)),
    "getattr": (read_by_getattr, set_attribute(CONFIG, "lr", 7.0)),
    "property": (read_property, set_attribute(MODEL, "scale", 7.0)),
    "method": (read_method, set_attribute(MODEL, "scale", 7.0)),
    "callable object": (read_callable_object, set_attribute(MODEL, "scale", 7.0)),
    "list of functions": (read_in_list_of_functions, set_global("RATE", 0.5)),
    "list of objects": (read_objects_of_list, lambda: MODELS.append(Model(5.0))),
    "index": (read_by_index, set_attribute(MODELS[1], "scale", 8.0)),
    "ternary": (read_conditionally, set_attribute(CONFIG, "lr", 7.0)),
    "getter": (read_through_getter, set_attribute(CONFIG, "lr", 7.0)),
    "default": (with_default, set_attribute(CONFIG, "lr", 7.0)),
    "argument": (pass_config, set_attribute(CONFIG, "lr", 7.0)),
    "keyword argument": (pass_config, set_attribute(CONFIG.opt, "beta", 7.0)),
}


@pytest.mark.parametrize("way", READS)
def test_a_changed_capture_retraces(monkeypatch, way):
    function, change = READS[way]
    changed_call(monkeypatch, function, change)
    MODELS[1].scale = 3.0


WRAPPERS = {
    "jit": frit.jit,
    "jit of jit": lambda f: frit.jit(frit.jit(f)),
    "partial": lambda f: frit.jit(functools.partial(f)),
    "lambda": lambda f: frit.jit(lambda x: f(x)),
    "value of grad": lambda f: frit.jit(lambda x: frit.value_and_grad(f)(x)[0]),
    "vmap": lambda f: frit.jit(lambda x: frit.vmap(f)(jnp.full(2, x))[0]),
    "jit in vmap": lambda f: lambda x: frit.vmap(frit.jit(f))(jnp.full(2, x))[0],
    "jit in grad": lambda f: lambda x: frit.value_and_grad(frit.jit(f))(x)[0],
    "checkpoint": lambda f: frit.jit(frit.checkpoint(f)),
    "scan": lambda f: frit.jit(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]),
    "eager scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    "eager cond": lambda f: lambda x: lax.cond(True, f, lambda v: v, x),
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 1, lambda i, c: f(c), x),
    "while_loop": lambda f: frit.jit(
        lambda x: lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]
    ),
    "custom_jvp": lambda f: frit.jit(_with_rule(f)),
    "wraps": lambda f: frit.jit(_decorated(f)),
    "map": lambda f: frit.jit(lambda x: lax.map(f, jnp.full(2, x))[0]),
    "tree.map": lambda f: frit.jit(lambda x: frit.tree.map(f, {"a": x})["a"]),
    "made anew": lambda f: lambda x: frit.jit(f)(x),
    "static argument": lambda f: lambda x: _apply(f, x),
}


@functools.partial(frit.jit, static_argnums=0)
def _apply(f, x):
    return f(x)


def _with_rule(f):
    g = frit.custom_jvp(lambda x: f(x))
    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0]))
    return g


def _decorated(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("way", ["helper", "chain", "callable object"])
def test_captures_are_seen_through_wrappers(monkeypatch, wrapper, way):
    function, change = READS[way]
    changed_call(monkeypatch, function, change, 2.0, WRAPPERS[wrapper])


def test_make_jaxpr_sees_changed_captures_of_inner_functions():
    inner = frit.jit(read_global)
    outer = frit.make_jaxpr(lambda x: inner(x))
    assert "mul a 0.1:f32[]" in str(outer(1.0))
    set_global("RATE", 0.5)()
    assert "mul a 0.5:f32[]" in str(outer(1.0))


def test_closure_cells_are_captures():
    scale = 2.0

    def change(value):
        nonlocal scale
        scale = value

    f = frit.jit(lambda x: x * scale)
    assert f(3.0) == 6.0
    change(5.0)
    assert f(3.0) == 15.0
    change(2.0)
    assert f(3.0) == 6.0
    assert f.cache_info().misses == 2  # the first trace is found again


def test_a_method_reads_its_self():
    class Trainer:
        def __init__(self):
            self.scale = 2.0

        @functools.partial(frit.jit, static_argnums=0)
        def static_step(self, x):
            return x * self.scale

        def step(self, x):
            return x * self.scale

    trainer = Trainer()
    step = frit.jit(trainer.step)
    assert step(3.0) == 6.0
    assert trainer.static_step(3.0) == 6.0
    trainer.scale = 5.0
    assert step(3.0) == 15.0
    assert trainer.static_step(3.0) == 15.0
    assert frit.jit(trainer.step)(3.0) == 15.0


def test_a_base_class_s_method_is_followed():
    class Base:
        def __call__(self, x):
            return x * self.factor

    class Derived(Base):
        def __call__(self, x):
            return super().__call__(x) + 1.0

    model = Derived()
    model.factor = 2.0
    f = frit.jit(lambda x: model(x))
    assert f(3.0) == 7.0
    model.factor = 3.0
    assert f(3.0) == 10.0


def test_a_static_argument_changed_after_the_fact_is_seen():
    f = frit.jit(lambda x, config: x * config.lr, static_argnums=1)
    config = Config(lr=2.0)
    assert f(1.0, config) == 2.0
    config.lr = 4.0
    assert f(1.0, config) == 4.0


def test_a_redefined_function_is_seen():
    space = {"jit": frit.jit}
    exec("def g(x): return x * 2.0\nf = jit(lambda x: g(x))", space)
    assert space["f"](3.0) == 6.0
    exec("def g(x): return x * 4.0", space)
    assert space["f"](3.0) == 12.0


def test_a_function_made_again_with_equal_captures_does_not_retrace():
    def make(scale):
        return lambda x: x * scale

    space = Config(g=make(2.0))
    f = frit.jit(lambda x: space.g(x))
    assert f(3.0) == 6.0
    space.g = make(2.0)
    assert f(3.0) == 6.0
    assert f.cache_info().misses == 1
    space.g = make(3.0)
    assert f(3.0) == 9.0


# ---- equality


def traces_while_reading(*values):
    """How often a function is traced that reads these values, one at each call."""
    space = Config(value=None)
    seen = []

    def f(x):
        seen.append(space.value)
        return x

    compiled = frit.jit(f)
    for value in values:
        space.value = value
        compiled(1.0)
    return len(seen)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, True), (1, 1.0), (0.0, -0.0), (1.0, np.float32(1.0)), ((1, 2), (1, 2.0)),
        (complex(0.0, 0.0), complex(0.0, -0.0)), ("a", b"a"), (None, False),
        (slice(0, 1), slice(0, True)),
    ],
)  # fmt: skip
def test_values_that_differ_in_type_or_bits_are_different_captures(before, after):
    assert traces_while_reading(before, after) == 2


@pytest.mark.parametrize(
    "value", [math.nan, np.float32("nan"), complex(math.nan, 0.0), (1, (2.5, "a")), 10**30, "text"]
)
def test_equal_values_that_are_other_objects_do_not_retrace(value):
    other = type(value)(value) if not isinstance(value, tuple) else (1, (2.5, "a"))
    assert traces_while_reading(value, other, other) == 1


# ---- arrays


def test_a_rebound_array_retraces():
    changed_call(
        None, lambda x: (x * WEIGHTS).sum(), lambda: globals().update(WEIGHTS=jnp.full(3, 7.0))
    )


def test_a_small_numpy_array_changed_in_place_is_seen():
    data = np.ones(3, np.float32)
    f = frit.jit(lambda x: x * data)
    np.testing.assert_array_equal(f(2.0), [2.0, 2.0, 2.0])
    data[1] = 5.0
    np.testing.assert_array_equal(f(2.0), [2.0, 10.0, 2.0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_a_large_numpy_array_changed_in_place_is_seen_without_a_retrace(dtype):
    data = np.ones(100_000, dtype)
    f = frit.jit(lambda x: jnp.sum(jnp.asarray(data) * x) + jnp.sin(data)[0] * 0.0)
    assert f(jnp.float32(2.0)) == 200_000.0
    data[:] = 3
    assert f(jnp.float32(2.0)) == 600_000.0
    assert f(jnp.float32(2.0)) == 600_000.0
    assert f.cache_info().misses == 1


def test_what_numpy_computes_of_a_large_array_is_seen():
    data = np.ones(100_000, np.float32)
    by_method = frit.jit(lambda x: x * data.mean())
    by_function = frit.jit(lambda x: x * np.mean(data))
    by_operator = frit.jit(lambda x: x + (data * 2)[0])
    by_index = frit.jit(lambda x: x * data[0])
    by_ufunc = frit.jit(lambda x: x * np.negative(data)[0])
    functions = (by_method, by_function, by_operator, by_index, by_ufunc)
    assert [float(f(1.0)) for f in functions] == [1.0, 1.0, 3.0, 1.0, -1.0]
    data[:] = 4
    assert [float(f(1.0)) for f in functions] == [4.0, 4.0, 9.0, 4.0, -4.0]


def test_a_container_of_arrays_is_guarded_by_its_entries():
    params = {"w": jnp.ones(2), "layers": [jnp.zeros(2)]}
    f = frit.jit(lambda x: frit.tree.reduce(lambda a, b: a + b.sum(), params, x))
    assert f(1.0) == 3.0
    params["layers"][0] = jnp.ones(2)
    assert f(1.0) == 5.0
    params["layers"].append(jnp.ones(2))
    assert f(1.0) == 7.0
    params["b"] = jnp.ones(1)
    assert f(1.0) == 8.0


# ---- what is no capture


def test_what_the_function_itself_assigns_is_no_capture():
    count = 0
    log = []
    state = Config(calls=0)

    def f(x):
        nonlocal count
        global COUNTER
        count += 1
        COUNTER += 1
        state.calls += 1
        log.append(state.calls)
        return x + 1.0

    compiled = frit.jit(f)
    for _ in range(4):
        compiled(1.0)
    assert count == COUNTER == state.calls == len(log) == 1
    state.calls = 10
    compiled(1.0)
    assert count == 1


def test_recursion_is_followed():
    def power(x, n):
        return x * RATE if n == 0 else power(x, n - 1) * x

    changed_call(None, lambda x: power(x, 3), set_global("RATE", 0.5))


def test_rebinding_during_a_training_loop():
    schedule = Config(lr=1.0)
    step = frit.jit(lambda w: w - schedule.lr)
    w = jnp.float32(10.0)
    for _ in range(2):
        w = step(w)
    schedule.lr = 0.5
    for _ in range(2):
        w = step(w)
    assert float(w) == 7.0


def test_threads_share_traces():
    f = frit.jit(through_helper)
    results = []
    threads = [threading.Thread(target=lambda: results.append(float(f(2.0)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(results, [1.2] * 8, rtol=1e-6)


# ---- deferred rules, tracers


def test_the_rule_of_a_custom_derivative_is_followed():
    space = Config(slope=2.0)

    @frit.custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: (x, None), lambda _, ct: (ct * space.slope,))
    slope = frit.grad(frit.jit(lambda x: f(x)))
    assert slope(1.0) == 2.0
    space.slope = 3.0
    assert slope(1.0) == 3.0
    compiled = frit.jit(frit.grad(f))
    assert compiled(1.0) == 3.0
    space.slope = 4.0
    assert compiled(1.0) == 4.0


def test_one_block_in_a_loop_is_traced_once():
    calls = []

    @frit.jit
    def block(w, x):
        calls.append(1)
        return jnp.tanh(w @ x) * RATE

    @frit.jit
    def model(ws, x):
        for i in range(24):
            x = block(ws[i], x)
        return x.sum()

    frit.grad(model)(jnp.ones((24, 3, 3)), jnp.ones(3))
    assert len(calls) == 1


def test_a_traced_value_closed_over_by_an_inner_jit_is_keyed_by_its_type():
    calls = []

    @frit.jit
    def outer(x):
        cell = x

        @frit.jit
        def inner(y):
            calls.append(1)
            return y * cell

        total = inner(1.0)
        cell = x + 1.0
        return total + inner(1.0)

    assert outer(3.0) == 7.0
    assert len(calls) == 1


def test_two_axis_sizes_of_one_name_are_two_entries():
    f = frit.jit(lambda x: lax.psum(x, "i") + lax.psum(1, "i"))
    assert frit.vmap(f, axis_name="i")(jnp.ones(2))[0] == 4.0
    assert frit.vmap(f, axis_name="i")(jnp.ones(3))[0] == 6.0


def test_a_traced_value_that_was_closed_over_is_not_kept():
    @frit.jit
    def outer(x):
        return frit.jit(lambda y: y * x)(1.0)

    def tracers():
        gc.collect()
        return {id(o): o for o in gc.get_objects() if isinstance(o, Tracer)}

    before = tracers()  # of tests that leak some on purpose
    frit.grad(outer)(2.0)
    assert tracers().keys() == before.keys()


def test_an_outer_trace_inherits_the_guards_of_an_inner_one_it_cannot_see():
    """What library code calls is not followed; that it was called is known when it is traced."""
    space = Config(scale=2.0)
    inner = frit.jit(lambda x: x * space.scale)
    chosen = {"inner": inner}
    pick = operator.itemgetter("inner")
    outer = frit.jit(lambda x: pick(chosen)(x) + 1.0)
    inner(3.0)
    assert outer(3.0) == 7.0
    space.scale = 3.0
    assert outer(3.0) == 10.0


def test_constants_of_the_user_s_modules_are_captures(monkeypatch, tmp_path):
    (tmp_path / "settings_of_user.py").write_text("RATE = 2.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = importlib.import_module("settings_of_user")
    f = frit.jit(lambda x: x * settings.RATE)
    assert f(3.0) == 6.0
    settings.RATE = 4.0
    assert f(3.0) == 12.0


def test_captured_arrays_are_arguments_of_the_code():
    """Neither folded nor copied into it: another array of that shape runs the same code."""
    space = Config(table=jnp.arange(50_000.0))
    f = frit.jit(lambda i: (space.table * 2.0)[i])
    assert f(3) == 6.0
    size = f.explain().traces[0].code_bytes
    assert size < 20_000
    space.table = space.table + 1.0
    assert f(3) == 8.0
    assert f.explain().traces[1].code_bytes == size
    first, second = (e.closed for e in traces_of(f._function).entries.values())
    assert program_of(first).executable is program_of(second).executable


# ---- policies


def test_warn_keeps_the_value_and_tells_once():
    space = Config(lr=0.1)
    f = frit.jit(lambda x: x * space.lr, captures="warn")
    f(1.0)
    space.lr = 0.01
    with pytest.warns(CaptureChangedWarning) as told:
        np.testing.assert_allclose(f(1.0), 0.1, rtol=1e-6)
        np.testing.assert_allclose(f(1.0), 0.1, rtol=1e-6)
    assert len(told) == 1
    text = str(told[0].message)
    assert "closure variable `space.lr` (test_captures.py:" in text
    assert "0.1 → 0.01" in text
    assert "Pass the value as an argument" in text


def test_error_refuses_the_call():
    space = Config(lr=0.1)
    f = frit.jit(lambda x: x * space.lr, captures="error")
    f(1.0)
    space.lr = 0.01
    with pytest.raises(
        CaptureChangedError, match=r"`space.lr` \(test_captures.py:\d+\): 0.1 → 0.01"
    ):
        f(1.0)


def test_freeze_keeps_the_first_value():
    space = Config(lr=0.1)
    f = frit.jit(lambda x: x * space.lr, captures="freeze")
    f(1.0)
    space.lr = 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(f(1.0), 0.1, rtol=1e-6)


@pytest.mark.parametrize("policy", ["freeze", "warn", "error"])
def test_traced_values_are_operands_under_every_policy(policy):
    space = Config(y=None)
    inner = frit.jit(lambda x: jnp.sum(x * space.y), captures=policy)

    @frit.jit
    def outer(x, y):
        space.y = y
        result = inner(x)
        space.y = None
        return result

    assert outer(2.0, jnp.ones(3)) == 6.0
    assert outer(2.0, jnp.ones(4)) == 8.0


def test_the_setting_chooses_the_policy():
    space = Config(lr=0.1)
    f = frit.jit(lambda x: x * space.lr)
    with captures("freeze"):
        f(1.0)
        space.lr = 0.01
        np.testing.assert_allclose(f(1.0), 0.1, rtol=1e-6)
    np.testing.assert_allclose(f(1.0), 0.01, rtol=1e-6)


def test_a_capture_that_keeps_changing_is_told_once():
    space = Config(step=0)
    f = frit.jit(lambda x: x * space.step)
    with pytest.warns(CaptureChangedWarning, match="keeps changing costs a compilation") as told:
        for i in range(8):
            space.step = i
            f(1.0)
    assert len(told) == 1
    assert f.cache_info().misses == 8


def test_a_wrong_policy_is_refused():
    with pytest.raises(ValueError, match="'retrace', 'warn', 'error', 'freeze'; got 'ignore'"):
        frit.jit(lambda x: x, captures="ignore")
