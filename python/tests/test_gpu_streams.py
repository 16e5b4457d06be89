# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU: on the stream and in the memory of their library, which are used again as soon as a call returns."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest
import spansort
from conftest import Gpu, assert_same_values, bits, needs_gpu, random_keys, reference_order

SPIN = """
extern "C" __global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
}
"""
LONG = 100_000_000  # cycles: some 50 ms, in which the host has long gone on


def keep_busy(gpu: Gpu) -> None:
    """Let the current stream work for a while."""
    if gpu.name == "torch":
        gpu.module.cuda._sleep(LONG)
    else:
        gpu.module.RawKernel(SPIN, "spin")((1,), (1,), (np.int64(LONG),))


def is_done(stream: Any) -> bool:
    return bool(stream.query()) if hasattr(stream, "query") else bool(stream.done)


def new_stream(gpu: Gpu) -> tuple[Any, AbstractContextManager[Any]]:
    """Make a stream that does not wait for the default one, and what makes it current."""
    if gpu.name == "torch":
        stream = gpu.module.cuda.Stream()
        return stream, gpu.module.cuda.stream(stream)
    stream = gpu.module.cuda.Stream(non_blocking=True)
    return stream, stream


def filled(gpu: Gpu, count: int) -> Any:
    """Return memory that has other elements at once."""
    if gpu.name == "torch":
        return gpu.module.full((count,), 7, dtype=gpu.module.int32, device="cuda")
    return gpu.module.full(count, 7, "int32")


def test_nobody_waits(writeable_gpu: Gpu, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("int32", 1 << 22, rng)
    on_gpu = gpu.put(x)
    for call in [spansort.sort, spansort.argsort]:  # code is loaded, and memory is in the library's cache
        call(on_gpu)
    keep_busy(gpu)
    gpu.wait()
    stream, current = new_stream(gpu)
    with current:
        keep_busy(gpu)
        keys = on_gpu ^ 12345  # what runs on another stream would be done long before
        first = spansort.sort(keys)
        order = spansort.argsort(keys)
        pairs = spansort.sort_pairs(keys, order, descending=True)
        spansort.sort_inplace(keys)
        assert not is_done(stream)
    stream.synchronize()
    x = x ^ 12345
    np.testing.assert_array_equal(gpu.get(first), np.sort(x))
    np.testing.assert_array_equal(gpu.get(keys), np.sort(x))
    np.testing.assert_array_equal(gpu.get(order), reference_order(x))
    np.testing.assert_array_equal(gpu.get(pairs.values), reference_order(x)[reference_order(x, True)])


@pytest.mark.parametrize("size", [1000, 100_000, 3_000_000])
def test_memory_goes_to_no_other_stream(writeable_gpu: Gpu, size: int, rng: np.random.Generator) -> None:
    """Workspace and copies are free again for the library while the stream is still to use them."""
    gpu, x = writeable_gpu, random_keys("int32", size, rng)
    on_gpu = gpu.put(x)
    stream, current = new_stream(gpu)
    gpu.wait()
    with current:
        keep_busy(gpu)
        ordered = spansort.sort(on_gpu[::-1] if gpu.name == "cupy" else on_gpu[:])
        orders = [spansort.argsort(on_gpu) for _ in range(3)]
        narrow = spansort.sort_pairs(on_gpu, on_gpu.astype("int16") if gpu.name == "cupy" else on_gpu.short())
        out = filled(gpu, size)
        spansort.sort(on_gpu, out=out)
        same = filled(gpu, size)  # on this stream, behind the sorts
    others = [filled(gpu, count) for count in [size, 2 * size, size, 4 * size, 2 * size] * 4]
    stream.synchronize()
    gpu.wait()
    for found in [ordered, narrow.keys, out]:
        np.testing.assert_array_equal(gpu.get(found), np.sort(x))
    for order in orders:
        np.testing.assert_array_equal(gpu.get(order), reference_order(x))
    np.testing.assert_array_equal(gpu.get(narrow.values), x.astype("int16")[reference_order(x)])
    for other in [same, *others]:
        assert bool((other == 7).all())


def test_calls_in_a_row(gpu: Gpu, rng: np.random.Generator) -> None:
    """Workspace goes back to the library while the GPU still works in it, and is handed out again."""
    arrays = [random_keys("float32", size, rng) for size in [100_000, 1_000_000, 300_000, 3_000_000] * 3]
    found = [spansort.sort(gpu.put(x)) for x in arrays]
    for x, ordered in zip(arrays, found):
        np.testing.assert_array_equal(bits(gpu.get(ordered)), bits(spansort.sort(x)))


def test_threads_with_streams_of_their_own(gpu: Gpu) -> None:
    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        stream, current = (None, contextlib.nullcontext()) if gpu.name == "jax" else new_stream(gpu)
        with current:
            for size in [1000, 50_000, 2_000_000] * 3:
                x = random_keys("uint32", size + number, rng)
                on_gpu = gpu.put(x)
                ordered, order = spansort.sort(on_gpu), spansort.argsort(on_gpu)
                if stream is not None:
                    stream.synchronize()
                np.testing.assert_array_equal(gpu.get(ordered), np.sort(x))
                np.testing.assert_array_equal(gpu.get(order), np.argsort(x, kind="stable"))

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(work, number) for number in range(4)]:
            done.result()


# ---- PyTorch


