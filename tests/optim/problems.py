"""What optimizers, schedules and losses are tried on: the same for frit and for optax on real jax.

Every table maps a name to a function of the two modules `(optim, jnp)`, so that the tool that makes
the expected values and the tests run the very same lines.
"""

import numpy as np

STEPS = 100
RECORDED = (1, 2, 3, 5, 10, 20, 50, 100)


def start():
    """Parameters: a matrix, a vector and a single number, float32."""
    draw = np.random.RandomState(0).standard_normal
    shapes = {"matrix": (3, 4), "vector": (4,), "single": (1,)}
    return {name: np.asarray(draw(shape), np.float32) for name, shape in shapes.items()}


def gradient(params, step):
    """Of sum(c (p - 1)^2 / 2 - cos(3 p) / 10), c from 0.5 to 2, with a rare large kick; float32."""

    def of(p):
        p = np.asarray(p, np.float64)
        c = np.linspace(0.5, 2.0, p.size).reshape(p.shape)
        kick = 30.0 if step % 17 == 5 else 0.0
        return np.float32(c * (p - 1) + 0.3 * np.sin(3 * p) + kick * np.cos(step + c))

    return {name: of(p) for name, p in params.items()}


def loss(params):
    """The function whose gradient `gradient` is, but for the kicks; always positive."""
    total = 10.0
    for p in params.values():
        p = np.asarray(p, np.float64)
        c = np.linspace(0.5, 2.0, p.size).reshape(p.shape)
        total += np.sum(c * (p - 1) ** 2 / 2 - np.cos(3 * p) / 10)
    return np.float32(total)


def trajectory(optim, jit, make):
    """The parameters after each recorded step, each as one flat list."""
    optimizer = make(optim)
    params = {name: np.array(p) for name, p in start().items()}
    if make in PAIRED:
        params = optim.LookaheadParams.init_synced(params)
    state = optimizer.init(params)
    extra = ("value",) if make in VALUED else ()

    @jit
    def step(gradients, state, params, *values):
        options = dict(zip(extra, values, strict=True))
        updates, state = optimizer.update(gradients, state, params, **options)
        return optim.apply_updates(params, updates), state

    recorded = {}
    for i in range(1, STEPS + 1):
        point = params.fast if make in PAIRED else params
        values = (loss(point),) if extra else ()
        params, state = step(gradient(point, i), state, params, *values)
        if i in RECORDED:
            point = params.slow if make in PAIRED else params
            recorded[str(i)] = [float(x) for name in sorted(point) for x in np.ravel(point[name])]
    return recorded


def _labels(params):
    return {name: "slow" if name == "matrix" else "fast" for name in params}


