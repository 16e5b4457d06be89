#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes what sorts of 64-bit pairs would cost on 16 to 4,096 nodes: docs/design/0008-cluster-model.md says how.

usage: scripts/cluster_model.py bench/results/<machine>/mpi.json --plans build/release/bin/spansort_bench_plan
         --json bench/results/<machine>/cluster-model.json
Plans, simulates and computes for some minutes; cluster_model_page.py makes tables and a picture of it. All times are
computed, none is measured but the local rates and the planner's.
"""
import argparse
import dataclasses
import json
import math
import pathlib
import subprocess
import sys
import tempfile

from message_simulation import MESSAGE_BYTES, Network, simulate
from mpi_results import LSD, RMG, Results, result_of

PAIR_BYTES, COUNT_BYTES = 16, 8
NODES = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
MOST_PLANNED = 1024  # the planner itself up to here; beyond it what it does on average
MOST_SIMULATED = 256  # every message of the exchange up to here; beyond it a formula
WEAK_LOG2, STRONG_LOG2 = 28, 36
# A node is assumed: what one core was measured to do, times cores, but no more than memory gives.
CORES, MEMORY_BYTES_PER_S = 64, 300e9
LATENCY_S = 3e-6
GROUP_NODES = 32
NETWORKS = {"100 Gbit/s": Network(LATENCY_S, 12.5e9), "400 Gbit/s": Network(LATENCY_S, 50e9),
            "400 Gbit/s, 2:1": Network(LATENCY_S, 50e9, GROUP_NODES, 2.0)}
EPSILON = 0.005
# widest_planned_bits() of src/algorithms/rmg_state.cpp; what a host device advises for pairs, and the most it can.
MOST_PLANNED_COUNTS, ADVISED_BITS, MOST_BITS = 1 << 22, 11, 12
SPARSE_BITS = 8
SIZES = ("as given", "balanced")


# ---- what was measured

def per_core_rates(results):
    """Bytes read plus written per second and core, by phase, and the pairs that a core sorted: from the fastest run of
    uniform pairs on two node ranks of a thread each, which are no more than the processors."""
    cases = [case for case in results.suite("figure6", "uniform") if case["num_ranks"] == 2]
    if not cases:
        sys.exit(f"{results.path}: no figure6 of uniform pairs on 2 node ranks, where the local rates come from")
    result = result_of(cases[0], RMG)
    if result["threads_of_a_rank"] != 1:
        sys.exit(f"{results.path}: node ranks of {result['threads_of_a_rank']} threads; rates of one are needed")
    rates = {}
    for phase in result["phases_of_fastest_run"]:
        if phase["bytes_moved"] and phase["name"] in ("histogram", "partition", "local sort"):
            rates[phase["name"]] = phase["bytes_moved"] / 2 / (phase["mean_busy_ms"] / 1e3)
    sort_ms = next(p["mean_busy_ms"] for p in result["phases_of_fastest_run"] if p["name"] == "local sort")
    part = cases[0]["num_pairs"] // 2
    return {**rates, "sorted_pairs": part / (sort_ms / 1e3), "sorted_part": part}


class Machine:
    """A node of the cluster."""

    def __init__(self, rates):
        self.rates = rates

    def stream_s(self, phase, num_bytes):
        return num_bytes / min(CORES * self.rates[phase], MEMORY_BYTES_PER_S)

    def sort_s(self, pairs):
        """As long per pair as measured, times the digits that larger parts have more."""
        if pairs <= 1:
            return 0.0
        per_core = self.rates["sorted_pairs"] * math.log2(self.rates["sorted_part"]) / max(8.0, math.log2(pairs))
        # Memory: the measured bytes per pair at the measured rate, cores together no faster than it.
        bytes_of_pair = self.rates["local sort"] / self.rates["sorted_pairs"]
        return pairs / min(CORES * per_core, MEMORY_BYTES_PER_S / bytes_of_pair)


# ---- what distributed_rmg plans

def radix_bits_of(num_nodes):
    """Every node may hold a slice of every bucket, and as many buckets as nodes may be refined in a pass."""
    buckets = MOST_PLANNED_COUNTS // num_nodes // num_nodes
    return min(ADVISED_BITS, max(4, buckets.bit_length() - 1))


def expected_passes(num_nodes, part_pairs, is_balanced):
    """What the planner does on average, where it was not run. Compared with it where it was."""
    bits, total = radix_bits_of(num_nodes), num_nodes * part_pairs
    passes, examined, num_buckets = [], 0, 1
    while examined < 64:
        bucket_pairs = total / 2**examined
        # As many buckets as hold a border of two parts.
        borders = 1 if examined == 0 else num_buckets_with_border(num_nodes, 2**examined)
        if examined and is_balanced:
            borders *= max(0.0, 1 - 2 * EPSILON * part_pairs / bucket_pairs)  # the others are within the slack
        if borders == 0 or (examined and bucket_pairs < 1):
            break
        digit = min(bits, 64 - examined)
        keys = min(total, borders * bucket_pairs)
        num_buckets += borders * (2**digit * -math.expm1(-bucket_pairs / 2**digit) - 1)
        passes.append({"num_refinements": round(borders), "digit_bits": digit,
                       "summed_counts": round(borders) * 2**digit,
                       "num_buckets": round(num_buckets), "keys_partitioned": round(keys),
                       "most_keys_partitioned_of_a_node": round(keys / num_nodes)})
        examined += digit
    return passes


def num_buckets_with_border(num_nodes, num_buckets):
    return min(num_buckets, num_nodes - 1)


def run_plans(program, cases, folder):
    """{(nodes, log2 of a part, sizes): plan}, with matrices where messages are simulated."""
    found = {}
    for num_nodes, log2_part, sizes in cases:
        path = pathlib.Path(folder) / "plan.json"
        matrix = ["--matrix"] if num_nodes <= MOST_SIMULATED else []
        subprocess.run([program, "--nodes", str(num_nodes), "--log2-parts", str(log2_part), "--sizes", sizes,
                        *matrix, "--json", str(path)], check=True)
        document = json.loads(path.read_text())
        found[num_nodes, log2_part, sizes] = document["cases"][0]
    return found


# ---- time on the network

def rounds(num_nodes):
    return math.ceil(math.log2(num_nodes))


def tell_s(network, num_nodes, told_bytes):
    """As much from each node to each other one, in messages of their own."""
    return (num_nodes - 1) * max(network.latency_s, told_bytes / network.link_bytes_per_s)


def sum_s(network, num_nodes, summed_bytes):
    """Element by element over all nodes, halving and doubling."""
    return 2 * rounds(num_nodes) * network.latency_s + 2 * summed_bytes / network.link_bytes_per_s


def scan_s(network, num_nodes, scanned_bytes):
    """Exclusive scan, and likewise a broadcast, of the whole histogram in each round."""
    return rounds(num_nodes) * (network.latency_s + scanned_bytes / network.link_bytes_per_s)


def exchange_s(network, num_nodes, part_pairs):
    """By formula: the links' bytes, what crosses tapered trunks, and a latency a message of which IN_FLIGHT overlap."""
    sent = part_pairs * PAIR_BYTES * (num_nodes - 1) / num_nodes
    bandwidth = sent / network.link_bytes_per_s
    if network.group_nodes and num_nodes > network.group_nodes:
        leaving = part_pairs * PAIR_BYTES * (num_nodes - network.group_nodes) / num_nodes
        bandwidth = max(bandwidth, leaving * network.group_nodes / network.trunk_bytes_per_s())
    messages = (num_nodes - 1) * math.ceil(part_pairs * PAIR_BYTES / num_nodes / MESSAGE_BYTES)
    return max(bandwidth, messages * network.latency_s) + network.latency_s


