"""Every example runs, on smaller settings where it is long, and its answer is right."""

import importlib.util
import pathlib

import numpy as np
import pytest

from frit.errors import TraceSideEffectWarning

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def example(name):
    """The module of an example, which is a script outside the package."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_example_has_a_test():
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    assert {f"test_{name}" for name in names} <= globals().keys()


def test_digits(tmp_path, capsys):
    plot = tmp_path / "loss.png"
    accuracy = example("digits").main(["--epochs", "8", "--splits", "1", "--plot", str(plot)])
    assert accuracy >= 0.93
    assert plot.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "dot_general" in printed and "confusion" in printed and "compile" in printed


def test_logistic_regression():
    assert example("logistic_regression").main([]) >= 0.95


def test_lorenz():
    states, exponent = example("lorenz").main(["--steps", "20000"])
    assert states.shape == (20000, 3) and 0.8 < exponent < 1.0


def test_hmc():
    positions, mean, deviation = example("hmc").main(["--draws", "4000"])
    np.testing.assert_allclose(positions.mean(0), mean, atol=0.15 * deviation.max())
    np.testing.assert_allclose(positions.std(0), deviation, rtol=0.15)


def test_per_example_gradients():
    mean, gradients = example("per_example_gradients").main()
    assert gradients["hidden"].shape == (512, 64, 64)
    length = np.sqrt(sum(float((g**2).sum()) for g in mean.values()))
    assert 0 < length <= 1.0


def test_pitfalls(capsys):
    with pytest.warns(TraceSideEffectWarning):
        example("pitfalls").main()
    printed = capsys.readouterr().out
    for expected in (
        "{ lambda a:f32[5]; b:f32[5]. let c:f32[5] = add a b in (c,) }",
        "TracerBoolConversionError",
        "TracerIntegerConversionError",
        "UnexpectedTracerError",
        "[10.0, -2.0]",
        "[-499.  102.]",
    ):
        assert expected in printed
