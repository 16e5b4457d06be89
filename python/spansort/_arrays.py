# SPDX-License-Identifier: Apache-2.0
"""Arrays as the module takes them: what their elements are, and whose arrays results are."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core

Array = npt.NDArray[Any]

_TYPE_OF_NAME = {
    "uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "uint32": 4, "int32": 5, "uint64": 6, "int64": 7,
    "float16": 8, "bfloat16": 9, "float32": 10, "float64": 11, "bool": 0,
}  # fmt: skip
_NAME_OF_TYPE = ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "bf16", "f32", "f64")

_KEYS_ARE = (
    "keys are integers and floats of 8 to 64 bits, bool, datetime64, timedelta64, bfloat16 of ml_dtypes, "
    "fixed-width bytes and strings, and structures of these"
)


class Keys(NamedTuple):
    """A dtype as the module knows it: a key type by its number, and whether the least key is NaT."""

    number: int
    has_nat: bool

    @property
    def name(self) -> str:
        return _NAME_OF_TYPE[self.number]


@functools.lru_cache(maxsize=256)  # NumPy computes the name of a dtype, which takes longer than a sort of few keys
def keys_of_dtype(dtype: np.dtype[Any]) -> Keys | None:
    """Return the key type of elements in native byte order, None for elements that are none."""
    if dtype.kind in "mM":
        return Keys(_TYPE_OF_NAME["int64"], True)
    number = _TYPE_OF_NAME.get(dtype.name)
    # The long long of C has a dtype of its own with the name of another.
    if number is None and dtype.kind in "iu":
        number = _TYPE_OF_NAME.get(f"{'u' if dtype.kind == 'u' else ''}int{8 * dtype.itemsize}")
    return None if number is None else Keys(number, False)


def type_of_name(name: str) -> int | None:
    """Return the key type, by its number, of elements whose dtype has this name; None for elements that are none."""
    return _TYPE_OF_NAME.get(name)


def is_record(dtype: np.dtype[Any]) -> bool:
    """Return whether elements are ordered by fields, or byte by byte."""
    return dtype.names is not None or dtype.kind in "SU"


def refuse(dtype: np.dtype[Any], function: str) -> TypeError:
    """Make the error that elements of a dtype cannot be sorted."""
    return TypeError(f"{function}: elements of dtype {dtype} have no order here; {_KEYS_ARE}")


class Source(NamedTuple):
    """An array of the caller's as NumPy's, and how to make the caller's kind of array of a result."""

    array: Array
    back: Callable[[Array], Any]


def _same(array: Array) -> Any:
    return array


def source(x: Any, function: str) -> Source:
    """Take an array of any library that exports host memory, memory of the buffer protocol, or a sequence."""
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(
                f"{function}: masked arrays are not taken, for their masks would be lost; x.compressed() is"
            )
        return Source(np.asarray(x), _same)
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return _of_dlpack(x, function)
    if hasattr(x, "__cuda_array_interface__"):
        raise TypeError(f"{function}: an array in the memory of a GPU is not taken here; copy it to the host")
    return Source(np.asarray(x), _same)


def _of_dlpack(x: Any, function: str) -> Source:
    # 1 is the CPU; 3 and 11 are host memory that CUDA and ROCm have pinned.
    if int(x.__dlpack_device__()[0]) not in (1, 3, 11):
        raise TypeError(f"{function}: an array in the memory of a GPU is not taken here; copy it to the host")
    namespace = getattr(x, "__array_namespace__", None)
    library = namespace() if namespace is not None else sys.modules.get(type(x).__module__.partition(".")[0])
    from_dlpack = getattr(library, "from_dlpack", None)
    try:
        array = np.from_dlpack(x)
    except (BufferError, RuntimeError) as error:
        raise TypeError(f"{function}: this array does not give its memory to NumPy: {error}") from error
    return Source(array, _same if from_dlpack is None else from_dlpack)


def native(array: Array) -> Array:
    """Return the array C-contiguous, aligned and in native byte order, a copy only where it is not."""
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def native_copy(array: Array) -> Array:
    """Return a copy that is C-contiguous, aligned and in native byte order."""
    # Signals interrupt a copy of the module's.
    plain = _core.plain_copy(array) if array.dtype.isnative and array.flags.aligned else None
    if plain is not None:
        return plain
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True, subok=False)


def in_place(x: Any, function: str, name: str = "x") -> Array:
    """Take an array that is changed where it is."""
    if isinstance(x, np.ndarray) and not isinstance(x, np.ma.MaskedArray):
        array = np.asarray(x)
    elif hasattr(x, "__dlpack__"):
        array = source(x, function).array
    elif isinstance(x, (memoryview, bytearray)) or hasattr(x, "__array_interface__"):
        array = np.asarray(x)
    else:
        raise TypeError(f"{function}: {name} is changed in place; an array is expected, not {type(x).__name__}")
    if not array.flags.writeable:
        raise ValueError(f"{function}: {name} is read-only")
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise TypeError(
            f"{function}: {name} is changed in place and must be C-contiguous and aligned; others are copied first"
        )
    if not array.dtype.isnative:
        raise TypeError(f"{function}: {name} is changed in place and must be in native byte order")
    return array


def output(out: Any, function: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Check an array of the caller's that a result is written to."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{function}: out: a NumPy array is expected, not {type(out).__name__}")
    array = in_place(out, function, "out")
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{function}: out: shape {shape} and dtype {dtype} are expected, not {array.shape} and {array.dtype}"
        )
    return array


#: NumPy 1.25 has moved it.
AxisError: Any = getattr(np, "exceptions", np).AxisError


def axis_of_shape(shape: tuple[int, ...], axis: int, function: str) -> int:
    """Return an axis counted from 0. Raises NumPy's AxisError, which is a ValueError and an IndexError."""
    if not shape:
        raise AxisError(f"{function}: an array of at least one dimension is expected")
    number = operator.index(axis)
    if not -len(shape) <= number < len(shape):
        raise AxisError(number, len(shape))
    return number % len(shape)


def axis_of(array: Array, axis: int, function: str) -> int:
    """Return an axis of an array, as axis_of_shape() does."""
    return axis_of_shape(array.shape, axis, function)
