# SPDX-License-Identifier: Apache-2.0
"""Arrays of this package in the memory of a GPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core

#: The stream that DLPack and the interface number 1: the legacy default stream.
LEGACY_STREAM = 1
_CUDA = 2  # as DLPack numbers devices
#: Codes of DLPack's types by NumPy's kinds.
CODE_OF_KIND = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class GpuArray:
    """
    An array in the memory of a GPU: what sorts return of arrays that come without a library that could make one.

    It is C-contiguous. Numba, CuPy, PyTorch, JAX and others take it without a copy, for it has
    ``__cuda_array_interface__`` and ``__dlpack__``. Its elements are in place, so that no stream has to wait, and its
    memory lives as long as somebody refers to it.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    device : int
        The ordinal of the GPU.
    """

    def __init__(self, owner: object, address: int, device: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self._owner = owner
        self._address = address

    @classmethod
    def _new(cls, device: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GpuArray:
        memory = _core.GpuMemory(device, math.prod(shape) * dtype.itemsize)
        return cls(memory, memory.address, device, shape, dtype)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array of no dimension has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"spansort.GpuArray of shape {self.shape} and dtype {self.dtype} on gpu:{self.device}"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CUDA, self.device)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the memory is given as it lies; copies and other devices are not")
        code = CODE_OF_KIND.get(self.dtype.kind)
        if code is None:
            raise BufferError(f"DLPack has no elements of dtype {self.dtype}")
        return _core.dlpack_capsule(self, self._address, self.device, self.shape, code, 8 * self.dtype.itemsize)

    def copy_to_host(self) -> npt.NDArray[Any]:
        """Return a copy of the elements as an array of NumPy."""
        host: npt.NDArray[Any] = np.empty(self.shape, self.dtype)
        if host.nbytes:
            _core.gpu_copy(self.device, LEGACY_STREAM, host.ctypes.data, self._address, host.nbytes)
            _core.gpu_wait(self.device, LEGACY_STREAM)
        return host

    def reshape(self, shape: int | tuple[int, ...]) -> GpuArray:
        """Return the same elements in another shape; -1 makes a vector of them."""
        wanted = (self.size,) if shape == -1 else shape if isinstance(shape, tuple) else (shape,)
        if math.prod(wanted) != self.size or any(length < 0 for length in wanted):
            raise ValueError(f"{self.size} elements have no shape {shape}")
        return GpuArray(self._owner, self._address, self.device, wanted, self.dtype)
