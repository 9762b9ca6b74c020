"""Operators, methods and properties of arrays, concrete and traced: one table, put on both classes.

`install_operators(cls)` sets what the class does not define itself.  An operator gives
NotImplemented for an operand that is no array or scalar, so that Python tries the other operand.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from frit import lax, ref
from frit.ir import dtypes
from frit.numpy import (
    comparisons,
    contraction,
    creation,
    cumulative,
    indexing,
    joining,
    reductions,
    rounding,
    searching,
    shapes,
    sorting,
    statistics,
    taking,
    ufuncs,
)
from frit.numpy.array_api_info import check_api_version
from frit.numpy.index_update import IndexUpdateHelper
from frit.numpy.operands import is_arraylike
from frit.primitives.refs import AbstractRef

Operator = Callable[[Any, Any], Any]

_DIRECT = (bool, int, float, complex, np.ndarray, np.generic)


def _accepts(x: Any) -> bool:
    """Whether an operator may be applied to `x`: not to lists, strings and other things."""
    return isinstance(x, _DIRECT) or (is_arraylike(x) and not isinstance(x, (str, bytes)))


def _forward(name: str, function: Operator) -> Operator:
    def method(self: Any, other: Any) -> Any:
        return function(self, other) if _accepts(other) else NotImplemented

    method.__name__ = name
    return method


def _reflected(name: str, function: Operator) -> Operator:
    def method(self: Any, other: Any) -> Any:
        return function(other, self) if _accepts(other) else NotImplemented

    method.__name__ = name
    return method


_BINARY: dict[str, Operator] = {
    "add": ufuncs.add,
    "sub": ufuncs.subtract,
    "mul": ufuncs.multiply,
    "truediv": ufuncs.true_divide,
    "floordiv": ufuncs.floor_divide,
    "mod": ufuncs.remainder,
    "divmod": ufuncs.divmod,
    "pow": ufuncs.power,
    "matmul": contraction.matmul,
    "and": comparisons.bitwise_and,
    "or": comparisons.bitwise_or,
    "xor": comparisons.bitwise_xor,
    "lshift": comparisons.left_shift,
    "rshift": comparisons.right_shift,
}
_COMPARISONS: dict[str, Operator] = {
    "eq": comparisons.equal,
    "ne": comparisons.not_equal,
    "lt": comparisons.less,
    "le": comparisons.less_equal,
    "gt": comparisons.greater,
    "ge": comparisons.greater_equal,
}


def _power(self: Any, other: Any, modulus: Any = None) -> Any:
    if modulus is not None or not _accepts(other):
        return NotImplemented
    return ufuncs.power(self, other)


def _round(self: Any, ndigits: Any = None) -> Any:
    return rounding.round(self, 0 if ndigits is None else ndigits)


def _iterate(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return iter(joining.unstack(self))


def _getitem(self: Any, idx: Any) -> Any:
    if isinstance(self.aval, AbstractRef):
        return ref.get(self, idx)
    return indexing.take_index(self, idx)


def _setitem(self: Any, i: Any, x: Any) -> None:
    if isinstance(self.aval, AbstractRef):
        ref.set(self, i, x)
        return
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = "
        "y, use x = x.at[idx].set(y) or another .at[] method: "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html"
    )


def _contains(self: Any, other: Any) -> bool:
    if self.ndim != 1:
        raise ValueError(
            f"Array.__contains__: search array must be one-dimensional, got shape {self.shape}"
        )
    if not _accepts(other):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(other)}")
    if np.ndim(other) != 0:
        raise ValueError(
            f"Array.__contains__: query value must be a scalar, got shape {np.shape(other)}"
        )
    return builtins.bool(reductions.any(comparisons.equal(self, other)))


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    check_api_version(api_version)
    return __import__("frit.numpy", fromlist=["numpy"])


def _transpose(self: Any, *args: Any) -> Any:
    """x with its axes in the given order, reversed by default."""
    if not args:
        return shapes.transpose(self)
    is_whole = len(args) == 1 and (args[0] is None or np.iterable(args[0]))
    axes: Any = args[0] if is_whole else args
    return shapes.transpose(self, axes)


def _matrix_transpose(self: Any) -> Any:
    if self.ndim < 2:
        raise ValueError(f"x.mT requires x to have at least 2 dimensions, got shape {self.shape}")
    return shapes.matrix_transpose(self)


def _reshape(self: Any, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """x with another shape and the same elements; one size may be -1."""
    shape = args[0] if len(args) == 1 else args
    return shapes.reshape(self, shape, order)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """x as an array of one axis."""
    return shapes.ravel(self, order)


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """x with elements of `dtype`."""
    return creation.astype(self, dtype, copy=copy)


def _view(self: Any, dtype: Any = None, type: Any = None) -> Any:
    """The bytes of x as another type; the last axis grows or shrinks with the size of elements."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    if dtype is None:
        return self
    wanted = dtypes.as_dtype(dtype)
    if wanted == self.dtype:
        return self
    if dtypes.is_complex(self.dtype):
        return _view(_as_pairs(self), dtype)
    if dtypes.is_complex(wanted):
        return _from_pairs(_view(self, np.dtype(f"f{wanted.itemsize // 2}")))
    if dtypes.is_bool(self.dtype):
        return _view(self.astype(np.uint8), dtype)
    if dtypes.is_bool(wanted):
        return _view(self, np.uint8).astype(np.bool_)
    narrow, wide = sorted((_bits(self.dtype), _bits(wanted)))
    if narrow != wide and self.ndim == 0:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is "
                         "unchanged.")  # fmt: skip
    if _bits(wanted) > _bits(self.dtype):
        ratio = wide // narrow
        if self.shape[-1] % ratio:
            raise ValueError(
                "When changing to a larger dtype, its size must be a divisor of the total size in "
                "bytes of the last axis of the array."
            )
        self = self.reshape(*self.shape[:-1], self.shape[-1] // ratio, ratio)
        return lax.bitcast_convert_type(self, wanted)
    out = lax.bitcast_convert_type(self, wanted)
    return out.reshape(*self.shape[:-1], -1) if narrow != wide else out


def _as_pairs(x: Any) -> Any:
    """Complex numbers as their real and imaginary parts, by turns along the last axis."""
    pairs = lax.stack([lax.real(x), lax.imag(x)], axis=x.ndim)
    return pairs.reshape(*x.shape[:-1], -1) if x.ndim else pairs


def _from_pairs(x: Any) -> Any:
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    return lax.complex(pairs[..., 0], pairs[..., 1])


def _bits(dtype: Any) -> int:
    name = dtype.name
    return int(name[-1]) if name in ("int2", "int4", "uint2", "uint4") else dtype.itemsize * 8


def _item(self: Any, *args: Any) -> Any:
    return self.__array__().item(*args)


def _copy(self: Any) -> Any:
    """A copy of x."""
    return creation.array(self, copy=True)


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """x with elements below `min` or above `max` replaced by these."""
    return rounding.clip(self, min, max)


def _dot(self: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The dot product of x and b."""
    return contraction.dot(
        self, b, precision=precision, preferred_element_type=preferred_element_type
    )


def _squeeze(self: Any, axis: Any = None) -> Any:
    """x without its axes of size 1."""
    return shapes.squeeze(self, axis)


def _addressable_data(self: Any, index: int) -> Any:
    """x itself: all of it lives here."""
    operator.index(index)
    return self


def _not_on_arrays(name: str, remedy: str) -> Any:
    def property_of(self: Any) -> Any:
        raise NotImplementedError(f"array.{name} is not supported; {remedy}")

    return property(property_of)


def _byteswap(self: Any) -> Any:
    """x with the bytes of each element in reverse order."""
    width = self.dtype.itemsize
    if width == 1:
        return self
    if dtypes.is_complex(self.dtype):
        return lax.complex(_byteswap(self.real), _byteswap(self.imag))
    integer = np.dtype(f"uint{8 * width}")
    bytes_of = lax.bitcast_convert_type(lax.bitcast_convert_type(self, integer), np.uint8)
    swapped = lax.bitcast_convert_type(lax.rev(bytes_of, (self.ndim,)), integer)
    return lax.bitcast_convert_type(swapped, self.dtype)


def _buffer_address(self: Any) -> int:
    """Where in memory the numbers of x are."""
    return self.__array__().__array_interface__["data"][0]


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """x itself: there is one device."""
    return self


def _at(self: Any) -> IndexUpdateHelper:
    return IndexUpdateHelper(self)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the namespace as a method; its first argument is the array."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    method.__wrapped__ = function  # type: ignore[attr-defined]
    return method


METHODS: dict[str, Callable[..., Any]] = {
    "all": reductions.all, "any": reductions.any, "max": reductions.max, "min": reductions.min,
    "mean": reductions.mean, "prod": reductions.prod, "ptp": reductions.ptp,
    "sum": reductions.sum, "std": statistics.std, "var": statistics.var,
    "argmax": searching.argmax, "argmin": searching.argmin, "argpartition": sorting.argpartition,
    "argsort": sorting.argsort, "sort": sorting.sort, "partition": sorting.partition,
    "searchsorted": searching.searchsorted, "nonzero": searching.nonzero,
    "cumprod": cumulative.cumprod, "cumsum": cumulative.cumsum,
    "choose": taking.choose, "compress": taking.compress_array, "take": taking.take,
    "diagonal": taking.diagonal, "trace": taking.trace,
    "conj": ufuncs.conjugate, "conjugate": ufuncs.conjugate,
    "ravel": shapes.ravel, "repeat": joining.repeat,
    "swapaxes": shapes.swapaxes, "round": rounding.round,
}  # fmt: skip

_OWN: dict[str, Any] = {
    "__pow__": _power, "__round__": _round, "__iter__": _iterate, "__getitem__": _getitem,
    "__setitem__": _setitem, "__contains__": _contains, "__array_namespace__": _array_namespace,
    "__neg__": lambda self: ufuncs.negative(self),
    "__pos__": lambda self: ufuncs.positive(self),
    "__abs__": lambda self: ufuncs.absolute(self),
    "__invert__": lambda self: comparisons.bitwise_not(self),
    "transpose": _transpose, "reshape": _reshape, "flatten": _flatten, "astype": _astype,
    "view": _view, "copy": _copy, "clip": _clip, "dot": _dot, "squeeze": _squeeze,
    "addressable_data": _addressable_data,
    "T": property(lambda self: shapes.transpose(self)),
    "mT": property(_matrix_transpose),
    "real": property(lambda self: ufuncs.real(self)),
    "imag": property(lambda self: ufuncs.imag(self)),
    "at": property(_at),
    "flat": _not_on_arrays("flat", "use x.flatten()"),
}  # fmt: skip

_FALLBACK: dict[str, Any] = {
    "clone": _copy, "is_ready": lambda self: True, "byteswap": _byteswap,
    "unsafe_buffer_pointer": _buffer_address,
    "to_device": _to_device,
    "platform": lambda self: "cpu",
    "__hex__": lambda self: hex(operator.index(self)),
    "__oct__": lambda self: oct(operator.index(self)),
}  # fmt: skip


def install_operators(cls: type) -> None:
    """Puts operators, methods and properties on a class of arrays."""
    table: dict[str, Any] = dict(_OWN)
    for name, function in _BINARY.items():
        table.setdefault(f"__{name}__", _forward(f"__{name}__", function))
        table[f"__r{name}__"] = _reflected(f"__r{name}__", function)
    for name, function in _COMPARISONS.items():
        table[f"__{name}__"] = _forward(f"__{name}__", function)
    for name, function in METHODS.items():
        table[name] = _method(function)
    for name, member in table.items():
        setattr(cls, name, member)
    for name, member in _FALLBACK.items():
        if not hasattr(cls, name):
            setattr(cls, name, member)
