"""What bytecode reads: chains from globals, cells and arguments, found without running it."""

import dis

import pytest

from frit.runtime.reads import reads_of
from frit.runtime.reads.instructions import BY_OPCODE
from frit.runtime.reads.machine import Machine


def text(origin):
    kind, *rest = origin
    if kind == "attr":
        return f"{text(rest[0])}.{rest[1]}"
    if kind == "item":
        return f"{text(rest[0])}[{rest[1]!r}]"
    if kind == "each":
        return f"each {text(rest[0])}"
    if kind in ("result", "made"):
        return f"{kind}{rest[0]}"
    if kind == "group":
        return "(" + ", ".join("|".join(sorted(map(text, e))) for e in rest[0]) + ")"
    return rest[0] if kind in ("global", "cell", "local") else kind


def used(function):
    kept = [o for o in reads_of(function.__code__).used if o[0] != "const"]
    return sorted(text(o) for o in kept if "const" not in text(o))


def calls(function):
    return [
        ("|".join(sorted(map(text, call.callee))), *("|".join(map(text, a)) for a in call.args))
        for call in reads_of(function.__code__).calls
    ]


def test_chains():
    assert used(lambda x: x * cfg.opt.lr + table["w"][0]) == ["cfg.opt.lr", "table['w'][0]", "x"]  # noqa: F821


def test_an_alias_is_followed():
    def f(x):
        c = cfg  # noqa: F821
        o = c.opt
        return x * o.lr

    assert "o.lr" in used(f)
    assert reads_of(f.__code__).variables["o"] == {("attr", ("local", "c"), "opt")}


def test_both_sides_of_a_choice():
    def f(x):
        return x + (a.p if x else b.q)  # noqa: F821

    assert {"a.p", "b.q"} <= set(used(f))


def test_calls_with_their_arguments():
    def f(x):
        return helper(x, cfg, lr=cfg.lr)  # noqa: F821

    (call,) = reads_of(f.__code__).calls
    assert calls(f) == [("helper", "x", "cfg")]
    assert dict(call.kwargs) == {"lr": frozenset({("attr", ("global", "cfg"), "lr")})}


def test_methods_and_loops():
    def f(x):
        for name, layer in enumerate(model.layers):  # noqa: F821
            x = layer.apply(x, name)
        return x

    assert calls(f)[0] == ("enumerate", "model.layers")
    assert calls(f)[1][0] == "layer.apply"
    assert reads_of(f.__code__).variables["layer"] == {("item", ("each", ("result", 0)), 1)}


def test_assignments_are_no_reads():
    def f(x):
        global counter
        counter = counter + 1
        state.n += 1  # noqa: F821
        table["k"] = x  # noqa: F821
        return x

    assert sorted(map(text, reads_of(f.__code__).assigned)) == ["counter", "state.n", "table['k']"]


def test_nested_functions_and_comprehensions():
    def f(x):
        scale = cfg.scale  # noqa: F821
        return [y * scale for y in (lambda v: v * rate)(x)]  # noqa: F821

    made = reads_of(f.__code__).made
    assert ("scale",) in [m.free for m in made] or dis.hasfree
    assert any("rate" in used(type(f)(m.code, {})) for m in made if not m.free)


def test_what_follows_an_exception_handler_is_still_read():
    def f(x):
        try:
            y = risky(x)  # noqa: F821
        except ValueError as error:
            y = cfg.fallback + len(str(error))  # noqa: F821
        with context(cfg.lock):  # noqa: F821
            return y * cfg.scale  # noqa: F821

    assert {"cfg.fallback", "cfg.scale"} <= set(used(f))
    assert ("context", "cfg.lock") in calls(f)


def test_lines_of_reads():
    def f(x):
        y = x + 1
        return y * cfg.lr  # noqa: F821

    found = reads_of(f.__code__)
    offset = found.used[("attr", ("global", "cfg"), "lr")]
    assert found.line_of(offset) == f.__code__.co_firstlineno + 2


@pytest.mark.parametrize("name", ["LOAD_ATTR", "LOAD_METHOD", "BINARY_SUBSCR", "CALL", "FOR_ITER"])
def test_an_unknown_instruction_makes_the_result_coarser(name):
    """As if another Python had brought it: what it takes counts as used."""

    def f(x):
        for layer in model.layers:  # noqa: F821
            x = layer(x, cfg["lr"]) + cfg.opt.beta * helper.run(cfg)  # noqa: F821
        return x

    handlers = list(BY_OPCODE)
    if name not in dis.opmap:
        pytest.skip(f"this Python has no {name}")
    handlers[dis.opmap[name]] = None
    machine = Machine(f.__code__, handlers)
    machine.run()
    everything = f"{machine.reads.used} {machine.reads.calls} {machine.reads.variables}"
    for root in ("model", "cfg", "helper"):
        assert root in everything


def test_every_function_of_the_standard_library_can_be_read():
    import argparse
    import inspect
    import typing

    for module in (argparse, inspect, typing, dis):
        for value in list(vars(module).values()):
            code = getattr(value, "__code__", None)
            if code is not None:
                reads_of(code)
