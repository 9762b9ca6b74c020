"""How arrays print: NumPy's options and texts."""

from __future__ import annotations

from typing import Any

import numpy as np


def printoptions(*args: Any, **kwargs: Any) -> Any:
    """A context in which arrays print with the given options; see numpy.printoptions."""
    return np.printoptions(*args, **kwargs)


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Sets how arrays print; see numpy.set_printoptions."""
    np.set_printoptions(*args, **kwargs)


def get_printoptions() -> Any:
    """How arrays print."""
    return np.get_printoptions()


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text that stands for `arr` in code."""
    if max_line_width is None and precision is None and suppress_small is None:
        return repr(arr)
    text = np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)
    return "Array" + text.removeprefix("array")


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The numbers of `a` as text."""
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)
