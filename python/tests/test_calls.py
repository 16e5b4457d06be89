# SPDX-License-Identifier: Apache-2.0
"""What happens around calls: threads, signals, progress, forks, references, memory, sorters."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
import spansort
from spansort import _core


def resident_bytes() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_progress_of_a_long_call() -> None:
    seen: list[tuple[str, float]] = []
    x = np.random.default_rng(1).random(3_000_000)
    ordered = spansort.sort(x, progress=lambda phase, fraction: seen.append((phase, fraction)))
    np.testing.assert_array_equal(ordered, np.sort(x))
    fractions = [fraction for _, fraction in seen]
    assert fractions == sorted(fractions) and 0 <= fractions[0] and fractions[-1] <= 1
    assert all(phase for phase, _ in seen)


def test_progress_cancels() -> None:
    x = np.random.default_rng(1).random(3_000_000)
    before = x.copy()
    with pytest.raises(spansort.Cancelled):
        spansort.sort_inplace(x, progress=lambda phase, fraction: False)
    np.testing.assert_array_equal(x, before)


def test_an_error_of_progress_surfaces() -> None:
    def fail(phase: str, fraction: float) -> None:
        raise ZeroDivisionError(phase)

    x = np.random.default_rng(1).random(3_000_000)
    before = x.copy()
    with pytest.raises(ZeroDivisionError):
        spansort.sort_inplace(x, progress=fail)
    np.testing.assert_array_equal(x, before)
    with pytest.raises(TypeError, match="progress"):
        spansort.sort(x, progress=3)


def test_a_bar(capsys: Any) -> None:
    pytest.importorskip("tqdm")
    spansort.sort(np.random.default_rng(1).random(3_000_000), progress=True)
    assert "100%" in capsys.readouterr().err


# Calls are done undisturbed first. Then a signal comes when a share of the processor time of that has been spent. The
# program prints the part of the rest that was spent afterwards, of three such calls the middle one: about 1 where they
# run to their end. Time of the processor says so whoever else is at work.
INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np, spansort
what = sys.argv[1]
x = np.random.default_rng(1).random(1 << 25)
order = np.arange(len(x))[::-1].copy()
if "take" in what:
    # Copies are short but in any order. NumPy looks at signed indices first, and would be what is interrupted.
    order = np.random.default_rng(2).permutation(len(x)).astype(np.uint64)
# Calls take long beside the tenth of a second between two looks at signals: some on one processor only, none on many.
num_processors = 1 if what in ("sort", "take", "take_table") else 2
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:num_processors])
def table_of(columns):
    return spansort.Table(__import__("pyarrow").table(columns)) if "table" in what else None
pair = {"a": (x * 1e6).astype(np.int32), "b": (x * 1e12 % 1e6).astype(np.int32)}
table = table_of(pair if what == "sort_table_of_keys" else {"x": x, "y": order})
calls = {
    "sort": lambda: spansort.sort(x),
    "argsort": lambda: spansort.argsort(x),
    "rows": lambda: spansort.sort(x.reshape(-1, 64)),
    "pairs": lambda: spansort.sort_pairs(x, order),
    "take": lambda: spansort.take(x, order),
    "take_table": lambda: spansort.take_table(table, order),
    "argsort_table": lambda: spansort.argsort_table(table, "x"),
    "sort_table": lambda: spansort.sort_table(table, "x"),
    "sort_table_of_keys": lambda: spansort.sort_table(table, ["b", "a"]),
}
call = calls[what]
share = 0.5 if what == "rows" else 0.2  # rows are copied first, which is interrupted by other means
def seconds_of_call():
    begin = time.process_time()
    call()
    return time.process_time() - begin
call()
whole = min(seconds_of_call() for _ in range(2))
parts = []
for attempt in range(3):
    sent = []
    begin = time.process_time()
    def interrupt():
        while time.process_time() - begin < share * whole:
            time.sleep(0.001)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    has_ended = False
    try:
        thread.start()
        call()
        has_ended = True
        thread.join()
    except KeyboardInterrupt:
        if not has_ended:
            parts.append((time.process_time() - sent[0]) / ((1 - share) * whole))
    thread.join()
print(sorted(parts)[len(parts) // 2])
"""


