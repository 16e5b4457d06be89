// SPDX-License-Identifier: Apache-2.0
// This header says what a sort did: phases, bytes, passes, balance, what was picked and why; and the same as JSON and
// as a Chrome trace.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "spansort/cxx20.hpp"

namespace spansort {

/// One phase of a sort, over all devices. Phases of different devices may overlap, so elapsed times need not add up to
/// the total.
struct phase_report {
  std::string name;                  ///< "histogram", "partition", "exchange", "local sort", ...
  double elapsed_ms = 0;             ///< from the first start to the last end of the phase's work, over all devices
  double busy_ms = 0;                ///< sum of the time that devices worked in it
  std::uint64_t bytes_moved = 0;     ///< bytes read plus bytes written, computed from counts (not measured)
  std::uint64_t num_activities = 0;  ///< pieces of work queued
};

/// The rank of what a sort of files does beside its devices: it reads, sorts piece by piece, and writes.
inline constexpr int activity_of_files = -1;

/// One piece of work on one device, for the trace. Times count from the begin of the outermost operation.
struct activity {
  int rank = 0;
  /// The rank's queue: 0 its work, 1 copies in and out, 2 the host's work with other processes, 3 copies out beside
  /// those of 1, 4 exchanges with other ranks beside the work. Of `activity_of_files` 0 reads, 1 works, 2 writes.
  int queue = 0;
  std::string_view name;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes_moved = 0;
  std::uint64_t num_keys = 0;
};

/// A device of the sort's list.
struct rank_report {
  std::string device;  ///< "host:0"
  unsigned num_threads = 0;
  std::uint64_t num_keys_in = 0;   ///< chunk scattered to it
  std::uint64_t num_keys_out = 0;  ///< keys it owned after the exchange
};

/// Filled when sort_options::report points to one. Everything that was decided by itself is named here. Reports are
/// nested: the outermost operation that has one begins it anew, and a sort that runs inside with the same report adds
/// its phases, timeline and decisions to it. sort_file() in memory thus has the phases "read", those of the sort,
/// "write".
struct sort_report {
  std::string operation;  ///< "sort", "sort_pairs", "argsort", "merge" (of files)
  std::string key_type;
  std::string algorithm;    ///< driver that ran: "rmg", "single", "out_of_core", "p2p_merge" ...
  std::string picked;       ///< why: one sentence, also when the caller chose
  std::string input_shape;  ///< "sorted", "reversed", "constant", "general", "unknown" (the driver does not look)
  bool descending = false;
  std::uint64_t num_keys = 0;
  std::uint64_t value_bytes = 0;      ///< bytes of one value that travelled with a key, 0 for keys alone
  std::uint64_t workspace_bytes = 0;  ///< memory beside the caller's arrays, all devices
  std::uint64_t exchanged_bytes = 0;  ///< bytes that changed devices
  std::uint64_t staged_bytes = 0;     ///< of them, those through host memory: the devices do not reach each other
  std::string staged_because = {};    ///< the first pair of devices that does not reach, and why; "" where all do
  std::uint64_t spilled_bytes = 0;    ///< written to temporary files: the input was larger than memory
  /// Partitioning passes of the plan; out_of_core: trips to the devices; p2p_merge: swaps one after the other;
  /// distributed_sample_sort: rounds of samples.
  unsigned num_passes = 0;
  std::uint64_t num_spanning_buckets = 0;  ///< refined or cut, all passes, without the root
  double imbalance = 1;                    ///< largest rank over average, after the exchange
  std::int64_t begin_ns = 0;               ///< of the outermost operation, by the steady clock
  double elapsed_ms = 0;                   ///< of the outermost operation, from the call to its end, files included
  unsigned num_open = 0;                   ///< operations that are filling the report; 0: it is complete
  std::vector<rank_report> ranks;
  std::vector<phase_report> phases;
  std::vector<activity> timeline;  ///< in order of begin_ns
  bool wants_plan = false;         ///< set before the call to have plan_json, which takes longer than some phases
  std::string plan_json;           ///< the plan of a multi-device sort as JSON, "" otherwise
};

/// The report as one JSON object (without timeline and plan).
[[nodiscard]] std::string to_json(const sort_report& report);

/// Chrome trace event format, for Perfetto and chrome://tracing: rows for reading, sorting and writing of files, one
/// row a queue of each device, two or three for devices with own memory.
void write_chrome_trace(const sort_report& report, std::ostream& out);

}  // namespace spansort
