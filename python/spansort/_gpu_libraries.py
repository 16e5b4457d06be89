# SPDX-License-Identifier: Apache-2.0
"""Libraries whose arrays lie in the memory of a GPU.

Nothing is imported here: a library is that of the caller's array, so it is imported already.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._arrays import Array, type_of_name
from ._gpu_interface import CudaInterface, has_memory_of_gpu
from ._gpu_library import CUDA, GpuLibrary, key_type_of, name_of


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
        # From now on the module sorts vectors of few keys before this class is asked.
        _core.exchange_with(torch.Tensor, torch.int64)

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

    def permuted(self, x: Any, axes: tuple[int, ...]) -> Any:
        return x.permute(axes)

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

    def zeros(self, count: int, dtype_name: str, like: Any) -> Any:
        return like.new_zeros(count, dtype=getattr(self._torch, dtype_name))

    def of_host(self, x: Array, like: Any) -> Any:
        return self._torch.as_tensor(x, device=like.device)

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
        self._current_stream = cupy.cuda.get_current_stream

    def run(self, work: Callable[..., Any], x: Any, *arguments: Any) -> Any:
        # CuPy allocates and copies on the current GPU.
        device = self.device(x)
        if self._current_device() == device:
            return work(self, x, *arguments)
        with self._cupy.cuda.Device(device):
            return work(self, x, *arguments)

    def check(self, x: Any, function: str) -> None:
        if not x.dtype.isnative:
            raise TypeError(f"{function}: elements in native byte order are expected")

    def device(self, x: Any) -> int:
        return int(x.data.device_id)

    def stream(self, device: int) -> int:
        return int(self._current_stream().ptr)

    def dtype_name(self, x: Any) -> str:
        return name_of(x.dtype)

    def key_type(self, x: Any) -> int | None:
        return key_type_of(x.dtype)

    def address(self, x: Any, stream: int) -> int:
        return int(x.data.ptr)

    def is_contiguous(self, x: Any) -> bool:
        return bool(x.flags.c_contiguous)

    def permuted(self, x: Any, axes: tuple[int, ...]) -> Any:
        return x.transpose(axes)

    def contiguous(self, x: Any) -> Any:
        return self._cupy.ascontiguousarray(x)

    def copy(self, x: Any) -> Any:
        if x.size == 0 or not x.flags.c_contiguous:
            return self._cupy.array(x, order="C", copy=True)
        copied = self._cupy.empty(x.shape, x.dtype)
        # CuPy's own copy is a kernel that takes twice as long.
        copied.data.copy_from_device_async(x.data, x.nbytes)
        return copied

    def assign(self, target: Any, x: Any) -> None:
        target[...] = x

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        return self._cupy.empty(count, dtype_name)

    def zeros(self, count: int, dtype_name: str, like: Any) -> Any:
        return self._cupy.zeros(count, dtype_name)

    def of_host(self, x: Array, like: Any) -> Any:
        return self._cupy.asarray(x)

    def cast(self, x: Any, dtype_name: str) -> Any:
        return x.astype(dtype_name)

    def gather(self, x: Any, indices: Any) -> Any:
        return x[indices]

    def is_array(self, x: Any) -> bool:
        return isinstance(x, self._cupy.ndarray)


class _ArrayApi(GpuLibrary):
    """A library of the array API whose arrays are not written to once they are handed out.

    It is told by DLPack that the legacy default stream, which DLPack numbers 1, waits for its work. It cannot be told
    the reverse, so the host waits for the sort.
    """

    waits = True
    writes = False
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

    def key_type(self, x: Any) -> int | None:
        # NumPy's dtypes, which JAX has, compute their names.
        return key_type_of(x.dtype) if isinstance(x.dtype, np.dtype) else type_of_name(self.dtype_name(x))

    def address(self, x: Any, stream: int) -> int:
        address, is_contiguous = _core.exported_memory(x.__dlpack__(stream=stream))
        if not is_contiguous:
            raise TypeError("the library does not give contiguous memory")
        return address

    def permuted(self, x: Any, axes: tuple[int, ...]) -> Any:
        return self._namespace.permute_dims(x, axes)

    def contiguous_at(self, x: Any, stream: int) -> tuple[Any, int]:
        address, is_contiguous = _core.exported_memory(x.__dlpack__(stream=stream))
        if is_contiguous:
            return x, address
        copied = self.copy(x)
        return copied, self.address(copied, stream)

    def copy(self, x: Any) -> Any:
        return self._namespace.asarray(x, copy=True)

    def empty(self, count: int, dtype_name: str, like: Any) -> Any:
        return self._namespace.empty(count, dtype=getattr(self._namespace, dtype_name), device=like.device)

    def zeros(self, count: int, dtype_name: str, like: Any) -> Any:
        return self._namespace.zeros(count, dtype=getattr(self._namespace, dtype_name), device=like.device)

    def of_host(self, x: Array, like: Any) -> Any:
        return self._namespace.asarray(x, device=like.device)

    def cast(self, x: Any, dtype_name: str) -> Any:
        return self._namespace.astype(x, getattr(self._namespace, dtype_name))

    def gather(self, x: Any, indices: Any) -> Any:
        return self._namespace.take(x, indices, axis=0)

    def index_dtype_name(self) -> str:
        # JAX has 64 bits only where it is told to.
        name = self._namespace.__array_namespace_info__().default_dtypes()["indexing"]
        return str(getattr(name, "name", name)).rpartition(".")[2]

    def is_array(self, x: Any) -> bool:
        return isinstance(x, self._kind) and int(x.__dlpack_device__()[0]) in CUDA


class _Jax(_ArrayApi):
    """JAX, whose programs have sorts as custom calls where the module has been built with XLA's headers."""

    def __init__(self, jax: Any) -> None:
        super().__init__(jax.numpy, jax.Array)
        self._tracer = jax.core.Tracer
        if hasattr(jax, "ffi") and _core.xla_targets():
            try:
                from . import _jax as calls  # it imports JAX

                self.compiled = calls
            except RuntimeError:  # JAX is older than the headers, and refuses the targets
                pass

    def is_traced(self, x: Any) -> bool:
        """Return whether an array stands for those of a program that is being traced."""
        return isinstance(x, self._tracer)

    def is_on_one_gpu(self, x: Any) -> bool:
        devices = x.devices()  # __dlpack_device__() takes several times as long to say it
        return len(devices) == 1 and next(iter(devices)).platform == "gpu"

    def check(self, x: Any, function: str) -> None:
        if self.is_traced(x):
            raise TypeError(
                f"{function}: of arrays that JAX traces there are sort(), argsort() and sort_pairs() alone, without out= "
                "and memory=, in a package that was built with XLA's headers"
            )


