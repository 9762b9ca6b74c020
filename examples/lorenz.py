"""The Lorenz attractor: a Runge-Kutta step inside `lax.scan`, and how fast errors grow in it.

    python examples/lorenz.py [--steps N]

The whole trajectory is one compiled loop. `jvp` through it gives the growth of a small
disturbance, and from that the largest Lyapunov exponent (0.906 in the literature).
"""

import argparse

import numpy as np

import frit
import frit.numpy as jnp
from frit import lax

STEP = 0.01  # units of the model's time


def velocity(state, sigma=10.0, rho=28.0, beta=8 / 3):
    """Time derivative of (x, y, z). Source: Lorenz 1963, equations 25-27."""
    x, y, z = state
    return jnp.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def runge_kutta(state):
    """The state one STEP later, with an error of order STEP**5."""
    k1 = velocity(state)
    k2 = velocity(state + STEP / 2 * k1)
    k3 = velocity(state + STEP / 2 * k2)
    k4 = velocity(state + STEP * k3)
    return state + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def trajectory(start, steps):
    """The states after each step: (steps, 3)."""

    def body(state, _):
        state = runge_kutta(state)
        return state, state

    return lax.scan(body, start, None, length=steps)[1]


def lyapunov_exponent(start, steps):
    """Mean growth rate of a disturbance, made small again after each step."""

    def body(carry, _):
        state, disturbance = carry
        state, disturbance = frit.jvp(runge_kutta, (state,), (disturbance,))
        growth = jnp.linalg.norm(disturbance)
        return (state, disturbance / growth), jnp.log(growth)

    _, growths = lax.scan(body, (start, jnp.array([1.0, 0.0, 0.0])), None, length=steps)
    return growths.mean() / STEP


def draw(states, height=20, width=70):
    """The trajectory seen along y: x to the right, z upwards; denser places have darker marks."""
    x, z = np.asarray(states)[:, 0], np.asarray(states)[:, 2]
    counts, _, _ = np.histogram2d(z, x, bins=(height, width))
    marks = np.array(list(" ·:+*#@"))
    levels = np.ceil(counts / max(counts.max(), 1) * (len(marks) - 1)).astype(int)
    return "\n".join("".join(marks[row]) for row in levels[::-1])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    options = parser.parse_args(arguments)

    start = frit.jit(trajectory, static_argnums=1)(jnp.array([1.0, 1.0, 1.0]), 1000)[-1]
    states = frit.jit(trajectory, static_argnums=1)(start, options.steps)
    print(draw(states))
    exponent = float(frit.jit(lyapunov_exponent, static_argnums=1)(start, options.steps))
    print(f"largest Lyapunov exponent after {options.steps} steps: {exponent:.3f}")
    return states, exponent


if __name__ == "__main__":
    main()
