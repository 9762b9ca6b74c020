"""python -m frit doctor: each finding, by its message."""

import textwrap

import pytest

from tests.diagnostics.examined import examine, line_of, report_of, the_finding


def test_many_shapes_of_one_argument(tmp_path):
    code = """
    @jax.jit
    def total(weight, x):
        return weight * x.sum()

    for n in (3, 5, 9, 17):
        total(2.0, jnp.ones((n, 4)))
    """
    found = the_finding(tmp_path, code, "shapes")
    assert found["title"] == "total is compiled for 4 shapes of `x`"
    assert found["place"] == f"total (program.py:{line_of(tmp_path, '@jax.jit')})"
    assert found["details"] == [
        "`x`: axis 0 takes 4 sizes from 3 to 17: f32[3,4], f32[5,4], f32[9,4], f32[17,4]"
    ]
    assert "Pad to a few sizes" in found["remedy"] and "bit_length" in found["example"]
    assert found["count"] == 3 and found["seconds"] > 0


def test_one_other_shape_is_a_recompile(tmp_path):
    code = """
    f = jax.jit(lambda x, y: x + y)
    f(jnp.ones(8), jnp.ones(8)), f(jnp.ones(8), jnp.ones(8)), f(jnp.ones(3), jnp.ones(3))
    """
    found = the_finding(tmp_path, code, "recompiles")
    assert found["title"] == "<lambda> is traced again: arguments `x` and `y` changed"
    assert found["details"][0] == "argument `x`: f32[8] → f32[3]"
    assert "a last batch that is shorter can be left out" in found["remedy"]


@pytest.mark.parametrize(
    ("calls", "title", "remedy"),
    [
        ("f(x, 1.0), f(x, jnp.float32(1.0))", "argument `y` changed", "Give the argument one type"),
        ("f(x, (x,)), f(x, (x, x))", "structure of `y` changed", "better one stacked array"),
        ("f(x), f(x, train=True)", "keyword `train` changed", "do not mark it static"),
        (
            "f(x)\nwith jax.numpy_rank_promotion('warn'): f(x)",
            "setting `numpy_rank_promotion` changed",
            "Set it once",
        ),
        ("f(x); jax.clear_caches(); f(x)", "after its cache was cleared", "Clear them only"),
    ],
)
def test_recompiles_by_cause(tmp_path, calls, title, remedy):
    code = """
    @functools.partial(jax.jit, static_argnames="train")
    def f(x, y=None, train=False):
        return x * 2

    x = jnp.ones(3)
    """
    found = the_finding(tmp_path, textwrap.dedent(code) + calls, "recompiles")
    assert title in found["title"]
    assert remedy in found["remedy"]


@pytest.mark.parametrize(("times", "ending"), [(1, "changed"), (3, "keeps changing")])
def test_captures_that_change(tmp_path, times, ending):
    code = f"""
    RATE = 0.5

    @jax.jit
    def step(x):
        return x * RATE

    for RATE in range({times + 1}):
        step(jnp.ones(3))
    """
    found = the_finding(tmp_path, code, "captures")
    assert found["title"] == f"step is traced again because global `RATE` {ending}"
    line = line_of(tmp_path, "return x * RATE")
    assert found["details"][0] == f"global `RATE` (program.py:{line}): 0 → 1"
    assert "Pass it as an argument" in found["remedy"]
    assert found["count"] == times


@pytest.mark.parametrize("policy", ["warn", "freeze", "error"])
def test_captures_that_went_stale(tmp_path, policy):
    code = f"""
    import contextlib
    RATE = 0.5

    @functools.partial(jax.jit, captures="{policy}")
    def step(x):
        return x * RATE

    step(jnp.ones(3))
    RATE = 0.25
    for i in range(5):
        with contextlib.suppress(RuntimeError):
            step(jnp.ones(3))
    """
    found = the_finding(tmp_path, code, "stale")
    assert found["title"] == "global `RATE` changed after step was compiled"
    assert "0.5 → 0.25" in found["details"][0]
    done = "were refused" if policy == "error" else "went on with the old value"
    assert found["details"][1] == f'5 calls {done} (captures="{policy}")'
    assert found["severity"] == ("note" if policy == "error" else "wrong")