OPTIMIZERS = {
    "sgd": lambda o: o.sgd(0.05),
    "sgd, momentum": lambda o: o.sgd(0.02, momentum=0.9),
    "sgd, nesterov": lambda o: o.sgd(0.02, momentum=0.9, nesterov=True),
    "sgd, schedule": lambda o: o.sgd(o.cosine_decay_schedule(0.1, 80)),
    "adam": lambda o: o.adam(0.05),
    "adam, eps_root": lambda o: o.adam(0.05, b1=0.8, b2=0.9, eps=1e-4, eps_root=1e-4),
    "nadam": lambda o: o.nadam(0.05),
    "adamw": lambda o: o.adamw(0.05, weight_decay=0.1),
    "adamw, masked": lambda o: o.adamw(0.05, weight_decay=0.1, mask=_is_matrix),
    "nadamw": lambda o: o.nadamw(0.05),
    "adamax": lambda o: o.adamax(0.05),
    "adamaxw": lambda o: o.adamaxw(0.05),
    "adabelief": lambda o: o.adabelief(0.05),
    "adabelief, nesterov": lambda o: o.adabelief(0.05, nesterov=True),
    "adan": lambda o: o.adan(0.05, weight_decay=0.01),
    "amsgrad": lambda o: o.amsgrad(0.05),
    "radam": lambda o: o.radam(0.05),
    "radam, nesterov": lambda o: o.radam(0.05, b2=0.9, nesterov=True),
    "yogi": lambda o: o.yogi(0.05),
    "lion": lambda o: o.lion(0.01),
    "adagrad": lambda o: o.adagrad(0.3),
    "adadelta": lambda o: o.adadelta(1.0, weight_decay=0.01),
    "rmsprop": lambda o: o.rmsprop(0.02),
    "rmsprop, centered": lambda o: o.rmsprop(0.01, centered=True, eps=1e-3, momentum=0.5),
    "rmsprop, corrected": lambda o: o.rmsprop(0.02, eps_in_sqrt=False, bias_correction=True),
    "adafactor": lambda o: o.adafactor(0.05, min_dim_size_to_factor=3, momentum=0.5),
    "lars": lambda o: o.lars(0.5, weight_decay=0.01, trust_coefficient=0.02),
    "lamb": lambda o: o.lamb(0.05, weight_decay=0.01),
    "fromage": lambda o: o.fromage(0.02),
    "noisy_sgd": lambda o: o.noisy_sgd(0.05, key=3),
    "sign_sgd": lambda o: o.sign_sgd(0.01),
    "signum": lambda o: o.signum(0.01),
    "novograd": lambda o: o.novograd(0.02, weight_decay=0.01),
    "optimistic_gradient_descent": lambda o: o.optimistic_gradient_descent(0.03),
    "optimistic_adam_v2": lambda o: o.optimistic_adam_v2(0.02),
    "sm3": lambda o: o.sm3(0.1),
    "rprop": lambda o: o.rprop(0.01),
    "polyak_sgd": lambda o: o.polyak_sgd(0.05),
    "lbfgs": lambda o: o.lbfgs(0.1, memory_size=3, linesearch=None),
    "lookahead": lambda o: o.lookahead(o.adam(0.05), 5, 0.5),
    "clip": lambda o: o.chain(o.clip(0.5), o.sgd(0.1)),
    "clip_by_global_norm": lambda o: o.chain(o.clip_by_global_norm(1.0), o.adam(0.05)),
    "clip_by_block_rms": lambda o: o.chain(o.clip_by_block_rms(0.5), o.sgd(0.1)),
    "adaptive_grad_clip": lambda o: o.chain(o.adaptive_grad_clip(0.1), o.sgd(0.1)),
    "ema": lambda o: o.chain(o.ema(0.9), o.scale(-0.1)),
    "centralize": lambda o: o.chain(o.centralize(), o.sgd(0.05)),
    "normalize_by_update_norm": lambda o: o.chain(o.normalize_by_update_norm(), o.sgd(0.1)),
    "apply_every": lambda o: o.chain(o.apply_every(4), o.sgd(0.02)),
    "keep_params_nonnegative": lambda o: o.chain(o.sgd(0.05), o.keep_params_nonnegative()),
    "masked": lambda o: o.chain(o.masked(o.clip(0.2), _is_matrix), o.sgd(0.05)),
    "partition": lambda o: o.partition({"slow": o.sgd(0.01), "fast": o.adam(0.1)}, _labels),
    "flatten": lambda o: o.flatten(o.adam(0.05)),
    "inject_hyperparams": lambda o: o.inject_hyperparams(o.adam)(
        learning_rate=o.linear_schedule(0.1, 0.01, 50), b1=0.8
    ),
    "MultiSteps": lambda o: o.MultiSteps(o.adam(0.1), 4).gradient_transformation(),
    "apply_if_finite": lambda o: o.apply_if_finite(o.sgd(0.05), 3),
    "conditionally_mask": lambda o: o.conditionally_mask(o.sgd(0.1), lambda step: step % 2 == 0),
    "conditionally_transform": lambda o: o.chain(
        o.conditionally_transform(o.clip(0.1), lambda step: step < 50), o.sgd(0.05)
    ),
}


