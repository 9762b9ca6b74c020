"""Array: an immutable array of numbers (or keys) with a type; what programs take and return.

It owns its NumPy buffer, or aliases one that nobody can write.  `__array__`, the buffer protocol
and DLPack read it without a copy.  Methods and operators are installed by frit.numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frit import config, errors
from frit.ir import dtypes, types
from frit.ir.dtypes import ExtendedDType
from frit.ir.primitive import Tracer
from frit.ir.types import ShapedArray
from frit.primitives.random_bits import words_of
from frit.primitives.tapes import is_tape
from frit.runtime.device import Device, cpu_device


class _ArrayMeta(type):
    """isinstance(x, Array) holds for tracers of arrays too, as user code expects."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return isinstance(instance, Tracer) and isinstance(instance.aval, ShapedArray)


class Array(metaclass=_ArrayMeta):
    """An immutable array.  Make one with frit.numpy, e.g. `jnp.array([1., 2.])`."""

    __slots__ = ("__weakref__", "_contents", "aval")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, contents: np.ndarray, aval: ShapedArray) -> None:
        self._contents: np.ndarray | None = contents
        self.aval = aval

    @property
    def _data(self) -> np.ndarray:
        if self._contents is None:
            raise errors.DeletedArrayError(
                f"Array has been deleted with shape={self.aval.str_short()}. It was donated to a "
                "jitted function (donate_argnums/donate_argnames) or deleted; keep using the "
                "function's result instead, or do not donate the argument."
            )
        return self._contents

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        return self.aval.storage_dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.itemsize

    @property
    def device(self) -> Device:
        return cpu_device()

    def devices(self) -> set[Device]:
        return {cpu_device()}

    @property
    def sharding(self) -> Any:
        return cpu_device().sharding

    @property
    def committed(self) -> bool:
        return False

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def _impl(self) -> Any:
        """The generator of an array of keys."""
        return self.aval.dtype._impl

    @property
    def _base_array(self) -> Array:
        """The words of an array of keys."""
        words = words_of(self._data).reshape(*self.shape, *self._impl.key_shape)
        return Array(words, ShapedArray(words.shape, words.dtype))

    def delete(self) -> None:
        """Gives the buffer up; later use raises."""
        self._contents = None
        self.aval = self.aval.update()  # another object: no quick call knows it

    def is_deleted(self) -> bool:
        return self._contents is None

    def block_until_ready(self) -> Array:
        self._data  # noqa: B018 - a deleted array is not ready
        return self

    def copy_to_host_async(self) -> None:
        self._data  # noqa: B018

    def on_device_size_in_bytes(self) -> int:
        return self.nbytes

    def __array__(self, dtype: Any = None, context: Any = None, copy: bool | None = None) -> Any:
        if isinstance(self.aval.dtype, ExtendedDType):
            raise TypeError(
                "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use "
                "random.key_data(key) for the bits of the key."
            )
        data = self._data
        if dtype is not None and np.dtype(dtype) != data.dtype:
            return data.astype(dtype)
        if copy:
            return data.copy()
        view = data.view()
        view.flags.writeable = False
        return view

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.__array__())

    def __dlpack__(self, **kwargs: Any) -> Any:
        kwargs.pop("stream", None)
        view = self._data.view()
        if view.dtype.kind == "V" or view.dtype == dtypes.bfloat16:
            raise BufferError(f"arrays of {self.dtype} cannot be exported through DLPack")
        return view.__dlpack__(**{k: v for k, v in kwargs.items() if v is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            kind = "empty array is" if not self.aval.size else "array with more than one element is"
            raise ValueError(f"The truth value of an {kind} ambiguous. Use a.any() or a.all().")
        return bool(self._data)

    def _scalar(self, kind: str) -> Any:
        if self.aval.size != 1 or self.aval.shape:
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; got {self.aval} for "
                f"`{kind}`. Index the element you want first."
            )
        return self.__array__()

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        scalar = not self.aval.shape
        if not scalar or not (
            dtypes.is_integer(self.aval.dtype) or dtypes.is_bool(self.aval.dtype)
        ):
            raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
        return int(self._scalar("index"))

    def item(self, *args: Any) -> Any:
        """The element as a Python number."""
        return self.__array__().item(*args)

    def tolist(self) -> Any:
        return self.__array__().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return self.__array__().tobytes(order)

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __copy__(self) -> Array:
        return Array(self._data.copy(), self.aval)

    def __deepcopy__(self, memo: Any) -> Array:
        return Array(self._data.copy(), self.aval)

    def __reduce__(self) -> Any:
        if is_tape(self.aval):
            raise TypeError(
                "The residuals of a differentiated while loop are memory of this process and cannot"
                " be pickled. Pickle what vjp or linearize was called with, and call it again."
            )
        return _unpickle, (np.asarray(self._data), self.aval.weak_type, self.aval.dtype)

    def __format__(self, spec: str) -> str:
        if not self.aval.shape and not isinstance(self.aval.dtype, ExtendedDType):
            return format(self._data[()], spec)
        return format(str(self), spec)

    def __str__(self) -> str:
        if isinstance(self.aval.dtype, ExtendedDType):
            return repr(self)
        return str(self.__array__())

    def __repr__(self) -> str:
        if self._contents is None:
            return f"Array(shape={self.shape}, dtype={self.dtype}), deleted"
        if isinstance(self.aval.dtype, ExtendedDType):
            bits = words_of(self._data)
            return f"Array({self.shape}, dtype={self.dtype}) overlaying:\n{bits}"
        name = str(self.dtype.name)
        weak = ", weak_type=True" if self.aval.weak_type else ""
        suffix = f"dtype={name}{weak})"
        if self.aval.size == 0:
            return (
                f"Array([], shape={self.shape}, {suffix}"
                if self.shape != (0,)
                else f"Array([], {suffix}"
            )
        body = np.array2string(
            self.__array__(), prefix="Array(", suffix=",", separator=", ",
            threshold=config.numpy_repr_limit.value,
        )  # fmt: skip
        lines = body.split("\n")
        width = np.get_printoptions()["linewidth"]
        joint = (
            " "
            if len(lines[-1]) + len("Array(") * (len(lines) == 1) + len(suffix) + 2 <= width
            else "\n      "
        )
        return f"Array({body},{joint}{suffix}"


def _unpickle(data: np.ndarray, weak_type: bool, dtype: Any) -> Array:
    return Array(data, ShapedArray(data.shape, dtype, weak_type))


types.register_value_type(Array, lambda x: x.aval)


def array_of(value: Any) -> Array:
    """`value` (a NumPy array or scalar, or a Python number) as an Array with its own buffer."""
    if type(value) is Array:
        return value
    aval = types.typeof(value)
    assert isinstance(aval, ShapedArray)
    if dtypes.on_narrowing and isinstance(value, np.ndarray) and value.dtype != aval.dtype:
        dtypes.tell_narrowing(value.dtype, aval.dtype, value=value)
    return Array(np.array(value, aval.storage_dtype, order="C"), aval)


def as_array(value: Any) -> Any:
    """`array_of(value)`, for callbacks: what is no plain array (bytes of a key) stays as it is."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "V" and value.dtype.names is None:
        return value if types.typeof(value).dtype != value.dtype else array_of(value)  # type: ignore[attr-defined]
    return array_of(value)
