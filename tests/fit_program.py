"""The training loop of optax's introduction: an inner jitted `step` closes over the optimizer.

One program, run by the tests on frit and by `tools/golden_fit.py` on the reference.
"""

import numpy as np

STEPS = 501
BATCH_SIZE = 16


def parity_data():
    """Bytes as 8 bits (steps, batch, 8), and even or odd as one-hot labels (steps, batch, 2)."""
    numbers = np.random.default_rng(0).integers(255, size=(STEPS, BATCH_SIZE, 1)).astype(np.uint8)
    labels = np.eye(2, dtype=np.float32)[numbers[..., 0] % 2]
    return np.unpackbits(numbers, axis=-1).astype(np.float32), labels


def initial_params():
    draw = np.random.default_rng(1).standard_normal
    return {
        "hidden": (0.5 * draw((8, 32))).astype(np.float32),
        "output": (0.5 * draw((32, 2))).astype(np.float32),
    }


def run(jax, optim, report=print):
    """The loss at every step of `fit`, with `jax` and `optim` (optax, or its twin) as given."""
    jnp = jax.numpy

    def net(x, params):
        hidden = jax.nn.relu(jnp.dot(x, params["hidden"]))
        return jnp.dot(hidden, params["output"])

    def loss(params, batch, labels):
        logits = net(batch, params)
        losses = jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits)))
        return losses.sum(axis=-1).mean()

    def fit(params, optimizer):
        opt_state = optimizer.init(params)
        history = []

        @jax.jit
        def step(params, opt_state, batch, labels):
            loss_value, grads = jax.value_and_grad(loss)(params, batch, labels)
            updates, opt_state = optimizer.update(grads, opt_state, params)
            params = optim.apply_updates(params, updates)
            return params, opt_state, loss_value

        for i, (batch, labels) in enumerate(zip(*parity_data(), strict=True)):
            params, opt_state, loss_value = step(params, opt_state, batch, labels)
            history.append(float(loss_value))
            if i % 100 == 0:
                report(f"step {i}, loss: {loss_value}")
        return history

    return fit(initial_params(), optim.adam(learning_rate=1e-2))
