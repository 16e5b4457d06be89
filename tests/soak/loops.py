# SPDX-License-Identifier: Apache-2.0
"""Loops around sorts of files, for as long as wanted: ./dev soak --only kills|disks|ceilings ...

kills     ends commands by SIGKILL at random moments: the output is the old one or the new one, whole.
disks     takes file systems and limits on the size of files that are full at each of many places: status 4, the old
          output, nothing left; or status 0 and the new one.
ceilings  runs commands in a control group (version 1 or 2) whose memory ends 5 % above their -S, and in one without -S.

Each line that is printed counts what was seen; the last one ends with `N failed`. What fails says how to see it again.
"""
import argparse
import collections
import contextlib
import ctypes
import os
import random
import resource
import signal
import subprocess
import sys
import time

import commands
import folders

LONGEST_S = 300
DISKS = ("tmpfs", "ext4")
# The new file of an output has a name of its own for a moment, before it gets that of the output: docs/promises.md.
MOST_NAMED = 1


class Tally:
    """Counts what cases end with, and says which have failed."""

    def __init__(self):
        self.seen = collections.defaultdict(collections.Counter)
        self.num_failed = 0

    def add(self, kind, outcome):
        self.seen[kind.name][outcome] += 1

    def fail(self, kind, about):
        self.num_failed += 1
        self.add(kind, "failed")
        print(f"failed: {kind.name}: {about}", flush=True)

    def end(self, what):
        num_cases = 0
        for name, outcomes in self.seen.items():
            num_cases += sum(count for outcome, count in outcomes.items() if outcome != "named leftovers")
            print(f"  {name}: " + ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
        print(f"{num_cases} {what}, {self.num_failed} failed", flush=True)
        return self.num_failed != 0


def wait_for(process):
    """The status and the message of a process that ends by itself."""
    try:
        message = process.communicate(timeout=LONGEST_S)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, "it hangs"
    return process.returncode, message.decode(errors="replace")


def check(world, kind, status, refusals, tally, about):
    """Holds a command that has ended by itself to its promise; returns whether it has written."""
    left = world.take_left()
    found = world.what_it_is(kind)
    wanted = "new" if status == 0 else "old"
    if left or found != wanted or status not in (0, *refusals):
        tally.fail(kind, f"{about}: status {status}, the output is {found}, left behind: {left}")
        return False
    tally.add(kind, f"status {status}")
    return status == 0


def wanted_kinds(arguments):
    return [kind for kind in commands.kinds() if arguments.kind is None or kind.name in arguments.kind]


# ---- kills

def descendants(pid):
    """A process and all that it has started, but for launchers' own."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    return found


def kill_one(world, kind, delay, chance):
    """Starts a command and kills it, or over MPI one of its processes, after `delay` seconds."""
    process = world.start(kind)
    time.sleep(delay)
    victims = descendants(process.pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(victims[int(chance * len(victims))], signal.SIGKILL)
    status, message = wait_for(process)
    # Ranks whose launcher was the victim notice that by themselves.
    end = time.monotonic() + LONGEST_S
    while kind.launcher and time.monotonic() < end:
        if subprocess.run(["pgrep", "-f", world.target], stdout=subprocess.DEVNULL, check=False).returncode != 0:
            break
        time.sleep(0.05)
    return status, message


def kills(world, arguments):
    random_numbers = random.Random(arguments.seed)
    tally = Tally()
    kinds = wanted_kinds(arguments)
    durations = {}
    for kind in kinds:
        world.expected(kind)
        world.prepare(kind)
        begin = time.monotonic()
        status, message = wait_for(world.start(kind))
        durations[kind.name] = time.monotonic() - begin
        if status != 0 or world.what_it_is(kind) != "new" or world.take_left():
            tally.fail(kind, f"undisturbed: status {status}: {message}")
    with contextlib.suppress(KeyboardInterrupt):
        for number in range(arguments.count):
            kind = kinds[number % len(kinds)]
            delay = random_numbers.uniform(0, 1.1) * durations[kind.name]
            world.prepare(kind)
            status, message = kill_one(world, kind, delay, random_numbers.random())
            left = world.take_left()
            found = world.what_it_is(kind)
            if left:
                tally.add(kind, "named leftovers")
            is_wrong = found not in ("old", "new") or status is None or (status == 0 and found != "new")
            if is_wrong or len(left) > MOST_NAMED:
                tally.fail(kind, f"kill {number} of seed {arguments.seed}, after {delay} s: status {status}, the "
                                 f"output is {found}, left behind: {left}; {message}")
            else:
                tally.add(kind, found)
    return tally.end("kills")


# ---- disks

class Disk:
    """A small file system over a folder, in a name space of its own."""

    def __init__(self, system, folder, size):
        self.folder = folder
        if system == "tmpfs":
            source, options = "none", f"size={size}"
        else:
            source, options = folder + ".image", "loop"
            with open(source, "wb") as image:
                image.truncate(size)
            subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-m", "0", source], check=True)
        subprocess.run(["mount", "-t", system, "-o", options, source, folder], check=True)

    def close(self):
        subprocess.run(["umount", "-l", self.folder], check=True)
        with contextlib.suppress(OSError):
            os.remove(self.folder + ".image")


def private_mounts():
    """What is mounted from now on only this process and its children see. Says whether it can."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_namespace, recursive_private = 0x00020000, 0x4000 | 1 << 18
    return libc.unshare(new_namespace) == 0 and libc.mount(b"none", b"/", None, ctypes.c_ulong(recursive_private),
                                                           None) == 0


def sizes_up_to(most, count):
    """From one page to `most`, each a step further."""
    return [4096 + (most - 4096) * i // (count - 1) // 4096 * 4096 for i in range(count)]


def fill_disks(world, system, places, kinds, arguments, tally):
    for size in sizes_up_to(2 * arguments.megabytes << 20, arguments.sizes):
        if system == "ext4":
            size += 1 << 20  # its own tables
        for kind in kinds:
            # In place there must be room for the input.
            least = arguments.megabytes << 20 if kind.in_place and "out" in places else 0
            disks = []
            try:
                disks = [Disk(system, getattr(world, place), size + least) for place in places]
                try:
                    world.prepare(kind)
                except OSError:  # no room for the old output
                    continue
                status, message = wait_for(world.start(kind))
                check(world, kind, status, [4], tally, f"{system} of {size + least} bytes on {places}: {message}")
            finally:
                for disk in disks:
                    disk.close()


def limit_files(world, kinds, arguments, tally):
    for size in sizes_up_to(2 * arguments.megabytes << 20, arguments.sizes):
        for kind in kinds:
            world.prepare(kind)
            status, message = wait_for(world.start(
                kind, limit=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))))
            check(world, kind, status, [4], tally, f"files of at most {size} bytes: {message}")


