"""Bad input gets an error that says what was found and what to write instead."""

import pytest

import frit.numpy as jnp
from frit import optim

X = jnp.ones(3)


@pytest.mark.parametrize(
    ("make", "error", "pieces"),
    [
        (
            lambda: optim.adamw(0.1).update(X, optim.adamw(0.1).init(X)),
            ValueError,
            [
                "requires the current value of parameters",
                "optimizer.update(gradients, state, params)",
            ],
        ),
        (
            lambda: optim.chain(optim.sgd, optim.adam(0.1)),
            TypeError,
            ["expected a GradientTransformation", "write sgd(0.1), not sgd"],
        ),
        (
            lambda: optim.chain(optim.clip(1.0), optim.clip(1.0)).update(X, ()),
            ValueError,
            ["has to be the same in chain", "2 transformations and 0 states"],
        ),
        (
            lambda: optim.named_chain(("a", optim.clip(1.0)), ("a", optim.clip(1.0))),
            ValueError,
            ["must have unique names", "['a', 'a']"],
        ),
        (
            lambda: optim.partition({"x": optim.sgd(0.1)}, {"p": "y"}).init({"p": X}),
            ValueError,
            ["no corresponding transformation", "['y']", "['x']", "set_to_zero()"],
        ),
        (
            lambda: optim.inject_hyperparams(optim.sgd, static_args="rate"),
            ValueError,
            ["subset of `inner_factory`'s parameters", "rate", "learning_rate"],
        ),
        (
            lambda: optim.cosine_decay_schedule(1.0, 0),
            ValueError,
            ["requires positive decay_steps", "decay_steps=0"],
        ),
        (
            lambda: optim.linear_onecycle_schedule(-1, 1.0),
            ValueError,
            ["non-positive `transition_steps`", "-1"],
        ),
        (
            lambda: optim.piecewise_constant_schedule(1.0, {3: -0.5}),
            ValueError,
            ["non-negative scale factors", "{3: -0.5}"],
        ),
        (
            lambda: optim.piecewise_interpolate_schedule("cubic", 1.0),
            ValueError,
            ["either 'cosine' or 'linear'", "'cubic'"],
        ),
        (
            lambda: optim.softmax_cross_entropy_with_integer_labels(jnp.ones((2, 3)), jnp.ones(2)),
            TypeError,
            ["subdtype of", "`labels` must be an integer array", ".astype(jnp.int32)"],
        ),
        (
            lambda: optim.softmax_cross_entropy(jnp.ones((2, 3), int), jnp.ones((2, 3))),
            TypeError,
            ["`logits` must be a float array", ".astype(jnp.float32)"],
        ),
        (
            lambda: optim.l2_loss(jnp.ones((3, 1)), jnp.ones(3)),
            ValueError,
            ["Shape mismatch: got (3, 1) and (3,)", "forgotten axis"],
        ),
        (
            lambda: optim.softmax_cross_entropy_with_integer_labels(
                jnp.ones((2, 3)), jnp.ones(2, int), axis=2
            ),
            ValueError,
            ["axis 2 is out of bounds for array of dimension 2"],
        ),
        (
            lambda: optim.scale_by_lion(mode="soft").update(X, optim.scale_by_lion().init(X)),
            ValueError,
            ["Unknown lion mode: soft", "hard", "smooth", "refined"],
        ),
        (
            lambda: optim.lookahead(optim.sgd(0.1), 5, 0.5).update(
                X, optim.lookahead(optim.sgd(0.1), 5, 0.5).init(X), X
            ),
            TypeError,
            ["lookahead needs a pair of weights", "LookaheadParams.init_synced(params)"],
        ),
        (
            lambda: optim.lookahead(optim.sgd(0.1), 0, 0.5),
            ValueError,
            ["Synchronization period must be >= 1", "0"],
        ),
        (
            lambda: optim.per_example_global_norm_clip([jnp.ones((2, 3)), jnp.ones(3)], 1.0),
            ValueError,
            ["batch dimension in the 0th axis", "(2, 3)", "vmap(grad(loss)"],
        ),
        (
            lambda: optim.tree.norm(X, ord=3),
            ValueError,
            ["Unsupported ord: 3", "jnp.inf"],
        ),
        (
            lambda: optim.safe_increment(jnp.array(True)),
            ValueError,
            ["Cannot safely increment count with dtype bool"],
        ),
        (
            lambda: optim.lbfgs(),
            NotImplementedError,
            ["no zoom line search", "lbfgs(learning_rate, linesearch=None)"],
        ),
        (
            lambda: optim.scale_by_lbfgs(memory_size=0),
            ValueError,
            ["memory_size must be >= 1", "0"],
        ),
    ],
)
def test_message(make, error, pieces):
    with pytest.raises(error) as caught:
        make()
    for piece in pieces:
        assert piece in str(caught.value)
