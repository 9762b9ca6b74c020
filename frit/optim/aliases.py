"""Optimizers by name: chains of transformations that end with -learning_rate.

Everywhere: learning_rate is a number or a schedule; weight decay is added before the learning rate
multiplies; `mask` says which leaves decay (see `add_decayed_weights`).
"""

import functools

import frit.numpy as jnp
from frit.optim.accumulation import ema, trace
from frit.optim.adding import add_decayed_weights, add_noise
from frit.optim.base import identity
from frit.optim.clipping import clip_by_block_rms
from frit.optim.combining import chain, masked
from frit.optim.factored import scale_by_factored_rms
from frit.optim.lbfgs import scale_by_lbfgs
from frit.optim.moments import (
    scale_by_adam,
    scale_by_adamax,
    scale_by_adan,
    scale_by_amsgrad,
    scale_by_belief,
    scale_by_lion,
    scale_by_novograd,
    scale_by_radam,
    scale_by_yogi,
)
from frit.optim.scaling import (
    scale,
    scale_by_learning_rate,
    scale_by_optimistic_gradient,
    scale_by_param_block_rms,
    scale_by_polyak,
    scale_by_rprop,
    scale_by_sign,
    scale_by_trust_ratio,
)
from frit.optim.second_moments import (
    scale_by_adadelta,
    scale_by_rms,
    scale_by_rss,
    scale_by_sm3,
    scale_by_stddev,
)


def sgd(learning_rate, momentum=None, nesterov=False, accumulator_dtype=None):
    """Gradient descent: p - lr g; with momentum, p - lr t, t_t = g_t + momentum t_{t-1}.

    nesterov: p - lr (g + momentum t). Source: Sutskever et al. 2013.
    """
    if momentum is None:
        return chain(identity(), scale_by_learning_rate(learning_rate))
    gathered = trace(momentum, nesterov, accumulator_dtype)
    return chain(gathered, scale_by_learning_rate(learning_rate))


def adam(learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=False):
    """Adam: p - lr m^ / (sqrt(v^ + eps_root) + eps). Source: Kingma & Ba 2014."""
    adaptive = scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov)
    return chain(adaptive, scale_by_learning_rate(learning_rate))


nadam = functools.partial(adam, nesterov=True)
nadam.__doc__ = "Adam with Nesterov's momentum. Source: Dozat 2016."


def adamw(
    learning_rate,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    eps_root=0.0,
    mu_dtype=None,
    weight_decay=1e-4,
    mask=None,
    *,
    nesterov=False,
):
    """Adam with decoupled weight decay: p - lr (adam(g) + weight_decay p).

    Source: Loshchilov & Hutter 2019.
    """
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


nadamw = functools.partial(adamw, nesterov=True)
nadamw.__doc__ = "AdamW with Nesterov's momentum. Source: Dozat 2016; Loshchilov & Hutter 2019."


def adamax(learning_rate, b1=0.9, b2=0.999, eps=1e-8):
    """Adam with the decaying maximum of |g| for sqrt(v). Source: Kingma & Ba 2014, 7.1."""
    return chain(scale_by_adamax(b1, b2, eps), scale_by_learning_rate(learning_rate))


