# SPDX-License-Identifier: Apache-2.0
"""Sorts of arrays against NumPy: every type, layout, direction, axis and size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spansort
from conftest import ALL, BFLOAT16, DATES, IDS, assert_same_values, bits, codes, random_keys, reference_order
from hypothesis import given, settings
from hypothesis import strategies as st

SIZES = [0, 1, 2, 3, 15, 16, 17, 255, 1000, 1023, 1025, 4097, 70_001]
directions = st.booleans()


@st.composite
def keys(draw: Any, most: int = 300) -> Any:
    """Keys of any type and layout, of any bits or of few values."""
    dtype = draw(st.sampled_from(ALL))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(0, most))
    x = random_keys(dtype, 2 * count, rng, draw(st.sampled_from(["bits", "few"])))
    layout = draw(st.sampled_from(["whole", "strided", "reversed", "swapped", "shifted"]))
    if layout == "strided":
        return x[::2]
    if layout == "reversed":
        return x[count:][::-1]
    if layout == "swapped" and dtype not in BFLOAT16:
        return x[:count].astype(dtype.newbyteorder())
    if layout == "shifted":
        raw = np.zeros(x.nbytes + 1, "uint8")
        raw[1:] = x.view("uint8")
        return raw[1:].view(dtype)[:count]
    return x[:count]


@given(keys(), directions)
@settings(max_examples=400)
def test_sort_and_argsort_of_any_layout(x: Any, descending: bool) -> None:
    before = x.copy()
    order = spansort.argsort(x, descending=descending)
    native = x.astype(x.dtype.newbyteorder("="))
    np.testing.assert_array_equal(order, reference_order(native, descending))
    assert order.dtype == np.int64
    ordered = spansort.sort(x, descending=descending)
    assert_same_values(ordered, x[order])
    if x.dtype.isnative:
        np.testing.assert_array_equal(np.sort(bits(ordered)), np.sort(bits(x)))
        np.testing.assert_array_equal(bits(x), bits(before))
    assert spansort.is_sorted(ordered, descending=descending)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ALL, ids=IDS)
def test_every_size(dtype: Any, descending: bool, rng: Any) -> None:
    for count in SIZES:
        for kind in ["bits", "few"]:
            x = random_keys(dtype, count, rng, kind)
            order = reference_order(x, descending)
            np.testing.assert_array_equal(spansort.argsort(x, descending=descending), order)
            expected = x[order]
            assert_same_values(spansort.sort(x, descending=descending), expected)
            values = np.arange(count, dtype="uint32")
            pairs = spansort.sort_pairs(x, values, descending=descending)
            np.testing.assert_array_equal(pairs.values, order)
            np.testing.assert_array_equal(bits(pairs.keys), bits(expected))
            y = x.copy()
            spansort.sort_inplace(y, descending=descending)
            assert_same_values(y, expected)


@pytest.mark.parametrize("dtype", ["uint32", "float64", "datetime64[us]"])
def test_long_arrays(dtype: str, rng: Any) -> None:
    x = random_keys(dtype, 1_500_000, rng)
    order = reference_order(x)
    np.testing.assert_array_equal(spansort.argsort(x), order)
    assert_same_values(spansort.sort(x), x[order])
    if dtype != "datetime64[us]":
        assert_same_values(spansort.sort(x), np.sort(x))


def test_the_array_of_a_longlong() -> None:
    x = np.array([3, -1, 2], "longlong")
    assert spansort.sort(x).tolist() == [-1, 2, 3]
    assert spansort.sort(x[::-1]).dtype == x.dtype


@given(
    st.sampled_from(ALL),
    st.lists(st.integers(0, 7), min_size=1, max_size=4),
    st.integers(-4, 3),
    directions,
    st.integers(0, 2**32),
)
@settings(max_examples=200)
def test_axes(dtype: Any, shape: list[int], axis: int, descending: bool, seed: int) -> None:
    x = random_keys(dtype, int(np.prod(shape)), np.random.default_rng(seed), "few").reshape(shape)
    if not -len(shape) <= axis < len(shape):
        with pytest.raises(IndexError):
            spansort.sort(x, axis)
        with pytest.raises(ValueError):
            spansort.argsort(x, axis)
        return
    order = np.empty(x.shape, "int64")
    for index in np.ndindex(*x.shape[: axis % x.ndim], *x.shape[axis % x.ndim + 1 :]):
        place = (*index[: axis % x.ndim], slice(None), *index[axis % x.ndim :])
        order[place] = reference_order(x[place], descending)
    found = spansort.argsort(x, axis, descending=descending)
    np.testing.assert_array_equal(found, order)
    expected = np.take_along_axis(x, order, axis)
    assert_same_values(spansort.sort(x, axis, descending=descending), expected)
    out, indices = np.empty_like(x), np.empty(x.shape, "int64")
    assert spansort.sort(x, axis, descending=descending, out=out) is out
    assert spansort.argsort(x, axis, descending=descending, out=indices) is indices
    assert_same_values(out, expected)
    np.testing.assert_array_equal(indices, order)
    y = x.copy()
    assert spansort.sort_inplace(y, axis, descending=descending) is None
    assert_same_values(y, expected)
    assert_same_values(spansort.sort(x, None), spansort.sort(x.ravel()))


def test_rows_beyond_the_small_ways(rng: Any) -> None:
    for shape in [(3, 100_000), (20_000, 100), (2_000_000 // 5, 5)]:
        x = rng.integers(0, 1000, shape)
        np.testing.assert_array_equal(spansort.sort(x), np.sort(x))
        np.testing.assert_array_equal(spansort.argsort(x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("descending", [False, True])
def test_rows_by_several_threads(descending: bool, rng: Any) -> None:
    for dtype in ["datetime64[s]", "float32", "int16"]:
        x = random_keys(dtype, 400_000, rng, "few").reshape(-1, 40)
        order = np.stack([reference_order(row, descending) for row in x])
        np.testing.assert_array_equal(spansort.argsort(x, descending=descending), order)
        expected = np.take_along_axis(x, order, -1)
        for threads in [0, 1, 3]:
            assert_same_values(spansort.sort(x, descending=descending, threads=threads), expected)


def test_rows_that_are_stopped(rng: Any) -> None:
    x = rng.random((100_000, 30))
    before = x.copy()
    seen: list[float] = []

    def stop(phase: str, fraction: float) -> bool:
        seen.append(fraction)
        return len(seen) < 3

    with pytest.raises(spansort.Cancelled):
        spansort.sort_inplace(x, progress=stop)
    assert len(seen) == 3 and seen == sorted(seen)
    is_sorted = (x == np.sort(before)).all(axis=1)
    is_untouched = (x == before).all(axis=1)
    assert is_sorted.any() and is_untouched.any() and (is_sorted | is_untouched).all()


def test_options_change_nothing(rng: Any) -> None:
    x = random_keys("float32", 300_000, rng)
    expected = bits(spansort.sort(x))
    order = reference_order(x)
    for given_options in [{"threads": 1}, {"threads": 2}, {"devices": "host:3"}, {"devices": "cpu"}, {"memory": "1G"}]:
        np.testing.assert_array_equal(bits(spansort.sort(x, **given_options)), expected)
        np.testing.assert_array_equal(spansort.argsort(x, **given_options), order)


@given(keys(100), directions, st.sampled_from(["u1", "u2", "u4", "u8", "c16", "S3", "V40", "3u2", "f4"]))
@settings(max_examples=200)
def test_pairs_with_values_of_any_size(x: Any, descending: bool, value_type: str) -> None:
    base = np.dtype(value_type)
    values = np.zeros(len(x), base)
    raw = values.view("uint8").reshape(len(x), -1) if len(x) else values
    if len(x):
        raw[:] = np.random.default_rng(len(x)).integers(0, 256, raw.shape)
    order = reference_order(x.astype(x.dtype.newbyteorder("=")), descending)
    found = spansort.sort_pairs(x, values, descending=descending)
    assert_same_values(found.keys, x[order])
    assert found.values.dtype == values.dtype
    assert found.values.tobytes() == values[order].tobytes()


def test_pairs_in_place(rng: Any) -> None:
    keys_, values = rng.integers(0, 9, 1000), rng.random((1000, 3))
    order, expected = reference_order(keys_), values.copy()
    result = spansort.sort_pairs(keys_, values, out=(keys_, values))
    assert result.keys is keys_ and result.values is values
    np.testing.assert_array_equal(values, expected[order])
    with pytest.raises(ValueError, match="as many values"):
        spansort.sort_pairs(keys_, values[1:])
    with pytest.raises(TypeError, match="Python objects"):
        spansort.sort_pairs(keys_, np.array([None] * 1000))
    with pytest.raises(ValueError, match="overlap"):
        spansort.sort_pairs(keys_, keys_, out=(keys_, keys_))


def test_pairs_in_the_place_of_each_other(rng: Any) -> None:
    keys_, values = rng.integers(0, 9, 1000), np.arange(1000)
    order, expected = reference_order(keys_), np.sort(keys_)
    result = spansort.sort_pairs(keys_, values, out=(values, keys_))
    assert result.keys is values and result.values is keys_
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(keys_, order)


@given(
    st.integers(0, 50), st.integers(0, 60), st.sampled_from(["i4", "u4", "i8", "u8", "i2", "u1"]), st.integers(0, 2**32)
)
@settings(max_examples=100)
def test_take(count: int, num_taken: int, index_type: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 256, (count, 3, 2)).astype("u2")
    indices = rng.integers(0, max(count, 1), num_taken if count else 0).astype(index_type)
    np.testing.assert_array_equal(spansort.take(x, indices, axis=0), x[indices])
    np.testing.assert_array_equal(spansort.take(x[:, 0, 0], indices), x[:, 0, 0][indices])
    other = np.array([2, 0, 0, 1])
    np.testing.assert_array_equal(spansort.take(x, other, axis=1), np.take(x, other, axis=1))
    out = np.empty((count, 4, 2), "u2")
    assert spansort.take(x, other, axis=1, out=out) is out
    np.testing.assert_array_equal(out, np.take(x, other, axis=1))


def test_take_refuses() -> None:
    x = np.arange(5)
    for wrong in [[5], [-1], [0, 1, 2**40]]:
        with pytest.raises(IndexError):
            spansort.take(x, np.array(wrong))
    with pytest.raises(TypeError):
        spansort.take(x, np.array([1.0]))
    with pytest.raises(TypeError):
        spansort.take(x.reshape(1, 5), np.array([0]))
    assert spansort.take(np.array(["b", "a"]), [1, 0, 1]).tolist() == ["a", "b", "a"]
    swapped = np.array([7, 8], ">u4")
    assert spansort.take(swapped, [1, 0]).tolist() == [8, 7]


@given(st.lists(keys(40), min_size=1, max_size=3), directions)
@settings(max_examples=50)
def test_merge(arrays: list[Any], descending: bool) -> None:
    arrays = [x for x in arrays if x.dtype == arrays[0].dtype]
    together = np.concatenate(arrays)
    assert_same_values(spansort.merge(*arrays, descending=descending), spansort.sort(together, descending=descending))


def test_merge_refuses() -> None:
    with pytest.raises(TypeError):
        spansort.merge()
    with pytest.raises(TypeError):
        spansort.merge(np.array([1]), np.array([1.0]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side: str, rng: Any) -> None:
    x = random_keys("float32", 10_000, rng, "few")
    wanted = random_keys("float32", 100_000, rng, "few").reshape(100, 1000)
    ordered = spansort.sort(x)
    expected = np.searchsorted(ordered, wanted, side=side)
    np.testing.assert_array_equal(spansort.searchsorted(ordered, wanted, side=side, threads=3), expected)
    np.testing.assert_array_equal(spansort.searchsorted(x, wanted, side=side, sorter=spansort.argsort(x)), expected)
    assert spansort.searchsorted(np.array([1, 2]), 2, side=side) == (1 if side == "left" else 2)


def test_is_sorted_of_others() -> None:
    assert spansort.is_sorted([1, 2, 2]) and not spansort.is_sorted([2, 1])
    assert spansort.is_sorted([2, 1], descending=True)
    assert spansort.is_sorted(np.array(["a", "b"])) and not spansort.is_sorted(np.array(["b", "a"]))
    dates = np.array(["2020-01-01", "2021-01-01", "NaT", "NaT"], "datetime64[D]")
    assert spansort.is_sorted(dates) and not spansort.is_sorted(dates[::-1])
    assert spansort.is_sorted(np.array([], "f4"))


# ---- structures, bytes, strings


@st.composite
def records(draw: Any) -> Any:
    """Structured arrays with fields of few values."""
    names = draw(st.permutations("abcdef"))
    types = draw(st.lists(st.sampled_from(["u1", "i2", "<f4", "f8", "S3", "U2", "M8[D]", "?"]), min_size=1, max_size=5))
    dtype = np.dtype(list(zip(names, types)), align=draw(st.booleans()))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = np.zeros(draw(st.integers(0, 60)), dtype)
    for name in dtype.names:
        kind = dtype[name].kind
        if kind in "SU":
            x[name] = rng.choice(np.array(["", "a", "ab", "b", "é" if kind == "U" else "z"]), len(x))
        else:
            x[name] = random_keys(dtype[name], len(x), rng, "few")
    return x


def reference_record_order(x: Any, fields: list[tuple[str, bool]]) -> Any:
    columns = []
    for name, descending in fields:
        column = x[name]
        if column.dtype.kind in "SU":
            found, is_nan = np.unique(column, return_inverse=True)[1], np.zeros(len(x), "bool")
        else:
            found, is_nan = codes(np.ascontiguousarray(column))
        columns.append(np.where(is_nan, 1 << 40, -found if descending else found))
    return np.lexsort(columns[::-1]) if len(x) else np.array([], "int64")


def assert_same_fields(a: Any, b: Any) -> None:
    """Compare without the bytes between fields, which NumPy does not copy."""
    assert a.dtype == b.dtype and a.shape == b.shape
    for name in a.dtype.names:
        assert np.ascontiguousarray(a[name]).tobytes() == np.ascontiguousarray(b[name]).tobytes()


@given(records(), directions, st.data())
@settings(max_examples=200)
def test_structured_arrays(x: Any, descending: bool, data: Any) -> None:
    names = list(x.dtype.names)
    order = reference_record_order(x, [(name, descending) for name in names])
    np.testing.assert_array_equal(spansort.argsort(x, descending=descending), order)
    assert_same_fields(spansort.sort(x, descending=descending), x[order])
    chosen = data.draw(
        st.lists(st.tuples(st.sampled_from(names), st.booleans()), min_size=1, max_size=3, unique_by=lambda c: c[0])
    )
    order = reference_record_order(x, chosen)
    by = [(name, "desc") if way else name for name, way in chosen]
    np.testing.assert_array_equal(spansort.argsort(x, order=by), order)
    y = x.copy()
    spansort.sort_inplace(y, order=by)
    assert_same_fields(y, x[order])


def test_structures_as_numpy_sorts_them(rng: Any) -> None:
    dtype = np.dtype([("a", "i4"), ("b", [("c", "f4"), ("d", "S2")])])
    x = np.zeros(500, dtype)
    x["a"], x["b"]["c"], x["b"]["d"] = (
        rng.integers(0, 4, 500),
        rng.integers(0, 4, 500),
        rng.choice([b"x", b"yy", b""], 500),
    )
    assert spansort.sort(x).tobytes() == np.sort(x, kind="stable").tobytes()
    np.testing.assert_array_equal(spansort.argsort(x), np.argsort(x, kind="stable"))
    # NumPy breaks ties by the other fields; here they keep their order.
    np.testing.assert_array_equal(spansort.argsort(x, order="b"), np.argsort(x["b"], kind="stable"))
    two = x.reshape(5, 100)
    np.testing.assert_array_equal(spansort.argsort(two), np.argsort(two, kind="stable"))
    with pytest.raises(ValueError, match="no field"):
        spansort.sort(x, order="z")
    with pytest.raises(ValueError, match="no fields"):
        spansort.sort(np.arange(3), order="z")


def test_strings_as_numpy_sorts_them(rng: Any) -> None:
    for dtype in ["S1", "S9", "S300", "U1", "U7", "U100"]:
        letters = np.array(["", "a", "b", "ab", "aé" if dtype[0] == "U" else "az", "\U0001f600"[: dtype[0] == "U"]])
        x = rng.choice(letters, 300).astype(dtype)
        np.testing.assert_array_equal(spansort.sort(x), np.sort(x))
        np.testing.assert_array_equal(spansort.argsort(x), np.argsort(x, kind="stable"))
        swapped = x.astype(x.dtype.newbyteorder())
        np.testing.assert_array_equal(spansort.sort(swapped), np.sort(x))


def test_raw_records() -> None:
    raw = bytes([2, 9, 1, 8, 2, 7, 1, 6])
    assert spansort.sort_records(raw, "0:1", record_bytes=2).tolist() == [1, 8, 1, 6, 2, 9, 2, 7]
    assert spansort.sort_records(raw, "0:1:u8:r,1:1", record_bytes=2).tolist() == [2, 7, 2, 9, 1, 6, 1, 8]
    x = np.frombuffer(raw, "u2").copy()
    assert spansort.sort_records(x, "1:1", record_bytes=2, out=x) is x
    assert x.tobytes() == bytes([1, 6, 2, 7, 1, 8, 2, 9])
    with pytest.raises(ValueError, match="whole records"):
        spansort.sort_records(raw, "0:1", record_bytes=3)
    with pytest.raises(ValueError):
        spansort.sort_records(raw, "0:9", record_bytes=2)


# ---- what is refused, and whose arrays come back


@pytest.mark.parametrize(
    "x",
    [np.array([1j]), np.array([object()]), np.zeros(2, "V4"), np.zeros(2, "g"), np.zeros(2, "2u2,u1")],
    ids=["complex", "object", "bytes", "long double", "structure"],
)
def test_elements_without_an_order(x: Any) -> None:
    for function in [spansort.sort, spansort.argsort, spansort.is_sorted, spansort.sort_inplace]:
        with pytest.raises(TypeError):
            function(x)


def test_arguments_that_cannot_be() -> None:
    x = np.arange(10)
    with pytest.raises(ValueError, match="kind"):
        spansort.sort(x, kind="bogo")
    with pytest.raises(ValueError):
        spansort.sort(x, devices="tpu")
    with pytest.raises(spansort.DeviceError):
        spansort.sort(x, devices="gpu:63")
    with pytest.raises(ValueError, match="threads"):
        spansort.sort(x, threads=-1)
    with pytest.raises(ValueError, match="memory"):
        spansort.sort(x, memory="much")
    with pytest.raises(ValueError):
        spansort.sort(np.array(3))
    with pytest.raises(ValueError, match="out"):
        spansort.sort(x, out=np.empty(9, x.dtype))
    with pytest.raises(ValueError, match="read-only"):
        fixed = np.arange(3)
        fixed.flags.writeable = False
        spansort.sort_inplace(fixed)
    with pytest.raises(TypeError, match="C-contiguous"):
        spansort.sort_inplace(x[::2])
    with pytest.raises(TypeError, match="native"):
        spansort.sort_inplace(x.astype(">i8"))
    with pytest.raises(TypeError, match="in place"):
        spansort.sort_inplace([1, 2])
    with pytest.raises(TypeError, match="masked"):
        spansort.sort(np.ma.array([1, 2]))
    with pytest.raises(TypeError):
        spansort.sort(x, descendign=True)  # type: ignore[call-arg]


def test_a_limit_on_memory() -> None:
    x = np.random.default_rng(1).random(1 << 20)
    before = x.copy()
    with pytest.raises(spansort.OutOfMemoryError) as caught:
        spansort.sort_inplace(x, memory="1M")
    assert isinstance(caught.value, MemoryError)
    assert caught.value.needed > caught.value.available > 0
    np.testing.assert_array_equal(x, before)


def test_sequences_and_buffers() -> None:
    assert spansort.sort([3, 1, 2]).tolist() == [1, 2, 3]
    assert spansort.sort(memoryview(b"cab")).tobytes() == b"abc"
    raw = bytearray(b"cab")
    spansort.sort_inplace(raw)
    assert raw == b"abc"
    spansort.sort_inplace(memoryview(raw), descending=True)
    assert raw == b"cba"


def test_memory_maps(tmp_path: Any, rng: Any) -> None:
    x = rng.integers(0, 1 << 60, 10_000)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r+")
    np.testing.assert_array_equal(spansort.sort(mapped), np.sort(x))
    spansort.sort_inplace(mapped)
    mapped.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.sort(x))


class Foreign:
    """An array of another library, as far as DLPack goes, in the memory of a device."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return Foreign

    @staticmethod
    def from_dlpack(x: Any) -> Foreign:
        return Foreign(np.from_dlpack(x))


