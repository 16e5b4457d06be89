# SPDX-License-Identifier: Apache-2.0
"""Sorts in programs that JAX compiles, on the host and, where JAX has one, on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import spansort
from conftest import NUMBERS, bits, random_keys, reference_order, reference_rows
from spansort import _core

jax = pytest.importorskip("jax")
jnp = jax.numpy
pytestmark = pytest.mark.skipif(not _core.xla_targets(), reason="the module was built without XLA's headers")
# It was in jax.experimental before.
enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else pytest.importorskip("jax.experimental").enable_x64
DTYPES = [*NUMBERS, "bfloat16"]


def _devices():
    for platform in ("cpu", "cuda"):
        try:
            yield platform, jax.devices(platform)[0]
        except RuntimeError:
            yield platform, None


@pytest.fixture(params=_devices(), ids=lambda found: found[0])
def device(request):
    """A device of JAX that arrays lie on, and 64 bits."""
    platform, found = request.param
    if found is None:
        pytest.skip(f"JAX has no device of platform {platform} here")
    with enable_x64(True):
        yield found


def _dtype(name):
    return np.dtype(jnp.bfloat16) if name == "bfloat16" else np.dtype(name)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", DTYPES)
def test_sorts_in_a_program(device, name, descending, rng):
    sort = jax.jit(lambda x: spansort.sort(x, descending=descending))
    for count in (0, 1, 2, 63, 1000, 20_000):
        keys = random_keys(_dtype(name), count, rng)
        given = jax.device_put(keys, device)
        found = sort(given)
        assert isinstance(found, jax.Array) and found.devices() == {device}
        np.testing.assert_array_equal(bits(np.asarray(found)), bits(spansort.sort(keys, descending=descending)))
        np.testing.assert_array_equal(bits(np.asarray(given)), bits(keys))  # the caller's keys are as they were


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", DTYPES)
def test_orders_in_a_program(device, name, descending, rng):
    argsort = jax.jit(lambda x: spansort.argsort(x, descending=descending))
    for count, kind in ((0, "bits"), (1, "bits"), (500, "few"), (500, "bits"), (20_000, "few")):
        keys = random_keys(_dtype(name), count, rng, kind)
        found = argsort(jax.device_put(keys, device))
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, reference_order(keys, descending))


def test_orders_of_many_keys_are_found_in_32_bits(device, rng):
    keys = rng.integers(0, 1000, (1 << 20) + 3).astype("int32")
    given = jax.device_put(keys, device)
    program = jax.jit(spansort.argsort)
    calls = [line for line in program.lower(given).as_text("hlo").splitlines() if "custom-call(" in line]
    assert [line.split("custom-call(")[0].count("s32[") for line in calls] == [1]
    found = program(given)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.argsort(keys, kind="stable"))


def test_orders_without_64_bits(device, rng):
    keys = rng.random(1000).astype("float32")
    with enable_x64(False):
        found = jax.jit(spansort.argsort)(jax.device_put(keys, device))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
def test_rows_along_an_axis(device, axis, rng):
    keys = rng.integers(0, 50, (7, 11, 130)).astype("int16")
    given = jax.device_put(keys, device)
    np.testing.assert_array_equal(jax.jit(lambda x: spansort.sort(x, axis))(given), np.sort(keys, axis))
    found = jax.jit(lambda x: spansort.argsort(x, axis, descending=True))(given)
    whole = keys.reshape(-1) if axis is None else keys
    np.testing.assert_array_equal(found, reference_rows(whole, -1 if axis is None else axis, True))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (5, 1), (1, 5), (1, 1)])
def test_shapes_with_little_in_them(device, shape, rng):
    keys = rng.random(shape)
    given = jax.device_put(keys, device)
    for axis in (0, 1):
        np.testing.assert_array_equal(jax.jit(lambda x, a=axis: spansort.sort(x, a))(given), np.sort(keys, axis))
        np.testing.assert_array_equal(
            jax.jit(lambda x, a=axis: spansort.argsort(x, a))(given), np.argsort(keys, axis, kind="stable")
        )


@pytest.mark.parametrize("name", ["uint8", "float32", "int64", "complex128", "bool"])
def test_pairs(device, name, rng):
    keys = rng.integers(0, 100, 5000).astype("uint32")
    values = rng.integers(0, 1 << 20, 5000).astype(name)
    found = jax.jit(spansort.sort_pairs)(jax.device_put(keys, device), jax.device_put(values, device))
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(found[0], keys[order])
    assert found[1].dtype == values.dtype
    np.testing.assert_array_equal(found[1], values[order])


def test_pairs_with_rows_of_values(device, rng):
    keys = rng.random(300)
    values = rng.random((300, 3))
    found = jax.jit(spansort.sort_pairs)(jax.device_put(keys, device), jax.device_put(values, device))
    order = np.argsort(keys)
    np.testing.assert_array_equal(found[0], keys[order])
    np.testing.assert_array_equal(found[1], values[order])


def test_maps_over_arrays(device, rng):
    keys = rng.integers(0, 20, (6, 5, 300)).astype("int32")
    values = rng.integers(0, 1 << 30, (6, 5, 300)).astype("int32")
    given, moved = jax.device_put(keys, device), jax.device_put(values, device)
    nested = jax.vmap(jax.vmap(spansort.sort))
    np.testing.assert_array_equal(nested(given), np.sort(keys))
    columns = jax.vmap(spansort.argsort, in_axes=2, out_axes=2)
    np.testing.assert_array_equal(columns(given), np.argsort(keys, axis=1, kind="stable"))
    found = jax.jit(jax.vmap(jax.vmap(spansort.sort_pairs)))(given, moved)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(found[0], np.take_along_axis(keys, order, -1))
    np.testing.assert_array_equal(found[1], np.take_along_axis(values, order, -1))
    # The same values beside each of the arrays.
    found = jax.vmap(spansort.sort_pairs, in_axes=(0, None))(given[0], moved[0, 0])
    np.testing.assert_array_equal(found[1], values[0, 0][np.argsort(keys[0], kind="stable")])


@pytest.mark.parametrize("descending", [False, True])
def test_derivatives(device, descending, rng):
    keys, weights = rng.random((4, 200)), rng.random((4, 200))
    given = jax.device_put(keys, device)

    def weighted(x):
        return (weights * spansort.sort(x, descending=descending)).sum()

    order = reference_rows(keys, 1, descending)
    expected = np.zeros_like(keys)
    np.put_along_axis(expected, order, weights, 1)
    np.testing.assert_array_equal(jax.jit(jax.grad(weighted))(given), expected)
    tangents = rng.random(keys.shape)
    _, moved = jax.jvp(lambda x: spansort.sort(x, descending=descending), (given,), (jax.device_put(tangents, device),))
    np.testing.assert_array_equal(moved, np.take_along_axis(tangents, order, 1))
    # An order has no derivative, and does not stand in the way of one.
    least = np.zeros_like(keys)
    least[0, keys[0].argmin()] = 1.0
    np.testing.assert_array_equal(jax.grad(lambda x: x[0, spansort.argsort(x)[0, 0]])(given), least)


def test_second_derivatives(device, rng):
    keys = jax.device_put(rng.random(6), device)
    values = jax.device_put(rng.random(6), device)
    of_keys = jax.hessian(lambda x: (spansort.sort(x) ** 2 * jnp.arange(6.0)).sum())(keys)
    np.testing.assert_array_equal(np.diag(of_keys), 2.0 * np.argsort(np.argsort(keys)))
    of_pairs = jax.hessian(lambda x: (spansort.sort_pairs(x, values)[0] ** 2 * jnp.arange(6.0)).sum())(keys)
    np.testing.assert_array_equal(of_pairs, of_keys)


def test_derivatives_leave_the_bits(device):
    keys = jax.device_put(np.array([0.0, -0.0, 1.0, -0.0]), device)
    found, _ = jax.vjp(spansort.sort, keys)
    np.testing.assert_array_equal(np.signbit(found), [True, True, False, False])


def test_derivatives_of_pairs(device, rng):
    keys = jax.device_put(rng.integers(0, 10, 200).astype("int32"), device)
    values, weights = rng.random(200), rng.random(200)
    found = jax.grad(lambda v: (weights * spansort.sort_pairs(keys, v)[1]).sum())(jax.device_put(values, device))
    expected = np.zeros(200)
    expected[np.argsort(keys, kind="stable")] = weights
    np.testing.assert_array_equal(found, expected)
    # Keys that are no array of JAX, beside values that are traced.
    found = jax.jit(lambda v: spansort.sort_pairs(np.asarray(keys), v)[1])(jax.device_put(values, device))
    np.testing.assert_array_equal(found, values[np.argsort(keys, kind="stable")])


def test_loops_and_donated_keys(device, rng):
    keys = rng.random((10, 500))

    def step(carry, row):
        both = spansort.sort(jnp.concatenate([carry, row]))[:500]
        return both, both[0]

    given = jax.device_put(keys, device)
    last, _ = jax.jit(lambda rows: jax.lax.scan(step, rows[0], rows[1:]))(given)
    np.testing.assert_array_equal(last, np.sort(keys.reshape(-1))[:500])
    in_place = jax.jit(spansort.sort, donate_argnums=0)
    np.testing.assert_array_equal(in_place(given), np.sort(keys))
    assert given.is_deleted()


def test_programs_of_several_threads(device, rng):
    sort = jax.jit(spansort.sort)
    arrays = [rng.random(30_000) for _ in range(12)]

    def sorted_elsewhere(x):
        with enable_x64(True):  # it is for one thread
            return sort(jax.device_put(x, device))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(sorted_elsewhere, arrays))
    for x, y in zip(arrays, found):
        np.testing.assert_array_equal(y, np.sort(x))


def test_what_is_refused(device):
    keys = jax.device_put(np.arange(4.0), device)
    refused = [
        (TypeError, "no order", lambda x: spansort.sort(x.astype("complex128"))),
        (ValueError, "axis 3", lambda x: spansort.sort(x, axis=3)),
        (ValueError, "one dimension", lambda x: spansort.argsort(x[0])),
        (TypeError, "traces", spansort.sort_inplace),
        (TypeError, "traces", lambda x: spansort.sort(x, memory="1G")),
        (TypeError, "traces", lambda x: spansort.argsort(x, out=x)),
        (TypeError, "traces", lambda x: spansort.sort_segments(x, [0, 2, 4])),
        (ValueError, "progress", lambda x: spansort.sort(x, progress=True)),
        (ValueError, "devices", lambda x: spansort.sort(x, devices="cpu")),
        (ValueError, "devices", lambda x: spansort.sort(x, devices="gpu")),
        (TypeError, "no order", lambda x: spansort.sort(jax.random.split(jax.random.key(1), 3))),
        (ValueError, "as many values", lambda x: spansort.sort_pairs(x, x[1:])),
        (TypeError, "JAX", lambda x: spansort.sort_pairs(x, [1, 2, 3, 4])),
        (ValueError, "one dimension", lambda x: spansort.sort_pairs(x.reshape(2, 2), x)),
    ]
    for error, text, function in refused:
        with pytest.raises(error, match=text):
            jax.jit(function)(keys)


SHARDED = """
import jax, numpy as np, spansort
from jax.sharding import PartitionSpec as P
mesh = jax.make_mesh((4,), ("rows",))
keys = np.random.default_rng(1).random((8, 1000), "float32")
given = jax.device_put(keys, jax.NamedSharding(mesh, P("rows")))
found = jax.jit(jax.shard_map(spansort.sort, mesh=mesh, in_specs=P("rows"), out_specs=P("rows")))(given)
assert len(found.devices()) == 4 and found.addressable_shards[0].data.shape == (2, 1000)
np.testing.assert_array_equal(found, np.sort(keys))
np.testing.assert_array_equal(jax.jit(spansort.sort)(given), np.sort(keys))
print("done")
"""


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="this JAX has no jax.shard_map")
def test_rows_on_several_devices():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    found = subprocess.run(
        [sys.executable, "-c", SHARDED], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert found.stdout == "done\n", found.stderr