def test_jit_made_in_a_loop(tmp_path):
    code = """
    for i in range(6):
        jax.jit(lambda x: x * 2)(jnp.ones(3))
    """
    found = the_finding(tmp_path, code, "jit-in-loop")
    assert found["title"] == "jit is made anew for <lambda>, 6 times"
    assert found["count"] == 5
    assert "Define and jit the function once" in found["remedy"]


def test_jit_made_in_a_loop_within_a_trace(tmp_path):
    code = """
    @jax.jit
    def network(x):
        for i in range(4):
            x = jax.jit(lambda y: jnp.sin(y))(x)
        return x

    network(jnp.ones(3))
    """
    found = the_finding(tmp_path, code, "jit-in-loop")
    assert found["title"] == "jit is made anew for network.<lambda>, 4 times"


def test_jit_of_one_function_made_anew_is_no_finding(tmp_path):
    code = """
    def double(x):
        return x * 2

    for i in range(6):
        jax.jit(double)(jnp.ones(3))
    """
    assert report_of(tmp_path, code)["findings"] == []


def test_control_flow_outside_of_jit(tmp_path):
    code = """
    for i in range(4):
        jax.lax.while_loop(lambda c: c < i, lambda c: c + 1, 0)
    """
    found = the_finding(tmp_path, code, "jit-in-loop")
    assert found["title"] == (
        "while_cond, while_loop outside of jit: traced 4 times, for new functions each time"
    )
    assert found["place"] == f"program.py:{line_of(tmp_path, 'while_loop')}"
    assert "Jit the function that this line calls" in found["remedy"]


def test_statics_compared_by_identity(tmp_path):
    code = """
    class Config:
        size = 3

    @functools.partial(jax.jit, static_argnums=1)
    def model(x, config):
        return x * config.size

    for i in range(4):
        model(jnp.ones(3), Config())
    """
    found = the_finding(tmp_path, code, "statics")
    assert found["title"] == "model is traced for each new object in the static argument `config`"
    assert found["details"] == ["4 objects of class Config, compared by identity"]
    assert "Config has no equality of its own" in found["remedy"]
    assert "dataclass(frozen=True)" in found["example"]


def test_functions_as_statics(tmp_path):
    code = """
    @functools.partial(jax.jit, static_argnums=0)
    def apply(f, x):
        return f(x)

    for i in range(4):
        apply(lambda x: x * 2, jnp.ones(3))
    """
    found = the_finding(tmp_path, code, "statics")
    assert "Define it once" in found["remedy"]


def test_statics_without_hash(tmp_path):
    code = """
    try:
        jax.jit(lambda x, sizes: x, static_argnums=1)(jnp.ones(3), [1, 2])
    except ValueError:
        pass
    """
    found = the_finding(tmp_path, code, "statics")
    assert found["title"] == "static argument 'sizes' has no hash: list"
    assert "a tuple for a list" in found["remedy"]


def test_lost_side_effects(tmp_path):
    code = """
    @jax.jit
    def f(x):
        print("x is", x)
        return x + time.time()

    f(jnp.ones(3))
    """
    report = report_of(tmp_path, code)
    assert {(f["kind"], f["severity"]) for f in report["findings"]} == {("side-effects", "wrong")}
    titles = {f["title"]: f for f in report["findings"]}
    printed = titles["a traced value is printed or formatted only while f is traced"]
    assert printed["place"] == f"f (program.py:{line_of(tmp_path, 'print(')})"
    assert "debug.print" in printed["remedy"]
    clock = titles["the clock is read only while f is traced"]
    assert "Read the clock around the call" in clock["remedy"]


