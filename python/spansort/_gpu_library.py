# SPDX-License-Identifier: Apache-2.0
"""What a sort needs to know of a library whose arrays lie in the memory of a GPU, and to have of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ._arrays import Array, keys_of_dtype, type_of_name

#: Device types of DLPack: memory of a GPU, and memory that CUDA moves between host and GPU.
CUDA = (2, 13)


@functools.lru_cache(maxsize=256)
def name_of(dtype: np.dtype[Any]) -> str:
    """Return the name of one of NumPy's dtypes, which it computes anew whenever it is asked."""
    return str(dtype.name)


def key_type_of(dtype: np.dtype[Any]) -> int | None:
    """Return the number of the key type of elements of one of NumPy's dtypes, None for elements that are no keys."""
    keys = keys_of_dtype(dtype)
    return None if keys is None or keys.has_nat else keys.number


class GpuLibrary:
    """Arrays of one dimension are meant where none of several is named; all are C-contiguous but what copy() takes, and
    the second array of assign()."""

    #: Whether a call returns when the GPU is done, because the library cannot be told of a stream.
    waits = False
    #: Whether arrays of the caller's may be written to.
    writes = True
    #: Whether cast() is there.
    casts = True
    #: A module with sort(), argsort() and sort_pairs() of its own, which take no memory= and no out=.
    compiled: Any = None

    def run(self, work: Callable[..., Any], x: Any, *arguments: Any) -> Any:
        """Return work(library, x, ...), with the array's GPU current where the library works on the current one."""
        return work(self, x, *arguments)

    def array(self, x: Any) -> Any:
        """Return an array of the caller's with a shape, a dtype and reshape()."""
        return x

    def is_read_only(self, x: Any) -> bool:
        return False

    def check(self, x: Any, function: str) -> None:
        """Raise TypeError for an array that cannot be taken."""

    def device(self, x: Any) -> int:
        """Return the ordinal of the GPU."""
        raise NotImplementedError

    def stream(self, device: int) -> int:
        """Return the stream that the library works on."""
        raise NotImplementedError

    def dtype_name(self, x: Any) -> str:
        """Return the dtype as NumPy names it."""
        raise NotImplementedError

    def key_type(self, x: Any) -> int | None:
        """Return the number of the key type, None for elements that are no keys."""
        return type_of_name(self.dtype_name(x))

    def address(self, x: Any, stream: int) -> int:
        """Return where the memory is, once the stream may use it."""
        raise NotImplementedError

    def is_contiguous(self, x: Any) -> bool:
        raise NotImplementedError

    def byte_strides(self, x: Any) -> tuple[int, ...]:
        return tuple(x.strides)

    def flat(self, x: Any) -> Any:
        """Return the elements as a vector, which may be a copy."""
        return x.reshape(-1)

    def permuted(self, x: Any, axes: tuple[int, ...]) -> Any:
        """Return the array with its axes in another order, which may be a view."""
        raise NotImplementedError

    def contiguous(self, x: Any) -> Any:
        """Return the array, or a copy of it."""
        raise NotImplementedError

    def contiguous_at(self, x: Any, stream: int) -> tuple[Any, int]:
        """Return the array, or a copy of it, and where its memory is."""
        found = self.contiguous(x)
        return found, self.address(found, stream)

    def copy(self, x: Any) -> Any:
        raise NotImplementedError

    def assign(self, target: Any, x: Any) -> None:
        """Copy the elements; the target is an array of the same shape, and of the same dtype or, of orders, a wider one."""
        raise NotImplementedError

    def will_write(self, x: Any) -> None:
        """Tell the library that an array of the caller's is about to be written to."""

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        """Return new elements, on the GPU of another array."""
        raise NotImplementedError

    def zeros(self, count: int, dtype_name: str, like: Any) -> Any:
        """Return new elements that are 0, on the GPU of another array."""
        raise NotImplementedError

    def of_host(self, x: Array, like: Any) -> Any:
        """Return a copy of an array of NumPy's, on the GPU of another array."""
        raise NotImplementedError

    def cast(self, x: Any, dtype_name: str) -> Any:
        raise NotImplementedError

    def gather(self, x: Any, indices: Any) -> Any:
        """Return the rows at indices."""
        raise NotImplementedError

    def index_dtype_name(self) -> str:
        return "int64"

    def is_array(self, x: Any) -> bool:
        """Return whether an object is an array of this library on a GPU."""
        raise NotImplementedError