def two_stage_exchange_s(network, num_nodes, part_pairs):
    """Within groups of the square root of the nodes, then between them: all bytes twice, few messages."""
    side = math.isqrt(num_nodes - 1) + 1
    return 2 * exchange_s(network, side, part_pairs)


# ---- the algorithms

def rmg_s(machine, network, num_nodes, plan, part_pairs, exchange):
    local, index = machine.sort_s(part_pairs), 0.0
    for number, one in enumerate(plan["passes"]):
        keys = one["most_keys_partitioned_of_a_node"]
        local += machine.stream_s("histogram", keys * 8)
        # A later pass partitions out of the first one's buffer and copies back.
        local += machine.stream_s("partition", keys * PAIR_BYTES * 2 * (2 if number else 1))
        summed = one["summed_counts"] * COUNT_BYTES
        index += sum_s(network, num_nodes, summed) + scan_s(network, num_nodes, summed)
    index += tell_s(network, num_nodes, plan["most_buckets_of_a_node"] * COUNT_BYTES)
    return {"local": local, "planner": plan["planner_ms"] / 1e3, "index": index, "exchange": exchange}


def lsd_s(machine, network, num_nodes, part_pairs, exchange, radix_bits=16):
    """Algorithm 1: in each pass two steps of a local sort by the digit before the exchange, two after it."""
    num_passes = math.ceil(64 / radix_bits)
    steps = 2 * math.ceil(radix_bits / MOST_BITS)
    table = 2**radix_bits * COUNT_BYTES
    local = num_passes * steps * (machine.stream_s("histogram", part_pairs * 8) +
                                  machine.stream_s("partition", part_pairs * PAIR_BYTES * 2))
    index = 2 * scan_s(network, num_nodes, table) + scan_s(network, num_nodes, num_nodes * COUNT_BYTES / 2)
    index *= num_passes
    return {"local": local, "planner": 0.0, "index": index, "exchange": num_passes * exchange}