def _is_matrix(params):
    return {name: name == "matrix" for name in params}


PAIRED = (OPTIMIZERS["lookahead"],)
VALUED = (OPTIMIZERS["polyak_sgd"],)

COUNTS = (0, 1, 2, 5, 9, 10, 11, 20, 25, 40, 50, 51, 75, 99, 100, 101, 150, 300)

SCHEDULES = {
    "constant": lambda o: o.constant_schedule(0.1),
    "polynomial": lambda o: o.polynomial_schedule(1.0, 0.1, 2, 50, 10),
    "linear": lambda o: o.linear_schedule(0.0, 1.0, 40),
    "piecewise_constant": lambda o: o.piecewise_constant_schedule(1.0, {20: 0.5, 50: 0.1}),
    "exponential_decay": lambda o: o.exponential_decay(1.0, 20, 0.5),
    "exponential_decay, staircase": lambda o: o.exponential_decay(
        1.0, 20, 0.5, transition_begin=5, staircase=True, end_value=0.1
    ),
    "cosine_decay": lambda o: o.cosine_decay_schedule(1.0, 100, 0.1, 1.5),
    "piecewise_interpolate, linear": lambda o: o.piecewise_interpolate_schedule(
        "linear", 1.0, {20: 0.5, 50: 0.1}
    ),
    "piecewise_interpolate, cosine": lambda o: o.piecewise_interpolate_schedule(
        "cosine", 1.0, {20: 0.5, 50: 0.1}
    ),
    "linear_onecycle": lambda o: o.linear_onecycle_schedule(100, 1.0),
    "cosine_onecycle": lambda o: o.cosine_onecycle_schedule(100, 1.0),
    "warmup_constant": lambda o: o.warmup_constant_schedule(0.0, 1.0, 20),
    "warmup_cosine_decay": lambda o: o.warmup_cosine_decay_schedule(0.0, 1.0, 20, 100, 0.1),
    "warmup_exponential_decay": lambda o: o.warmup_exponential_decay_schedule(
        0.0, 1.0, 20, 30, 0.5, end_value=0.2
    ),
    "join": lambda o: o.join_schedules(
        [o.constant_schedule(1.0), o.linear_schedule(1.0, 0.0, 30)], [40]
    ),
    "sgdr": lambda o: o.sgdr_schedule(
        [
            {"init_value": 0.0, "peak_value": 1.0, "warmup_steps": 5, "decay_steps": 40},
            {"init_value": 0.0, "peak_value": 0.5, "warmup_steps": 10, "decay_steps": 60},
        ]
    ),
}


def schedule_values(optim, jnp, make):
    """The schedule at each of COUNTS, the count an int32 array."""
    schedule = make(optim)
    return [float(schedule(jnp.asarray(count, dtype=jnp.int32))) for count in COUNTS]


