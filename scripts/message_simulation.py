# SPDX-License-Identifier: Apache-2.0
"""Discrete simulation of one all-to-all exchange as src/mpi/transport runs it: who sends how many bytes to whom goes in,
the time until the last message has arrived comes out. For cluster_model.py.

A node's messages start in the order {index, distance of the nodes}, a few at a time in each direction; a message begins
when both its ends have come to it, and after the latency it queues for its sender's and its receiver's link, and for the up
and down links of the two groups where the network is tapered. Real networks are between two extremes:
- switches hold what a link cannot take yet: every link is a queue of its own, and a busy receiver delays no other message;
- nothing is held: a message waits until all its links are free, and then takes them all (blocking).
"""
import heapq
from dataclasses import dataclass, field

IN_FLIGHT = 4  # exchange_limits of src/mpi/transport
MESSAGE_BYTES = 8 << 20  # options of spansort/mpi.hpp


@dataclass
class Network:
    latency_s: float
    link_bytes_per_s: float
    group_nodes: int = 0  # nodes below one switch; 0: full bisection, no matter where nodes are
    taper: float = 1.0  # what goes into a group's nodes over what goes in and out of the group
    is_blocking: bool = False

    def group(self, node):
        return node // self.group_nodes

    def trunk_bytes_per_s(self):
        return self.group_nodes * self.link_bytes_per_s / self.taper


@dataclass
class Node:
    """Messages in the order in which they start, and which of them are under way."""
    messages: list
    next: int = 0
    open: int = 0


@dataclass
class State:
    network: Network
    free_at: dict = field(default_factory=dict)  # link -> when the last message that was given it has passed

    def pass_through(self, now, source, destination, size_bytes):
        """When a message that both ends are ready for is through."""
        network = self.network
        links = [("out", source, network.link_bytes_per_s), ("in", destination, network.link_bytes_per_s)]
        if network.group_nodes and network.group(source) != network.group(destination):
            trunk = network.trunk_bytes_per_s()
            links += [("up", network.group(source), trunk), ("down", network.group(destination), trunk)]
        starts = [max(now + network.latency_s, self.free_at.get(link[:2], 0.0)) for link in links]
        if network.is_blocking:
            starts = [max(starts)] * len(links)
        ends = [start + size_bytes / rate for start, (_, _, rate) in zip(starts, links)]
        self.free_at.update({link[:2]: end for link, end in zip(links, ends)})
        return max(ends)


def schedule(bytes_from_to, node, sends):
    """[(source, destination, index, bytes)] of one direction, in order of {index, distance}."""
    num_nodes = len(bytes_from_to)
    messages = []
    for distance in range(1, num_nodes):
        peer = (node + distance) % num_nodes if sends else (node - distance) % num_nodes
        source, destination = (node, peer) if sends else (peer, node)
        left, index = bytes_from_to[source][destination], 0
        while left > 0:
            messages.append((index, distance, source, destination, min(left, MESSAGE_BYTES)))
            left -= MESSAGE_BYTES
            index += 1
    messages.sort()
    return [(source, destination, index, size) for index, _, source, destination, size in messages]


def simulate(bytes_from_to, network):
    """Seconds, and the number of messages."""
    num_nodes = len(bytes_from_to)
    senders = [Node(schedule(bytes_from_to, node, True)) for node in range(num_nodes)]
    receivers = [Node(schedule(bytes_from_to, node, False)) for node in range(num_nodes)]
    state, waiting, events = State(network), set(), []

    def open_more(node, now):
        while node.open < IN_FLIGHT and node.next < len(node.messages):
            message = node.messages[node.next]
            node.next += 1
            node.open += 1
            if message[:3] not in waiting:
                waiting.add(message[:3])  # the first end to come to it
                continue
            waiting.remove(message[:3])
            source, destination, _, size = message
            heapq.heappush(events, (state.pass_through(now, source, destination, size), source, destination))

    for node in senders + receivers:
        open_more(node, 0.0)
    now = 0.0
    while events:
        now, source, destination = heapq.heappop(events)
        for node in (senders[source], receivers[destination]):
            node.open -= 1
            open_more(node, now)
    if waiting or any(node.next < len(node.messages) for node in senders + receivers):
        raise RuntimeError("the simulated exchange came to a stop: messages wait for each other")
    return now, sum(len(node.messages) for node in senders)
