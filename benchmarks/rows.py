"""The programs that are timed. Each is written for jax and runs on frit through the alias.

A row is a function that prepares its inputs and returns a `Case` (case.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks.case import Case, draw, mlp_params, table

ROWS, row = table()


def compiling(make: Callable[[], Callable[..., Any]], *arguments: Any) -> Case:
    """Tracing, lowering and compiling what `make` returns, with every cache emptied before."""

    def compiled() -> Any:
        jax.clear_caches()
        return jax.jit(make()).lower(*arguments).compile()

    return Case(compiled, lambda: compiled()(*arguments))


# ---- dispatch -----------------------------------------------------------------------------------


@row("dispatch: x + 1, scalar")
def dispatch_scalar() -> Case:
    x, fun = jnp.float32(3.0), jax.jit(lambda x: x + 1)
    return Case(lambda: fun(x))


@row("dispatch: x + 1, 8 elements")
def dispatch_vector() -> Case:
    x, fun = jnp.arange(8.0), jax.jit(lambda x: x + 1)
    return Case(lambda: fun(x))


@row("dispatch: SGD update of a 30-leaf dict")
def dispatch_tree() -> Case:
    params = {f"layer{i}": jnp.asarray(draw(8, seed=i)) for i in range(30)}
    fun = jax.jit(lambda p, g: jax.tree.map(lambda p, g: p - 0.1 * g, p, g))
    return Case(lambda: fun(params, params))


# ---- tracing and compiling ----------------------------------------------------------------------


def mlp_loss(params: Any, x: Any, y: Any) -> Any:
    *hidden, (weights, bias) = params
    for w, b in hidden:
        x = jnp.tanh(x @ w + b)
    return jnp.mean((x @ weights + bias - y) ** 2)


@row("compile: gradient of a tiny MLP")
def compile_mlp() -> Case:
    arguments = mlp_params(4, 16, 16, 1), draw(8, 4), draw(8, 1)
    return compiling(lambda: jax.grad(lambda p, x, y: mlp_loss(p, x, y)), *arguments)


def compile_elementwise(operations: int) -> Case:
    def make() -> Callable[[Any], Any]:
        def fun(x: Any) -> Any:
            for i in range(operations // 4):
                x = x * 0.999 + 0.01 * i - jnp.abs(x) * 0.001
            return x

        return fun

    return compiling(make, draw(1000))


for operations in (100, 1_000, 10_000):
    row(f"compile: {operations:,} elementwise operations")(
        functools.partial(compile_elementwise, operations)
    )


def block_params(width: int, seed: int) -> dict[str, np.ndarray]:
    shapes = {"qkv": (width, 3 * width), "out": (width, width)}
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    params = {n: draw(*s, seed=seed + len(n)) / np.sqrt(s[0]) for n, s in shapes.items()}
    params |= {f"{n}_bias": np.zeros(s[1], np.float32) for n, s in shapes.items()}
    params |= {f"gain{i}": np.ones(width, np.float32) for i in (1, 2)}
    return params | {f"shift{i}": np.zeros(width, np.float32) for i in (1, 2)}


def layernorm(x: Any, gain: Any = 1.0, shift: Any = 0.0) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + shift


def block(x: Any, params: Any, heads: int = 4) -> Any:
    """A pre-norm transformer block on x (batch, sequence, width)."""
    batch, length, width = x.shape

    def affine(x: Any, name: str) -> Any:
        return x @ params[name] + params[f"{name}_bias"]

    normed = layernorm(x, params["gain1"], params["shift1"])
    q, k, v = jnp.split(affine(normed, "qkv").reshape(batch, length, heads, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width / heads).astype(np.float32)
    mask = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)
    x = x + affine(mixed, "out")
    normed = layernorm(x, params["gain2"], params["shift2"])
    return x + affine(jax.nn.gelu(affine(normed, "up")), "down")


def transformer_row(layers: int) -> Case:
    params = [block_params(64, seed=10 * i) for i in range(layers)]

    def make() -> Callable[..., Any]:
        def loss(params: Any, x: Any) -> Any:
            for layer in params:
                x = block(x, layer)
            return jnp.mean(layernorm(x)[..., 0] ** 2)

        return jax.grad(loss)

    return compiling(make, params, draw(4, 32, 64))


for layers in (1, 4, 24):
    row(f"compile: gradient of {layers} transformer layers")(
        functools.partial(transformer_row, layers)
    )


# ---- arrays -------------------------------------------------------------------------------------


@row("gelu, 1e7")
def gelu() -> Case:
    x, fun = jnp.asarray(draw(10**7)), jax.jit(jax.nn.gelu)
    return Case(lambda: fun(x))


@row("softmax, 4096 x 4096")
def softmax() -> Case:
    x, fun = jnp.asarray(draw(4096, 4096)), jax.jit(jax.nn.softmax)
    return Case(lambda: fun(x))


@row("sort, 1e7")
def sort() -> Case:
    x, fun = jnp.asarray(draw(10**7)), jax.jit(jnp.sort)
    return Case(lambda: fun(x))


@row("cumsum, 1e7")
def cumsum() -> Case:
    # about a million partial sums are near zero, where rounding is all there is: compare integers
    x, fun = jnp.asarray(draw(10**7)), jax.jit(jnp.cumsum)
    small = jnp.asarray(np.random.default_rng(0).integers(-4, 5, 10**6).astype(np.float32))
    return Case(lambda: fun(x), lambda: fun(small))


@row("random.uniform, 1e7")
def uniform() -> Case:
    key, fun = jax.random.key(0), jax.jit(lambda key: jax.random.uniform(key, (10**7,)))
    return Case(lambda: fun(key))


@row("random.normal, 1e7")
def normal() -> Case:
    key, fun = jax.random.key(0), jax.jit(lambda key: jax.random.normal(key, (10**7,)))
    return Case(lambda: fun(key))


@row("MLP training step, 784-512-256-10, batch 128")
def train_step() -> Case:
    params = jax.tree.map(jnp.asarray, mlp_params(784, 512, 256, 10))
    x, y = jnp.asarray(draw(128, 784)), jnp.asarray(draw(128, 10))

    @jax.jit
    def step(params: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(mlp_loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value

    return Case(lambda: step(params, x, y))


# ---- loops --------------------------------------------------------------------------------------


def scanned(body: Callable[..., Any], start: Any, steps: int, checked: int) -> Case:
    """A scan of `steps`; its first `checked` steps are compared."""
    fun = jax.jit(lambda start, n: lax.scan(body, start, None, length=n)[0], static_argnums=1)
    start = jax.tree.map(jnp.asarray, start)
    return Case(lambda: fun(start, steps), lambda: fun(start, checked))


@row("scan: Kalman filter, 1e5 steps of 4 states, 2 observed")
def kalman() -> Case:
    advance = np.eye(4, dtype=np.float32) + 0.1 * np.eye(4, k=2, dtype=np.float32)
    observe = np.eye(2, 4, dtype=np.float32)
    noises = 0.01 * np.eye(4, dtype="f"), 0.1 * np.eye(2, dtype="f")

    def inverse(m: Any) -> Any:
        (a, b), (c, d) = (m[0, 0], m[0, 1]), (m[1, 0], m[1, 1])
        return jnp.array([[d, -b], [-c, a]]) / (a * d - b * c)

    def step(model: Any, carry: Any, z: Any) -> Any:
        (advance, observe, noise, observation_noise), (x, p) = model, carry
        x, p = advance @ x, advance @ p @ advance.T + noise
        s = observe @ p @ observe.T + observation_noise
        gain = p @ observe.T @ inverse(s)
        x = x + gain @ (z - observe @ x)
        p = (jnp.eye(4) - gain @ observe) @ p
        return (x, p), x

    fun = jax.jit(lambda model, start, zs: lax.scan(functools.partial(step, model), start, zs))
    model = jax.tree.map(jnp.asarray, (advance, observe, *noises))
    start, zs = (jnp.zeros(4), jnp.eye(4)), jnp.asarray(draw(10**5, 2))
    return Case(lambda: fun(model, start, zs))


@row("scan: Runge-Kutta of the Lorenz system, 1e5 steps")
def runge_kutta() -> Case:
    def velocity(s: Any) -> Any:
        x, y, z = s
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z

    def moved(s: Any, v: Any, dt: float) -> Any:
        return tuple(a + dt * b for a, b in zip(s, v, strict=True))

    def body(s: Any, _: Any) -> Any:
        k1 = velocity(s)
        k2 = velocity(moved(s, k1, 0.005))
        k3 = velocity(moved(s, k2, 0.005))
        k4 = velocity(moved(s, k3, 0.01))
        rate = [a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        return moved(s, rate, 0.01 / 6), None

    return scanned(body, (np.float32(1), np.float32(1), np.float32(1)), 10**5, checked=200)


@row("scan: leapfrog of an oscillator, 1e5 steps")
def leapfrog() -> Case:
    def body(state: Any, _: Any) -> Any:
        q, p = state
        p = p - 0.005 * q
        q = q + 0.01 * p
        return (q, p - 0.005 * q), None

    return scanned(body, (np.float32(1), np.float32(0)), 10**5, checked=1000)