@pytest.mark.parametrize(
    "what",
    ["sort", "argsort", "rows", "pairs", "take", "take_table", "argsort_table", "sort_table", "sort_table_of_keys"],
)
def test_control_c(what: str) -> None:
    if "table" in what:
        pytest.importorskip("pyarrow")
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, what], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.6


def test_a_take_of_few_wide_rows_is_interrupted() -> None:
    class Enough(Exception):
        pass

    def stop(*_: Any) -> None:
        raise Enough

    rows = np.ones((1 << 14, 1024))
    order = np.arange(2 << 14) * 7 % len(rows)
    taken = np.empty((len(order), 1024))
    old_handler = signal.signal(signal.SIGALRM, stop)
    try:
        for milliseconds in range(1, 30):
            taken[:] = 0
            try:
                signal.setitimer(signal.ITIMER_REAL, milliseconds / 1000)
                spansort.take(rows, order, axis=0, out=taken)
                signal.pause()  # the call was short, or ran to its end
            except Enough:
                pass
            # An alarm that came too early finds no row written; one that is heeded, some.
            if taken[0, 0] == 1 and taken[-1, 0] == 0:
                return
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler)
    raise AssertionError("no take was interrupted")


@pytest.mark.parametrize("least", [0.2, 0.4, 0.6, 0.75])
def test_an_array_that_is_being_overwritten_is_sorted_to_its_end(least: float) -> None:
    middle: list[float] = []

    def leave(phase: str, fraction: float) -> bool:
        if least < fraction < 1:
            middle.append(fraction)
        return not middle

    bits = 23
    while not middle:  # until a sort takes so long that it asks in its midst
        bits += 1
        x = np.random.default_rng(1).random(1 << bits)
        before = x.copy()
        try:
            spansort.sort_inplace(x, threads=1, progress=leave)
            assert np.all(x[:-1] <= x[1:])
        except spansort.Cancelled:
            np.testing.assert_array_equal(x, before)


# An array of the caller's is interrupted at several places of its sort, which takes long beside the tenth of a second
# between two looks at signals, so that some come while it is being overwritten. The program prints whether it is
# as it was, sorted or lost.
INTERRUPTED_IN_PLACE = """
import os, signal, sys, threading, time
import numpy as np, spansort
what = sys.argv[1]
before = np.random.default_rng(1).random(1 << (24 if what == "pairs" else 25))
places = np.arange(len(before))
after = np.sort(before)
x, values = before.copy(), places.copy()
sorter = spansort.Sorter(threads=1)
calls = {
    "sort_inplace": lambda: spansort.sort_inplace(x, threads=1),
    "sorter": lambda: sorter.sort_inplace(x),
    "pairs": lambda: spansort.sort_pairs(x, values, out=(x, values), threads=1),
}
call = calls[what]
begin = time.process_time()
call()
whole = time.process_time() - begin
for share in (0.02, 0.4, 0.7) if what == "pairs" else (0.02, 0.2, 0.4, 0.55, 0.7, 0.85):
    x[:], values[:] = before, places
    begin = time.process_time()
    is_over = threading.Event()  # calls after the first may need less
    def interrupt():
        while time.process_time() - begin < share * whole and not is_over.wait(0.001):
            pass
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        call()
        is_over.set()
        thread.join()
    except KeyboardInterrupt:
        is_over.set()
    thread.join()
    if np.array_equal(x, before) and np.array_equal(values, places):
        print("as it was")
    elif np.array_equal(x, after) and (what != "pairs" or np.array_equal(before[values], x)):
        print("sorted")
    else:
        print("lost")
"""


@pytest.mark.parametrize("what", ["sort_inplace", "sorter", "pairs"])
def test_control_c_leaves_an_array_whole(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IN_PLACE, what], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    states = done.stdout.splitlines()
    assert len(states) == (3 if what == "pairs" else 6) and set(states) <= {"as it was", "sorted"}
    if what == "pairs":  # which are overwritten last, so that signals are seen to be heeded
        assert "as it was" in states


def test_threads_of_python_run_meanwhile() -> None:
    x = np.random.default_rng(1).random(4_000_000)
    is_done = threading.Event()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        while not is_done.is_set():
            ticks += 1
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = ticks
    spansort.argsort(x)
    end = ticks
    is_done.set()
    ticker.join()
    assert end - begin >= 2


