# SPDX-License-Identifier: Apache-2.0
"""Arrays in the memory of a GPU: results, their library, their stream, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import spansort
from conftest import (
    FLOATS,
    HAS_GPU,
    INTEGERS,
    Gpu,
    assert_same_values,
    bits,
    needs_gpu,
    random_keys,
    reference_order,
)
from spansort import _core

SIZES = [0, 1, 2, 1000, 1_000_000]
DTYPES = [*INTEGERS, *FLOATS, "bool"]
MOST_NARROW = 1 << 21  # from here on orders are found as numbers of 32 bits


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


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "bool"])
@pytest.mark.parametrize(
    "shape", [(3, 5), (1000, 1), (5000, 30), (300, 700), (40, 20_000), (3, 500_000), (20, 30, 40), (2, 1, 600, 3)]
)
def test_rows(gpu: Gpu, dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    if not gpu.has(dtype):
        pytest.skip("JAX has no 64 bits unless it is told to")
    x = random_keys(dtype, int(np.prod(shape)), rng, "few" if len(shape) == 2 else "bits").reshape(shape)
    on_gpu = gpu.put(x)
    for axis in range(len(shape)):
        for descending in [False, True]:
            expected = spansort.sort(x, axis, descending=descending, devices="cpu")
            found = spansort.sort(on_gpu, axis=axis, descending=descending)
            np.testing.assert_array_equal(bits(gpu.get(found)), bits(expected))
            order = spansort.argsort(on_gpu, axis=axis, descending=descending)
            expected = spansort.argsort(x, axis, descending=descending, devices="cpu")
            np.testing.assert_array_equal(gpu.get(order), expected)
    np.testing.assert_array_equal(bits(gpu.get(on_gpu)), bits(x))


def test_rows_that_are_written_to(writeable_gpu: Gpu, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("int32", 60_000, rng, "few").reshape(200, 300)
    on_gpu = gpu.put(x)
    for axis in [0, 1]:
        out, order = gpu.put(np.zeros_like(x)), gpu.put(np.zeros(x.shape, "int64"))
        assert spansort.sort(on_gpu, axis=axis, out=out) is out
        np.testing.assert_array_equal(gpu.get(out), np.sort(x, axis))
        assert spansort.argsort(on_gpu, axis=axis, out=order) is order
        np.testing.assert_array_equal(gpu.get(order), np.argsort(x, axis, kind="stable"))
        itself = gpu.put(x)
        spansort.sort_inplace(itself, axis)
        np.testing.assert_array_equal(gpu.get(itself), np.sort(x, axis))
        turned = spansort.sort(on_gpu.T, axis=axis)
        np.testing.assert_array_equal(gpu.get(turned), np.sort(x.T, axis))
    np.testing.assert_array_equal(gpu.get(on_gpu), x)


@pytest.mark.parametrize("count", [10, 3000, 2_000_000])
def test_segments(gpu: Gpu, count: int, rng: np.random.Generator) -> None:
    x = random_keys("float32", count, rng, "few")
    on_gpu = gpu.put(x)
    for num_segments in [1, 5, 1000]:
        offsets = np.sort(rng.integers(0, count + 1, num_segments + 1))
        kinds = ["int32", "uint32"] + (["int64", "uint64"] if gpu.has("int64") else [])
        for given in [offsets, offsets.tolist(), *(gpu.put(offsets.astype(kind)) for kind in kinds)]:
            for descending in [False, True]:
                ordered = spansort.sort_segments(x, offsets, descending=descending, devices="cpu")
                found = spansort.sort_segments(on_gpu, given, descending=descending)
                np.testing.assert_array_equal(bits(gpu.get(found)), bits(ordered))
                order = spansort.argsort_segments(x, offsets, descending=descending, devices="cpu")
                found = spansort.argsort_segments(on_gpu, given, descending=descending)
                np.testing.assert_array_equal(gpu.get(found), order)


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


@pytest.mark.parametrize("size", [1, 7, 4096, 70_000])
def test_all_layouts(writeable_gpu: Gpu, size: int, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("int32", 4 * size, rng, "few")
    host, on_gpu = x.reshape(4, size), gpu.put(x).reshape(4, size)
    views = [lambda m: m.T, lambda m: m[:, ::2], lambda m: m[1:3], lambda m: m[:, :1], lambda m: m[2, ::3]]
    if gpu.name == "cupy":
        views += [lambda m: m[::-1], lambda m: m[::-2, ::-1], lambda m: m[3, ::-1]]
    for view in views:
        flat = view(host).reshape(-1)
        np.testing.assert_array_equal(gpu.get(spansort.sort(view(on_gpu), axis=None)), np.sort(flat))
        order = gpu.get(spansort.argsort(view(on_gpu), axis=None, descending=True))
        np.testing.assert_array_equal(order, reference_order(flat, True))
        out = gpu.put(np.zeros_like(flat))
        assert spansort.sort(view(on_gpu), axis=None, out=out) is out
        np.testing.assert_array_equal(gpu.get(out), np.sort(flat))
    # Rows of values in another order than memory's, and the same ones again and again.
    keys, values = on_gpu[0], on_gpu.T
    found = spansort.sort_pairs(keys, values)
    np.testing.assert_array_equal(gpu.get(found.values), host.T[reference_order(host[0])])
    same = gpu.module.broadcast_to(on_gpu[0, :1], (size,))
    np.testing.assert_array_equal(gpu.get(spansort.sort(same)), np.broadcast_to(host[0, :1], size))
    assert gpu.get(spansort.argsort(same)).tolist() == list(range(size))
    np.testing.assert_array_equal(gpu.get(on_gpu), host)


def test_no_dimension_and_no_elements(gpu: Gpu) -> None:
    one, none = gpu.put(np.array(3, "int32")), gpu.put(np.zeros((0, 3), "float32"))
    assert gpu.get(spansort.sort(one, axis=None)).tolist() == [3]
    assert gpu.get(spansort.argsort(one, axis=None)).tolist() == [0]
    for call in [spansort.sort, spansort.argsort]:
        with pytest.raises(IndexError, match="dimension"):
            call(one)
        for axis in [0, 1, -1]:
            assert gpu.get(call(none, axis=axis)).shape == (0, 3)
        assert gpu.get(call(none, axis=None)).shape == (0,)
    pairs = spansort.sort_pairs(none[:, 0], none)
    assert gpu.get(pairs.keys).shape == (0,) and gpu.get(pairs.values).shape == (0, 3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value_dtype", ["uint16", "float64"])
def test_pairs_of_every_dtype(gpu: Gpu, dtype: str, value_dtype: str, rng: np.random.Generator) -> None:
    if not gpu.has(dtype) or not gpu.has(value_dtype):
        pytest.skip("JAX has no 64 bits unless it is told to")
    for size in [3, 5000, 300_000]:
        x, values = random_keys(dtype, size, rng), np.arange(size).astype(value_dtype)
        for descending in [False, True]:
            order = reference_order(x, descending)
            found = spansort.sort_pairs(gpu.put(x), gpu.put(values), descending=descending)
            np.testing.assert_array_equal(bits(gpu.get(found.keys)), bits(x[order]))
            np.testing.assert_array_equal(gpu.get(found.values), values[order])


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


def test_pairs_that_share_memory(writeable_gpu: Gpu, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("int32", 5000, rng, "few")
    keys, values = gpu.put(x), gpu.put(np.arange(5000, dtype="int32"))
    found = spansort.sort_pairs(keys, values, out=(values, keys))  # each in the place of the other
    assert found.keys is values and found.values is keys
    np.testing.assert_array_equal(gpu.get(values), np.sort(x))
    np.testing.assert_array_equal(gpu.get(keys), reference_order(x))
    with pytest.raises(ValueError, match="overlap"):
        spansort.sort_pairs(keys, values, out=(keys, keys))
    memory = gpu.put(np.zeros(5001, "int32"))
    with pytest.raises(ValueError, match="overlap"):
        spansort.sort_pairs(keys, values, out=(memory[1:], memory[:-1]))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_values_that_are_not_aligned_to_their_rows(writeable_gpu: Gpu, dtype: str, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("float32", 5000, rng, "few")
    numbers = rng.integers(0, 200, 20_001).astype(dtype)
    keys, values = gpu.put(x), gpu.put(numbers)[1:].reshape(5000, 4)
    order = reference_order(x)
    for found in [spansort.sort_pairs(keys, values), spansort.sort_pairs(keys, values, out=(keys, values))]:
        np.testing.assert_array_equal(bits(gpu.get(found.keys)), bits(x[order]))
        np.testing.assert_array_equal(gpu.get(found.values), numbers[1:].reshape(5000, 4)[order])


@needs_gpu
def test_a_backward_pass_finds_that_its_numbers_are_gone() -> None:
    torch = Gpu("torch").module
    for write in [
        spansort.sort_inplace,
        lambda x: spansort.sort(x, out=x),
        lambda x: spansort.sort_pairs(x, torch.arange(8.0, device="cuda"), out=(x, torch.zeros(8, device="cuda"))),
    ]:
        x, weights = torch.rand(8, device="cuda"), torch.ones(8, device="cuda", requires_grad=True)
        product = (weights * x).sum()
        write(x)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
    with torch.inference_mode():
        x = torch.arange(8.0, device="cuda").flip(0)
        spansort.sort_inplace(x)
        assert x.tolist() == list(range(8))


# ---- several GPUs


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
    for array, wanted in [(on_second, x), (on_second[::-3], x[::-3]), (on_second.reshape(2, -1).T, x)]:
        ordered, order = spansort.sort(array, axis=None), spansort.argsort(array, axis=None)
        assert ordered.device.id == order.device.id == 1 and cupy.cuda.runtime.getDevice() == 0
        np.testing.assert_array_equal(cupy.asnumpy(ordered), np.sort(wanted))
    found = spansort.sort_pairs(on_second, on_second)
    np.testing.assert_array_equal(cupy.asnumpy(found.values), np.sort(x))
    spansort.sort_inplace(on_second, descending=True)
    np.testing.assert_array_equal(cupy.asnumpy(on_second), np.sort(x)[::-1])
    assert cupy.cuda.runtime.getDevice() == 0


@needs_gpu
def test_a_second_gpu_of_jax(rng: np.random.Generator) -> None:
    jax = Gpu("jax").module
    if len(jax.devices()) < 2:
        pytest.skip("one GPU only")
    x = random_keys("int32", 100_000, rng)
    on_second = jax.device_put(x, jax.devices()[1])
    ordered, order = spansort.sort(on_second), spansort.argsort(on_second)
    found = spansort.sort_pairs(on_second, on_second)
    for array in [ordered, order, *found]:
        assert array.devices() == {jax.devices()[1]}
    np.testing.assert_array_equal(np.asarray(ordered), np.sort(x))
    np.testing.assert_array_equal(np.asarray(order), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(np.asarray(found.values), np.sort(x))


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
    for offsets in [[0, 7], [3, 2, 6]]:
        with pytest.raises(ValueError, match="offsets decrease, or lie beyond the 6 elements"):
            spansort.sort_segments(x, offsets)
    with pytest.raises(TypeError, match="offsets: a vector of int32"):
        spansort.argsort_segments(x, x)
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
        spansort.sort_pairs(x, list(range(6)) if gpu.name == "jax" else np.arange(6))
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
def test_few_keys_of_torch(rng: np.random.Generator) -> None:
    """Vectors of few keys go by the exchange interface in C once a tensor has been seen, and others do not."""
    module = Gpu("torch").module
    spansort.sort(module.zeros(3, device="cuda"))
    for count in [0, 1, 2, 3, 1000, (1 << 21) - 1, 1 << 21, (1 << 24) - 1, 1 << 24]:
        x = module.from_numpy(random_keys("float32", count, rng)).cuda()
        sorted_by_torch = module.sort(x.nan_to_num(), stable=True)
        assert module.equal(spansort.sort(x.nan_to_num()), sorted_by_torch.values)
        order = spansort.argsort(x.nan_to_num())
        assert order.dtype == module.int64
        assert module.equal(order, sorted_by_torch.indices)
    x = module.arange(1000, device="cuda", dtype=module.float32)
    if "__dlpack_c_exchange_api__" in module.Tensor.__dict__:
        assert _core.sorted_copy(x, False) is not None
        assert _core.stable_order(x > 500, True) is not None
        for other in [module._neg_view(x), x[::7], module.nn.Parameter(x), x.clone().requires_grad_(), x[:1], x[:0],
                      x.reshape(10, 100), x.to(module.complex64), x.cpu()]:  # fmt: skip
            assert _core.sorted_copy(other, False) is None
            assert _core.stable_order(other, False) is None
    # What is returned is a tensor like any other, which the library keeps as long as other streams use it.
    grown = spansort.sort(x).resize_(2000)
    assert module.equal(grown[:1000], x)
    negative = module._neg_view(x)
    assert module.equal(spansort.sort(negative), -x.flip(0))
    assert module.equal(spansort.sort(x[::7], descending=True), x[::7].flip(0))
    stream = module.cuda.Stream()
    with module.cuda.stream(stream):
        module.cuda._sleep(50_000_000)
        late = x.flip(0) + 1
        found = spansort.sort(late)
    stream.synchronize()
    assert module.equal(found, x + 1)
    # Memory that another stream still reads is not handed out again.
    kept = spansort.sort(x)
    address = kept.data_ptr()
    with module.cuda.stream(stream):
        module.cuda._sleep(500_000_000)
        seen = kept.clone()
    kept.record_stream(stream)
    del kept
    assert module.empty_like(x).data_ptr() != address
    stream.synchronize()
    assert module.equal(seen, x)


@needs_gpu
def test_host_memory_is_no_gpus() -> None:
    memory = np.zeros(1 << 20, "uint8")
    call = _core.GpuCall(0, 0, memory.ctypes.data, memory.nbytes)
    with pytest.raises(ValueError, match="GPU|aligned"):
        _core.gpu_sort(call, 4, memory.ctypes.data, 1000, 0, 0, False)


# ---- without a GPU


def test_types_without_the_exchange_interface() -> None:
    class Wrong:
        __dlpack_c_exchange_api__ = 3

    for kind in [int, np.ndarray, Wrong]:
        assert not _core.exchange_with(kind, "int64")
    with pytest.raises(TypeError, match="type"):
        _core.exchange_with(3, "int64")  # type: ignore[arg-type]


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
