# SPDX-License-Identifier: Apache-2.0
"""Sorts on Ray's own engine: workers killed in each kind of task, a lost node, more data than the store holds."""

from __future__ import annotations

import glob
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

import pyarrow.parquet as parquet  # noqa: E402
from conftest import SEED  # noqa: E402

import spansort.ray  # noqa: E402

STAGES = ["spansort.sample", "spansort.sort_and_cut", "spansort.merge"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, object_store_memory=200 << 20, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    yield
    ray.shutdown()


def table_of(num_rows: int, num_values: int, seed: int = SEED) -> Any:
    rng = np.random.default_rng(seed)
    return pa.table({
        "city": pa.array([f"city {i}" for i in range(7)]).take(pa.array(rng.integers(0, 7, num_rows))),
        "fare": rng.integers(0, num_values, num_rows),
        "row": np.arange(num_rows),
    })  # fmt: skip


def whole(dataset: Any) -> Any:
    return pa.concat_tables([t for t in ray.get(dataset.to_arrow_refs()) if t.num_rows > 0])


def of_blocks(table: Any, num_blocks: int) -> Any:
    """Return a dataset of blocks of several sizes, the second of them empty."""
    ends = np.linspace(0, 1, num_blocks) ** 2 * table.num_rows
    begins = [0, *ends.astype("int64").tolist()]
    return ray.data.from_arrow([table.slice(b, e - b) for b, e in zip(begins, begins[1:])])


@contextmanager
def killer(title: str) -> Iterator[list[int]]:
    """Kill the first worker that runs a task of this name."""
    killed: list[int] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set() and not killed:
            for path in glob.glob("/proc/[0-9]*/cmdline"):
                try:
                    with open(path, "rb") as file:
                        if file.read().startswith(b"ray::" + title.encode()):
                            pid = int(path.split("/")[2])
                            os.kill(pid, signal.SIGKILL)
                            killed.append(pid)
                            return
                except (OSError, ProcessLookupError):
                    pass
            time.sleep(0.001)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


@pytest.mark.parametrize("num_values", [1, 10, 1 << 40])
@pytest.mark.parametrize("num_blocks", [1, 3])
def test_dataset(cluster: None, num_values: int, num_blocks: int) -> None:
    table = table_of(10_000, num_values)
    by = ["city", ("fare", "desc")]
    done = spansort.ray.sort(of_blocks(table, 5), by, num_blocks=num_blocks)
    assert done.num_blocks() == num_blocks
    assert whole(done).equals(pa.table(spansort.sort_table(table, by)))


def test_hot_key_gives_blocks_of_one_size(cluster: None) -> None:
    done = spansort.ray.sort(of_blocks(table_of(80_000, 1), 6), "fare", num_blocks=4)
    sizes = [t.num_rows for t in ray.get(done.to_arrow_refs())]
    assert len(sizes) == 4 and max(sizes) < 1.25 * 20_000
    assert whole(done)["row"].to_pylist() == list(range(80_000))


def test_nothing_to_sort(cluster: None) -> None:
    empty = table_of(0, 1)
    assert spansort.ray.sort(ray.data.from_arrow([empty, empty]), "fare").count() == 0
    assert spansort.ray.sort(ray.data.from_arrow(table_of(1, 1)), "fare").count() == 1


def test_blocks_of_pandas(cluster: None) -> None:
    pandas = pytest.importorskip("pandas")
    done = spansort.ray.sort(ray.data.from_pandas([pandas.DataFrame({"a": [3, 1]}), pandas.DataFrame({"a": [2]})]), "a")
    assert [row["a"] for row in done.take_all()] == [1, 2, 3]


def test_wrong_input_is_refused_before_a_task(cluster: None) -> None:
    dataset = of_blocks(table_of(10, 10), 2)
    with pytest.raises(ValueError, match="no column 'fair'; there are city, fare, row"):
        spansort.ray.sort(dataset, "fair")
    with pytest.raises(ValueError, match="num_blocks: at least 1"):
        spansort.ray.sort(dataset, "fare", num_blocks=0)
    with pytest.raises(TypeError, match="could be two columns or one"):
        spansort.ray.sort(dataset, ("fare", "desc"))
    with pytest.raises(ValueError, match="no column 'fair'"):
        spansort.ray.quantiles(dataset, "fair", 0.5)
    with pytest.raises(ValueError, match="from 0 to 1"):
        spansort.ray.quantiles(dataset, "fare", 1.5)


@pytest.mark.parametrize("stage", STAGES)
def test_killed_worker(cluster: None, stage: str) -> None:
    table = table_of(2_000_000, 1 << 20)
    dataset = of_blocks(table, 4).materialize()
    with killer(stage) as killed:
        done = spansort.ray.sort(dataset, ["fare", "city"], num_blocks=3)
    assert len(killed) == 1, f"no worker was seen with {stage}"
    assert whole(done).equals(pa.table(spansort.sort_table(table, ["fare", "city"])))


def test_more_than_the_object_store_holds(cluster: None) -> None:
    num_rows = 1 << 26  # 512 MiB

    def scramble(batch: Any) -> Any:
        return {"key": (batch["id"].astype("uint64") * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)}

    dataset = ray.data.range(num_rows, override_num_blocks=16).map_batches(scramble, batch_size=None)
    done = spansort.ray.sort(dataset, "key")
    last, count, total = 0, 0, 0
    for block in done.to_arrow_refs():
        keys = ray.get(block)["key"].to_numpy()
        assert int(keys[0]) >= last and spansort.is_sorted(keys)
        last, count, total = int(keys[-1]), count + len(keys), (total + int(keys.sum())) % 2**64
    expected = scramble({"id": np.arange(num_rows)})["key"].sum()
    assert (count, total) == (num_rows, int(expected))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float32", "int8"])
def test_quantiles(cluster: None, dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    keys = (rng.standard_normal(50_000) * 100).astype("int64" if dtype == "uint64" else dtype).astype(dtype)
    q = [0, 0.01, 0.25, 0.5, 0.75, 0.999, 1]
    dataset = of_blocks(pa.table({"x": keys}), 6)
    assert np.array_equal(spansort.ray.quantiles(dataset, "x", q), np.quantile(keys.astype("float64"), q))
    assert spansort.ray.quantiles(dataset, "x", 0.3, method="lower") == np.quantile(keys, 0.3, method="lower")


def test_quantiles_of_extreme_keys(cluster: None) -> None:
    def median_of(keys: Any) -> float:
        return float(spansort.ray.quantiles(ray.data.from_arrow(pa.table({"x": keys})), "x", 0.5))

    assert median_of(np.array([-128, 127], "int8")) == -0.5
    assert median_of(np.array([-(2**63), 2**63 - 1])) == 0.0
    assert median_of(np.array([1.0, np.inf, np.inf])) == np.inf


def test_quantiles_of_nan_and_null(cluster: None) -> None:
    dataset = of_blocks(pa.table({"x": pa.array([1.0, None, np.nan, 3.0] * 3)}), 3)
    assert np.isnan(spansort.ray.quantiles(dataset, "x", 0.5))
    assert spansort.ray.quantiles(dataset, "x", [0.5], nan_policy="omit").tolist() == [2.0]
    some_null = ray.data.from_arrow([pa.table({"x": pa.nulls(2)}), pa.table({"x": [4.0]})])
    assert spansort.ray.quantiles(some_null, "x", 0.5) == 4.0
    with pytest.raises(spansort.BadInputError, match="3 of the numbers are NaN"):
        spansort.ray.quantiles(dataset, "x", 0.5, nan_policy="raise")
    with pytest.raises(spansort.BadInputError, match="no numbers"):
        spansort.ray.quantiles(of_blocks(pa.table({"x": pa.array([], "int64")}), 2), "x", 0.5)


def write_parquet(folder: Path, num_files: int, rows_each: int) -> Any:
    folder.mkdir()
    table = table_of(num_files * rows_each, 1000)
    for i in range(num_files):
        parquet.write_table(table.slice(i * rows_each, rows_each), folder / f"in-{i}.parquet", row_group_size=5_000)
    return table


def test_parquet_files(cluster: None, tmp_path: Path) -> None:
    table = write_parquet(tmp_path / "in", 3, 20_000)
    out = tmp_path / "out"
    done = spansort.ray.sort_files(tmp_path / "in", out, ["fare", "city"], num_files=4, part_bytes=100_000)
    assert done == [str(out / f"part-{i:05}.parquet") for i in range(4)]
    assert sorted(os.listdir(out)) == [os.path.basename(path) for path in done]
    found = pa.concat_tables([parquet.read_table(path) for path in done])
    assert found.equals(pa.table(spansort.sort_table(table, ["fare", "city"])))
    with pytest.raises(ValueError, match="it is not empty"):
        spansort.ray.sort_files(tmp_path / "in", out, "fare")


def test_records(cluster: None, tmp_path: Path) -> None:
    rng = np.random.default_rng(SEED)
    records = rng.integers(0, 256, (10_000, 100), "uint8")
    records[:, :2] //= 64
    (tmp_path / "a").write_bytes(records[:7_000].tobytes())
    (tmp_path / "b").write_bytes(records[7_000:].tobytes())
    done = spansort.ray.sort_files([tmp_path / "a", tmp_path / "b"], tmp_path / "out", record_bytes=100, key_bytes=10,
                                   part_bytes=200_000)  # fmt: skip
    found = b"".join(Path(path).read_bytes() for path in done)
    keys = [bytes(row[:10]) for row in records]
    assert found == b"".join(records[i].tobytes() for i in sorted(range(len(keys)), key=keys.__getitem__))
    (tmp_path / "a").write_bytes(b"x" * 150)
    with pytest.raises(ValueError, match="150 bytes are no whole records of 100"):
        spansort.ray.sort_files(tmp_path / "a", tmp_path / "new", record_bytes=100, key_bytes=10)


def test_killed_writer_leaves_whole_files_alone(cluster: None, tmp_path: Path) -> None:
    table = write_parquet(tmp_path / "in", 2, 400_000)
    with killer("spansort.write") as killed:
        done = spansort.ray.sort_files(tmp_path / "in", tmp_path / "out", ["city", "fare"])
    assert len(killed) == 1
    assert sorted(os.listdir(tmp_path / "out")) == [os.path.basename(path) for path in done]
    found = pa.concat_tables([parquet.read_table(path) for path in done])
    assert found.equals(pa.table(spansort.sort_table(table, ["city", "fare"])))


def test_failed_read_leaves_nothing(cluster: None, tmp_path: Path) -> None:
    write_parquet(tmp_path / "in", 2, 20_000)
    damaged = bytearray((tmp_path / "in" / "in-1.parquet").read_bytes())
    damaged[4:100] = bytes(96)  # in the first page; the footer is whole
    (tmp_path / "in" / "in-1.parquet").write_bytes(damaged)
    with pytest.raises(OSError):
        spansort.ray.sort_files(tmp_path / "in", tmp_path / "out", "fare", part_bytes=100_000)
    assert os.listdir(tmp_path / "out") == []


def test_failed_name_leaves_no_output(cluster: None, tmp_path: Path) -> None:
    write_parquet(tmp_path / "in", 2, 20_000)
    out, in_the_way = tmp_path / "out", "part-00001.parquet"
    is_over = threading.Event()

    def stand_in_the_way() -> None:
        while not is_over.is_set():
            if out.exists() and any(name.startswith(".spansort-") for name in os.listdir(out)):
                (out / in_the_way).mkdir()
                return
            time.sleep(0.001)

    thread = threading.Thread(target=stand_in_the_way)
    thread.start()
    try:
        with pytest.raises(IsADirectoryError):
            spansort.ray.sort_files(tmp_path / "in", out, "fare", num_files=3)
    finally:
        is_over.set()
        thread.join()
    assert os.listdir(out) == [in_the_way]


def on_new_cluster(test: Callable[[Any, Any], None]) -> None:
    from ray.cluster_utils import Cluster

    ray.shutdown()
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 200 << 20})
    node = made.add_node(num_cpus=1, object_store_memory=200 << 20)
    try:
        ray.init(address=made.address, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        test(made, node)
    finally:
        ray.shutdown()
        made.shutdown()


def test_node_is_lost() -> None:
    num_rows = 1 << 22

    def run(made: Any, node: Any) -> None:
        dataset = ray.data.range(num_rows, override_num_blocks=6).map_batches(
            lambda b: {"key": (b["id"] * 7919) % num_rows}, batch_size=None
        )
        lost: list[bool] = []
        seen = threading.Event()

        def lose() -> None:
            while not seen.is_set():
                for path in glob.glob("/proc/[0-9]*/cmdline"):
                    try:
                        with open(path, "rb") as file:
                            if file.read().startswith(b"ray::spansort.merge"):
                                made.remove_node(node, allow_graceful=False)
                                lost.append(True)
                                return
                    except OSError:
                        pass
                time.sleep(0.001)

        thread = threading.Thread(target=lose)
        thread.start()
        try:
            done = spansort.ray.sort(dataset, "key")
            keys = np.concatenate([t["key"].to_numpy() for t in ray.get(done.to_arrow_refs())])
        finally:
            seen.set()
            thread.join()
        assert lost == [True]
        assert np.array_equal(keys, np.arange(num_rows))

    on_new_cluster(run)
