# SPDX-License-Identifier: Apache-2.0
"""Hosts on one machine: network namespaces with host names of their own, each with a wire to one switch, a bridge.

Token buckets (tbf) at both ends of a wire are its bandwidth. A wire with a latency is a process, `network.py --wires`,
which holds every frame for that long: many kernels lack netem.
"""
import collections
import contextlib
import fcntl
import os
import pathlib
import re
import selectors
import signal
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
NETWORK = "10.254.77"
# A launcher for mpirun: it is given a host and a command, and has each host be a namespace.
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1; shift
exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"
"""
# mpirun waits for its daemon on a host that is cut off until TCP gives it up: by default after 15 tries.
TCP_RETRIES = 3
LONGEST_QUEUE_MS = 400
BURST_BYTES = 64 << 10
FRAMES_AT_A_TIME = 64


# ---- wires

def open_tap(name):
    """A virtual interface of that name in this namespace, whose frames the file that is returned gives and takes."""
    set_interface, tap, no_information = 0x400454ca, 0x0002, 0x1000
    tap_file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap_file, set_interface, struct.pack("16sH22x", name.encode(), tap | no_information))
    return tap_file


def carry_frames(latency_ms, taps):
    """Carries frames between the first two of `taps`, the third and the fourth, until standard input ends."""
    other_end = {tap: taps[i ^ 1] for i, tap in enumerate(taps)}
    on_the_way = collections.deque()
    ready = selectors.DefaultSelector()
    for file in (0, *taps):
        ready.register(file, selectors.EVENT_READ)
    while True:
        wait_s = max(on_the_way[0][0] - time.monotonic(), 0) if on_the_way else None
        for key, _ in ready.select(wait_s):
            if key.fd == 0:
                return
            # An interface that is down gives and takes nothing.
            with contextlib.suppress(OSError):
                for _ in range(FRAMES_AT_A_TIME):
                    frame = os.read(key.fd, 1 << 16)
                    on_the_way.append((time.monotonic() + latency_ms / 1000, other_end[key.fd], frame))
        while on_the_way and on_the_way[0][0] <= time.monotonic():
            _, tap, frame = on_the_way.popleft()
            with contextlib.suppress(OSError):
                os.write(tap, frame)


# ---- hosts

def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, stderr=subprocess.DEVNULL)


def end_by_exception():
    """Has SIGTERM end this process by SystemExit, so that what it has made is taken away."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def end_processes_of(name):
    """Ends what runs in a namespace."""
    pids = subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True, text=True).stdout
    for pid in pids.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), 9)


def remove(name):
    """Takes a namespace away, and what runs there."""
    end_processes_of(name)
    subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


def remove_hosts_of_ended_processes():
    """Removes what processes that SIGKILL ended have left behind. Names of hosts have their process's number; where
    another process has that number by now, they stay until that one has ended."""
    listed = subprocess.run(["ip", "netns", "list"], check=False, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        ours = re.match(r"spansort-(\d+)-(switch|\d+)(?= |$)", line)
        if ours and not os.path.exists(f"/proc/{ours[1]}"):
            remove(ours[0])


class Hosts:
    """Raises OSError or CalledProcessError where this process may not make them."""

    def __init__(self, count, megabits_per_s=0, latency_ms=0):
        """A bandwidth of 0 is without bounds. The latency is that from one host to another."""
        self.bytes_per_s = megabits_per_s * 1e6 / 8
        self.latency_ms = latency_ms
        self.names = [f"spansort-{os.getpid()}-{number}" for number in range(count)]
        self.addresses = [f"{NETWORK}.{number + 1}" for number in range(count)]
        self.switch = f"spansort-{os.getpid()}-switch"
        self.ports = [f"port-{number}" for number in range(count)]
        self.carrier = None
        remove_hosts_of_ended_processes()
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self):
        for name in (*self.names, self.switch):
            ip("netns", "add", name)
        ip("-n", self.switch, "link", "add", "switch", "type", "bridge")
        ip("-n", self.switch, "link", "set", "switch", "up")
        if self.latency_ms:
            self._lay_carried_wires(self.latency_ms / 2)
        else:
            for name, port in zip(self.names, self.ports):
                ip("link", "add", port, "netns", self.switch, "type", "veth", "peer", "name", "eth0", "netns", name)
        for name, address, port in zip(self.names, self.addresses, self.ports):
            ip("-n", self.switch, "link", "set", port, "master", "switch", "up")
            ip("-n", name, "address", "add", address + "/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", name, "link", "set", device, "up")
            retries = f"net.ipv4.tcp_retries2={TCP_RETRIES}"
            subprocess.run(["ip", "netns", "exec", name, "sysctl", "-q", "-w", retries], check=True)
            for namespace, device in ((name, "eth0"), (self.switch, port)) if self.bytes_per_s else ():
                subprocess.run(["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate",
                                f"{self.bytes_per_s:.0f}bps", "burst", f"{BURST_BYTES}", "latency",
                                f"{LONGEST_QUEUE_MS}ms"], check=True)

    def _lay_carried_wires(self, latency_ms):
        taps = []
        try:
            for number, (name, port) in enumerate(zip(self.names, self.ports)):
                for namespace, device in ((name, "eth0"), (self.switch, port)):
                    here = f"s{os.getpid()}-{number}{device[0]}"
                    taps.append(open_tap(here))
                    ip("link", "set", here, "netns", namespace, "name", device)
            words = [sys.executable, "-B", str(HERE), "--wires", str(latency_ms), *map(str, taps)]
            self.carrier = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=taps)
        finally:
            for tap in taps:
                os.close(tap)

    def inside(self, number):
        """The words that begin a command on a host."""
        return ["ip", "netns", "exec", self.names[number], "unshare", "--uts", "sh", "-c",
                f"hostname {self.names[number]}; exec \"$@\"", "sh"]

    def mpirun(self, folder, num_ranks):
        """The words that begin a job with so many ranks on each host, over TCP between them. mpirun runs on the first.
        `folder` is for what it needs."""
        agent = pathlib.Path(folder) / "agent"
        if not agent.exists():
            agent.write_text(AGENT)
            agent.chmod(0o755)
        places = ",".join(f"{name}:{number}" for name, number in zip(self.names, num_ranks))
        return [*self.inside(0), "mpirun", "--mca", "plm_rsh_agent", str(agent), "--mca", "oob_tcp_if_include",
                NETWORK + ".0/24", "--mca", "btl_tcp_if_include", NETWORK + ".0/24", "--mca", "btl", "self,vader,tcp",
                "--host", places, "-n", str(sum(num_ranks))]

    def cut(self, number):
        """The words of a command that takes a host off the network."""
        return ["ip", "-n", self.switch, "link", "set", self.ports[number], "down"]

    def join(self, number):
        ip("-n", self.switch, "link", "set", self.ports[number], "up")

    def end_processes(self):
        """Ends what still runs on a host, such as mpirun's daemon on one that was cut off."""
        for name in self.names:
            end_processes_of(name)

    def close(self):
        self.end_processes()
        if self.carrier is not None:
            self.carrier.stdin.close()
            self.carrier.wait()
        for name in (*self.names, self.switch):
            remove(name)


if __name__ == "__main__" and sys.argv[1:2] == ["--wires"]:
    carry_frames(float(sys.argv[2]), list(map(int, sys.argv[3:])))
