"""ufunc: a function of elements together with its reduce, accumulate, at, reduceat and outer.

Made by `frompyfunc` from a function of scalars; those of the namespace (`add` …) bring their own
reductions, the others fold with a loop.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from frit import errors, lax
from frit.ir import dims
from frit.numpy.creation import asarray
from frit.numpy.index_entries import parse
from frit.numpy.joining import concatenate
from frit.numpy.operands import canonical_axis, check_arraylike, ensure_array, ensure_arrays
from frit.numpy.promotion import broadcast_to
from frit.numpy.selection import where as select
from frit.numpy.shapes import moveaxis, ravel
from frit.numpy.taking import take
from frit.numpy.vectorize import vectorize

Function = Callable[..., Any]


class ufunc:
    """A function that acts on each element by itself."""

    def __init__(
        self,
        func: Function,
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Function | None = None,
        reduce: Function | None = None,
        accumulate: Function | None = None,
        at: Function | None = None,
        reduceat: Function | None = None,
    ) -> None:
        errors.check_function(func, "the function of a ufunc")
        self.__doc__ = func.__doc__
        self.__name__ = name or str(getattr(func, "__name__", type(func).__name__))
        self._function, self._identity = func, identity
        self._nin, self._nout = operator.index(nin), operator.index(nout)
        self._nargs = operator.index(nargs or nin)
        self._call = call or vectorize(func)
        self._reduce, self._accumulate = reduce, accumulate
        self._at, self._reduceat = at, reduceat

    @property
    def _func(self) -> Function:
        return self._function

    @property
    def nin(self) -> int:
        """How many arguments the function takes."""
        return self._nin

    @property
    def nout(self) -> int:
        """How many results it has."""
        return self._nout

    @property
    def nargs(self) -> int:
        """How many arguments the function takes."""
        return self._nargs

    @property
    def identity(self) -> Any:
        """What joined with x gives x, or None."""
        return self._identity

    def _key(self) -> tuple[Any, ...]:
        return (self._func, self.__name__, self.identity, self.nin, self.nout, self.nargs)

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ufunc) and self._key() == other._key()

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        """The function of each element, the arguments broadcast together."""
        check_arraylike(self.__name__, *args)
        if out is not None:
            raise NotImplementedError(f"out argument of {self}")
        if where is not None:
            raise NotImplementedError(f"where argument of {self}")
        return self._call(*args)

    def _check_binary(self, method: str, out: Any = None) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.{method}()")

    def _result_dtype(self, *args: Any) -> Any:
        return self._call(*(lax.full((), 1, a.dtype) for a in args)).dtype

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """The elements along `axis` joined by the function, from left to right."""
        self._check_binary("reduce", out)
        check_arraylike(f"{self.__name__}.reduce", a)
        if where is not None:
            where = ensure_array(f"{self.__name__}.reduce", where)
            if self.identity is None and initial is None:
                raise ValueError(
                    f"reduction operation {self.__name__!r} does not have an identity, so to use a "
                    "where mask one has to specify 'initial'."
                )
            if where.dtype != np.bool_:
                raise ValueError(f"where argument must have dtype=bool; got dtype={where.dtype}")
        reduce = self._reduce or self._fold
        return reduce(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    def _fold(self, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        a = ensure_array(self.__name__, a)
        initial = self.identity if initial is None else initial
        dtype = self._result_dtype(a, a) if dtype is None else dtype
        where = None if where is None else broadcast_to(where, a.shape)
        if isinstance(axis, tuple):
            raise NotImplementedError(f"{self.__name__}.reduce over a tuple of axes")
        shape = a.shape
        if axis is None:
            final = (1,) * a.ndim if keepdims else ()
            a, axis = ravel(a), 0
            where = None if where is None else ravel(where)
        else:
            axis = canonical_axis(axis, a.ndim)
            final = (*shape[:axis], *((1,) if keepdims else ()), *shape[axis + 1 :])
        a = moveaxis(a, axis, 0)
        where = None if where is None else moveaxis(where, axis, 0)
        if a.shape[0] == 0 and initial is None:
            raise ValueError(
                f"zero-size array to reduction operation {self.__name__} which has no identity"
            )
        if a.shape[0] == 0:
            return lax.full(final, initial, dtype)
        a = lax.convert_element_type(a, dtype)

        def join(i: Any, total: Any) -> Any:
            joined = lax.convert_element_type(self(total, a[i]), dtype)
            return joined if where is None else select(where[i], joined, total)

        first = a[0] if initial is None else broadcast_to(asarray(initial, dtype), a.shape[1:])
        result = lax.fori_loop(1 if initial is None else 0, a.shape[0], join, first)
        return lax.reshape(result, final) if keepdims else result

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """The elements along `axis` joined by the function, up to each place."""
        self._check_binary("accumulate", out)
        if self._accumulate is not None:
            return self._accumulate(a, axis=axis, dtype=dtype)
        a = ensure_array(f"{self.__name__}.accumulate", a)
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        axis = canonical_axis(axis, a.ndim)
        dtype = self._result_dtype(a, a) if dtype is None else dtype
        a = moveaxis(lax.convert_element_type(a, dtype), axis, 0)
        if a.size == 0:
            return moveaxis(a, 0, axis)

        def step(total: Any, x: Any) -> tuple[Any, Any]:
            total = lax.convert_element_type(self(total, x), dtype)
            return total, total

        _, rest = lax.scan(step, a[0], a[1:])
        return moveaxis(concatenate([a[:1], rest], axis=0), 0, axis)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """`a` with the function applied at `indices`, once for each time that one is named."""
        if inplace:
            raise NotImplementedError(
                f"JAX arrays are immutable: pass inplace=False to {self.__name__}.at() to return a "
                "modified copy of the input."
            )
        if self._at is not None:
            return self._at(a, indices) if b is None else self._at(a, indices, b)
        given = ensure_arrays(f"{self.__name__}.at", *([a] if b is None else [a, b]))
        dtype = self._result_dtype(*given)
        a, *rest = (lax.convert_element_type(x, dtype) for x in given)
        index = indices if isinstance(indices, tuple) else (indices,)
        if not index:
            return a
        parse(index, a.shape)
        shapes = [np.shape(i) for i in index if not isinstance(i, slice)]
        shape = lax.broadcast_shapes(*shapes) if shapes else ()
        if not shape:
            return a.at[index].set(self(a[index], *rest))
        count = dims.product(shape)
        index = tuple(i if isinstance(i, slice) else ravel(broadcast_to(i, shape)) for i in index)
        values = [
            lax.reshape(
                broadcast_to(x, (*shape, *x.shape[len(shape) :])), (count, *x.shape[len(shape) :])
            )
            for x in rest
        ]

        def step(i: Any, a: Any) -> Any:
            here = tuple(j if isinstance(j, slice) else j[i] for j in index)
            return a.at[here].set(self(a[here], *(v[i] for v in values)))

        return lax.fori_loop(0, count, step, a)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Any:
        """The elements from each index to before the next joined by the function.

        An index not below the next one gives its element alone.
        """
        self._check_binary("reduceat", out)
        if self._reduceat is not None:
            return self._reduceat(a, indices, axis=axis, dtype=dtype)
        a, indices = ensure_arrays(f"{self.__name__}.reduceat", a, indices)
        if a.ndim == 0:
            raise ValueError(f"reduceat: a must have 1 or more dimension, got a.shape={a.shape}")
        if indices.ndim != 1:
            raise ValueError(
                f"reduceat: indices must be one-dimensional, got indices.shape={indices.shape}"
            )
        if axis is None or isinstance(axis, (tuple, list)):
            raise ValueError("reduceat requires a single integer axis.")
        axis = canonical_axis(axis, a.ndim)
        size = a.shape[axis]
        first = take(a, indices, axis=axis)
        if dtype is not None:
            first = lax.convert_element_type(first, dtype)
        ends = concatenate([indices[1:], lax.full((1,), size, indices.dtype)], axis=0)
        along = (*range(axis), *range(axis + 1, a.ndim))
        starts, ends = (lax.expand_dims(i, along) for i in (indices, ends))

        def join(i: Any, total: Any) -> Any:
            inside = (i > starts) & (i < ends)
            joined = self(total, take(a, lax.expand_dims(i, (0,)), axis=axis))
            return select(inside, lax.convert_element_type(joined, total.dtype), total)

        return lax.fori_loop(0, size, join, first)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of every element of A with every element of B."""
        self._check_binary("outer")
        A, B = ensure_arrays(f"{self.__name__}.outer", A, B)
        result = self(lax.expand_dims(ravel(A), (1,)), lax.expand_dims(ravel(B), (0,)))
        return lax.reshape(result, (*A.shape, *B.shape))


def frompyfunc(func: Function, /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """The ufunc of a function of `nin` scalars with `nout` results."""
    return ufunc(func, nin, nout, identity=identity)