def fixed_rmg_s(machine, network, num_nodes, part_pairs, exchange):
    """The remedy: only borders of parts are looked for. Keys are partitioned once, by the borders found, and
    what each node sends each other one is told in one small exchange."""
    passes = math.ceil(math.log2(max(2, num_nodes * part_pairs)) / SPARSE_BITS)
    counts = (num_nodes - 1) * 2**SPARSE_BITS * COUNT_BYTES
    index = passes * sum_s(network, num_nodes, counts) + scan_s(network, num_nodes, num_nodes * COUNT_BYTES / 2)
    # Keys in order of the first digits are counted by reading those near borders alone after the first pass.
    local = machine.sort_s(part_pairs) + 2 * machine.stream_s("histogram", part_pairs * 8)
    local += machine.stream_s("partition", part_pairs * PAIR_BYTES * 2)
    best = min(exchange, two_stage_exchange_s(network, num_nodes, part_pairs))
    return {"local": local, "planner": 0.0, "index": index, "exchange": best}


def simulated_exchange(plan, network):
    matrix = [[keys * PAIR_BYTES for keys in row] for row in plan["keys_from_to"]]
    seconds, num_messages = simulate(matrix, network)
    blocked, _ = simulate(matrix, dataclasses.replace(network, is_blocking=True))
    return {"seconds": seconds, "blocking_seconds": blocked, "num_messages": num_messages}


def cells_of(passes):
    """What a node's planner works on: every bucket of every pass."""
    return sum(one["num_buckets"] for one in passes)


def expected_buckets_of_a_node(num_nodes, passes):
    """In each pass those that come of the buckets at both ends of its part."""
    at_borders = sum(2 * 2**one["digit_bits"] * min(1.0, one["num_refinements"] / num_nodes) for one in passes)
    return round(min(passes[-1]["num_buckets"], at_borders))


