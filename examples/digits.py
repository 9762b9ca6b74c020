"""Trains a small network to read handwritten digits, with a jitted step, and shows what happened.

    python examples/digits.py [--epochs N] [--splits N] [--plot FILE]

The data are the 1,797 images of 8 x 8 pixels that come with scikit-learn: real digits, nothing is
downloaded. Each split trains on four fifths and is scored once on the rest; the splits differ by
their seed. Every choice below (layers, rates, noise) was made on a validation part of the training
data, never on the held-out fifth.
"""

import argparse
import statistics
import time

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import frit
import frit.numpy as jnp
from frit import optim

LAYERS = (64, 256, 128, 10)
BATCH_SIZE = 64
EPOCHS = 60
PEAK_RATE = 3e-3
WEIGHT_DECAY = 1e-3
NOISE = 0.2  # standard deviation added to pixels of range 0 to 1, afresh in each step

console = Console()


# ---- the model: plain functions of a list of (weights, bias) ------------------------------------


def initial_params(key):
    """A list of (weights, bias), the weights scaled for relu (He et al. 2015, equation 10)."""
    pairs = list(zip(LAYERS[:-1], LAYERS[1:], strict=True))
    keys = frit.random.split(key, len(pairs))
    return [
        (frit.random.normal(k, (n, m)) * jnp.sqrt(2 / n), jnp.zeros(m))
        for k, (n, m) in zip(keys, pairs, strict=True)
    ]


def logits(params, images):
    """Unnormalised log-probabilities (batch, 10) of images (batch, 64)."""
    *hidden, (weights, bias) = params
    for w, b in hidden:
        images = frit.nn.relu(images @ w + b)
    return images @ weights + bias


def loss(params, images, labels):
    """Mean cross-entropy; images (batch, 64), labels (batch,) integers."""
    log_probabilities = frit.nn.log_softmax(logits(params, images))
    return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))


# ---- training -----------------------------------------------------------------------------------


def make_step(steps):
    """(optimizer, jitted step): one update on one batch, with a rate that decays over `steps`."""
    rate = optim.cosine_decay_schedule(PEAK_RATE, decay_steps=steps)
    optimizer = optim.adamw(rate, weight_decay=WEIGHT_DECAY)

    @frit.jit
    def step(params, state, key, images, labels):
        key, noise_key = frit.random.split(key)
        images = images + NOISE * frit.random.normal(noise_key, images.shape)
        value, grads = frit.value_and_grad(loss)(params, images, labels)
        updates, state = optimizer.update(grads, state, params)
        return optim.apply_updates(params, updates), state, key, value

    return optimizer, step


def batches(images, labels, epochs, seed):
    """Shuffled batches of one size; what is left over at the end of an epoch waits for the next."""
    generator = np.random.default_rng(seed)
    for _ in range(epochs):
        order = generator.permutation(len(images))
        for start in range(0, len(order) - BATCH_SIZE + 1, BATCH_SIZE):
            chosen = order[start : start + BATCH_SIZE]
            yield images[chosen], labels[chosen]


def train(images, labels, *, epochs, seed, advance=lambda: None):
    """(params, losses, seconds by stage) after training on images (n, 64) and labels (n,)."""
    optimizer, step = make_step(epochs * (len(images) // BATCH_SIZE))
    key, init_key = frit.random.split(frit.random.key(seed))
    params = initial_params(init_key)
    state = optimizer.init(params)

    times, losses = {}, []
    start = time.perf_counter()
    traced = step.trace(params, state, key, images[:BATCH_SIZE], labels[:BATCH_SIZE])
    times["trace"] = time.perf_counter() - start
    compiled = traced.lower().compile()
    times["compile"] = time.perf_counter() - start - times["trace"]

    start = time.perf_counter()
    for batch in batches(images, labels, epochs, seed):
        params, state, key, value = compiled(params, state, key, *batch)
        losses.append(float(value))
        advance()
    times["steps"] = time.perf_counter() - start
    return params, np.array(losses), times


def load_split(seed):
    """Images to train on and to test on, then their labels: four fifths and one, stratified."""
    images, labels = load_digits(return_X_y=True)
    images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)
    return train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=seed)


