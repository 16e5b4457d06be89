# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of a GPU: results, their library, their stream, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import spansort
from conftest import FLOATS, INTEGERS, assert_same_values, bits, random_keys, reference_order
from spansort import _core

HAS_GPU = spansort.devices()["gpu"] == ""
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason=f"no GPU: {spansort.devices()['gpu']}")
LIBRARIES = ["torch", "cupy", "jax"]
SIZES = [0, 1, 2, 1000, 1_000_000]
DTYPES = [*INTEGERS, *FLOATS, "bool"]
MOST_NARROW = 1 << 20  # from here on orders are found as numbers of 32 bits


class Gpu:
    """A library's arrays on GPU 0, made of NumPy's and brought back."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: Any = pytest.importorskip(name)
        if name == "torch" and not self.module.cuda.is_available():
            pytest.skip("this PyTorch has no GPU")
        if name == "jax" and self.module.default_backend() != "gpu":
            pytest.skip("this JAX has no GPU")

    def put(self, x: Any) -> Any:
        if self.name == "torch":
            return self.module.from_numpy(np.ascontiguousarray(x)).cuda()
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


@pytest.fixture(params=LIBRARIES)
def gpu(request: pytest.FixtureRequest) -> Gpu:
    if not HAS_GPU:
        pytest.skip(f"no GPU: {spansort.devices()['gpu']}")
    return Gpu(request.param)


@pytest.fixture(params=["torch", "cupy"])
def writeable_gpu(request: pytest.FixtureRequest) -> Gpu:
    if not HAS_GPU:
        pytest.skip(f"no GPU: {spansort.devices()['gpu']}")
    return Gpu(request.param)


# ---- results


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_every_dtype_and_size(gpu: Gpu, dtype: str, descending: bool, rng: np.random.Generator) -> None:
    if not gpu.has(dtype):
        pytest.skip("JAX has no 64 bits unless it is told to")
    for size in SIZES:
        for kind in ["bits", "few"]:
            x = random_keys(dtype, size, rng, kind)
            found = gpu.get(spansort.sort(gpu.put(x), descending=descending))
            expected = spansort.sort(x, descending=descending)
            np.testing.assert_array_equal(bits(found), bits(expected))
            order = gpu.get(spansort.argsort(gpu.put(x), descending=descending))
            np.testing.assert_array_equal(order, reference_order(x, descending))
            assert order.dtype == ("int64" if gpu.has("int64") else "int32")


@pytest.mark.parametrize("value_dtype", ["int64", "float32", "uint8", "complex128", "int16", "bool"])
@pytest.mark.parametrize("size", [0, 1, 1000, 100_000])
def test_pairs(gpu: Gpu, value_dtype: str, size: int, rng: np.random.Generator) -> None:
    if not gpu.has(value_dtype):
        pytest.skip("JAX has no 64 bits unless it is told to")
    keys = random_keys("float32", size, rng, "few")
    for shape in [(size,), (size, 3), (size, 0)]:
        values = rng.integers(0, 2 if value_dtype == "bool" else 100, shape).astype(value_dtype)
        for descending in [False, True]:
            order = reference_order(keys, descending)
            found = spansort.sort_pairs(gpu.put(keys), gpu.put(values), descending=descending)
            assert_same_values(gpu.get(found.keys), keys[order])
            np.testing.assert_array_equal(gpu.get(found.values), values[order])


def test_shapes(gpu: Gpu, rng: np.random.Generator) -> None:
    x = random_keys("int32", 60, rng)
    for shape, axis in [((60, 1), 0), ((1, 60), 1), ((1, 60), -1), ((1, 60, 1), 1), ((0, 5), 1), ((5, 0), 1)]:
        y = x[: int(np.prod(shape))].reshape(shape)
        np.testing.assert_array_equal(gpu.get(spansort.sort(gpu.put(y), axis=axis)), np.sort(y, axis=axis))
        order = gpu.get(spansort.argsort(gpu.put(y), axis=axis))
        np.testing.assert_array_equal(order, np.argsort(y, axis=axis, kind="stable"))
    y = x.reshape(3, 20)
    np.testing.assert_array_equal(gpu.get(spansort.sort(gpu.put(y), axis=None)), np.sort(x))
    np.testing.assert_array_equal(gpu.get(spansort.argsort(gpu.put(y), axis=None)), np.argsort(x, kind="stable"))


def test_other_layouts(writeable_gpu: Gpu, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("float32", 3000, rng, "few")
    every_third = gpu.put(x)[::3]
    np.testing.assert_array_equal(bits(gpu.get(spansort.sort(every_third))), bits(spansort.sort(x[::3])))
    np.testing.assert_array_equal(gpu.get(spansort.argsort(every_third)), reference_order(x[::3]))
    found = spansort.sort_pairs(every_third, gpu.put(np.arange(3000))[::3])
    np.testing.assert_array_equal(gpu.get(found.values), np.arange(3000)[::3][reference_order(x[::3])])
    with pytest.raises(TypeError, match="contiguous"):
        spansort.sort_inplace(every_third)
    behind_the_first = gpu.put(x)[1:]
    spansort.sort_inplace(behind_the_first)
    np.testing.assert_array_equal(bits(gpu.get(behind_the_first)), bits(spansort.sort(x[1:])))


def test_the_input_stays(gpu: Gpu, rng: np.random.Generator) -> None:
    x = random_keys("uint32", 10_000, rng)
    on_gpu, values = gpu.put(x), gpu.put(x[::-1])
    for call in [spansort.sort, spansort.argsort, lambda keys: spansort.sort_pairs(keys, values)]:
        call(on_gpu)
    np.testing.assert_array_equal(gpu.get(on_gpu), x)
    np.testing.assert_array_equal(gpu.get(values), x[::-1])


# ---- arrays of the caller's that are written to


def test_in_place(writeable_gpu: Gpu, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("float64", 50_000, rng)
    on_gpu = gpu.put(x)
    spansort.sort_inplace(on_gpu, descending=True)
    np.testing.assert_array_equal(bits(gpu.get(on_gpu)), bits(spansort.sort(x, descending=True)))
    on_gpu, out = gpu.put(x), gpu.put(np.zeros_like(x))
    assert spansort.sort(on_gpu, out=out) is out
    assert spansort.sort(on_gpu, out=on_gpu) is on_gpu
    np.testing.assert_array_equal(bits(gpu.get(out)), bits(spansort.sort(x)))
    np.testing.assert_array_equal(bits(gpu.get(on_gpu)), bits(spansort.sort(x)))


@pytest.mark.parametrize("size", [1000, MOST_NARROW])
def test_out(writeable_gpu: Gpu, size: int, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("int16", size, rng)
    order = gpu.put(np.zeros(size, "int64"))
    assert spansort.argsort(gpu.put(x), out=order) is order
    np.testing.assert_array_equal(gpu.get(order), np.argsort(x, kind="stable"))
    for value_dtype in ["int64", "int16"]:
        keys, values = gpu.put(x), gpu.put(np.arange(size).astype(value_dtype))
        found = spansort.sort_pairs(keys, values, out=(keys, values))
        assert found.keys is keys and found.values is values
        np.testing.assert_array_equal(gpu.get(values), np.argsort(x, kind="stable").astype(value_dtype))
    with pytest.raises(ValueError, match="dtype"):
        spansort.argsort(gpu.put(x), out=gpu.put(np.zeros(size, "int32")))
    with pytest.raises(ValueError, match="shape"):
        spansort.sort(gpu.put(x), out=gpu.put(np.zeros(3, "int16")))
    with pytest.raises(TypeError, match="same library"):
        spansort.sort(gpu.put(x), out=np.zeros_like(x))


# ---- streams


@needs_gpu
def test_streams_of_torch(rng: np.random.Generator) -> None:
    gpu = Gpu("torch")
    module = gpu.module
    x = random_keys("float32", 1 << 22, rng, "few")
    on_gpu = gpu.put(x)
    gpu.wait()
    stream = module.cuda.Stream()
    with module.cuda.stream(stream):
        module.cuda._sleep(50_000_000)  # what runs on another stream would be done long before
        keys = on_gpu * 1
        keys.neg_()
        first = spansort.sort(keys)
        second = spansort.argsort(keys)
        third = spansort.sort_pairs(keys, second)
    assert not stream.query()  # nobody has waited
    stream.synchronize()
    order = reference_order(-x)
    assert_same_values(first.cpu().numpy(), spansort.sort(-x))  # the GPU makes NaN of bits of its own
    np.testing.assert_array_equal(second.cpu().numpy(), order)
    np.testing.assert_array_equal(third.values.cpu().numpy(), order[order])


@needs_gpu
def test_streams_of_cupy(rng: np.random.Generator) -> None:
    gpu = Gpu("cupy")
    x = random_keys("uint32", 1 << 22, rng)
    on_gpu = gpu.put(x)
    gpu.wait()
    with gpu.module.cuda.Stream(non_blocking=True) as stream:
        keys = on_gpu ^ 12345
        first = spansort.sort(keys)
        second = spansort.argsort(first[::-1])
        spansort.sort_inplace(keys)
    stream.synchronize()
    expected = np.sort(x ^ 12345)
    np.testing.assert_array_equal(gpu.get(first), expected)
    np.testing.assert_array_equal(gpu.get(keys), expected)
    np.testing.assert_array_equal(gpu.get(second), np.argsort(expected[::-1], kind="stable"))


def test_calls_in_a_row(gpu: Gpu, rng: np.random.Generator) -> None:
    """Workspace goes back to the library while the GPU still works in it, and is handed out again."""
    arrays = [random_keys("float32", size, rng) for size in [100_000, 1_000_000, 300_000, 3_000_000] * 3]
    found = [spansort.sort(gpu.put(x)) for x in arrays]
    for x, ordered in zip(arrays, found):
        np.testing.assert_array_equal(bits(gpu.get(ordered)), bits(spansort.sort(x)))


@needs_gpu
@pytest.mark.parametrize("size", [1000, 1 << 21])
def test_graphs_of_torch(size: int, rng: np.random.Generator) -> None:
    module = Gpu("torch").module
    keys = module.zeros(size, dtype=module.float32, device="cuda")
    spansort.sort(keys)
    spansort.argsort(keys)
    module.cuda.synchronize()
    graph = module.cuda.CUDAGraph()
    with module.cuda.graph(graph):
        ordered = spansort.sort(keys)
        order = spansort.argsort(keys, descending=True)
    for _ in range(3):
        x = random_keys("float32", size, rng, "few")
        keys.copy_(module.from_numpy(x))
        graph.replay()
        module.cuda.synchronize()
        np.testing.assert_array_equal(bits(ordered.cpu().numpy()), bits(spansort.sort(x)))
        np.testing.assert_array_equal(order.cpu().numpy(), reference_order(x, True))


@needs_gpu
def test_a_second_gpu(rng: np.random.Generator) -> None:
    module = Gpu("torch").module
    if module.cuda.device_count() < 2:
        pytest.skip("one GPU only")
    x = random_keys("int64", 100_000, rng)
    keys = module.from_numpy(x).to("cuda:1")
    assert module.cuda.current_device() == 0
    for _ in range(2):
        ordered, order = spansort.sort(keys), spansort.argsort(keys)
        assert ordered.device == order.device == keys.device and module.cuda.current_device() == 0
        np.testing.assert_array_equal(ordered.cpu().numpy(), np.sort(x))
        np.testing.assert_array_equal(order.cpu().numpy(), np.argsort(x, kind="stable"))
    with pytest.raises(TypeError, match="same GPU"):
        spansort.sort_pairs(keys, keys.to("cuda:0"))
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(1):
        on_second = cupy.asarray(x)
    ordered = spansort.sort(on_second)
    assert ordered.device.id == 1 and cupy.cuda.runtime.getDevice() == 0
    np.testing.assert_array_equal(cupy.asnumpy(ordered), np.sort(x))


# ---- types that NumPy does not have, and what is refused


@needs_gpu
def test_bfloat16_of_torch(rng: np.random.Generator) -> None:
    module = Gpu("torch").module
    for size in SIZES:
        x = module.from_numpy(rng.standard_normal(size).astype("float32")).cuda().to(module.bfloat16)
        expected = module.sort(x, stable=True)
        found = spansort.sort(x)
        assert found.dtype == module.bfloat16
        assert module.equal(found, expected.values)
        assert module.equal(spansort.argsort(x), expected.indices)


def test_nan_is_last(gpu: Gpu) -> None:
    x = np.array([1.0, np.nan, -np.inf, -0.0, 0.0, np.inf], "float32")
    x[1] = -x[1]
    for descending in [False, True]:
        found = gpu.get(spansort.sort(gpu.put(x), descending=descending))
        np.testing.assert_array_equal(found, spansort.sort(x, descending=descending))
        assert np.isnan(found[-1])
        assert gpu.get(spansort.argsort(gpu.put(x), descending=descending)).tolist() == (
            [5, 0, 3, 4, 2, 1] if descending else [2, 3, 4, 0, 5, 1]
        )


def test_what_is_refused(gpu: Gpu) -> None:
    x = gpu.put(np.arange(6, dtype="float32"))
    with pytest.raises(TypeError, match="complex64"):
        spansort.sort(gpu.put(np.zeros(3, "complex64")))
    with pytest.raises(ValueError, match="rows"):
        spansort.sort(x.reshape(2, 3))
    with pytest.raises(ValueError, match="rows"):
        spansort.argsort(x.reshape(2, 3), axis=0)
    with pytest.raises(IndexError):
        spansort.sort(x, axis=1)
    with pytest.raises(ValueError, match="dimension"):
        spansort.argsort(x[0])
    for options in [{"devices": "cpu"}, {"order": "a"}, {"progress": True}, {"threads": -1}]:
        with pytest.raises(ValueError, match=next(iter(options))):
            spansort.sort(x, **options)
    with pytest.raises(ValueError, match="kind"):
        spansort.sort(x, kind="bogo")
    with pytest.raises(ValueError, match="as many values"):
        spansort.sort_pairs(x, x[:3])
    with pytest.raises(TypeError, match="values"):
        spansort.sort_pairs(x, np.arange(6))
    with pytest.raises(spansort.OutOfMemoryError) as caught:
        spansort.sort(x, memory=1)
    assert caught.value.needed > caught.value.available == 1
    for function in [spansort.median, spansort.is_sorted, spansort.unique_values]:
        with pytest.raises(TypeError, match="GPU"):
            function(x)


@needs_gpu
def test_jax_is_not_written_to() -> None:
    x = Gpu("jax").put(np.arange(6, dtype="float32"))
    with pytest.raises(TypeError, match="not written"):
        spansort.sort_inplace(x)
    with pytest.raises(TypeError, match="not written"):
        spansort.sort(x, out=x)


@needs_gpu
def test_gradients_are_not_lost() -> None:
    module = Gpu("torch").module
    x = module.zeros(3, device="cuda", requires_grad=True)
    with pytest.raises(TypeError, match="detach"):
        spansort.sort(x)
    assert spansort.sort(x.detach()).shape == (3,)
    with pytest.raises(TypeError, match="strided"):
        spansort.sort(module.eye(3, device="cuda").to_sparse())


@needs_gpu
def test_host_memory_is_no_gpus() -> None:
    memory = np.zeros(1 << 20, "uint8")
    call = _core.GpuCall(0, 0, memory.ctypes.data, memory.nbytes)
    with pytest.raises(ValueError, match="GPU|aligned"):
        _core.gpu_sort(call, 4, memory.ctypes.data, 1000, 0, 0, False)


# ---- without a GPU


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_why_there_is_no_gpu() -> None:
    reason = spansort.devices()["gpu"]
    for call in [
        lambda: _core.gpu_sort_bytes(0, 10, 1000, 0),
        lambda: _core.gpu_argsort_bytes(0, 10, 1000, 8),
        lambda: _core.gpu_sort(_core.GpuCall(0, 0, 0, 0), 10, 0, 1000, 0, 0, False),
        lambda: _core.gpu_wait(0, 0),
    ]:
        with pytest.raises(spansort.DeviceError) as caught:
            call()
        assert str(caught.value) == reason


def test_exported_memory() -> None:
    x = np.arange(12, dtype="int32").reshape(3, 4)
    assert _core.exported_memory(x.__dlpack__()) == (x.ctypes.data, True)
    assert _core.exported_memory(x[:, 1:].__dlpack__()) == (x[:, 1:].ctypes.data, False)
    assert _core.exported_memory(x[:, :0].__dlpack__())[1]
    assert _core.exported_memory(x[1:2, 1:].__dlpack__())[1]
    with pytest.raises((TypeError, ValueError)):
        _core.exported_memory(3)


def test_libraries_are_not_imported() -> None:
    text = (
        "import sys, spansort; spansort.sort([3, 1]); print([m for m in ('torch', 'cupy', 'jax') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
