# SPDX-License-Identifier: Apache-2.0
"""Arrays on a GPU: pools that are nearly full, a GPU that is, and more keys than 31 bits count."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import spansort
from conftest import Gpu, needs_gpu, random_keys, reference_order

MIB = 1 << 20
NUM_POOLED = 1 << 24  # keys of 4 bytes
NUM_LARGE = (1 << 31) + 1
PIECE = 1 << 27  # elements that are looked at together


@contextmanager
def room_for(gpu: Gpu, more_bytes: int) -> Iterator[None]:
    """Let the pool of a library grow by some bytes only."""
    gpu.give_back()
    if gpu.name == "torch":
        cuda = gpu.module.cuda
        total = cuda.get_device_properties(0).total_memory
        cuda.set_per_process_memory_fraction((cuda.memory_reserved() + more_bytes) / total)
    else:
        pool = gpu.module.get_default_memory_pool()
        pool.set_limit(size=pool.total_bytes() + more_bytes)
    try:
        yield
    finally:
        if gpu.name == "torch":
            cuda.set_per_process_memory_fraction(1.0)
        else:
            pool.set_limit(size=0)
        gpu.give_back()


def error_of_memory(gpu: Gpu) -> type[Exception]:
    error: type[Exception] = (
        gpu.module.OutOfMemoryError if gpu.name == "torch" else gpu.module.cuda.memory.OutOfMemoryError
    )
    return error


def assert_all_or_nothing(gpu: Gpu, call: Callable[[], Any], check: Callable[[Any], None], least: int) -> None:
    """Call with more and more room: there is a right result or the library's error, which comes where room is least."""
    are_done = []
    for more in [0, *(MIB << shift for shift in range(5, 11))]:
        with room_for(gpu, more):
            try:
                found = call()
            except error_of_memory(gpu):
                check(None)
                are_done.append(False)
                continue
            check(found)
            are_done.append(True)
            del found
    assert are_done == sorted(are_done)
    assert not are_done[0] and are_done[-1]
    assert sum(not done for done in are_done) >= least


