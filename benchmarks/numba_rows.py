"""Rows of rows.py as loops for numba: the peer that compiles what the user spells out.

Names and results are those of rows.py. Loops over elements or rows run on as many threads as the
other engines have; `fastmath` is on, without which numba vectorizes no sum.
"""

from __future__ import annotations

import os
from typing import Any

import numba
import numpy as np
from numba import prange

from benchmarks.case import Case, draw, mlp_params, table

ROWS, row = table()
f32 = np.float32

compiled = numba.njit(fastmath=True)
compiled_for_threads = numba.njit(
    fastmath=True, parallel=int(os.environ.get("NUMBA_NUM_THREADS", "1")) > 1
)

# ---- arrays -------------------------------------------------------------------------------------


@compiled_for_threads
def gelu_of(x: Any) -> Any:
    y = np.empty_like(x)
    for i in prange(x.size):
        v = x[i]
        inner = f32(0.7978845608) * (v + f32(0.044715) * v * v * v)
        y[i] = f32(0.5) * v * (f32(1) + np.tanh(inner))
    return y


@row("gelu, 1e7")
def gelu() -> Case:
    x = draw(10**7)
    return Case(lambda: gelu_of(x))


@compiled_for_threads
def softmax_of(x: Any) -> Any:
    y = np.empty_like(x)
    for i in prange(x.shape[0]):
        largest, total = x[i, 0], f32(0)
        for j in range(x.shape[1]):
            largest = max(largest, x[i, j])
        for j in range(x.shape[1]):
            y[i, j] = np.exp(x[i, j] - largest)
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] /= total
    return y


@row("softmax, 4096 x 4096")
def softmax() -> Case:
    x = draw(4096, 4096)
    return Case(lambda: softmax_of(x))


@compiled
def sorted_of(x: Any) -> Any:
    return np.sort(x)


@row("sort, 1e7")
def sort() -> Case:
    x = draw(10**7)
    return Case(lambda: sorted_of(x))


@compiled
def cumsum_of(x: Any) -> Any:
    y, total = np.empty_like(x), f32(0)
    for i in range(x.size):
        total += x[i]
        y[i] = total
    return y


@row("cumsum, 1e7")
def cumsum() -> Case:
    x = draw(10**7)
    small = np.random.default_rng(0).integers(-4, 5, 10**6).astype(np.float32)
    return Case(lambda: cumsum_of(x), lambda: cumsum_of(small))


@compiled
def train_step_of(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, y: Any) -> Any:
    """One step of gradient descent of a network of three layers, its gradient by hand."""
    rate = f32(0.01)
    h1 = np.tanh(np.dot(x, w1) + b1)
    h2 = np.tanh(np.dot(h1, w2) + b2)
    error = np.dot(h2, w3) + b3 - y
    d3 = error * f32(2 / error.size)
    d2 = np.dot(d3, w3.T) * (f32(1) - h2 * h2)
    d1 = np.dot(d2, w2.T) * (f32(1) - h1 * h1)
    return (
        w1 - rate * np.dot(x.T, d1),
        b1 - rate * d1.sum(0),
        w2 - rate * np.dot(h1.T, d2),
        b2 - rate * d2.sum(0),
        w3 - rate * np.dot(h2.T, d3),
        b3 - rate * d3.sum(0),
        f32((error * error).sum() / f32(error.size)),
    )


@row("MLP training step, 784-512-256-10, batch 128")
def train_step() -> Case:
    params = [x.astype(f32) for pair in mlp_params(784, 512, 256, 10) for x in pair]
    x, y = draw(128, 784), draw(128, 10)
    return Case(lambda: train_step_of(*params, x, y))


# ---- loops --------------------------------------------------------------------------------------