def test_calls_of_several_threads() -> None:
    rng = np.random.default_rng(2)
    inputs = [rng.integers(0, 1 << 40, size) for size in (10, 1000, 50_000, 300_000) for _ in range(3)]
    results: list[Any] = [None] * len(inputs)

    def work(index: int) -> None:
        for _ in range(5):
            results[index] = spansort.sort(inputs[index]), spansort.argsort(inputs[index])

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, (ordered, order) in zip(inputs, results):
        np.testing.assert_array_equal(ordered, np.sort(x))
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))


FORKED = """
import os, sys
import numpy as np, spansort
x = np.random.default_rng(1).random(1 << 21)
expected = np.sort(x)
order = np.argsort(x, kind="stable")
small = x[:30000].copy()
def all_right():
    return (np.array_equal(spansort.sort(x), expected) and np.array_equal(spansort.argsort(x), order)
            and np.array_equal(spansort.sort(small), np.sort(small))
            and spansort.median(x) == np.median(x) and np.array_equal(spansort.take(x, order), expected))
assert all_right()
child = os.fork()
if child == 0:
    os._exit(0 if all_right() else 1)
status = os.waitpid(child, 0)[1]
assert all_right()
sys.exit(status != 0)
"""


def test_a_forked_process_sorts() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_references_and_memory_are_flat() -> None:
    x = np.arange(100)[::-1].copy()
    values = np.arange(100)
    sorter = spansort.Sorter(threads=1)
    wrong = np.array([1j])

    def all_of_them() -> None:
        spansort.sort(x)
        spansort.argsort(x)
        spansort.sort(x, 0, descending=True, threads=1)
        spansort.sort_pairs(x, values)
        spansort.take(x, values)
        spansort.quantile(x, [0.5])
        spansort.top_k(x, 3)
        spansort.unique_all(x)
        sorter.sort(x)
        for refused in [lambda: spansort.sort(wrong), lambda: spansort.sort(x, devices="tpu")]:
            try:
                refused()
            except (TypeError, ValueError):
                pass

    for _ in range(200):
        all_of_them()
    gc.collect()
    references = sys.getrefcount(x), sys.getrefcount(values), sys.getrefcount(wrong), sys.getrefcount(None)
    resident = resident_bytes()
    tracemalloc.start()
    all_of_them()
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        all_of_them()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - traced
    tracemalloc.stop()
    # Python keeps up to 30 kB of objects for later; a number lost in every round would be 48 kB on top of them.
    assert grown < 45_000
    assert (sys.getrefcount(x), sys.getrefcount(values), sys.getrefcount(wrong)) == references[:3]
    assert abs(sys.getrefcount(None) - references[3]) < 500
    for _ in range(100_000):
        spansort.sort(x)
        spansort.argsort(x)
    assert resident_bytes() - resident < 32 << 20


def test_an_array_lives_as_long_as_its_call() -> None:
    results = []

    def work() -> None:
        for _ in range(20):
            results.append(spansort.sort(np.random.default_rng(1).random(400_000))[0])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1


def test_a_sorter() -> None:
    rng = np.random.default_rng(3)
    with spansort.Sorter(threads=2) as sorter:
        for count in [0, 1, 1000, 100_000, 2_000_000]:
            x = rng.integers(0, 1000, count)
            for descending in [False, True]:
                ordered = sorter.sort(x, descending=descending)
                np.testing.assert_array_equal(ordered, spansort.sort(x, descending=descending))
                order = sorter.argsort(x, descending=descending)
                np.testing.assert_array_equal(order, spansort.argsort(x, descending=descending))
                keys, values = x.copy(), np.arange(count)
                pairs = sorter.sort_pairs(keys, values, descending=descending)
                assert pairs.keys is keys and pairs.values is values
                np.testing.assert_array_equal(values, order)
        assert sorter.workspace_bytes > 0
        dates = np.array([3, 1, 2], "M8[s]")
        dates[0] = "NaT"
        sorter.sort_inplace(dates)
        assert np.isnat(dates[-1])
        two = rng.random((30, 40))
        np.testing.assert_array_equal(sorter.sort(two, 0), np.sort(two, 0))
        np.testing.assert_array_equal(sorter.argsort(two, 0), np.argsort(two, 0, kind="stable"))
        with pytest.raises(TypeError):
            sorter.sort(np.array(["a"]))
    assert sorter.workspace_bytes == 0