def _array(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


LOGITS, SCORES, TARGETS = 3 * _array(1, 4, 5), _array(2, 4, 5), _array(3, 4, 5)
SIGNS = np.sign(TARGETS)
CLASSES = np.array([0, 3, 4, 1], np.int32)
WEIGHTS = np.exp(TARGETS) / np.exp(TARGETS).sum(-1, keepdims=True)
MASK = np.array([[1, 1, 0, 1, 1], [1, 0, 0, 1, 1], [1, 1, 1, 1, 1], [0, 1, 0, 0, 1]], bool)
FRAMES = _array(4, 2, 7, 5)
FRAME_PADDINGS = np.array([[0] * 7, [0] * 5 + [1] * 2], np.float32)
SEQUENCES = np.array([[1, 2, 2], [3, 1, 0]], np.int32)
SEQUENCE_PADDINGS = np.array([[0, 0, 0], [0, 0, 1]], np.float32)

# name -> (the array to differentiate in, loss of (losses, that array))
LOSSES = {
    "squared_error": (SCORES, lambda o, x: o.squared_error(x, TARGETS)),
    "l2_loss": (SCORES, lambda o, x: o.l2_loss(x, TARGETS)),
    "huber_loss": (SCORES, lambda o, x: o.huber_loss(x, TARGETS, delta=0.7)),
    "log_cosh": (SCORES, lambda o, x: o.log_cosh(x, TARGETS)),
    "cosine_similarity": (SCORES, lambda o, x: o.cosine_similarity(x, TARGETS, epsilon=1e-6)),
    "cosine_distance": (SCORES, lambda o, x: o.cosine_distance(x, TARGETS, axis=0)),
    "sigmoid_binary_cross_entropy": (
        LOGITS,
        lambda o, x: o.sigmoid_binary_cross_entropy(x, WEIGHTS),
    ),
    "sigmoid_focal_loss": (
        LOGITS,
        lambda o, x: o.sigmoid_focal_loss(x, np.float32(SIGNS > 0), alpha=0.25),
    ),
    "softmax_cross_entropy": (LOGITS, lambda o, x: o.softmax_cross_entropy(x, WEIGHTS)),
    "softmax_cross_entropy, where": (
        LOGITS,
        lambda o, x: o.softmax_cross_entropy(x, WEIGHTS, where=MASK),
    ),
    "safe_softmax_cross_entropy": (LOGITS, lambda o, x: o.safe_softmax_cross_entropy(x, WEIGHTS)),
    "softmax_cross_entropy_with_integer_labels": (
        LOGITS,
        lambda o, x: o.softmax_cross_entropy_with_integer_labels(x, CLASSES),
    ),
    "softmax_cross_entropy_with_integer_labels, axes": (
        LOGITS.reshape(4, 5, 1),
        lambda o, x: o.softmax_cross_entropy_with_integer_labels(x, CLASSES, axis=(1, 2)),
    ),
    "poly_loss_cross_entropy": (LOGITS, lambda o, x: o.poly_loss_cross_entropy(x, WEIGHTS)),
    "hinge_loss": (SCORES, lambda o, x: o.hinge_loss(x, SIGNS)),
    "perceptron_loss": (SCORES, lambda o, x: o.perceptron_loss(x, SIGNS)),
    "multiclass_hinge_loss": (SCORES, lambda o, x: o.multiclass_hinge_loss(x, CLASSES)),
    "multiclass_perceptron_loss": (SCORES, lambda o, x: o.multiclass_perceptron_loss(x, CLASSES)),
    "kl_divergence": (SCORES, lambda o, x: o.kl_divergence(x, WEIGHTS)),
    "kl_divergence_with_log_targets": (
        SCORES,
        lambda o, x: o.kl_divergence_with_log_targets(x, np.log(WEIGHTS)),
    ),
    "generalized_kl_divergence": (SCORES, lambda o, x: o.generalized_kl_divergence(x, WEIGHTS)),
    "smooth_labels": (WEIGHTS, lambda o, x: o.smooth_labels(x, 0.1)),
    "triplet_margin_loss": (SCORES, lambda o, x: o.triplet_margin_loss(x, TARGETS, LOGITS)),
    "ctc_loss": (
        FRAMES,
        lambda o, x: o.ctc_loss(x, FRAME_PADDINGS, SEQUENCES, SEQUENCE_PADDINGS),
    ),
    "ntxent": (SCORES, lambda o, x: o.ntxent(x, np.array([0, 1, 0, 1]), 0.5)),
}


def loss_and_gradient(losses, jnp, grad, name):
    """`(values, gradient of their sum)` as flat lists."""
    at, loss_of = LOSSES[name]
    at = jnp.asarray(at)
    values = np.ravel(loss_of(losses, at))
    slope = np.ravel(grad(lambda x: jnp.sum(loss_of(losses, x)))(at))
    return [float(v) for v in values], [float(g) for g in slope]