_torch = functools.lru_cache(maxsize=1)(_Torch)
_cupy = functools.lru_cache(maxsize=1)(_CuPy)
_jax = functools.lru_cache(maxsize=1)(_Jax)


def _is_of(x: Any, module: str, kind: str) -> bool:
    library = sys.modules.get(module)
    return library is not None and isinstance(x, getattr(library, kind, ()))


def traced_library(x: Any) -> GpuLibrary | None:
    """Return JAX where an array stands for those of a program that it traces, None for all other objects."""
    if not _is_of(x, "jax", "Array"):
        return None
    library = _jax(sys.modules["jax"])
    return library if library.is_traced(x) else None


def gpu_library(x: Any, function: str) -> GpuLibrary | None:
    """Return the library of an array that lies in the memory of a GPU or is traced, None for all other objects."""
    if isinstance(x, np.ndarray):
        return None
    if _is_of(x, "torch", "Tensor"):
        return _torch(sys.modules["torch"]) if x.is_cuda else None
    if _is_of(x, "cupy", "ndarray"):
        return _cupy(sys.modules["cupy"])
    if _is_of(x, "jax", "Array"):
        jax = _jax(sys.modules["jax"])
        return jax if jax.is_traced(x) or jax.is_on_one_gpu(x) else None
    if not hasattr(x, "__dlpack_device__"):
        return CudaInterface(x, function) if has_memory_of_gpu(x) else None
    try:
        is_on_gpu = int(x.__dlpack_device__()[0]) in CUDA
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
        # An array of several devices; what takes host arrays says so.
        return None
    if not is_on_gpu:
        return None
    get_namespace = getattr(x, "__array_namespace__", None)
    namespace = None if get_namespace is None else get_namespace()
    if hasattr(namespace, "__array_namespace_info__"):
        return _ArrayApi(namespace, type(x))
    return CudaInterface(x, function) if has_memory_of_gpu(x) else None