def test_arrays_of_others_come_back() -> None:
    x = Foreign(np.array([3.0, 1.0, 2.0]))
    for found, expected in [
        (spansort.sort(x), [1.0, 2.0, 3.0]),
        (spansort.argsort(x), [1, 2, 0]),
        (spansort.take(x, np.array([2])), [2.0]),
        (spansort.unique_values(x), [1.0, 2.0, 3.0]),
        (spansort.top_k(x, 1).values, [3.0]),
    ]:
        assert isinstance(found, Foreign)
        assert found.array.tolist() == expected
    if not np.from_dlpack(x).flags.writeable:
        pytest.skip("this NumPy takes no memory by DLPack that may be changed")
    spansort.sort_inplace(x)
    assert x.array.tolist() == [1.0, 2.0, 3.0]


def test_arrays_of_the_array_api(rng: Any) -> None:
    xp = pytest.importorskip("array_api_strict")
    for dtype in [xp.float32, xp.float64, xp.int16, xp.uint64]:
        x = xp.astype(xp.asarray(rng.integers(0, 50, (6, 40))), dtype)
        for axis in [0, -1]:
            for descending in [False, True]:
                for found, expected in [
                    (spansort.sort(x, axis=axis, descending=descending), xp.sort(x, axis=axis, descending=descending)),
                    (
                        spansort.argsort(x, axis=axis, descending=descending),
                        xp.argsort(x, axis=axis, descending=descending),
                    ),
                ]:
                    assert type(found) is type(x) and found.dtype == expected.dtype
                    assert bool(xp.all(found == expected))
        for found, expected in zip(spansort.unique_all(x), xp.unique_all(x)):
            assert type(found) is type(x) and found.shape == expected.shape and found.dtype == expected.dtype
            assert bool(xp.all(found == expected))
        row = xp.reshape(x, (-1,))
        places = xp.asarray([3, 1, 3])
        assert bool(xp.all(spansort.take(row, places) == xp.take(row, places)))
        ordered = spansort.sort(row)
        assert bool(xp.all(spansort.searchsorted(ordered, row) == xp.searchsorted(ordered, row)))


def test_columns_of_others() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert spansort.sort(pyarrow.array([3, 1, 2])).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        spansort.sort_inplace(pyarrow.array([3, 1, 2]))
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert spansort.argsort(pandas.Series([3, 1, 2])).tolist() == [1, 2, 0]
    assert spansort.argsort(polars.Series([3, 1, 2])).tolist() == [1, 2, 0]


def test_arrays_on_gpus_are_refused() -> None:
    class Cuda:
        __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (256, False), "version": 3}

    for x in [Foreign(np.zeros(3), device=2), Cuda()]:
        for function in [spansort.median, spansort.is_sorted, spansort.unique_values]:
            with pytest.raises(TypeError, match="GPU"):
                function(x)


def test_dates_as_numpy_sorts_them() -> None:
    for name in DATES:
        x = np.array([3, 1, 2, 1], "int64").view(name)
        x[1] = np.array("NaT", name)
        np.testing.assert_array_equal(spansort.sort(x), np.sort(x))
        assert np.isnat(spansort.sort(x, descending=True)[-1])
