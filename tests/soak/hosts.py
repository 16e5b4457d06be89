# SPDX-License-Identifier: Apache-2.0
"""Sorts over MPI between three hosts, of which some are cut off the network: ./dev soak --only hosts ...

The hosts are network namespaces of this machine (network.py) with host names of their own: TCP between them, over wires
of a given bandwidth and latency, two ranks on the first, one on each other. Every second job, or as --cut-every has it,
loses a host as a rank of it enters a phase, drawn at random, which runs on, cut off.

A job that is left alone fails that does not end with status 0 and the right output, or that is faster than its wires
can be. One whose host is cut off fails unless each rank, on both sides, ends with status 7 in the limit, mpirun with
the same, and the old output is whole with nothing beside it.
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

NUM_RANKS = [2, 1, 1]  # of each host
HOST_OF = [host for host, count in enumerate(NUM_RANKS) for _ in range(count)]
LONGEST_S = 120
SILENCE_S = 2
# Beyond the silence, for ranks of a loaded machine.
ANSWER_S = 5
IN_PARTS = ["--test-world", "9000,256,4"]
PHASES = ["opening devices", "settings", "reading", "taking memory", "histogram", "partition", "exchange", "local sort",
          "verifying", "making the output", "writing", "replacing the output"]
PHASES_IN_PARTS = ["reading", "taking memory", "sorting runs", "making the output", "finding splitters", "reading runs",
                   "exchange", "sorting ranges", "verifying", "writing", "replacing the output"]
# Who is cut off then may have agreed to the new output, and not hear that it is there.
LAST_PHASE = "replacing the output"
OURS = "spansort: "


def watch(folder, cut, command):
    """Runs `command`, a rank; has `cut` run when it stops, and goes on. Records its host and end, and ends as it."""
    # mpirun's signal is for the command. A handler, unlike SIG_IGN, is not inherited by it.
    signal.signal(signal.SIGTERM, lambda *_: None)
    pid = os.spawnv(os.P_NOWAIT, command[0], command)
    status = os.waitpid(pid, os.WUNTRACED)[1]
    while os.WIFSTOPPED(status):
        subprocess.run(cut.split(), check=True)
        (folder / "cut").write_text(str(time.monotonic()))
        os.kill(pid, signal.SIGCONT)
        status = os.waitpid(pid, os.WUNTRACED)[1]
    code = os.waitstatus_to_exitcode(status)
    record = {"status": code, "time_s": time.monotonic(), "host": socket.gethostname()}
    (folder / os.environ["OMPI_COMM_WORLD_RANK"]).write_text(json.dumps(record))
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


class Job:
    def __init__(self, folder, world, hosts, kind, cut_off=None):
        """`cut_off`: the rank whose host is, and the phase."""
        self.folder = folder
        self.world = world
        self.hosts = hosts
        self.kind = kind
        self.cut_off = cut_off
        self.ranks = {}
        self.report = {}

    def command(self):
        flags = ["--heartbeat-timeout", str(SILENCE_S), "--report", str(self.folder / "report"), "-T", self.world.temp]
        cut = "true"
        if self.cut_off:
            rank, phase = self.cut_off
            flags += ["--test-fault", f"stop:{phase}:{rank}"]
            if "SPANSORT_HOSTS_STAY" not in os.environ:
                cut = " ".join(self.hosts.cut(HOST_OF[rank]))
        return [*self.hosts.mpirun(self.folder.parent, NUM_RANKS), sys.executable, "-B", __file__, "--watch",
                str(self.folder), cut, commands.BIN, *self.kind.verb, self.world.kept("keys"), "-o", self.world.target,
                *flags]

    def run(self):
        """Returns what is wrong, "" for nothing."""
        self.folder.mkdir()
        self.world.prepare(self.kind)
        environment = {name: text for name, text in commands.ENVIRONMENT.items() if name != "OMPI_MCA_btl"}
        job = subprocess.Popen(self.command(), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True)
        try:
            message = job.communicate(timeout=LONGEST_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            self.hosts.end_processes()
            message = job.communicate()[1].decode(errors="replace") + f"\n{OURS}it hangs"
        # mpirun's daemon on a host that is cut off does not hear that all is over.
        self.hosts.end_processes()
        if self.cut_off:
            self.hosts.join(HOST_OF[self.cut_off[0]])
        self.ranks = {int(path.name): json.loads(path.read_text()) for path in self.folder.glob("[0-9]")}
        with contextlib.suppress(OSError):
            self.report = json.loads((self.folder / "report").read_text())
        wrong = self.wrong_when_cut(job.returncode) if self.cut_off else self.wrong_when_whole(job.returncode, message)
        return f"{wrong}; {message}" if wrong else ""

    def wrong_when_whole(self, status, message):
        output = self.world.what_it_is(self.kind)
        # The launcher says things of its own.
        is_said = any(line.startswith(OURS) for line in message.splitlines())
        if status != 0 or is_said or output != "new" or self.world.take_left():
            return f"status {status}, the output is {output}"
        places = [self.ranks.get(rank, {}).get("host") for rank in range(len(HOST_OF))]
        if places != [self.hosts.names[host] for host in HOST_OF]:
            return f"ranks were on {places}"
        if not self.report:
            return "there is no report"
        if self.report["elapsed_ms"] < self.least_ms():
            return f"it took {self.report['elapsed_ms']} ms, and the wires at least {self.least_ms()}"
        return ""

    def least_ms(self):
        """Of the last host, on which one rank ends with as many bytes as it began with: all but the part that it had
        has come over its wire."""
        size = os.path.getsize(self.world.target)
        come = size / len(HOST_OF) * (1 - 1.1 / len(HOST_OF))
        return max(come - network.BURST_BYTES, 0) / self.hosts.bytes_per_s * 1000 + self.hosts.latency_ms

    def wrong_when_cut(self, status):
        left = self.world.take_left()
        output = self.world.what_it_is(self.kind)
        about = f"status {status}, ranks {self.ranks}"
        if not (self.folder / "cut").exists() and "SPANSORT_HOSTS_STAY" not in os.environ:
            return f"no rank entered the phase; {about}"
        if output != "old" and not (output == "new" and self.cut_off[1] == LAST_PHASE) or left:
            return f"the output is {output}, left behind: {left}; {about}"
        statuses = [self.ranks.get(rank, {}).get("status") for rank in range(len(HOST_OF))]
        if status != 7 or statuses != [7] * len(HOST_OF):
            return about
        if self.slowest_s() > SILENCE_S + ANSWER_S:
            return f"{self.slowest_s()} s after the cut; {about}"
        return ""

    def slowest_s(self):
        """From the cut to the end of the last rank."""
        return max(rank["time_s"] for rank in self.ranks.values()) - float((self.folder / "cut").read_text())


def run_jobs(arguments, folder, hosts):
    world = commands.World(str(folder), arguments.megabytes << 20, "48M")
    fits = commands.Kind("over MPI", ["sort", "--mpi", *commands.KEYS, "--verify"])
    parts = commands.Kind("over MPI in parts", [*fits.verb, *IN_PARTS])
    world.expected(fits)
    draws = random.Random(arguments.seed)
    num_failed = num_cut = 0
    whole_ms, cut_s = [], []
    for number in range(arguments.count):
        kind, phases = draws.choice([(fits, PHASES), (parts, PHASES_IN_PARTS)])
        cut_off = (draws.randrange(len(HOST_OF)), draws.choice(phases))
        is_cut = (number + 1) % arguments.cut_every == 0
        job = Job(folder / "job", world, hosts, kind, cut_off if is_cut else None)
        wrong = job.run()
        about = f"{kind.name}, host {HOST_OF[cut_off[0]]} cut off by node rank {cut_off[0]} in '{cut_off[1]}'"
        if wrong:
            num_failed += 1
            print(f"failed: job {number} of seed {arguments.seed}, {about if is_cut else kind.name}: {wrong}",
                  flush=True)
        elif is_cut:
            cut_s.append(job.slowest_s())
        else:
            whole_ms.append(job.report["elapsed_ms"])
        num_cut += is_cut
        shutil.rmtree(job.folder)
    if whole_ms:
        print(f"  {len(whole_ms)} sorts of {arguments.megabytes} MiB in {min(whole_ms):.0f} to {max(whole_ms):.0f} ms")
    if cut_s:
        print(f"  {len(cut_s)} jobs whose host was cut off: all ranks had ended with status 7 after {min(cut_s):.1f} "
              f"to {max(cut_s):.1f} s, with a limit of {SILENCE_S} s on silence")
    print(f"{arguments.count} jobs, {num_cut} of them cut, {num_failed} failed", flush=True)
    return num_failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="jobs")
    parser.add_argument("--cut-every", type=int, default=2, metavar="N", help="the Nth, 2Nth ... job loses a host")
    parser.add_argument("--megabits", type=int, default=200, help="a second, each way, of the wire of a host")
    parser.add_argument("--latency-ms", type=float, default=1, help="from one host to another")
    parser.add_argument("--megabytes", type=int, default=2, help="of the input")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    network.end_by_exception()
    with folders.run_folder("hosts") as folder:
        try:
            hosts = network.Hosts(len(NUM_RANKS), arguments.megabits, arguments.latency_ms)
        except (OSError, subprocess.CalledProcessError) as failure:
            print(f"no hosts can be made here: {failure}")
            return 2
        with contextlib.closing(hosts):
            return run_jobs(arguments, pathlib.Path(folder), hosts)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch(pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
    sys.exit(main())
