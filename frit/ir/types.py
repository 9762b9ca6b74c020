"""What is known of a value while tracing: an open class of abstract values, ShapedArray first.

Each type answers: its tangent type, itself with an axis more or less, its zero, and its text.
`typeof(value)` gives the type of any value; upper layers register the classes of values they bring.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from frit.ir import dims, dtypes
from frit.ir.dtypes import DType, ExtendedDType, float0

Shape = tuple[Any, ...]  # of int | Dim


class AbstractValue:
    """The type of a value in a jaxpr."""

    __slots__ = ()

    def tangent_type(self) -> AbstractValue:
        raise NotImplementedError(f"values of type {self} have no tangents")

    def without_axis(self, axis: int | None) -> AbstractValue:
        """The type of one slice along `axis`."""
        raise NotImplementedError(f"values of type {self} cannot be mapped over")

    def with_axis(self, axis: int | None, size: Any) -> AbstractValue:
        """The type of `size` such values, stacked along `axis`."""
        raise NotImplementedError(f"values of type {self} cannot be mapped over")

    def strip_weak_type(self) -> AbstractValue:
        return self

    def str_short(self, short_dtypes: bool = False, **_: Any) -> str:
        return str(self)

    def zero(self) -> Any:
        """An array of zeros of this type."""
        raise NotImplementedError(f"values of type {self} have no zero")

    @property
    def storage_dtype(self) -> np.dtype:
        raise NotImplementedError

    def to_tangent_aval(self) -> AbstractValue:
        return self.tangent_type()


class ShapedArray(AbstractValue):
    """An array's shape (ints or symbolic dimensions), element type, and whether that is weak."""

    __slots__ = ("_hash", "dtype", "shape", "weak_type")
    shape: Shape
    dtype: DType
    weak_type: bool

    def __init__(self, shape: Shape, dtype: Any, weak_type: bool = False, **_: Any) -> None:
        self.shape = dims.check_shape(shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.weak_type = bool(weak_type)
        self._hash = hash((self.shape, self.dtype, self.weak_type))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Any:
        return dims.product(self.shape)

    @property
    def storage_dtype(self) -> np.dtype:
        return self.dtype.storage if isinstance(self.dtype, ExtendedDType) else self.dtype

    @property
    def sharding(self) -> None:
        return None

    def update(self, **changes: Any) -> ShapedArray:
        """A copy with some of shape, dtype and weak_type replaced."""
        old = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type}
        return ShapedArray(**(old | changes))

    def tangent_type(self) -> ShapedArray:
        return ShapedArray(self.shape, dtypes.tangent_dtype(self.dtype), self.weak_type)

    def without_axis(self, axis: int | None) -> ShapedArray:
        if axis is None:
            return self
        return self.update(shape=self.shape[:axis] + self.shape[axis + 1 :])

    def with_axis(self, axis: int | None, size: Any) -> ShapedArray:
        if axis is None:
            return self
        return self.update(shape=(*self.shape[:axis], size, *self.shape[axis:]))

    def strip_weak_type(self) -> ShapedArray:
        return self if not self.weak_type else self.update(weak_type=False)

    def zero(self) -> np.ndarray:
        return np.zeros(self.shape, self.storage_dtype)

    def str_short(self, short_dtypes: bool = False, **_: Any) -> str:
        name = dtypes.short_name(self.dtype) if short_dtypes else _long_name(self.dtype)
        weak = "~" if self.weak_type and not short_dtypes else ""
        return f"{weak}{name}[{','.join(map(str, self.shape))}]"

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            type(other) is ShapedArray
            and self._hash == other._hash
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak_type == other.weak_type
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({_long_name(self.dtype)}[{','.join(map(str, self.shape))}]{weak})"

    def __str__(self) -> str:
        return self.str_short()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]


def _long_name(dtype: DType) -> str:
    return "float0" if dtype == float0 else str(dtype.name)


class AbstractToken(AbstractValue):
    """The type of a token, which orders effects and holds nothing."""

    __slots__ = ()

    def tangent_type(self) -> AbstractValue:
        return ShapedArray((), float0)

    def with_axis(self, axis: int | None, size: Any) -> AbstractValue:
        return self

    without_axis = with_axis  # type: ignore[assignment]

    def str_short(self, short_dtypes: bool = False, **_: Any) -> str:
        return "Tok"

    def __eq__(self, other: Any) -> bool:
        return type(other) is AbstractToken

    def __hash__(self) -> int:
        return hash(AbstractToken)

    def __repr__(self) -> str:
        return "Tok"