def adamaxw(learning_rate, b1=0.9, b2=0.999, eps=1e-8, weight_decay=1e-4, mask=None):
    """Adamax with decoupled weight decay."""
    return chain(
        scale_by_adamax(b1, b2, eps),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def adabelief(learning_rate, b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16, *, nesterov=False):
    """AdaBelief: Adam with the moment of g - m for that of g. Source: Zhuang et al. 2020."""
    adaptive = scale_by_belief(b1, b2, eps, eps_root, nesterov=nesterov)
    return chain(adaptive, scale_by_learning_rate(learning_rate))


def adan(
    learning_rate,
    b1=0.98,
    b2=0.92,
    b3=0.99,
    eps=1e-8,
    eps_root=1e-8,
    weight_decay=0.0,
    mask=None,
):
    """Adan: Nesterov's momentum from differences of gradients. Source: Xie et al. 2022."""
    return chain(
        scale_by_adan(b1, b2, b3, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def amsgrad(
    learning_rate,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    eps_root=0.0,
    mu_dtype=None,
    bias_correction_mu=True,
    bias_correction_nu=True,
):
    """Adam with the largest second moment so far. Source: Reddi, Kale & Kumar 2018."""
    adaptive = scale_by_amsgrad(
        b1, b2, eps, eps_root, mu_dtype, bias_correction_mu, bias_correction_nu
    )
    return chain(adaptive, scale_by_learning_rate(learning_rate))


def radam(
    learning_rate, b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, threshold=5.0, *, nesterov=False
):
    """Rectified Adam: plain momentum while v is too uncertain. Source: Liu et al. 2020."""
    adaptive = scale_by_radam(b1, b2, eps, eps_root, threshold, nesterov=nesterov)
    return chain(adaptive, scale_by_learning_rate(learning_rate))


def yogi(learning_rate, b1=0.9, b2=0.999, eps=1e-3):
    """Yogi: Adam whose second moment changes additively. Source: Zaheer et al. 2018."""
    return chain(scale_by_yogi(b1, b2, eps), scale_by_learning_rate(learning_rate))


def lion(learning_rate, b1=0.9, b2=0.99, mu_dtype=None, weight_decay=1e-3, mask=None):
    """Lion: p - lr (sign(b1 m + (1 - b1) g) + weight_decay p). Source: Chen et al. 2023."""
    return chain(
        scale_by_lion(b1, b2, mu_dtype),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def adagrad(learning_rate, initial_accumulator_value=0.1, eps=1e-7):
    """Adagrad: p - lr g / sqrt(sum of all g^2 + eps). Source: Duchi, Hazan & Singer 2011."""
    return chain(
        scale_by_rss(initial_accumulator_value, eps), scale_by_learning_rate(learning_rate)
    )


def adadelta(learning_rate=None, rho=0.9, eps=1e-6, weight_decay=0.0, weight_decay_mask=None):
    """Adadelta: steps of the size of earlier steps. Source: Zeiler 2012."""
    return chain(
        add_decayed_weights(weight_decay, weight_decay_mask),
        scale_by_adadelta(rho, eps),
        scale_by_learning_rate(learning_rate),
    )


def rmsprop(
    learning_rate,
    decay=0.9,
    eps=1e-8,
    initial_scale=0.0,
    eps_in_sqrt=True,
    centered=False,
    momentum=None,
    nesterov=False,
    bias_correction=False,
):
    """RMSProp: p - lr g / sqrt(v + eps); centered: v less the squared mean of g.

    eps_in_sqrt=False is PyTorch's form, / (sqrt(v) + eps). Momentum is of the scaled steps.
    Source: Hinton 2012; Graves 2013, Generating sequences with recurrent neural networks.
    """
    scaling = scale_by_stddev if centered else scale_by_rms
    return chain(
        scaling(decay, eps, initial_scale, eps_in_sqrt, bias_correction),
        scale_by_learning_rate(learning_rate),
        identity() if momentum is None else trace(momentum, nesterov),
    )


def adafactor(
    learning_rate=None,
    min_dim_size_to_factor=128,
    decay_rate=0.8,
    decay_offset=0,
    multiply_by_parameter_scale=True,
    clipping_threshold=1.0,
    momentum=None,
    dtype_momentum=jnp.float32,
    weight_decay_rate=None,
    eps=1e-30,
    factored=True,
    weight_decay_mask=None,
):
    """Adafactor: v of a matrix is kept as a row and a column. Source: Shazeer & Stern 2018."""
    steps = [scale_by_factored_rms(factored, decay_rate, decay_offset, min_dim_size_to_factor, eps)]
    if clipping_threshold is not None:
        steps.append(clip_by_block_rms(clipping_threshold))
    if learning_rate is not None:
        steps.append(scale_by_learning_rate(learning_rate, flip_sign=False))
    if multiply_by_parameter_scale:
        steps.append(scale_by_param_block_rms())
    if momentum is not None:
        steps.append(ema(momentum, debias=False, accumulator_dtype=dtype_momentum))
    if weight_decay_rate is not None:
        steps.append(add_decayed_weights(weight_decay_rate, weight_decay_mask))
    return chain(*steps, scale(-1))


def lars(
    learning_rate,
    weight_decay=0.0,
    weight_decay_mask=True,
    trust_coefficient=0.001,
    eps=0.0,
    trust_ratio_mask=True,
    momentum=0.9,
    nesterov=False,
):
    """LARS: each leaf's step in proportion to its norm. Source: You, Gitman & Ginsburg 2017."""
    ratio = scale_by_trust_ratio(trust_coefficient=trust_coefficient, eps=eps)
    return chain(
        add_decayed_weights(weight_decay, weight_decay_mask),
        masked(ratio, trust_ratio_mask),
        scale_by_learning_rate(learning_rate),
        trace(momentum, nesterov),
    )


def lamb(learning_rate, b1=0.9, b2=0.999, eps=1e-6, eps_root=0.0, weight_decay=0.0, mask=None):
    """LAMB: Adam with each leaf's step in proportion to its norm. Source: You et al. 2020."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_trust_ratio(),
        scale_by_learning_rate(learning_rate),
    )


def fromage(learning_rate, min_norm=1e-6):
    """Fromage: (p - lr |p| / |g| g) / sqrt(1 + lr^2). Source: Bernstein et al. 2020."""
    if callable(learning_rate):
        shrink = lambda count: 1 / (1 + learning_rate(count) ** 2) ** 0.5
        rate = lambda count: shrink(count) * learning_rate(count)
        decay = lambda count: shrink(count) - 1
    else:
        factor = 1 / (1 + learning_rate**2) ** 0.5
        rate, decay = learning_rate * factor, factor - 1
    return chain(
        scale_by_trust_ratio(min_norm), scale_by_learning_rate(rate), add_decayed_weights(decay)
    )


def noisy_sgd(learning_rate, eta=0.01, gamma=0.55, key=None, *, seed=None):
    """Gradient descent with noise that falls off. Source: Neelakantan et al. 2015."""
    noise = add_noise(eta, gamma, key, seed=seed)
    return chain(noise, scale_by_learning_rate(learning_rate))


def sign_sgd(learning_rate):
    """p - lr sign(g). Source: Bernstein et al. 2018, signSGD."""
    return chain(scale_by_sign(), scale_by_learning_rate(learning_rate))


def signum(learning_rate, beta=0.9, accumulator_dtype=None):
    """p - lr sign(m), m the moving average of g. Source: Bernstein et al. 2018, signSGD."""
    average = ema(beta, debias=False, accumulator_dtype=accumulator_dtype)
    return chain(average, scale_by_sign(), scale_by_learning_rate(learning_rate))


def novograd(learning_rate, b1=0.9, b2=0.25, eps=1e-6, eps_root=0.0, weight_decay=0.0):
    """NovoGrad: one second moment for each leaf. Source: Ginsburg et al. 2019."""
    adaptive = scale_by_novograd(b1, b2, eps, eps_root, weight_decay)
    return chain(adaptive, scale_by_learning_rate(learning_rate))


def optimistic_gradient_descent(learning_rate, alpha=1.0, beta=1.0):
    """p - lr ((alpha + beta) g_t - beta g_{t-1}), for games. Source: Mokhtari et al. 2019."""
    ahead = scale_by_optimistic_gradient(alpha, beta)
    return chain(ahead, scale_by_learning_rate(learning_rate))


def optimistic_adam_v2(
    learning_rate,
    *,
    alpha=1.0,
    beta=1.0,
    b1=0.9,
    b2=0.999,
    eps=1e-8,
    eps_root=0.0,
    mu_dtype=None,
    nesterov=True,
):
    """Adam's step, extrapolated by its change. Source: Daskalakis et al. 2018."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root, mu_dtype, nesterov=nesterov),
        scale_by_optimistic_gradient(alpha, beta),
        scale_by_learning_rate(learning_rate),
    )


def sm3(learning_rate, momentum=0.9):
    """SM3: Adagrad in the memory of one number for each axis index. Source: Anil et al. 2019."""
    return chain(scale_by_sm3(momentum), scale(-learning_rate))


def rprop(learning_rate, eta_minus=0.5, eta_plus=1.2, min_step_size=1e-6, max_step_size=50.0):
    """Rprop: steps by sign, their size by whether it stays. Source: Riedmiller & Braun 1993."""
    steps = scale_by_rprop(learning_rate, eta_minus, eta_plus, min_step_size, max_step_size)
    return chain(steps, scale(-1.0))


def polyak_sgd(max_learning_rate=1.0, scaling=1.0, f_min=0.0, eps=0.0, variant="sps"):
    """Descent by Polyak's step; `update` takes value=loss. Source: Loizou et al. 2021."""
    return chain(sgd(scaling), scale_by_polyak(f_min, max_learning_rate, eps, variant))


def lbfgs(learning_rate=None, memory_size=10, scale_init_precond=True, linesearch="zoom"):
    """L-BFGS: steps by an inverse Hessian of the last `memory_size` steps.

    linesearch: a transformation that scales the step, or None: give a learning_rate then. There is
    no zoom line search here, optax's default: NotImplementedError. Source: Liu & Nocedal 1989.
    """
    if linesearch == "zoom":
        raise NotImplementedError(
            "lbfgs has no zoom line search here. Write lbfgs(learning_rate, linesearch=None), or "
            "pass a transformation that scales the step."
        )
    return chain(
        scale_by_lbfgs(memory_size, scale_init_precond),
        scale(-1.0) if learning_rate is None else scale_by_learning_rate(learning_rate),
        identity() if linesearch is None else linesearch,
    )
