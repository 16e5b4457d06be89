#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a disk can do at most, for scripts/bench_files.py: two reads and two writes of as many bytes as a file has,
which a sort larger than memory cannot do without (once over the input into temporary files, once from there into the
output). Calls of 4 MiB past the page cache from three threads each, as many as the sort has. Random bytes are written.

usage: scripts/files_disk.py FILE FOLDER overlapped|in-turn
Prints milliseconds as JSON; writes two files as large as FILE into FOLDER and removes them.
"""
import json
import mmap
import os
import pathlib
import sys
import threading
import time

CALL_BYTES = 4 << 20
NUM_THREADS = 3


def direct_file(path, flags):
    return os.open(path, flags | os.O_DIRECT | os.O_CLOEXEC, 0o600)


def all_calls(fd, size_bytes, thread, call, buffer):
    """Every NUM_THREADS-th piece of the file. Only whole pieces go past the page cache."""
    for offset in range(thread * CALL_BYTES, size_bytes, NUM_THREADS * CALL_BYTES):
        wanted = min(CALL_BYTES, size_bytes - offset)
        moved = call(fd, [memoryview(buffer)[:wanted]], offset)
        if moved != wanted:
            raise OSError(f"{moved} bytes instead of {wanted} at offset {offset}")


class Crew:
    """Threads that read or write one file; they begin at once. Calls run side by side: Python lets go of its lock."""

    def __init__(self, fd, size_bytes, call):
        self.failure = None
        # Memory of mmap begins at a page, which direct calls need.
        self.buffers = [mmap.mmap(-1, CALL_BYTES) for _ in range(NUM_THREADS)]
        for buffer in self.buffers:
            buffer.write(os.urandom(CALL_BYTES))
        self.threads = [threading.Thread(target=self.work, args=(fd, size_bytes, i, call)) for i in range(NUM_THREADS)]

    def work(self, fd, size_bytes, index, call):
        try:
            all_calls(fd, size_bytes, index, call, self.buffers[index])
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def wait(self):
        for thread in self.threads:
            thread.join()
        if self.failure:
            raise self.failure


def one_pass(source, target, size_bytes, overlapped):
    """Milliseconds of a read of `source` and a write of a new file `target`; of each alone, too, if not overlapped."""
    reads, writes = direct_file(source, os.O_RDONLY), direct_file(target, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    reader, writer = Crew(reads, size_bytes, os.preadv), Crew(writes, size_bytes, os.pwritev)
    try:
        os.posix_fallocate(writes, 0, size_bytes)  # growing a file would make its writers wait for each other
        begin = time.monotonic()
        reader.start()
        if not overlapped:
            reader.wait()
        middle = time.monotonic()
        writer.start().wait()
        reader.wait()
        os.fsync(writes)
        end = time.monotonic()
    finally:
        os.close(reads)
        os.close(writes)
    times = {"elapsed_ms": (end - begin) * 1e3}
    if not overlapped:
        times |= {"read_ms": (middle - begin) * 1e3, "write_ms": (end - middle) * 1e3}
    return times


def measure_floor(source, folder, overlapped):
    """Two passes, the second over what the first wrote. Leaves no file behind."""
    size_bytes = os.path.getsize(source)
    first, second = pathlib.Path(folder) / "floor-1", pathlib.Path(folder) / "floor-2"
    try:
        passes = [one_pass(source, first, size_bytes, overlapped), one_pass(first, second, size_bytes, overlapped)]
    finally:
        first.unlink(missing_ok=True)
        second.unlink(missing_ok=True)
    return {"elapsed_ms": sum(p["elapsed_ms"] for p in passes), "passes": passes}


def mount_of(folder):
    """Device and file system that a folder lies on."""
    device = os.stat(folder).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == wanted:
            after = fields[fields.index("-") + 1:]
            return {"device": pathlib.Path(after[1]).name, "file_system": after[0]}
    return {"device": wanted, "file_system": "unknown"}


def describe_disk(folder):
    found = mount_of(folder)
    block = pathlib.Path("/sys/class/block") / found["device"]
    for name, file in (("sectors", "size"), ("model", "device/model"), ("rotational", "queue/rotational")):
        try:
            found[name] = (block / file).read_text().strip()
        except OSError:
            pass
    if "sectors" in found:
        found["size_bytes"] = int(found.pop("sectors")) * 512
    if "rotational" in found:
        found["rotational"] = found["rotational"] == "1"
    return found


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[3] not in ("overlapped", "in-turn"):
        sys.exit(__doc__)
    print(json.dumps(measure_floor(sys.argv[1], sys.argv[2], overlapped=sys.argv[3] == "overlapped")))