def test_side_effects_are_told_though_warnings_are_ignored(tmp_path):
    code = """
    import warnings
    warnings.simplefilter("ignore")

    @jax.jit
    def f(x):
        print(x)
        return x

    f(jnp.ones(3))
    """
    assert the_finding(tmp_path, code, "side-effects")


def test_kept_tracers(tmp_path):
    code = """
    kept = []

    @jax.jit
    def f(x):
        kept.append(x)
        return x

    f(jnp.ones(3))
    """
    found = the_finding(tmp_path, code, "leaks")
    assert found["title"] == "f keeps a traced value"
    assert "kept[0]" in found["details"][0] and "Return the value" in found["remedy"]


def test_a_leaked_tracer_that_ends_the_program(tmp_path):
    code = """
    class Model: pass

    model = Model()

    @jax.jit
    def f(x):
        model.y = x * 2
        return x

    f(jnp.ones(3))
    model.y + 1
    """
    status, _, err = examine(tmp_path, code)
    assert status == 1
    assert "a traced value was used after its trace had ended, which ended the program" in err
    assert f"it was made at program.py:{line_of(tmp_path, 'x * 2')}" in err
    assert "f keeps a traced value  [leaks" in err


def test_large_constants(tmp_path):
    code = """
    table = jnp.ones((2000, 2000))
    small = jnp.ones(100)

    @jax.jit
    def look_up(i):
        return table[i] + small[i]

    look_up(3), look_up(jnp.int32(4))
    """
    found = [f for f in report_of(tmp_path, code)["findings"] if f["kind"] == "constants"]
    line = line_of(tmp_path, "return table[i]")
    assert [f["title"] for f in found] == [
        f"look_up captures 16 MB: global `table` (program.py:{line})"
    ]
    assert "Pass the array as an argument" in found[0]["remedy"]


def test_float64_that_is_asked_for(tmp_path):
    code = """
    import warnings
    warnings.simplefilter("ignore")
    for i in range(3):
        jnp.zeros(3, dtype="float64")
    """
    found = the_finding(tmp_path, code, "narrowing")
    assert found["title"] == "float64 is asked for and becomes float32"
    assert found["details"] == [f"zeros at program.py:{line_of(tmp_path, 'jnp.zeros')}, 3 times"]
    assert "jax_enable_x64" in found["remedy"]


def test_numpy_arrays_that_are_narrowed(tmp_path):
    code = """
    f = jax.jit(lambda batch: batch["x"] + 1)
    f({"x": np.linspace(0, 1, 3)})
    jnp.asarray(np.linspace(0, 1, 3))
    jnp.asarray([0.1, 0.2]), jnp.asarray(np.arange(3)), jnp.float32(np.float64(1.0))
    """
    found = the_finding(tmp_path, code, "narrowing")
    assert found["title"] == "NumPy arrays of float64 become float32"
    assert found["severity"] == "note"
    first, second = (line_of(tmp_path, text) for text in ('f({"x"', "asarray(np.linspace"))
    assert set(found["details"]) == {
        f"argument `batch['x']` of <lambda> at program.py:{first}",
        f"at program.py:{second}",
    }


def test_numbers_that_do_not_fit(tmp_path):
    found = the_finding(tmp_path, "jnp.asarray(np.array([1, 2**40]))", "narrowing")
    assert found["title"] == "NumPy arrays of int64 become int32; 1 number does not fit"
    assert found["severity"] == "wrong"


def test_nothing_is_narrowed_with_64_bits(tmp_path):
    code = """
    jax.config.update("jax_enable_x64", True)
    jax.jit(lambda x: x)(np.linspace(0, 1, 3)), jnp.zeros(3, "float64")
    """
    assert report_of(tmp_path, code)["findings"] == []


def test_frit_s_own_functions_stand_at_the_user_s_line(tmp_path):
    code = """
    for n in range(3, 8):
        jax.random.normal(jax.random.key(0), (n,))
    """
    found = the_finding(tmp_path, code, "recompiles")
    line = line_of(tmp_path, "normal")
    assert found["title"] == f"frit's normal, called at program.py:{line} is compiled 4 times"
