# SPDX-License-Identifier: Apache-2.0
"""What the tests share: dtypes, a reference that sorts by NumPy, libraries on a GPU, and a seed that is printed."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any, NamedTuple

import numpy as np
import pytest
import spansort
from hypothesis import settings
from spansort import _core

# JAX takes most of a GPU for itself unless it is told not to before it is imported; here it shares the GPU.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# Nothing is written beside the tests; a failure prints what replays it.
settings.register_profile("spansort", database=None, print_blob=True, deadline=None)
settings.load_profile("spansort")

# A shell that starts the tests behind its back (`&`, nohup) has them ignore Ctrl-C, and so would the processes that they
# start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SEED = int(os.environ.get("SPANSORT_TEST_SEED", "20261122"))

INTEGERS = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
FLOATS = ["float16", "float32", "float64"]
DATES = ["datetime64[ns]", "datetime64[D]", "timedelta64[s]"]
NUMBERS = [*INTEGERS, *FLOATS, "bool"]
try:
    import ml_dtypes

    BFLOAT16 = [np.dtype(ml_dtypes.bfloat16)]
except ImportError:
    BFLOAT16 = []
ALL = [np.dtype(name) for name in [*NUMBERS, *DATES]] + BFLOAT16
IDS = [str(dtype) for dtype in ALL]


def pytest_report_header() -> str:
    return f"SPANSORT_TEST_SEED={SEED}, NumPy {np.__version__}"


def bits(x: Any) -> Any:
    """Return the elements as unsigned integers of their size."""
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


def random_keys(dtype: Any, count: int, rng: np.random.Generator, kind: str = "bits") -> Any:
    """Return keys of any bits, NaN of all kinds among them, or of few values."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, count).astype("bool")
    if kind == "few":
        numbers = rng.integers(-3, 4, count)
        keys = np.abs(numbers).astype(dtype) if dtype.kind == "u" else numbers.astype("int64").astype(dtype)
        if dtype.kind in "f" or dtype in BFLOAT16:
            keys[rng.random(count) < 0.1] = np.nan
            keys[rng.random(count) < 0.1] = -0.0
        if dtype.kind in "mM":
            keys[rng.random(count) < 0.1] = np.array("NaT", dtype)
        return keys
    raw = rng.integers(0, 256, count * dtype.itemsize, dtype="uint8")
    return raw.view(dtype)


def codes(x: Any) -> Any:
    """Return integers that are ordered as the keys are, NaN and NaT as the greatest, and whether each is that."""
    if x.dtype.kind == "f" or x.dtype in BFLOAT16:
        with np.errstate(invalid="ignore"):
            x = x.astype("float64") + 0.0  # no -0.0
    is_nan = np.isnat(x) if x.dtype.kind in "mM" else (x != x)
    distinct = np.unique(x[~is_nan])
    found = np.searchsorted(distinct, x)
    found[is_nan] = len(distinct)
    return found.astype("int64"), is_nan


def reference_order(x: Any, descending: bool = False) -> Any:
    """Return the stable order of keys of one dimension."""
    if x.dtype.kind in "iub":
        return np.argsort(~x if descending else x, kind="stable")
    if x.dtype.kind == "f" or x.dtype in BFLOAT16:
        with np.errstate(invalid="ignore"):
            numbers = x.astype("float64")
        return np.argsort(-numbers if descending else numbers, kind="stable")  # NumPy has NaN last
    found, is_nan = codes(x)
    if descending:
        found = np.where(is_nan, 1, -found)
    return np.argsort(found, kind="stable")


def reference_segments(x: Any, offsets: Any, descending: bool = False) -> tuple[Any, Any]:
    """Return a copy in which each segment is sorted, and the stable order of each, 0 outside of all."""
    ordered, order = x.copy(), np.zeros(len(x), "int64")
    for begin, end in zip(offsets[:-1], offsets[1:]):
        order[begin:end] = reference_order(x[begin:end], descending)
        ordered[begin:end] = spansort.sort(x[begin:end], descending=descending)
    return ordered, order


def reference_rows(x: Any, axis: int, descending: bool = False) -> Any:
    """Return the stable order of each row along an axis."""
    return np.apply_along_axis(reference_order, axis, x, descending)


def assert_same_values(a: Any, b: Any) -> None:
    """Compare by value: NaN equals NaN, and -0.0 0.0."""
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    if a.dtype in BFLOAT16:
        a, b = a.astype("float32"), b.astype("float32")
    np.testing.assert_array_equal(a, b)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


# ---- arrays on a GPU