_VALUE_TYPES: dict[type, Callable[[Any], AbstractValue]] = {}


def register_value_type(cls: type, typing: Callable[[Any], AbstractValue]) -> None:
    """Tells the type of the values of a class: the hook by which upper layers bring theirs."""
    _VALUE_TYPES[cls] = typing


def is_value(x: Any) -> bool:
    """Whether `x` may be an operand of a primitive."""
    return _typing_of(type(x)) is not None or hasattr(x, "__jax_array__")


def _typing_of(cls: type) -> Callable[[Any], AbstractValue] | None:
    found = _VALUE_TYPES.get(cls)
    if found is None:
        for base in cls.__mro__[1:]:
            if base in _VALUE_TYPES:
                found = _VALUE_TYPES[cls] = _VALUE_TYPES[base]
                break
    return found


def typeof(x: Any) -> AbstractValue:
    """The type of a value.  TypeError if `x` is not an array, a scalar or a key."""
    typing = _typing_of(type(x))
    if typing is None:
        if hasattr(x, "__jax_array__"):
            return typeof(x.__jax_array__())
        raise TypeError(
            f"Argument '{x}' of type {type(x)} is not a valid JAX type: expected an array, a "
            "NumPy array or scalar, or a Python number."
        )
    return typing(x)


def _python_scalar(x: Any) -> ShapedArray:
    kind = (
        bool if isinstance(x, bool) else next(k for k in (int, float, complex) if isinstance(x, k))
    )
    dtype = dtypes.python_scalar_dtype(kind)
    if kind is int:
        limits = np.iinfo(dtype)
        if not limits.min <= x <= limits.max:
            raise OverflowError(f"Python int {x} too large to convert to {dtype}")
    return ShapedArray((), dtype, weak_type=kind is not bool)


def _numpy_value(x: Any) -> ShapedArray:
    dtype = x.dtype
    if dtype not in dtypes.ARRAY_DTYPES and dtype != float0:
        raise TypeError(
            f"Value {x!r} with dtype {dtype} is not a valid JAX array type. Only arrays of "
            "numeric types are supported."
        )
    return ShapedArray(x.shape, dtype if dtype == float0 else dtypes.canonicalize(dtype))


def _masked_array(x: Any) -> AbstractValue:
    raise ValueError(
        "numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() "
        "to convert the value to a standard numpy array."
    )


for _kind in (bool, int, float, complex):
    register_value_type(_kind, _python_scalar)
register_value_type(np.ndarray, _numpy_value)
register_value_type(np.ma.MaskedArray, _masked_array)
register_value_type(np.generic, _numpy_value)


class ShapeDtypeStruct:
    """A stand-in for an array: shape, element type and whether that is weak, without numbers."""

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False, **_: Any
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = dims.check_shape(shape)
        self.dtype = dtypes.as_dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """The stand-in for an array such as `x`."""
        aval: Any = typeof(x)
        return cls(aval.shape, aval.dtype, weak_type=aval.weak_type)

    @property
    def size(self) -> Any:
        return dims.product(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        old = {name: getattr(self, name) for name in self.__slots__}
        return ShapeDtypeStruct(**(old | changes))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={_long_name(self.dtype)}{weak})"

    __str__ = __repr__

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (
            (self.shape, self.dtype, self.weak_type) == (other.shape, other.dtype, other.weak_type)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))


def shaped_type(x: Any) -> AbstractValue:
    """The type of a value, or of anything with a shape and a dtype that stands for one."""
    if isinstance(x, AbstractValue):
        return x
    if isinstance(x, ShapeDtypeStruct):
        dtype = dtypes.canonicalize(x.dtype) if x.dtype != float0 else x.dtype
        return ShapedArray(x.shape, dtype, x.weak_type)
    if is_value(x):
        return typeof(x)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(x.shape, dtypes.canonicalize(x.dtype), getattr(x, "weak_type", False))
    return typeof(x)