def predict(params, images):
    return np.asarray(frit.jit(logits)(params, images)).argmax(axis=1)


# ---- showing ------------------------------------------------------------------------------------


def smoothed(losses, points):
    """Means of `points` (or fewer) equal runs of the losses."""
    return np.array([run.mean() for run in np.array_split(losses, min(points, len(losses)))])


def show_curve(losses, height=10, width=60):
    """The loss over the steps, on a logarithmic scale, one character a cell of the terminal."""
    heights = np.log10(smoothed(losses, width))
    low, high = heights.min(), heights.max()
    levels = np.round((heights - low) / max(high - low, 1e-9) * (height - 1)).astype(int)
    for row in reversed(range(height)):
        value = 10 ** (low + (high - low) * row / (height - 1))
        line = "".join("●" if level == row else " " for level in levels)
        console.print(f"{value:8.4f} │{line}", highlight=False)
    console.print(f"{'':9}└{'─' * len(levels)}\n{'':10}0{len(losses):>{len(levels) - 1}} steps")


def show_confusion(truth, predictions):
    """Rows: the digit shown; columns: the digit read. Summed over the held-out parts."""
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (truth, predictions), 1)
    table = Table(title="confusion on the held-out images: digit shown (row), digit read (column)")
    table.add_column("")
    for digit in range(10):
        table.add_column(str(digit), justify="right")
    for digit, row in enumerate(counts):
        style = lambda column: "green" if column == digit else "red"
        cells = [f"[{style(c)}]{n}[/]" if n else "·" for c, n in enumerate(row)]
        table.add_row(f"[bold]{digit}[/]", *cells)
    console.print(table)


def show_times(times, steps):
    table = Table(title="seconds, first split")
    for name in ("trace", "compile", "steps", "per step"):
        table.add_column(name, justify="right")
    per_step = f"{times['steps'] / steps * 1e3:.3f} ms"
    table.add_row(*(f"{times[name]:.3f}" for name in ("trace", "compile", "steps")), per_step)
    console.print(table)


def save_curve(losses, path):
    """Writes the curve as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.semilogy(losses, alpha=0.3, label="each step")
    means = smoothed(losses, 100)
    axes.semilogy(np.linspace(0, len(losses), len(means)), means, label="mean")
    axes.set(xlabel="step", ylabel="cross-entropy", title="Handwritten digits, first split")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    console.print(f"loss curve saved to {path}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--plot", default="digits-loss.png", help="picture of the loss curve")
    options = parser.parse_args(arguments)

    console.rule("the loss as a jaxpr")
    example = initial_params(frit.random.key(0)), jnp.zeros((BATCH_SIZE, 64)), jnp.zeros(64, int)
    console.print(
        str(frit.make_jaxpr(loss)(*example)), highlight=False, markup=False, soft_wrap=True
    )

    console.rule("training")
    runs, truth, predictions = [], [], []
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console) as progress:
        for seed in range(options.splits):
            x_train, x_test, y_train, y_test = load_split(seed)
            steps = options.epochs * (len(x_train) // BATCH_SIZE)
            task = progress.add_task(f"split {seed}", total=steps)
            advance = lambda task=task: progress.advance(task)
            fit = train(x_train, y_train, epochs=options.epochs, seed=seed, advance=advance)
            params, losses, times = fit
            truth.append(y_test)
            predictions.append(predict(params, x_test))
            accuracy = float(np.mean(predictions[-1] == y_test))
            runs.append((accuracy, losses, times))
            progress.console.print(f"split {seed}: accuracy {accuracy:.2%} of {len(y_test)} images")

    accuracies = [accuracy for accuracy, _, _ in runs]
    _, losses, times = runs[0]
    console.rule("loss, first split")
    show_curve(losses)
    show_confusion(np.concatenate(truth), np.concatenate(predictions))
    show_times(times, len(losses))
    save_curve(losses, options.plot)
    median = statistics.median(accuracies)
    console.print(f"median accuracy over {len(accuracies)} splits: [bold]{median:.2%}[/]")
    return median


if __name__ == "__main__":
    main()
