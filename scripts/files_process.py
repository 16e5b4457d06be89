# SPDX-License-Identifier: Apache-2.0
"""Runs a program for scripts/bench_files.py and says how long it took, how much memory it had at most, and what it
read and wrote. Keys as text, for programs that sort only that, are made and read here, too."""
import array
import itertools
import os
import pathlib
import subprocess
import sys
import time


class RunFailed(Exception):
    """A program ended with another status than 0; the message has the end of what it printed."""


KEYS_AT_A_TIME = 1 << 16  # a child's peak memory begins with its parent's, so this program stays small


def io_counts(pid):
    """Bytes that a process asked for, and those of them that the disk had to do with; its threads included."""
    lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    counts = {name: int(value) for name, value in (line.split(": ") for line in lines)}
    return {"asked_read_bytes": counts["rchar"], "asked_written_bytes": counts["wchar"],
            "disk_read_bytes": counts["read_bytes"],
            "disk_written_bytes": counts["write_bytes"] - counts["cancelled_write_bytes"]}


def forget_pages(path):
    """Has the next reader go to the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def sync_file(path):
    begin = time.monotonic()
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    return (time.monotonic() - begin) * 1e3


def measure(command, log, output=None, environment=None):
    """One run, until `output` is on the disk. `log` takes what it prints. Throws RunFailed."""
    begin = time.monotonic()
    with open(log, "wb") as prints:
        child = subprocess.Popen(command, stdout=prints, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                 env={**os.environ, **(environment or {})})
        try:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        except BaseException:
            child.kill()
            child.wait()
            raise
    ended_ms = (time.monotonic() - begin) * 1e3
    counts = io_counts(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        printed = pathlib.Path(log).read_text(errors="replace")[-2000:]
        raise RunFailed(f"status {child.returncode} of {pathlib.Path(command[0]).name}: {printed.strip()}")
    sync_ms = sync_file(output) if output else 0.0
    return {"elapsed_ms": ended_ms + sync_ms, "sync_ms": sync_ms, "user_ms": usage.ru_utime * 1e3,
            "system_ms": usage.ru_stime * 1e3, "peak_bytes": usage.ru_maxrss * 1024, **counts}


def write_text(keys, text):
    """Raw 64-bit keys as decimal numbers, one a line."""
    with open(keys, "rb") as source, open(text, "w", encoding="ascii") as target:
        while piece := source.read(8 * KEYS_AT_A_TIME):
            target.write("\n".join(map(str, array.array("Q", piece))) + "\n")


def write_keys(text, target):
    """The way back, into an open binary file."""
    with open(text, encoding="ascii") as source:
        while piece := array.array("Q", map(int, itertools.islice(source, KEYS_AT_A_TIME))):
            target.write(piece.tobytes())


def checksum_of(program, keys, must_be_sorted, text=False):
    """The multiset checksum that `spansort check` prints of a file; ends the benchmark where its order is wrong."""
    command = [program, "check", "-" if text else str(keys), "--type", "u64"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE if text else subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=False)
    if text:
        with child.stdin:
            write_keys(keys, child.stdin)
        child.stdin = None
    printed, errors = child.communicate()
    if child.returncode not in ((0,) if must_be_sorted else (0, 1)):
        sys.exit(f"bench_files.py: {keys}: {errors.decode(errors='replace').strip() or child.returncode}")
    return dict(line.split(": ", 1) for line in printed.decode().splitlines())["checksum"]


def can_import(python, module):
    return subprocess.run([python, "-c", f"import {module}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def version_of(command):
    """The first line that a program prints of itself."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