def test_a_sorter_in_use_says_so() -> None:
    entered, refused = threading.Event(), []

    def slow(phase: str, fraction: float) -> None:
        entered.set()
        while not refused:
            time.sleep(0.01)

    sorter = spansort.Sorter(progress=slow)

    def other() -> None:
        entered.wait(60)
        try:
            sorter.sort(np.arange(10))
            refused.append("no error")
        except RuntimeError as error:
            refused.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    sorter.sort(np.random.default_rng(1).random(3_000_000))
    thread.join()
    assert "in use by another thread" in refused[0]


def threads_of_this_process() -> set[str]:
    return set(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("what", ["sort", "argsort", "sort_inplace", "first axis", "out"])
def test_rows_open_devices_once(what: str) -> None:
    x = np.random.default_rng(4).random((40, 500))
    axis = 0 if what == "first axis" else 1
    seen: list[set[str]] = []

    def watch(phase: str, fraction: float) -> None:
        seen.append(threads_of_this_process())

    def call(progress: Any) -> Any:
        y = x.copy()
        if what == "argsort":
            return spansort.argsort(y, devices="host:3", progress=progress)
        if what == "sort_inplace":
            spansort.sort_inplace(y, devices="host:3", progress=progress)
            return y
        if what == "out":
            return spansort.sort(x, out=y, devices="host:3", progress=progress)
        return spansort.sort(y, axis, devices="host:3", progress=progress)

    call(None)  # threads that the process keeps begin
    before = threads_of_this_process()
    found = call(watch)
    expected = np.argsort(x, axis, kind="stable") if what == "argsort" else np.sort(x, axis)
    np.testing.assert_array_equal(found, expected)
    # Devices of the host have threads of their own, which end with them. They are there from row to row.
    deadline = time.monotonic() + 10
    while not (of_devices := seen[-1] - before - threads_of_this_process()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(of_devices) >= 3
    assert len(seen) >= (500 if what == "first axis" else 40) and all(of_devices <= threads for threads in seen)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["S5", "U3", [("a", "M8[s]"), ("b", "i2")]], ids=["bytes", "text", "structure"])
def test_rows_of_records_open_devices_once(dtype: Any, descending: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).integers(0, 30, (6, 200, 2))
    if isinstance(dtype, list):
        rows = np.zeros((6, 200), dtype)
        rows["a"], rows["b"] = x[..., 0], x[..., 1]
        rows["a"][x[..., 0] == 0] = np.datetime64("NaT", "s")
    else:
        rows = x[..., 0].astype(dtype)
    expected = spansort.sort(rows, descending=descending), spansort.argsort(rows, descending=descending)
    calls: list[int] = []
    sort_records = _core.sort_records

    def count(*arguments: Any) -> None:
        calls.append(len(arguments[0]))
        sort_records(*arguments)

    monkeypatch.setattr(_core, "sort_records", count)
    for axis, given in [(-1, rows), (0, rows.T)]:
        changed = given.copy()
        spansort.sort_inplace(changed, axis, descending=descending, devices="host:2")
        for ordered in [changed, spansort.sort(given, axis, descending=descending, devices="host:2")]:
            assert np.moveaxis(ordered, axis, -1).tobytes() == expected[0].tobytes()  # NaT is not equal to itself
        order = spansort.argsort(given, axis, descending=descending, devices="host:2")
        np.testing.assert_array_equal(np.moveaxis(order, axis, -1), expected[1])
    assert calls == [rows.size] * 6


RELEASED = """
import numpy as np, spansort
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
x = np.random.default_rng(1).random(1 << 23)
expected = np.sort(x)
for _ in range(3):
    assert np.array_equal(spansort.sort(x), expected)
before = resident()
spansort.release_kept_memory()
assert resident() < before - (32 << 20), (before, resident())
assert np.array_equal(spansort.sort(x), expected)
"""


def test_kept_memory_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", RELEASED], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_devices() -> None:
    found = spansort.devices()
    assert found["num_processors"] >= 1 and isinstance(found["gpu"], str)
    assert isinstance(spansort.links(), list)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
