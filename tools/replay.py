"""Shows how the text of every sample's jaxpr and loops differs between two commits.

    python tools/replay.py [BEFORE [AFTER]]      by default main, and the working tree

A refactor shows no difference. The samples are those of tests/data/jaxpr_samples.md, whose jaxprs
are printed, and the programs below, whose loops are.
"""

import argparse
import contextlib
import difflib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def programs(frit):
    """name -> (function, arguments): compiled, and their loops printed."""
    jnp, lax = frit.numpy, frit.lax

    def f32(*shape):
        return frit.ShapeDtypeStruct(shape, jnp.float32)

    def i32(*shape):
        return frit.ShapeDtypeStruct(shape, jnp.int32)

    def layernorm(x):
        return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)

    def mlp(w, x):
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    def fold(x):
        return lax.scan(lambda c, a: (jnp.sin(c) + a, c * a), 0.0, x)

    def power(n):
        return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2.0), (0, 1.0))

    return {
        "softmax": (frit.nn.softmax, [f32(64, 100)]),
        "layernorm": (layernorm, [f32(8, 9)]),
        "gradient of an MLP": (frit.grad(mlp), [f32(32, 16), f32(8, 32)]),
        "scan": (fold, [f32(100)]),
        "while": (power, [i32()]),
        "gather and scatter": (lambda x, i: x[i] + x.at[i].add(1.0)[i], [f32(50), i32(7)]),
        "sort": (jnp.sort, [f32(1000)]),
        "cumsum": (jnp.cumsum, [f32(1000)]),
        "uniform": (lambda: frit.random.uniform(frit.random.key(0), (1000,)), []),
        "transpose and reduce": (lambda x: (x.T * 2).sum(0), [f32(30, 40)]),
    }


def dump():
    """Prints every text; runs in a process of its own, with one commit's tree in the path."""
    import frit
    from tests.test_jaxpr_samples import normalised, run, samples

    for heading, code, _ in samples():
        print(f"=== {heading}")
        print(_text(lambda: normalised(run(code, frit))))
    for name, (fun, arguments) in programs(frit).items():
        print(f"=== {name}, compiled")
        print(_text(lambda: _loops(frit.jit(fun), arguments)))


def _loops(fun, arguments):
    """What the stages of the compiler between jaxpr and LLVM print."""
    from frit.config import show

    printed = io.StringIO()
    with show("optimized,kernels,loops,buffers"), contextlib.redirect_stderr(printed):
        fun.lower(*arguments).compile()
    return printed.getvalue()


def _text(make):
    try:
        return make()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def texts_of(tree):
    """The lines that `dump` prints with the package in folder `tree`."""
    environment = dict(os.environ, PYTHONPATH=str(tree), PYTHONHASHSEED="0")
    command = [sys.executable, __file__, "--dump"]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"cannot dump {tree}:\n{done.stderr}")
    return done.stdout.splitlines()


def texts_at(commit):
    """The same at a commit, or of the working tree for None."""
    if commit is None:
        return texts_of(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        add = ["git", "worktree", "add", "--quiet", "--detach", str(tree), commit]
        subprocess.run(add, cwd=ROOT, check=True)
        try:
            return texts_of(tree)
        finally:
            remove = ["git", "worktree", "remove", "--force", str(tree)]
            subprocess.run(remove, cwd=ROOT, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("before", nargs="?", default="main")
    parser.add_argument("after", nargs="?", help="a commit; the working tree when left out")
    parser.add_argument("--dump", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.dump:
        return dump()
    names = options.before, options.after or "working tree"
    texts = texts_at(options.before), texts_at(options.after)
    difference = list(difflib.unified_diff(*texts, *names, lineterm="", n=6))
    print("\n".join(difference) or f"no difference: {len(texts[0])} lines of text")
    return 0


if __name__ == "__main__":
    sys.exit(main())
