"""Hamiltonian Monte Carlo on a small posterior, checked against the exact answer.

    python examples/hmc.py [--draws N]

A line is fitted to ten noisy points. With a normal prior the posterior is normal, so its mean and
deviations are known in closed form; the sampler only sees the gradient of the log density.
Source: Neal 2011, "MCMC using Hamiltonian dynamics", section 5.2.
"""

import argparse

import numpy as np

import frit
import frit.numpy as jnp
from frit import lax

NOISE = 0.5  # standard deviation of an observation
PRIOR = 3.0  # standard deviation of intercept and slope
LEAPFROG_STEPS, LEAPFROG_SIZE = 10, 0.12


def observations():
    """(design matrix (10, 2), values (10,)) of the line 1 + 2 x with noise."""
    x = np.linspace(-1, 1, 10)
    noise = np.random.default_rng(0).standard_normal(10)
    return np.stack([np.ones(10), x], 1).astype(np.float32), (1 + 2 * x + NOISE * noise).astype("f")


def log_density(line, design, values):
    """Log posterior of (intercept, slope) up to a constant."""
    residuals = (values - design @ line) / NOISE
    return -0.5 * jnp.sum(residuals**2) - 0.5 * jnp.sum((line / PRIOR) ** 2)


def transition(log_density, position, key):
    """(next position, accepted): one proposal along a simulated path, kept or refused."""
    momentum_key, accept_key = frit.random.split(key)
    momentum = frit.random.normal(momentum_key, position.shape)
    slope = frit.grad(log_density)

    def leapfrog(_, state):
        position, momentum = state
        momentum = momentum + 0.5 * LEAPFROG_SIZE * slope(position)
        position = position + LEAPFROG_SIZE * momentum
        return position, momentum + 0.5 * LEAPFROG_SIZE * slope(position)

    proposal, end = lax.fori_loop(0, LEAPFROG_STEPS, leapfrog, (position, momentum))
    energy = lambda position, momentum: 0.5 * momentum @ momentum - log_density(position)
    change = energy(position, momentum) - energy(proposal, end)
    accepted = jnp.log(frit.random.uniform(accept_key)) < change
    return jnp.where(accepted, proposal, position), accepted


def sample(key, design, values, draws):
    """(positions (draws, 2), share accepted) of one chain that starts at zero."""
    target = lambda line: log_density(line, design, values)

    def body(position, key):
        position, accepted = transition(target, position, key)
        return position, (position, accepted)

    _, (positions, accepted) = lax.scan(body, jnp.zeros(2), frit.random.split(key, draws))
    return positions, accepted.mean()


def exact_posterior(design, values):
    """(mean, standard deviations) of intercept and slope."""
    precision = design.T @ design / NOISE**2 + np.eye(2) / PRIOR**2
    covariance = np.linalg.inv(precision)
    return covariance @ design.T @ values / NOISE**2, np.sqrt(np.diag(covariance))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--draws", type=int, default=20_000)
    options = parser.parse_args(arguments)

    design, values = observations()
    run = frit.jit(sample, static_argnames="draws")
    positions, accepted = run(frit.random.key(0), design, values, draws=options.draws)
    mean, deviation = exact_posterior(design, values)
    print(f"{options.draws} draws, {float(accepted):.0%} of the proposals accepted")
    for i, name in enumerate(["intercept", "slope"]):
        drawn = np.asarray(positions)[:, i]
        print(
            f"{name:10} drawn {drawn.mean():.3f} ± {drawn.std():.3f}   "
            f"exact {mean[i]:.3f} ± {deviation[i]:.3f}"
        )
    return np.asarray(positions), mean, deviation


if __name__ == "__main__":
    main()
