"""What the optimizer did is counted: equations by pass, applications by rule."""

import frit
import frit.numpy as jnp
from frit.optimize.algebra import ALGEBRA
from frit.optimize.passes import count_equations
from frit.optimize.rewrite import Rule, rule_text
from frit.runtime.pipeline import compile_noted


def rewrites(function, *arguments):
    return compile_noted(frit.make_jaxpr(function)(*arguments))[2].rewrites


def test_rules_are_counted_by_application():
    found = rewrites(lambda x, y: (x - -y) * 1.0 + (y - -x), jnp.ones(3), jnp.ones(3))
    texts = {rule_text(r): n for r, n in found.rules.items() if isinstance(r, Rule)}
    assert texts == {"sub(x, neg(y)) -> add(x, y)": 2, "mul(x, 1.0) -> x": 1}


def test_simplifiers_are_counted_and_say_what_they_do():
    found = rewrites(lambda x: jnp.sort(x.T.T), jnp.ones((3, 4)))
    names = [r.__doc__ for r in found.rules]
    assert any("transposition" in text for text in names)


def test_passes_tell_how_many_equations_they_left():
    found = rewrites(lambda x: (frit.jit(jnp.sin)(x) + jnp.sin(x), jnp.cos(x))[0], jnp.ones(3))
    steps = {name: (before, after) for name, before, after in reversed(found.passes)}
    assert steps["inline calls"] == (5, 4)
    assert steps["drop dead equations"] == (4, 3)
    assert steps["merge equal equations"] == (3, 2)
    for (_, _, after), (_, before, _) in zip(found.passes, found.passes[1:], strict=False):
        assert after == before


def test_rules_in_bodies_of_loops_are_counted():
    def function(x):
        return frit.lax.fori_loop(0, 3, lambda i, c: jnp.sort(c) - -c, x)

    counts = [n for r, n in rewrites(function, jnp.ones(3)).rules.items() if isinstance(r, Rule)]
    assert counts == [1]


def test_every_rule_has_a_text():
    texts = [rule_text(rule) for rule in ALGEBRA]
    assert "mul(neg(x), neg(y)) -> mul(x, y)" in texts
    assert all(" -> " in text for text in texts)


def test_equations_of_bodies_count():
    closed = frit.make_jaxpr(lambda x: frit.lax.fori_loop(0, 3, lambda i, c: c * 2, x))(1.0)
    assert count_equations(closed.jaxpr) == len(closed.jaxpr.eqns) + sum(
        count_equations(v.jaxpr)
        for e in closed.jaxpr.eqns
        for v in e.params.values()
        if hasattr(v, "jaxpr")
    )


def test_rewritten_equations_keep_the_users_line():
    def function(x, y):
        return x - -y

    subject, _, _ = compile_noted(frit.make_jaxpr(function)(jnp.ones(3), jnp.ones(3)))
    (eqn,) = subject.jaxpr.eqns
    assert eqn.primitive.name == "add"
    assert eqn.source_info.function == "function"