@compiled
def product(a: Any, b: Any, out: Any, transposed: bool) -> Any:
    """out = a @ b, or a @ b.T, of small matrices."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = f32(0)
            for k in range(a.shape[1]):
                total += a[i, k] * (b[j, k] if transposed else b[k, j])
            out[i, j] = total


@compiled
def kalman_of(advance: Any, observe: Any, noise: Any, r: Any, x: Any, p: Any, zs: Any) -> Any:
    x, p, found = x.copy(), p.copy(), np.empty((zs.shape[0], 4), f32)
    moved, work, gain = np.empty_like(x), np.empty_like(p), np.empty((4, 2), f32)
    seen, cross, s = np.empty((2, 4), f32), np.empty((4, 2), f32), np.empty((2, 2), f32)
    inverse = np.empty((2, 2), f32)
    for t in range(zs.shape[0]):
        for i in range(4):
            moved[i] = f32(0)
            for k in range(4):
                moved[i] += advance[i, k] * x[k]
        product(advance, p, work, False)
        product(work, advance, p, True)
        for i in range(4):
            x[i] = moved[i]
            for j in range(4):
                p[i, j] += noise[i, j]
        product(observe, p, seen, False)
        product(seen, observe, s, True)
        for i in range(2):
            for j in range(2):
                s[i, j] += r[i, j]
        determinant = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse[0, 0], inverse[0, 1] = s[1, 1] / determinant, -s[0, 1] / determinant
        inverse[1, 0], inverse[1, 1] = -s[1, 0] / determinant, s[0, 0] / determinant
        product(p, observe, cross, True)
        product(cross, inverse, gain, False)
        for j in range(2):
            error = zs[t, j]
            for k in range(4):
                error -= observe[j, k] * moved[k]
            for i in range(4):
                x[i] += gain[i, j] * error
        product(gain, seen, work, False)
        for i in range(4):
            found[t, i] = x[i]
            for j in range(4):
                p[i, j] -= work[i, j]
    return x, p, found


@row("scan: Kalman filter, 1e5 steps of 4 states, 2 observed")
def kalman() -> Case:
    advance = np.eye(4, dtype=f32) + f32(0.1) * np.eye(4, k=2, dtype=f32)
    model = advance, np.eye(2, 4, dtype=f32), f32(0.01) * np.eye(4, dtype=f32)
    start = np.zeros(4, f32), np.eye(4, dtype=f32)
    zs = draw(10**5, 2)
    return Case(lambda: kalman_of(*model, f32(0.1) * np.eye(2, dtype=f32), *start, zs))


@compiled
def velocity(x: Any, y: Any, z: Any) -> Any:
    return f32(10) * (y - x), x * (f32(28) - z) - y, x * y - f32(8 / 3) * z


@compiled
def runge_kutta_of(steps: int) -> Any:
    x, y, z = f32(1), f32(1), f32(1)
    half, whole, rate = f32(0.005), f32(0.01), f32(0.01 / 6)
    two = f32(2)
    for _ in range(steps):
        a1, b1, c1 = velocity(x, y, z)
        a2, b2, c2 = velocity(x + half * a1, y + half * b1, z + half * c1)
        a3, b3, c3 = velocity(x + half * a2, y + half * b2, z + half * c2)
        a4, b4, c4 = velocity(x + whole * a3, y + whole * b3, z + whole * c3)
        x += rate * (a1 + two * a2 + two * a3 + a4)
        y += rate * (b1 + two * b2 + two * b3 + b4)
        z += rate * (c1 + two * c2 + two * c3 + c4)
    return x, y, z


@row("scan: Runge-Kutta of the Lorenz system, 1e5 steps")
def runge_kutta() -> Case:
    return Case(lambda: runge_kutta_of(10**5), lambda: runge_kutta_of(200))


@compiled
def leapfrog_of(steps: int) -> Any:
    q, p = f32(1), f32(0)
    for _ in range(steps):
        p = p - f32(0.005) * q
        q = q + f32(0.01) * p
        p = p - f32(0.005) * q
    return q, p


@row("scan: leapfrog of an oscillator, 1e5 steps")
def leapfrog() -> Case:
    return Case(lambda: leapfrog_of(10**5), lambda: leapfrog_of(1000))
