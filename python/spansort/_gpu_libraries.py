# SPDX-License-Identifier: Apache-2.0
"""Libraries whose arrays lie in the memory of a GPU: what a sort needs to know of them and to have of them.

Nothing is imported here: a library is that of the caller's array, so it is imported already.
"""

from __future__ import annotations

import functools
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from . import _core
from ._arrays import keys_of_dtype, type_of_name

#: Device types of DLPack: memory of a GPU, and memory that CUDA moves between host and GPU.
_CUDA = (2, 13)


class GpuLibrary:
    """Arrays of one dimension are meant where none of several is named; all of them are C-contiguous."""

    #: Whether a call returns when the GPU is done, because the library cannot be told of a stream.
    waits = False

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

    def contiguous(self, x: Any) -> Any:
        """Return the array, or a copy of it."""
        raise NotImplementedError

    def copy(self, x: Any) -> Any:
        raise NotImplementedError

    def assign(self, target: Any, x: Any) -> None:
        """Copy the elements; the target is an array of the same shape and dtype."""
        raise NotImplementedError

    def will_write(self, x: Any) -> None:
        """Tell the library that an array of the caller's is about to be written to."""

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        """Return new elements, on the GPU of another array."""
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


class _Torch(GpuLibrary):
    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._strided = torch.strided
        self._types: dict[Any, int | None] = {}
        self._signed = {
            getattr(torch, f"u{name}"): getattr(torch, name)
            for name in ("int16", "int32", "int64")
            if hasattr(torch, f"u{name}")
        }
        self._increment_version = getattr(torch.autograd.graph, "increment_version", None)
        # PyTorch's own compilers call this: it gives a stream's address without an object around it.
        self._stream_of = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def check(self, x: Any, function: str) -> None:
        if x.requires_grad:
            raise TypeError(f"{function}: a tensor with a gradient is not taken, for it would be lost; x.detach() is")
        if x.layout is not self._strided:
            raise TypeError(f"{function}: a strided tensor is expected, not {x.layout}")

    def device(self, x: Any) -> int:
        return int(x.get_device())

    def stream(self, device: int) -> int:
        if self._stream_of is not None:
            return int(self._stream_of(device))
        return int(self._torch.cuda.current_stream(device).cuda_stream)

    def dtype_name(self, x: Any) -> str:
        return str(x.dtype)[len("torch.") :]

    def key_type(self, x: Any) -> int | None:
        dtype = x.dtype
        if dtype not in self._types:
            self._types[dtype] = type_of_name(self.dtype_name(x))
        return self._types[dtype]

    def address(self, x: Any, stream: int) -> int:
        return int(x.data_ptr())

    def is_contiguous(self, x: Any) -> bool:
        return bool(x.is_contiguous() and not x.is_neg())

    def byte_strides(self, x: Any) -> tuple[int, ...]:
        return tuple(stride * x.element_size() for stride in x.stride())

    def contiguous(self, x: Any) -> Any:
        return x if self.is_contiguous(x) else x.resolve_neg().contiguous()

    def copy(self, x: Any) -> Any:
        return x.resolve_neg().clone(memory_format=self._torch.contiguous_format)

    def assign(self, target: Any, x: Any) -> None:
        target.copy_(x)

    def will_write(self, x: Any) -> None:
        # A backward pass that still needs the old elements finds by this count that they are gone.
        if self._increment_version is not None:
            self._increment_version(x)

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        return like.new_empty(count, dtype=getattr(self._torch, dtype_name))

    def cast(self, x: Any, dtype_name: str) -> Any:
        return x.to(getattr(self._torch, dtype_name))

    def gather(self, x: Any, indices: Any) -> Any:
        # Not every version takes elements of its wider unsigned types by their indices.
        signed = self._signed.get(x.dtype)
        return x[indices] if signed is None else x.view(signed)[indices].view(x.dtype)

    def is_array(self, x: Any) -> bool:
        return isinstance(x, self._torch.Tensor) and bool(x.is_cuda)


