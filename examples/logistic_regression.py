"""Logistic regression on the breast-cancer data of scikit-learn, fitted by Newton's method.

    python examples/logistic_regression.py [--steps N]

`frit.hessian` gives the matrix of second derivatives, so that a step is one linear solve and six
steps are enough. 569 real patients, 30 measurements each; a quarter is held out.
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import frit
import frit.numpy as jnp

PENALTY = 1e-2  # weight of half the squared length of the weights


def loss(weights, features, labels):
    """Mean of log(1 + exp(-s m)) and the penalty; s = ±1 the label, m = features @ weights."""
    margins = jnp.where(labels, 1.0, -1.0) * (features @ weights)
    return jnp.mean(frit.nn.softplus(-margins)) + PENALTY / 2 * jnp.sum(weights**2)


@frit.jit
def newton_step(weights, features, labels):
    """The minimum of the second-order model of the loss at `weights`, and the loss there."""
    value, gradient = frit.value_and_grad(loss)(weights, features, labels)
    curvature = frit.hessian(loss)(weights, features, labels)
    return weights - jnp.linalg.solve(curvature, gradient), value


def load_data():
    """Standardised features with a column of ones, and labels; training and held-out parts."""
    features, labels = load_breast_cancer(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(
        features, labels.astype(bool), test_size=0.25, stratify=labels, random_state=0
    )
    mean, deviation = x_train.mean(0), x_train.std(0)

    def prepared(x):
        return np.column_stack([(x - mean) / deviation, np.ones(len(x))]).astype(np.float32)

    return prepared(x_train), prepared(x_test), y_train, y_test


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args(arguments)

    x_train, x_test, y_train, y_test = load_data()
    weights = jnp.zeros(x_train.shape[1])
    for step in range(options.steps):
        weights, value = newton_step(weights, x_train, y_train)
        print(f"step {step}: loss {float(value):.6f}")
    gradient = frit.grad(loss)(weights, x_train, y_train)
    print(f"largest slope at the end: {float(jnp.abs(gradient).max()):.1e}")
    accuracy = float(jnp.mean((x_test @ weights > 0) == y_test))
    print(f"held-out accuracy: {accuracy:.1%} of {len(y_test)} patients")
    return accuracy


if __name__ == "__main__":
    main()