# The dtypes of the key types by their numbers; NumPy has no bfloat16.
NAME_OF_TYPE = [*INTEGERS, "float16", "", "float32", "float64"]


def memory(address: int, count: int, dtype: Any) -> Any:
    """Return an array of memory that somebody else holds."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype)


class HostSegments(NamedTuple):
    """Segments as the module takes them, of keys that lie in host memory."""

    num_segments: int
    row_length: int
    offsets: int
    offsets_type: int

    def bounds(self, count: int) -> Any:
        if self.row_length:
            assert self.offsets == 0 and count == self.num_segments * self.row_length
            return np.arange(self.num_segments + 1) * self.row_length
        return memory(self.offsets, self.num_segments + 1, NAME_OF_TYPE[self.offsets_type]).astype("int64")


def sort_segments_of_host(call: Any, type: int, keys: int, num: int, segments: HostSegments, descending: bool) -> None:
    """Do what the module does to keys on a GPU."""
    assert call.workspace and call.workspace_bytes == num + segments.num_segments
    array = memory(keys, num, NAME_OF_TYPE[type])
    array[...] = spansort.sort_segments(array, segments.bounds(num), descending=descending)


def argsort_segments_of_host(
    call: Any, type: int, keys: int, num: int, indices: int, index_bytes: int, segments: HostSegments, descending: bool
) -> None:
    """Write nothing outside of segments, as the module does."""
    assert call.workspace and call.workspace_bytes == num + segments.num_segments + index_bytes
    bounds = segments.bounds(num)
    order = spansort.argsort_segments(memory(keys, num, NAME_OF_TYPE[type]), bounds, descending=descending)
    memory(indices, num, f"int{8 * index_bytes}")[bounds[0] : bounds[-1]] = order[bounds[0] : bounds[-1]]


def patch_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, fake in {
        "GpuSegments": HostSegments,
        "gpu_sort_segments": sort_segments_of_host,
        "gpu_argsort_segments": argsort_segments_of_host,
        "gpu_sort_segments_bytes": lambda device, type, num, segments: num + segments.num_segments,
        "gpu_argsort_segments_bytes": lambda device, type, num, size, segments: num + segments.num_segments + size,
    }.items():
        monkeypatch.setattr(_core, name, fake)


WHY_NO_GPU = spansort.devices()["gpu"]
HAS_GPU = WHY_NO_GPU == ""
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason=f"no GPU: {WHY_NO_GPU}")


class Gpu:
    """A library's arrays on GPU 0, made of NumPy's and brought back."""

    def __init__(self, name: str) -> None:
        if not HAS_GPU:
            pytest.skip(f"no GPU: {WHY_NO_GPU}")
        self.name = name
        self.module: Any = pytest.importorskip(name)
        if name == "torch" and not self.module.cuda.is_available():
            pytest.skip("this PyTorch has no GPU")
        if name == "jax" and self.module.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")

    def put(self, x: Any) -> Any:
        if self.name == "torch":
            return self.module.from_numpy(np.asarray(x, order="C")).cuda()  # of no dimension, too
        if self.name == "cupy":
            return self.module.asarray(x)
        return self.module.numpy.asarray(x)

    def get(self, x: Any) -> Any:
        if self.name == "torch":
            assert isinstance(x, self.module.Tensor) and x.is_cuda
            return x.cpu().numpy()
        if self.name == "cupy":
            assert isinstance(x, self.module.ndarray)
            return self.module.asnumpy(x)
        assert isinstance(x, self.module.Array) and "cuda" in str(x.device).lower()
        return np.asarray(x)

    def wait(self) -> None:
        if self.name == "torch":
            self.module.cuda.synchronize()
        elif self.name == "cupy":
            self.module.cuda.Device().synchronize()

    def has(self, dtype: str) -> bool:
        return self.name != "jax" or np.dtype(dtype).itemsize < 8 or bool(self.module.config.jax_enable_x64)

    def give_back(self) -> None:
        """Give the GPU the memory back that the library keeps."""
        if self.name == "torch":
            self.module.cuda.synchronize()
            self.module.cuda.empty_cache()
        elif self.name == "cupy":
            self.module.get_default_memory_pool().free_all_blocks()


@pytest.fixture(params=["torch", "cupy", "jax"])
def gpu(request: pytest.FixtureRequest) -> Gpu:
    return Gpu(request.param)


@pytest.fixture(params=["torch", "cupy"])
def writeable_gpu(request: pytest.FixtureRequest) -> Gpu:
    return Gpu(request.param)