def disks(world, arguments):
    tally = Tally()
    kinds = [kind for kind in wanted_kinds(arguments) if not kind.launcher or arguments.with_mpi]
    for kind in kinds:
        world.expected(kind)
    limit_files(world, [kind for kind in kinds if not kind.launcher], arguments, tally)
    if not private_mounts():
        print("no file systems of a size of their own: this process cannot mount")
        return tally.end("full disks")
    for system in DISKS:
        for places in (["out"], ["temp"], ["out", "temp"]):
            fill_disks(world, system, places, kinds, arguments, tally)
    return tally.end("full disks")


# ---- ceilings

class ControlGroup:
    """A control group whose memory is limited, below this process's own."""

    def __init__(self):
        with open("/proc/self/cgroup", encoding="ascii") as file:
            own = {line.split(":")[1]: line.split(":")[2].strip() for line in file}
        self.is_v1 = "memory" in own
        root = "/sys/fs/cgroup/memory" if self.is_v1 else "/sys/fs/cgroup"
        self.folder = f"{root}{own['memory' if self.is_v1 else '']}/spansort-ceilings-{os.getpid()}"
        os.mkdir(self.folder)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as file:
            file.write(str(text))

    def limit(self, num_bytes):
        self.write("memory.limit_in_bytes" if self.is_v1 else "memory.max", num_bytes)
        # Without swap nothing hides.
        with contextlib.suppress(OSError):
            self.write("memory.memsw.limit_in_bytes" if self.is_v1 else "memory.swap.max",
                       num_bytes if self.is_v1 else 0)

    def lift(self):
        for name in ("memory.memsw.limit_in_bytes", "memory.limit_in_bytes") if self.is_v1 else ("memory.max",):
            with contextlib.suppress(OSError):
                self.write(name, -1 if self.is_v1 else "max")

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def close(self):
        os.rmdir(self.folder)


def ceilings(world, arguments):
    tally = Tally()
    kinds = [kind for kind in wanted_kinds(arguments) if not kind.launcher]
    try:
        group = ControlGroup()
    except OSError as failure:
        print(f"no control group: {failure}")
        return 2
    least, most = 40 << 20, arguments.megabytes << 20
    try:
        for number in range(arguments.sizes):
            ceiling = least + (most - least) * number // max(arguments.sizes - 1, 1)
            for kind in kinds:
                for is_told in (True, False):  # -S
                    world.expected(kind)
                    world.prepare(kind)
                    group.lift()
                    group.limit(ceiling + ceiling // 20)
                    wanted = commands.dataclasses.replace(kind, is_external=is_told)
                    status, message = wait_for(world.start(wanted, ceiling, limit=group.enter))
                    # Half of what such a group has left, the default, may be too little to sort in parts.
                    check(world, kind, status, [] if is_told else [6], tally,
                          f"in {ceiling + ceiling // 20} bytes {'with' if is_told else 'without'} -S: {message}")
    finally:
        group.close()
    return tally.end("runs under a ceiling")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", choices=["kills", "disks", "ceilings"])
    parser.add_argument("--count", type=int, default=200, help="kills")
    parser.add_argument("--sizes", type=int, default=20, help="places where disks and memory end")
    parser.add_argument("--megabytes", type=int, default=128, help="of an input")
    parser.add_argument("--ceiling", default="48M", help="-S of kinds that do not fit in memory")
    parser.add_argument("--kind", action="append", help="this kind of command alone; again for one more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--with-mpi", action="store_true", help="full disks for sorts over MPI, too")
    parser.add_argument("--folder", help="where the files lie; default: a temporary one")
    arguments = parser.parse_args()
    with folders.run_folder("loops", arguments.folder) as folder:
        world = commands.World(folder, arguments.megabytes << 20, arguments.ceiling)
        return {"kills": kills, "disks": disks, "ceilings": ceilings}[arguments.loop](world, arguments)


if __name__ == "__main__":
    sys.exit(main())
