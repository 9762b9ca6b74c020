"""What silence costs to break: guards, detection of side effects, explanation.

    python -m benchmarks.overhead        writes benchmarks/OVERHEAD.md

Each figure is a ratio of medians of interleaved runs in one process: work with and without.
Without: the analysis of captures and effects gives nothing, and no effect is watched for.
"""

import contextlib
import pathlib
import statistics
import time
from unittest import mock

import frit as jax
import frit.numpy as jnp
from frit.config import trace_side_effects
from frit.runtime import captures, guards, reads

PAIRS = 41
PAGE = """# What guards and detection cost

Written by `python -m benchmarks.overhead`. Medians of {pairs} interleaved pairs in one process.

| tracing | with / without | of it, on code seen before |
| --- | ---: | ---: |
{traces}

`without`: captures are not looked for, side effects not watched for. Code seen before is traced
again for other types; what its bytecode reads is kept.

| a guard at each call | ns | of the time of the same expression in Python |
| --- | ---: | ---: |
{guards}
"""


def mlp_loss(params, x, y):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.mean((x - y) ** 2)


def operations(x):
    for _ in range(500):
        x = jnp.sin(x) * 1.5
    return x


STRAIGHT = {"jnp": jnp}
exec("def straight(x):\n" + "    x = jnp.sin(x) * 1.5\n" * 500 + "    return x", STRAIGHT)

LAYERS = [(jnp.ones((8, 8)), jnp.ones(8)) for _ in range(3)]
X = jnp.ones((4, 8))
TRACED = {
    "gradient of a tiny MLP": (jax.grad(mlp_loss), (LAYERS, X, X)),
    "1,000 operations, in a loop": (operations, (X,)),
    "1,000 operations, each on a line": (STRAIGHT["straight"], (X,)),
}


@contextlib.contextmanager
def nothing_watched():
    nothing = lambda function, statics=(): (guards.NO_GUARDS, ())
    with (
        trace_side_effects("ignore"),
        mock.patch.object(captures, "captures_and_effects_of", nothing),
    ):
        yield


def seconds_of_trace(function, args, fresh):
    jax.clear_caches()
    if fresh:
        reads.reads_of.cache_clear()
    start = time.perf_counter()
    jax.jit(function).trace(*args)
    return time.perf_counter() - start


def trace_ratio(function, args, fresh):
    """Time of a trace with all that is watched, by the time without."""
    with_, without = [], []
    for _ in range(PAIRS):
        with_.append(seconds_of_trace(function, args, fresh))
        with nothing_watched():
            without.append(seconds_of_trace(function, args, fresh))
    return statistics.median(with_) / statistics.median(without)


class Config:
    lr = 0.5


SCALE = 2.0
CONFIG = Config()
CONFIG.inner = Config()
for number in range(32):
    globals()[f"G{number}"] = float(number)
    setattr(CONFIG.inner, f"a{number}", float(number))
GUARDED = {
    "global": ("G{}", "G{}"),
    "attribute chain": ("CONFIG.inner.a{}", "CONFIG.inner.a{}"),
}


def reader(expressions):
    """A function that reads each expression."""
    space = globals()
    exec(f"def f(x): return x * ({' + '.join(expressions)})", space)
    return space["f"]


def guard_cost(template):
    """Nanoseconds of a guard, and their ratio to those of the expression `value is known`."""
    expressions = [template.format(n) for n in range(32)]
    function = reader(expressions)
    found = captures.captures_of(function)
    assert len(found.guards) == 32, [g.label for g in found.guards]
    values = {f"known{n}": eval(e) for n, e in enumerate(expressions)}
    text = " and ".join(f"{e} is known{n}" for n, e in enumerate(expressions))
    space = {**globals(), **values}
    exec(f"def plain(f, s, {', '.join(f'{k}={k}' for k in values)}):\n    return {text}", space)
    test, plain = found.hold, space["plain"]
    assert test(function, ()) and plain(function, ())
    ours, theirs = [], []
    for _ in range(PAIRS):
        for times, asked in ((ours, test), (theirs, plain)):
            start = time.perf_counter()
            for _ in range(2000):
                asked(function, ())
            times.append((time.perf_counter() - start) / 2000 / 32)
    return 1e9 * statistics.median(ours), statistics.median(ours) / statistics.median(theirs)


def main():
    traces = [
        f"| {name} | {trace_ratio(f, args, True):.3f} | {trace_ratio(f, args, False):.3f} |"
        for name, (f, args) in TRACED.items()
    ]
    costs = [(name, *guard_cost(template)) for name, (template, _) in GUARDED.items()]
    rows = [f"| {name} | {ns:.0f} | {ratio:.2f} |" for name, ns, ratio in costs]
    page = PAGE.format(pairs=PAIRS, traces="\n".join(traces), guards="\n".join(rows))
    pathlib.Path(__file__).with_name("OVERHEAD.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
