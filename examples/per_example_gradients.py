"""The gradient of each example by itself: `vmap` of `grad`, in one line.

    python examples/per_example_gradients.py

Private training (Abadi et al. 2016) clips each example's gradient before it averages them. A loop
over examples is slow, and `vmap(grad(loss))` needs no change to the model.
"""

import time

import numpy as np

import frit
import frit.numpy as jnp

CLIP = 1.0
EXAMPLES, FEATURES, HIDDEN = 512, 64, 64


def loss(params, x, y):
    """Squared error on one example; x (features,), y a number."""
    hidden = jnp.tanh(x @ params["hidden"])
    return (hidden @ params["output"] - y) ** 2


per_example_gradients = frit.vmap(frit.grad(loss), in_axes=(None, 0, 0))


def clipped_mean(params, xs, ys):
    """Mean over the examples of gradients scaled to a length of at most CLIP."""
    gradients = per_example_gradients(params, xs, ys)
    squares = frit.tree.map(lambda g: jnp.sum(g.reshape(len(xs), -1) ** 2, axis=1), gradients)
    lengths = jnp.sqrt(sum(frit.tree.leaves(squares)))
    scale = jnp.minimum(1.0, CLIP / lengths)
    return frit.tree.map(lambda g: jnp.tensordot(scale, g, 1) / len(xs), gradients), lengths


def make_data():
    draw = np.random.default_rng(0).standard_normal
    params = {"hidden": draw((FEATURES, HIDDEN)) / 8, "output": draw(HIDDEN) / 8}
    params = {name: value.astype(np.float32) for name, value in params.items()}
    return params, draw((EXAMPLES, FEATURES)).astype(np.float32), draw(EXAMPLES).astype(np.float32)


def main():
    params, xs, ys = make_data()
    print(frit.make_jaxpr(per_example_gradients)(params, xs, ys))
    fun = frit.jit(clipped_mean)
    mean, lengths = fun(params, xs, ys)
    start = time.perf_counter()
    frit.block_until_ready(fun(params, xs, ys))
    seconds = time.perf_counter() - start
    largest, smallest = float(lengths.max()), float(lengths.min())
    print(f"{len(xs)} gradients with lengths from {smallest:.2f} to {largest:.2f}")
    print(f"clipped and averaged in {seconds * 1e3:.2f} ms")
    return mean, per_example_gradients(params, xs, ys)


if __name__ == "__main__":
    main()