def plan_of(num_nodes, part_pairs, sizes, planned, ms_of_a_cell):
    """Facts of a plan: from the planner where it was run, on average where not."""
    passes = expected_passes(num_nodes, part_pairs, sizes == "balanced")
    found = {"is_planned": planned is not None, "expected_summed_bytes": summed_bytes(passes),
             "most_buckets_of_a_node": expected_buckets_of_a_node(num_nodes, passes)}
    if planned:
        if planned["radix_bits"] != radix_bits_of(num_nodes):
            sys.exit(f"{num_nodes} nodes: the sort takes {planned['radix_bits']} bits, radix_bits_of() says otherwise")
        passes = planned["passes"]
        found["num_transfers"] = planned["num_transfers"]
        found["most_buckets_of_a_node"] = planned["most_buckets_of_a_node"]
    found["passes"] = passes
    found["summed_bytes"] = summed_bytes(passes)
    found["partitioned_times"] = sum(one["keys_partitioned"] for one in passes) / (num_nodes * part_pairs)
    found["planner_cells"] = cells_of(passes)
    found["planner_ms"] = planned["planner_ms"] if planned else ms_of_a_cell * found["planner_cells"]
    return found


def summed_bytes(passes):
    return sum(one["summed_counts"] for one in passes) * COUNT_BYTES


def compute_case(machine, what, plans, ms_of_a_cell):
    scaling, num_nodes, part_pairs = what
    planned = {sizes: plans.get((num_nodes, part_pairs.bit_length() - 1, sizes)) for sizes in SIZES}
    made = {sizes: plan_of(num_nodes, part_pairs, sizes, planned[sizes], ms_of_a_cell[sizes]) for sizes in SIZES}
    case = {"scaling": scaling, "num_nodes": num_nodes, "part_pairs": part_pairs, "plans": made, "networks": {},
            "radix_bits": radix_bits_of(num_nodes), "pair_message_bytes": part_pairs * PAIR_BYTES / num_nodes}
    for name, network in NETWORKS.items():
        exchange = exchange_s(network, num_nodes, part_pairs)
        one = {"exchange_by_formula_s": exchange}
        if planned["as given"] and num_nodes <= MOST_SIMULATED:
            one["exchange_simulated"] = simulated_exchange(planned["as given"], network)
            exchange = one["exchange_simulated"]["seconds"]
        for sizes in SIZES:
            one[sizes] = rmg_s(machine, network, num_nodes, case["plans"][sizes], part_pairs, exchange)
        one[LSD] = lsd_s(machine, network, num_nodes, part_pairs, exchange)
        one["summed"] = fixed_rmg_s(machine, network, num_nodes, part_pairs, exchange)
        case["networks"][name] = one
    return case


def planner_ms_of_a_cell(plans, sizes):
    """Of the largest plan that was made."""
    largest = max((plan for key, plan in plans.items() if key[2] == sizes),
                  key=lambda plan: cells_of(plan["passes"]))
    return largest["planner_ms"] / cells_of(largest["passes"])


def compute(results, program, nodes):
    rates = per_core_rates(results)
    wanted = [("weak", n, 1 << WEAK_LOG2) for n in nodes] + [("strong", n, (1 << STRONG_LOG2) // n) for n in nodes]
    planned = {(n, part.bit_length() - 1, sizes) for _, n, part in wanted if n <= MOST_PLANNED for sizes in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        plans = run_plans(program, sorted(planned), folder)
    ms_of_a_cell = {sizes: planner_ms_of_a_cell(plans, sizes) for sizes in SIZES}
    cases = []
    for what in wanted:
        cases.append(compute_case(Machine(rates), what, plans, ms_of_a_cell))
        print(*what, file=sys.stderr, flush=True)
    meta = {"model": "cluster", "computed": True, "rates_from": pathlib.Path(results.path).name,
            "commit": results.meta["commit"], "device": results.meta["device"], "rates_of_a_core": rates,
            "cores": CORES,
            "memory_bytes_per_s": MEMORY_BYTES_PER_S, "latency_s": LATENCY_S, "group_nodes": GROUP_NODES,
            "most_planned": MOST_PLANNED, "most_simulated": MOST_SIMULATED,
            "planner_ns_of_a_cell": {sizes: ms * 1e6 for sizes, ms in ms_of_a_cell.items()}}
    return {"meta": meta, "cases": cases}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--plans", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--nodes", type=lambda text: [int(part) for part in text.split(",")], default=NODES)
    arguments = parser.parse_args()
    document = compute(Results(arguments.file), arguments.plans, arguments.nodes)
    pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