@needs_gpu
def test_numbers_made_on_a_stream_of_torch(rng: np.random.Generator) -> None:
    gpu = Gpu("torch")
    module = gpu.module
    x = random_keys("float32", 1 << 22, rng, "few")
    on_gpu = gpu.put(x)
    gpu.wait()
    stream = module.cuda.Stream()
    with module.cuda.stream(stream):
        module.cuda._sleep(LONG)
        keys = on_gpu * 1
        keys.neg_()
        first = spansort.sort(keys)
        second = spansort.argsort(keys)
        third = spansort.sort_pairs(keys, second)
    stream.synchronize()
    order = reference_order(-x)
    assert_same_values(first.cpu().numpy(), spansort.sort(-x))  # the GPU makes NaN of bits of its own
    np.testing.assert_array_equal(second.cpu().numpy(), order)
    np.testing.assert_array_equal(third.values.cpu().numpy(), order[order])


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
@pytest.mark.parametrize("allocator", ["expandable_segments:True", "backend:cudaMallocAsync"])
def test_allocators_of_torch(allocator: str) -> None:
    Gpu("torch")
    text = """
import torch, spansort
for size in [1000, 3_000_000]:
    x = torch.randint(-1000, 1000, (size,), dtype=torch.int32, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()) as _:
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        expected = torch.sort(x, stable=True)
        for _ in range(3):
            assert torch.equal(spansort.sort(x), expected.values)
            assert torch.equal(spansort.argsort(x), expected.indices)
print(torch.cuda.get_allocator_backend())
"""
    names = {"PYTORCH_ALLOC_CONF": allocator, "PYTORCH_CUDA_ALLOC_CONF": allocator}
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, **names})
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == ("cudaMallocAsync" if "backend" in allocator else "native")


# ---- CuPy


def streams_of_cupy(cupy: Any) -> Iterator[Any]:
    yield cupy.cuda.Stream.null
    yield cupy.cuda.Stream.ptds
    yield cupy.cuda.Stream()
    yield cupy.cuda.Stream(non_blocking=True)
    yield cupy.cuda.Stream(non_blocking=True, priority=-1)


@needs_gpu
def test_streams_of_cupy(rng: np.random.Generator) -> None:
    gpu = Gpu("cupy")
    x = random_keys("uint32", 1 << 21, rng)
    on_gpu = gpu.put(x)
    gpu.wait()
    expected = np.sort(x ^ 12345)
    for stream in streams_of_cupy(gpu.module):
        with stream:
            keep_busy(gpu)
            keys = on_gpu ^ 12345
            first = spansort.sort(keys)
            second = spansort.argsort(first[::-1])
            spansort.sort_inplace(keys)
        stream.synchronize()
        np.testing.assert_array_equal(gpu.get(first), expected)
        np.testing.assert_array_equal(gpu.get(keys), expected)
        np.testing.assert_array_equal(gpu.get(second), np.argsort(expected[::-1], kind="stable"))


@needs_gpu
def test_pools_of_cupy(rng: np.random.Generator) -> None:
    gpu = Gpu("cupy")
    cupy = gpu.module
    x = random_keys("float64", 1_000_000, rng, "few")
    pools = [cupy.cuda.MemoryPool().malloc, None]
    if cupy.cuda.Device().attributes.get("MemoryPoolsSupported"):
        pools.append(cupy.cuda.MemoryAsyncPool().malloc)
    for allocate in pools:
        with cupy.cuda.using_allocator(allocate), cupy.cuda.Stream(non_blocking=True) as stream:
            on_gpu = cupy.asarray(x)
            ordered, order = spansort.sort(on_gpu), spansort.argsort(on_gpu)
            stream.synchronize()
            np.testing.assert_array_equal(bits(gpu.get(ordered)), bits(spansort.sort(x)))
            np.testing.assert_array_equal(gpu.get(order), reference_order(x))
            del on_gpu, ordered, order


# ---- JAX, in whose programs sorts are


def after_much_work(jax: Any) -> Any:
    """Return a function that gives its argument back once the GPU has worked for a while."""

    @jax.jit
    def late(x: Any) -> Any:
        ones = jax.numpy.ones((2048, 2048), "float32")
        worked = jax.lax.fori_loop(0, 300, lambda _, y: jax.numpy.sin(y @ y), ones)
        return x ^ (worked[0, 0] > 2).astype(x.dtype)

    return late


@needs_gpu
@pytest.mark.parametrize("size", [1000, 3_000_000])
def test_jax_is_waited_for(size: int, rng: np.random.Generator) -> None:
    gpu = Gpu("jax")
    late = after_much_work(gpu.module)
    for _ in range(3):
        x = random_keys("int32", size, rng)
        on_gpu = gpu.put(x)
        ordered = spansort.sort(late(on_gpu))
        order = spansort.argsort(late(on_gpu), descending=True)
        keys, values = spansort.sort_pairs(late(on_gpu), late(on_gpu ^ 1))
        # Work of the library's that follows sees the results.
        behind = [array + 0 for array in (ordered, order, keys, values)]
        assert gpu.module.numpy.all(ordered[1:] >= ordered[:-1])
        expected = [np.sort(x), reference_order(x, True), np.sort(x), (x ^ 1)[reference_order(x)]]
        for found, wanted in zip([*behind, ordered, order, keys, values], [*expected, *expected]):
            np.testing.assert_array_equal(gpu.get(found), wanted)


@needs_gpu
def test_donated_arrays_of_jax(rng: np.random.Generator) -> None:
    gpu = Gpu("jax")
    invert = gpu.module.jit(lambda x: ~x, donate_argnums=0)
    x = random_keys("int32", 1_000_000, rng)
    for _ in range(3):
        on_gpu = gpu.put(x) + 0
        ordered = spansort.sort(on_gpu)
        inverted = invert(on_gpu)  # in the memory of what was sorted
        again = spansort.sort(inverted)
        np.testing.assert_array_equal(gpu.get(ordered), np.sort(x))
        np.testing.assert_array_equal(gpu.get(again), np.sort(~x))
        np.testing.assert_array_equal(gpu.get(inverted), ~x)