class _CuPy(GpuLibrary):
    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._current_device = cupy.cuda.runtime.getDevice
        self._nothing: AbstractContextManager[Any] = nullcontext()

    def _on(self, device: int) -> AbstractContextManager[Any]:
        """Make a GPU current, on which CuPy allocates and copies."""
        current: AbstractContextManager[Any] = self._nothing
        return current if self._current_device() == device else self._cupy.cuda.Device(device)

    def check(self, x: Any, function: str) -> None:
        if not x.dtype.isnative:
            raise TypeError(f"{function}: elements in native byte order are expected")

    def device(self, x: Any) -> int:
        return int(x.data.device_id)

    def stream(self, device: int) -> int:
        with self._on(device):
            return int(self._cupy.cuda.get_current_stream().ptr)

    def dtype_name(self, x: Any) -> str:
        return str(x.dtype.name)

    def key_type(self, x: Any) -> int | None:
        keys = keys_of_dtype(x.dtype)
        return None if keys is None or keys.has_nat else keys.number

    def address(self, x: Any, stream: int) -> int:
        return int(x.data.ptr)

    def is_contiguous(self, x: Any) -> bool:
        return bool(x.flags.c_contiguous)

    def flat(self, x: Any) -> Any:
        with self._on(self.device(x)):
            return x.reshape(-1)

    def contiguous(self, x: Any) -> Any:
        with self._on(self.device(x)):
            return self._cupy.ascontiguousarray(x)

    def copy(self, x: Any) -> Any:
        with self._on(self.device(x)):
            if x.size == 0 or not x.flags.c_contiguous:
                return self._cupy.array(x, order="C", copy=True)
            copied = self._cupy.empty(x.shape, x.dtype)
            # CuPy's own copy is a kernel that takes twice as long.
            copied.data.copy_from_device_async(x.data, x.nbytes)
            return copied

    def assign(self, target: Any, x: Any) -> None:
        with self._on(self.device(target)):
            target[...] = x

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        with self._on(self.device(like)):
            return self._cupy.empty(count, dtype_name)

    def cast(self, x: Any, dtype_name: str) -> Any:
        with self._on(self.device(x)):
            return x.astype(dtype_name)

    def gather(self, x: Any, indices: Any) -> Any:
        with self._on(self.device(x)):
            return x[indices]

    def is_array(self, x: Any) -> bool:
        return isinstance(x, self._cupy.ndarray)


class _ArrayApi(GpuLibrary):
    """A library of the array API whose arrays are not written to once they are handed out, such as JAX.

    It is told by DLPack that the legacy default stream, which DLPack numbers 1, waits for its work. It cannot be told
    the reverse, so the host waits for the sort.
    """

    waits = True
    _LEGACY_STREAM = 1

    def __init__(self, namespace: Any, kind: type[Any]) -> None:
        self._namespace = namespace
        self._kind = kind

    def device(self, x: Any) -> int:
        return int(x.__dlpack_device__()[1])

    def stream(self, device: int) -> int:
        return self._LEGACY_STREAM

    def dtype_name(self, x: Any) -> str:
        return str(getattr(x.dtype, "name", x.dtype)).rpartition(".")[2]

    def address(self, x: Any, stream: int) -> int:
        address, is_contiguous = _core.exported_memory(x.__dlpack__(stream=stream))
        if not is_contiguous:
            raise TypeError("the library does not give contiguous memory")
        return address

    def is_contiguous(self, x: Any) -> bool:
        return _core.exported_memory(x.__dlpack__(stream=self._LEGACY_STREAM))[1]

    def contiguous(self, x: Any) -> Any:
        return x if self.is_contiguous(x) else self.copy(x)

    def copy(self, x: Any) -> Any:
        return self._namespace.asarray(x, copy=True)

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        return self._namespace.empty(count, dtype=getattr(self._namespace, dtype_name), device=like.device)

    def cast(self, x: Any, dtype_name: str) -> Any:
        return self._namespace.astype(x, getattr(self._namespace, dtype_name))

    def gather(self, x: Any, indices: Any) -> Any:
        return self._namespace.take(x, indices, axis=0)

    def index_dtype_name(self) -> str:
        # JAX has 64 bits only where it is told to.
        name = self._namespace.__array_namespace_info__().default_dtypes()["indexing"]
        return str(getattr(name, "name", name)).rpartition(".")[2]

    def is_array(self, x: Any) -> bool:
        return isinstance(x, self._kind) and int(x.__dlpack_device__()[0]) in _CUDA


_torch = functools.lru_cache(maxsize=1)(_Torch)
_cupy = functools.lru_cache(maxsize=1)(_CuPy)


def _is_of(x: Any, module: str, kind: str) -> bool:
    library = sys.modules.get(module)
    return library is not None and isinstance(x, getattr(library, kind, ()))


def gpu_library(x: Any, function: str) -> GpuLibrary | None:
    """Return the library of an array that lies in the memory of a GPU, None for all other objects."""
    if isinstance(x, np.ndarray):
        return None
    if _is_of(x, "torch", "Tensor"):
        return _torch(sys.modules["torch"]) if x.is_cuda else None
    if _is_of(x, "cupy", "ndarray"):
        return _cupy(sys.modules["cupy"])
    if not hasattr(x, "__dlpack_device__"):
        return None
    try:
        is_on_gpu = int(x.__dlpack_device__()[0]) in _CUDA
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        # An array of several devices or one that is traced; what takes host arrays says so.
        return None
    if not is_on_gpu:
        return None
    get_namespace = getattr(x, "__array_namespace__", None)
    namespace = None if get_namespace is None else get_namespace()
    if not hasattr(namespace, "__array_namespace_info__"):
        raise TypeError(
            f"{function}: an array on a GPU is taken of PyTorch, CuPy, JAX and libraries that have the whole array "
            f"API, not {type(x).__name__}; cupy.from_dlpack(x) is taken"
        )
    return _ArrayApi(namespace, type(x))
