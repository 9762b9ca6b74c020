"""Schedules: functions from the step count, from 0, to the value of a hyperparameter."""

import frit.numpy as jnp


def constant_schedule(value):
    """`value` at every step."""
    return lambda count: value


def polynomial_schedule(init_value, end_value, power, transition_steps, transition_begin=0):
    """(init - end) (1 - (count - begin) / steps)^power + end, constant before and after.

    `init_value` throughout where transition_steps <= 0.
    """
    if transition_steps <= 0:
        return constant_schedule(init_value)
    begin = max(transition_begin, 0)

    def schedule(count):
        count = jnp.clip(count - begin, 0, transition_steps)
        remaining = 1 - count / transition_steps
        return (init_value - end_value) * (remaining**power) + end_value

    return schedule


def linear_schedule(init_value, end_value, transition_steps, transition_begin=0):
    """A straight line from init_value to end_value, constant before and after."""
    return polynomial_schedule(init_value, end_value, 1, transition_steps, transition_begin)


def piecewise_constant_schedule(init_value, boundaries_and_scales=None):
    """init_value, multiplied by each scale once the count has reached its boundary.

    boundaries_and_scales: `{step: scale}`. Raises ValueError for a negative scale.
    """
    steps = sorted((boundaries_and_scales or {}).items())
    _check_scales("piecewise_constant_schedule", steps)

    def schedule(count):
        value = init_value
        for boundary, factor in steps:
            before = jnp.maximum(0.0, jnp.sign(boundary - count))
            value = value * before + (1 - before) * factor * value
        return value

    return schedule


def _check_scales(name, steps):
    if any(factor < 0.0 for _, factor in steps):
        raise ValueError(
            f"`{name}` expects non-negative scale factors, got {dict(steps)}: each is multiplied "
            "with the value before it."
        )


def exponential_decay(
    init_value,
    transition_steps,
    decay_rate,
    transition_begin=0,
    staircase=False,
    end_value=None,
):
    """init_value * decay_rate^((count - begin) / steps), constant before `transition_begin`.

    staircase: the exponent is rounded down. end_value: the bound of the decay (or growth).
    `init_value` throughout where transition_steps <= 0 or decay_rate is 0.
    """
    if transition_steps <= 0 or decay_rate == 0:
        return constant_schedule(init_value)
    begin = max(transition_begin, 0)

    def schedule(count):
        passed = count - begin
        exponent = passed / transition_steps
        if staircase:
            exponent = jnp.floor(exponent)
        value = jnp.where(passed <= 0, init_value, init_value * jnp.power(decay_rate, exponent))
        if end_value is None:
            return value
        bound = jnp.maximum if decay_rate < 1.0 else jnp.minimum
        return bound(value, end_value)

    return schedule


def cosine_decay_schedule(init_value, decay_steps, alpha=0.0, exponent=1.0):
    """init ((1 - alpha) ((1 + cos(pi count / decay_steps)) / 2)^exponent + alpha), constant after.

    Raises ValueError where decay_steps <= 0. Source: Loshchilov & Hutter 2017, SGDR.
    """
    if not decay_steps > 0:
        raise ValueError(
            f"The cosine_decay_schedule requires positive decay_steps, got {decay_steps=}."
        )

    def schedule(count):
        steps = float(decay_steps) if isinstance(decay_steps, int) else decay_steps
        count = jnp.minimum(float(count) if isinstance(count, int) else count, steps)
        cosine = 0.5 * (1 + jnp.cos(jnp.pi * count / steps))
        return init_value * ((1 - alpha) * cosine**exponent + alpha)

    return schedule


def _linear_interpolate(start, end, fraction):
    return (end - start) * fraction + start


def _cosine_interpolate(start, end, fraction):
    return end + (start - end) / 2.0 * (jnp.cos(jnp.pi * fraction) + 1)


_INTERPOLATIONS = {"linear": _linear_interpolate, "cosine": _cosine_interpolate}