def test_pools_that_are_nearly_full(writeable_gpu: Gpu, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("uint32", NUM_POOLED, rng)
    expected, order = np.sort(x), np.argsort(x, kind="stable")
    on_gpu, values = gpu.put(x), gpu.put(np.arange(NUM_POOLED, dtype="float32"))
    calls: list[tuple[Callable[[], Any], Callable[[Any], Any], Any]] = [
        (lambda: spansort.sort(on_gpu), lambda found: found, expected),
        (lambda: spansort.argsort(on_gpu), lambda found: found, order),
        (lambda: spansort.sort_pairs(on_gpu, values), lambda found: found.values, order.astype("float32")),
        (lambda: spansort.sort_pairs(on_gpu, on_gpu.reshape(-1, 1)), lambda found: found.keys, expected),
    ]
    for call, part, wanted in calls:

        def check(found: Any, part: Callable[[Any], Any] = part, wanted: Any = wanted) -> None:
            if found is not None:
                np.testing.assert_array_equal(gpu.get(part(found)), wanted)
            np.testing.assert_array_equal(gpu.get(on_gpu), x)

        assert_all_or_nothing(gpu, call, check, least=2)


def test_pools_that_are_nearly_full_in_place(writeable_gpu: Gpu, rng: np.random.Generator) -> None:
    gpu, x = writeable_gpu, random_keys("uint32", NUM_POOLED, rng)
    on_gpu, before = gpu.put(x), gpu.put(x)
    values, indices = gpu.put(np.arange(NUM_POOLED)), gpu.put(np.arange(NUM_POOLED))
    expected, order = np.sort(x), np.argsort(x, kind="stable")

    def restore() -> None:
        on_gpu[:] = before
        values[:] = indices

    def check(found: Any) -> None:
        np.testing.assert_array_equal(gpu.get(on_gpu), x if found is None else expected)
        restore()

    assert_all_or_nothing(gpu, lambda: spansort.sort_inplace(on_gpu) or True, check, least=1)
    assert_all_or_nothing(gpu, lambda: spansort.sort(on_gpu, out=on_gpu), check, least=1)

    def check_pairs(found: Any) -> None:
        np.testing.assert_array_equal(gpu.get(values), np.arange(NUM_POOLED) if found is None else order)
        check(found)

    both = (on_gpu, values)
    assert_all_or_nothing(gpu, lambda: spansort.sort_pairs(on_gpu, values, out=both), check_pairs, least=1)


@needs_gpu
def test_a_gpu_that_is_full() -> None:
    """Nothing is left on the GPU for code that is loaded now: the sort is right or fails, and is right afterwards."""
    Gpu("torch")
    text = """
import numpy as np, spansort, torch
x = torch.randint(-1000, 1000, (1 << 20,), dtype=torch.int32, device="cuda")
x.to(torch.int64)  # PyTorch's own code, which widens orders, is loaded before
host, spare, size, taken = x.cpu().numpy(), torch.empty(64 << 20, dtype=torch.uint8, device="cuda"), 1 << 34, []
while size >= 2 << 20:
    try:
        taken.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        size //= 2
del spare  # to the pool
outcomes = []
for call in [spansort.sort, spansort.argsort]:
    try:
        found = call(x).cpu().numpy()
        assert np.array_equal(found, {spansort.sort: np.sort(host)}.get(call, np.argsort(host, kind="stable")))
        outcomes.append("sorted")
    except (MemoryError, RuntimeError) as error:
        # PyTorch that cannot load code raises an error of its own kind, which not every version has.
        assert isinstance(error, (MemoryError, spansort.DeviceError)) or "out of memory" in str(error)
        outcomes.append(f"{type(error).__name__}: {error}")
print(outcomes)
del taken
torch.cuda.empty_cache()
for _ in range(2):
    assert np.array_equal(spansort.sort(x).cpu().numpy(), np.sort(host)), outcomes
    assert np.array_equal(spansort.argsort(x).cpu().numpy(), np.argsort(host, kind="stable")), outcomes
"""
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    print(found.stdout)
    assert found.returncode == 0, found.stdout + found.stderr


# ---- 2^31 + 1 keys


@pytest.fixture
def torch_with_room(request: pytest.FixtureRequest) -> Any:
    """PyTorch with as many bytes free on the GPU as the parameter says."""
    gpu = Gpu("torch")
    if "cupy" in sys.modules:
        Gpu("cupy").give_back()
    gpu.give_back()
    free = gpu.module.cuda.mem_get_info()[0]
    if free < request.param:
        pytest.skip(f"{request.param >> 30} GiB of a GPU are needed; {free >> 30} are free")
    yield gpu.module
    gpu.give_back()


def needs_gib(gib: int) -> Any:
    return pytest.mark.parametrize("torch_with_room", [gib << 30], indirect=True, ids=[f"{gib} GiB"])


def random_on_gpu(torch: Any, dtype: str) -> Any:
    """Return 2^31 + 1 keys, all of whose bits are random."""
    signed = {"uint8": torch.uint8, "uint32": torch.int32}[dtype]
    ends = torch.iinfo(signed)
    generator = torch.Generator(device="cuda").manual_seed(7)
    keys = torch.empty(NUM_LARGE, dtype=signed, device="cuda")
    for begin in range(0, NUM_LARGE, PIECE):
        keys[begin : begin + PIECE].random_(ends.min, ends.max + 1, generator=generator)
    return keys.view(getattr(torch, dtype))


def numbers(torch: Any, keys: Any) -> Any:
    """Return keys without signs as int64, which PyTorch can compare."""
    return keys.to(torch.int64) if keys.dtype != torch.uint32 else keys.view(torch.int32).to(torch.int64) & 0xFFFFFFFF


def pieces(torch: Any, keys: Any) -> Iterator[Any]:
    """Yield the keys as int64; each piece begins with the last key of the one before."""
    for begin in range(0, len(keys), PIECE):
        yield numbers(torch, keys[max(0, begin - 1) : begin + PIECE])


def sums(torch: Any, keys: Any) -> list[int]:
    """Return what stays the same when the keys change their places: sums of hashes, modulo 2^64."""
    totals = [0, 0]
    for begin in range(0, len(keys), PIECE):
        piece = numbers(torch, keys[begin : begin + PIECE])
        totals[0] += int(piece.sum())
        piece = (piece + 1) * 0x9E3779B97F4A7C1
        totals[1] += int((piece ^ (piece >> 29)).sum())
    return [total % (1 << 64) for total in totals]


def is_sorted_on_gpu(torch: Any, keys: Any) -> bool:
    return all(bool((piece[1:] >= piece[:-1]).all()) for piece in pieces(torch, keys))


@needs_gib(32)
@pytest.mark.parametrize("dtype", ["uint8", "uint32"])
def test_more_keys_than_31_bits_count(torch_with_room: Any, dtype: str) -> None:
    torch = torch_with_room
    x = random_on_gpu(torch, dtype)
    before = sums(torch, x)
    ordered = spansort.sort(x)
    assert ordered.dtype == x.dtype and len(ordered) == NUM_LARGE
    assert sums(torch, x) == before == sums(torch, ordered)
    assert is_sorted_on_gpu(torch, ordered)
    spansort.sort_inplace(x)
    signed = torch.uint8 if dtype == "uint8" else torch.int32
    assert torch.equal(x.view(signed), ordered.view(signed))


def assert_is_order(torch: Any, keys: Any, order: Any) -> None:
    """The keys do not decrease along the order, and where they are equal it increases: so no place comes twice."""
    assert order.dtype == torch.int64 and len(order) == NUM_LARGE
    for begin in range(0, NUM_LARGE, PIECE):
        places = order[max(0, begin - 1) : begin + PIECE]
        assert 0 <= int(places.min()) and int(places.max()) < NUM_LARGE
        signed = keys.view(torch.int32) if keys.dtype == torch.uint32 else keys
        found = numbers(torch, signed[places].view(keys.dtype))
        rises = found[1:] > found[:-1]
        assert bool((rises | ((found[1:] == found[:-1]) & (places[1:] > places[:-1]))).all())
        del places, found, rises


@needs_gib(48)
def test_the_order_of_more_keys_than_31_bits_count(torch_with_room: Any) -> None:
    torch = torch_with_room
    x = random_on_gpu(torch, "uint8")
    assert_is_order(torch, x, spansort.argsort(x))


@needs_gib(68)
def test_the_order_of_more_wide_keys_than_31_bits_count(torch_with_room: Any) -> None:
    torch = torch_with_room
    x = random_on_gpu(torch, "uint32")
    order = spansort.argsort(x)
    torch.cuda.empty_cache()
    assert_is_order(torch, x, order)


@needs_gib(48)
def test_more_pairs_than_31_bits_count(torch_with_room: Any) -> None:
    torch = torch_with_room
    x = random_on_gpu(torch, "uint32")
    values = (x.view(torch.int32) ^ 0x12345678).view(torch.uint32)
    spansort.sort_pairs(x, values, out=(x, values))
    assert is_sorted_on_gpu(torch, x)
    for begin in range(0, NUM_LARGE, PIECE):
        piece = x.view(torch.int32)[begin : begin + PIECE] ^ 0x12345678
        assert torch.equal(piece, values.view(torch.int32)[begin : begin + PIECE])


@needs_gib(16)
def test_more_keys_of_cupy_than_31_bits_count(torch_with_room: Any) -> None:
    cupy = Gpu("cupy").module
    x = random_on_gpu(torch_with_room, "uint8")
    ordered = spansort.sort(cupy.from_dlpack(x), descending=True)
    assert isinstance(ordered, cupy.ndarray) and ordered.shape == (NUM_LARGE,)
    found = torch_with_room.from_dlpack(ordered)
    assert sums(torch_with_room, found) == sums(torch_with_room, x)
    assert is_sorted_on_gpu(torch_with_room, found.flip(0))
    del ordered, found
    Gpu("cupy").give_back()


@needs_gib(24)
def test_more_keys_of_jax_than_31_bits_count(torch_with_room: Any) -> None:
    gpu = Gpu("jax")
    x = random_on_gpu(torch_with_room, "uint8")
    of_jax = gpu.module.dlpack.from_dlpack(x)
    ordered = spansort.sort(of_jax)
    assert isinstance(ordered, gpu.module.Array)
    found = torch_with_room.from_dlpack(ordered)
    assert sums(torch_with_room, found) == sums(torch_with_room, x)
    assert is_sorted_on_gpu(torch_with_room, found)
    if not gpu.has("int64"):
        with pytest.raises(ValueError, match="int64"):
            spansort.argsort(of_jax)


@needs_gpu
def test_few_keys_in_a_large_array(rng: np.random.Generator) -> None:
    """Strides and offsets beyond 2^31 elements."""
    torch = Gpu("torch").module
    if torch.cuda.mem_get_info()[0] < 4 << 30:
        pytest.skip("4 GiB of a GPU are needed")
    memory = torch.zeros(NUM_LARGE + 1000, dtype=torch.uint8, device="cuda")
    x = random_keys("uint8", 1000, rng)
    memory[NUM_LARGE:] = torch.from_numpy(x).cuda()
    spansort.sort_inplace(memory[NUM_LARGE:])
    np.testing.assert_array_equal(memory[NUM_LARGE:].cpu().numpy(), np.sort(x))
    two = memory[:: NUM_LARGE + 999]
    assert spansort.argsort(two, descending=True).tolist() == reference_order(two.cpu().numpy(), True).tolist()
    assert int(memory[:NUM_LARGE].max()) == 0
