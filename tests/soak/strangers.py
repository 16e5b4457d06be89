# SPDX-License-Identifier: Apache-2.0
"""Sorts over MPI whose meeting of the ranks is attacked as long as its port is open: ./dev soak --only strangers ...

Ranks come late, so that strangers have time: they send garbage, endless messages and bytes one at a time, hold many
connections open, half of them with half a greeting, say again what ranks of this job and of the one before have said,
and send the challenge back. Every second job runs on the loopback; the others, where this process may make them, in two
network namespaces with a virtual interface between them, as on two hosts, and are attacked from both.

A job fails that does not end with status 0 and the right output in time, whose node rank 0 grows by more than a
mebibyte while the port is open, or whose port is open afterwards.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import commands
import folders
import network

LONGEST_S = 120
MOST_GROWTH = 1 << 20
NUM_RANKS = 3
HERE = pathlib.Path(__file__).resolve()
HEARTBEATS = b"\2\0\0\0\0" * 20000


# ---- strangers

class Stranger:
    """Attacks the port until the ranks have met."""

    def __init__(self, folder, address):
        self.folder = folder
        self.address = address
        self.port = None
        self.num_calls = 0
        self.num_bytes = 0
        self.num_replays = 0  # of what a rank has really said

    def is_over(self):
        return (self.folder / "met").exists()

    def call(self):
        self.num_calls += 1
        made = socket.create_connection((self.address, self.port), timeout=1)
        made.settimeout(0.2)
        return made

    def send(self, to, what):
        sent = to.send(what)
        self.num_bytes += sent
        return sent

    def garbage(self):
        with self.call() as to:
            self.send(to, random.randbytes(random.choice([1, 20, 200, 5000])))
            self.send(to, b"GET / HTTP/1.1\r\n\r\n")

    def endless(self):
        with self.call() as to:
            while not self.is_over():
                self.send(to, HEARTBEATS)

    def slow(self):
        with self.call() as to:
            while not self.is_over():
                self.send(to, b"\1")
                time.sleep(0.01)

    def held(self):
        with contextlib.ExitStack() as all_of_them:
            for i in range(400):
                to = all_of_them.enter_context(self.call())
                if i % 2:
                    self.send(to, b"spnsort1half of it")
            time.sleep(0.2)

    def replayed(self):
        said = [path.read_bytes() for folder in (self.folder, self.folder.parent / "before")
                for path in folder.glob("said.*")]
        for greeting in said or [b"spnsort1" + bytes(100)]:
            with self.call() as to:
                self.num_replays += 1 if said else 0
                self.send(to, greeting)
                with contextlib.suppress(OSError):
                    to.recv(1000)
                self.send(to, greeting)

    def reflected(self):
        with self.call() as to:
            challenge = to.recv(1000)
            self.send(to, challenge + challenge + challenge)
            to.recv(1000)

    def attack(self, kind):
        end = time.monotonic() + LONGEST_S
        while self.port is None and time.monotonic() < end and not self.is_over():
            with contextlib.suppress(OSError, ValueError):
                self.port = int((self.folder / "port").read_text())
            time.sleep(0.001)
        while not self.is_over() and time.monotonic() < end:
            # Refused and reset calls are what strangers should get.
            with contextlib.suppress(OSError):
                getattr(self, kind)()
        return {"calls": self.num_calls, "bytes": self.num_bytes, "replays": self.num_replays,
                "open": self.port is not None and self.is_open()}

    def is_open(self):
        with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), timeout=1):
            return True
        return False


KINDS = ["garbage", "endless", "slow", "held", "replayed", "reflected"]


def be_stranger(kind, folder, address):
    print(json.dumps(Stranger(pathlib.Path(folder), address).attack(kind)))


# ---- jobs

def make_hosts():
    """Two of them, or None where this process cannot."""
    try:
        return network.Hosts(2)
    except (OSError, subprocess.CalledProcessError) as failure:
        print(f"on the loopback alone, for there is no virtual interface: {failure}", flush=True)
        return None


def launch(folder, hosts, late_ms):
    """mpirun with what has it run on this host, or on two."""
    ours = ["-x", f"LD_PRELOAD={folder.parent / 'late_meeting.so'}", "-x", f"SPANSORT_MEETING={folder}",
            "-x", f"SPANSORT_MEETING_MS={late_ms}"]
    if "SPANSORT_MEETING_GROWS" in os.environ:
        ours += ["-x", "SPANSORT_MEETING_GROWS"]
    if hosts is None:
        return ["mpirun", "--oversubscribe", "-n", str(NUM_RANKS), *ours]
    return [*hosts.mpirun(folder.parent, [1, NUM_RANKS - 1]), *ours]


def start_strangers(folder, hosts, each):
    """Processes, `each` of every kind."""
    places = [([], "127.0.0.1")]
    if hosts is not None:
        places = [(hosts.inside(1), hosts.addresses[0]), (hosts.inside(0), "127.0.0.1")]
    started = []
    for number, kind in enumerate(each * KINDS):
        prefix, address = places[number // 3 % len(places)]
        words = [*prefix, sys.executable, "-B", str(HERE), "--stranger", kind, str(folder), address]
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
    return started


def run_job(world, folder, hosts, each, late_ms):
    """Returns what is wrong, "" for nothing, and counts. `hosts`: None for the loopback."""
    folder.mkdir()
    kind = commands.Kind("over MPI", ["sort", "--mpi", *commands.KEYS])
    world.prepare(kind)
    environment = {name: text for name, text in commands.ENVIRONMENT.items()
                   if hosts is None or not name.startswith("OMPI_MCA_btl")}
    strangers = start_strangers(folder, hosts, each)
    job = subprocess.Popen([*launch(folder, hosts, late_ms), commands.BIN, *kind.verb, world.kept("keys"), "-o",
                            world.target], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, start_new_session=True)
    try:
        message = job.communicate(timeout=LONGEST_S)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        job.communicate()
        message = "spansort: it hangs"
    if not (folder / "met").exists():
        (folder / "met").write_text("0 0")
        message += "\nspansort: the ranks have not met"
    told = [json.loads(stranger.communicate()[0]) for stranger in strangers]
    grown, open_ms = map(int, (folder / "met").read_text().split())
    counts = {name: sum(one[name] for one in told) for name in ("calls", "bytes", "replays")}
    counts |= {"grown": grown, "open_ms": open_ms}
    wrong = ""
    # The launcher says things of its own.
    is_said = any(line.startswith("spansort: ") for line in message.splitlines())
    if job.returncode != 0 or is_said or world.what_it_is(kind) != "new":
        wrong = f"status {job.returncode}, the output is {world.what_it_is(kind)}: {message}"
    elif grown > MOST_GROWTH:
        wrong = f"node rank 0 grew by {grown} bytes"
    elif any(one["open"] for one in told):
        wrong = "the port is open after the meeting"
    elif counts["calls"] == 0 and each:
        wrong = "no stranger has found the port"
    return wrong, counts


def strangers(arguments, folder):
    hosts = make_hosts()
    sums = {False: {"jobs": 0, "calls": 0, "bytes": 0, "replays": 0, "grown": 0, "open_ms": 0}}
    sums[True] = dict(sums[False])
    num_failed = 0
    try:
        world = commands.World(str(folder), arguments.megabytes << 20, "48M")
        world.expected(commands.Kind("expected", ["sort"]))
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", folder / "late_meeting.so",
                        HERE.with_name("late_meeting.c"), "-ldl"], check=True)
        for number in range(arguments.count):
            is_on_network = hosts is not None and number % 2 == 1
            wrong, counts = run_job(world, folder / "job", hosts if is_on_network else None, arguments.each,
                                    arguments.late_ms)
            where = "over a virtual interface" if is_on_network else "on the loopback"
            if wrong:
                num_failed += 1
                print(f"failed: job {number} {where}: {wrong}", flush=True)
            sum_ = sums[is_on_network]
            for name in ("calls", "bytes", "replays", "open_ms"):
                sum_[name] += counts[name]
            sum_["jobs"] += 1
            sum_["grown"] = max(sum_["grown"], counts["grown"])
            shutil.rmtree(folder / "before", ignore_errors=True)
            (folder / "job").rename(folder / "before")
    finally:
        if hosts is not None:
            hosts.close()
    for is_on_network, sum_ in sums.items():
        if sum_["jobs"]:
            print(f"  {'over a virtual interface' if is_on_network else 'on the loopback'}: {sum_['jobs']} jobs, "
                  f"{sum_['calls']} calls of strangers with {sum_['bytes'] / 1e6:.0f} MB, {sum_['replays']} of them "
                  f"with a rank's own greeting; the port was open for "
                  f"{sum_['open_ms'] / sum_['jobs']:.0f} ms on average, "
                  f"node rank 0 grew by {sum_['grown'] >> 10} KiB at most")
    print(f"{arguments.count} jobs, {num_failed} failed", flush=True)
    return num_failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="jobs")
    parser.add_argument("--each", type=int, default=1, help="strangers of each of six kinds at once; 0: none")
    parser.add_argument("--late-ms", type=int, default=500, help="by how much a rank is later than the one before it")
    parser.add_argument("--megabytes", type=int, default=1, help="of the input")
    network.end_by_exception()
    arguments = parser.parse_args()
    with folders.run_folder("strangers") as folder:
        return strangers(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--stranger"]:
        be_stranger(*sys.argv[2:])
    else:
        sys.exit(main())