def piecewise_interpolate_schedule(interpolate_type, init_value, boundaries_and_scales=None):
    """As `piecewise_constant_schedule`, with values between boundaries "linear" or "cosine"."""
    if interpolate_type not in _INTERPOLATIONS:
        raise ValueError(
            f"`interpolate_type` must be either 'cosine' or 'linear', got {interpolate_type!r}"
        )
    interpolate = _INTERPOLATIONS[interpolate_type]
    steps = sorted((boundaries_and_scales or {}).items())
    _check_scales("piecewise_interpolate_schedule", steps)
    boundaries = [boundary for boundary, _ in steps]
    factors = [factor for _, factor in steps]

    def schedule(count):
        bounds = jnp.stack([jnp.asarray(b) for b in (0, *boundaries)])
        values = jnp.cumprod(jnp.stack([jnp.asarray(v) for v in (init_value, *factors)]))
        lengths = jnp.maximum(bounds[1:] - bounds[:-1], 1)
        inside = jnp.logical_and(bounds[:-1] <= count, count < bounds[1:])
        fraction = (count - bounds[:-1]) / lengths
        between = interpolate(values[:-1], values[1:], fraction)
        return inside.dot(between) + (bounds[-1] <= count) * values[-1]

    return schedule


def linear_onecycle_schedule(
    transition_steps,
    peak_value,
    pct_start=0.3,
    pct_final=0.85,
    div_factor=25.0,
    final_div_factor=1e4,
):
    """Up to peak_value in straight lines, down as far, and on down to peak / final_div_factor.

    Source: Smith & Topin 2018, Super-convergence.
    """
    _check_steps("linear", transition_steps)
    start = peak_value / div_factor
    changes = {
        int(pct_start * transition_steps): div_factor,
        int(pct_final * transition_steps): 1.0 / div_factor,
        transition_steps: 1.0 / final_div_factor,
    }
    return piecewise_interpolate_schedule("linear", start, changes)


def cosine_onecycle_schedule(
    transition_steps, peak_value, pct_start=0.3, div_factor=25.0, final_div_factor=1e4
):
    """Up to peak_value and down to peak / (div_factor final_div_factor), in half cosines."""
    _check_steps("cosine", transition_steps)
    start = peak_value / div_factor
    changes = {
        int(pct_start * transition_steps): div_factor,
        int(transition_steps): 1.0 / (div_factor * final_div_factor),
    }
    return piecewise_interpolate_schedule("cosine", start, changes)


def _check_steps(kind, transition_steps):
    if transition_steps <= 0:
        raise ValueError(
            f"A {kind} onecycle schedule was set with a non-positive `transition_steps`: got "
            f"{transition_steps}."
        )


def join_schedules(schedules, boundaries):
    """Schedules one after another; each counts from 0 at its boundary."""

    def schedule(step):
        value = schedules[0](step)
        for boundary, later in zip(boundaries, schedules[1:], strict=False):
            value = jnp.where(step < boundary, value, later(step - boundary))
        return value

    return schedule


def warmup_constant_schedule(init_value, peak_value, warmup_steps):
    """A straight line to peak_value, constant after it."""
    return linear_schedule(init_value, peak_value, warmup_steps)


def warmup_cosine_decay_schedule(
    init_value, peak_value, warmup_steps, decay_steps, end_value=0.0, exponent=1.0
):
    """A straight line to peak_value, then a cosine to end_value, `decay_steps` in all."""
    alpha = 0.0 if peak_value == 0.0 else end_value / peak_value
    warmup = linear_schedule(init_value, peak_value, warmup_steps)
    decay = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha, exponent)
    return join_schedules([warmup, decay], [warmup_steps])


def warmup_exponential_decay_schedule(
    init_value,
    peak_value,
    warmup_steps,
    transition_steps,
    decay_rate,
    transition_begin=0,
    staircase=False,
    end_value=None,
):
    """A straight line to peak_value, then `exponential_decay`."""
    warmup = linear_schedule(init_value, peak_value, warmup_steps)
    decay = exponential_decay(
        peak_value, transition_steps, decay_rate, transition_begin, staircase, end_value
    )
    return join_schedules([warmup, decay], [warmup_steps])


def sgdr_schedule(cosine_kwargs):
    """`warmup_cosine_decay_schedule`s one after another: warm restarts.

    cosine_kwargs: the arguments of each. Source: Loshchilov & Hutter 2017, SGDR.
    """
    schedules, boundaries, step = [], [], 0
    for arguments in cosine_kwargs:
        schedules.append(warmup_cosine_decay_schedule(**arguments))
        step += arguments["decay_steps"]
        boundaries.append(step)
    return join_schedules(schedules, boundaries[:-1])
