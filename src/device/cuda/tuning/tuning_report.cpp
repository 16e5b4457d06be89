// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/tuning/tuning_report.hpp"

#include <nlohmann/json.hpp>

#include "device/cuda/tuning/copy_policies.hpp"
#include "device/cuda/tuning/counting_sort_policy.hpp"
#include "device/cuda/tuning/few_intervals_policy.hpp"
#include "device/cuda/tuning/merge_policy.hpp"
#include "device/cuda/tuning/partition_policy.hpp"
#include "device/cuda/tuning/published_sorts_policy.hpp"
#include "device/cuda/tuning/small_sorts_limits.hpp"
#include "device/cuda/tuning/striding_policies.hpp"

namespace spansort::device::cuda {
namespace {

std::string counted(std::uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what);
}

std::string text(const partition_policy& p) {
  return counted(p.threads, "threads, ") + counted(p.items, "items, ") + counted(p.least_blocks, "blocks, ") +
         counted(p.look_back, "states");
}
std::string text(const striding_policy& p) {
  const std::string shape = counted(p.threads, "threads, ") + counted(p.items, "items");
  return p.blocks_each == 0 ? shape : shape + ", " + counted(p.blocks_each, "blocks a multiprocessor");
}
std::string text(const unordered_partition_policy& p) {
  return counted(p.threads, "threads, ") + counted(p.items, "items, ") + counted(p.least_blocks, "blocks, ") +
         "crowded from a part of 1/" + std::to_string(p.crowded_part);
}
std::string text(const histogram_columns_policy& p) {
  return counted(p.columns, "columns, from ") + counted(p.least_keys, "keys on, of up to ") +
         counted(p.most_counters, "counters");
}
std::string text(const few_intervals_policy& p) {
  return counted(p.threads, "threads, ") + counted(p.vectors, "vectors, ") + counted(p.held_bytes, "bytes held, ") +
         counted(p.blocks_each, "blocks a multiprocessor, ") + counted(p.least_blocks, "at least");
}
std::string text(const merge_policy& p) { return counted(p.threads, "threads, ") + counted(p.items, "items"); }
std::string text(const reduce_then_scan_policy& p) {
  return counted(p.threads, "threads, ") + counted(p.items, "items, ") +
         counted(p.blocks_each, "blocks a multiprocessor, ") + counted(p.least_blocks, "at least");
}
std::string text(const copy_pieces_policy& p) {
  return counted(p.threads, "threads, ") + counted(p.unrolled, "words, ") + counted(p.tile_bytes, "bytes a tile, ") +
         counted(p.blocks_each, "blocks a multiprocessor, ") + counted(p.blocks_beside, "blocks beside other work, ") +
         counted(p.least_engine_bytes, "bytes by copy engines there");
}
std::string text(const pinned_ring_policy& p) {
  return counted(p.num_buffers, "buffers of ") + counted(p.least_buffer_bytes, "to ") +
         counted(p.most_buffer_bytes, "bytes, from ") + counted(p.least_copy_bytes, "bytes on");
}
std::string text(const pack_keys_policy& p) {
  return counted(p.threads, "threads, ") + counted(p.blocks, "blocks in all");
}
std::string text(const packed_ring_policy& p) {
  return counted(p.num_buffers, "buffers of ") + counted(p.buffer_bytes, "bytes of keys");
}

template <class Policy>
tuning_line line(std::string primitive, const tuned<Policy>& policy) {
  return {std::move(primitive), text(policy.sizes), policy.provenance};
}

}  // namespace

std::vector<tuning_line> describe(compute_capability code) {
  const kernel_family family = family_of(code);
  std::vector<tuning_line> lines;
  for (const unsigned key_bytes : {4U, 8U}) {
    lines.push_back(line("histogram, keys of " + counted(key_bytes, "bytes"), histogram_policy_of(family, key_bytes)));
  }
  lines.push_back(line("columns of a histogram", histogram_columns));
  lines.push_back(line("fingerprint", fingerprint_policy_of(family)));
  for (const unsigned value_bytes : partition_value_bytes) {
    const std::string values = value_bytes == 0 ? "" : ", values of " + counted(value_bytes, "bytes");
    for (const unsigned key_bytes : partition_key_bytes) {
      const tuned<partition_policy> policy = partition_policy_of(family, key_bytes, value_bytes);
      lines.push_back(line("partition, keys of " + counted(key_bytes, "bytes") + values, policy));
    }
  }
  for (const unsigned key_bytes : {1U, 2U, 4U, 8U}) {
    lines.push_back(line("partition in any order, keys of " + counted(key_bytes, "bytes"),
                         unordered_partition_policy_of(family, key_bytes)));
  }
  lines.push_back(line("partition in any order by 10 bits, keys of 8 bytes", wide_unordered_policy_of(family)));
  for (const unsigned key_bytes : {4U, 8U}) {
    const std::string what = "merge, keys of " + counted(key_bytes, "bytes");
    lines.push_back(line(what, merge_policy_of(family, key_bytes, 0)));
    lines.push_back(line(what + ", with values", merge_policy_of(family, key_bytes, 8)));
  }
  lines.push_back(line("rearrange", rearrange_policy_of(family)));
  for (const unsigned key_bytes : {4U, 8U}) {
    lines.push_back(line("intervals, keys of " + counted(key_bytes, "bytes"), interval_policy_of(family, key_bytes)));
  }
  lines.push_back(line("few intervals", few_intervals_policy_of(family)));
  lines.push_back(line("sample", sample_policy_of(family)));
  lines.push_back(line("block sums", block_sums_policy_of(family)));
  if (has_small_sorts(family)) {
    for (const block_sort_shape& shape : block_sort_shapes) {
      const std::string sizes = counted(shape.threads, "threads, ") + counted(shape.items, "items");
      lines.push_back({"block sort, up to " + counted(shape.most_keys(), "records"), sizes, small_sorts_provenance});
    }
    for (const unsigned key_bytes : {4U, 8U}) {
      const grid_sort_shape shape = grid_sort_shape_of(num_grid_sort_shapes - 1, key_bytes, 0);
      lines.push_back({"grid sort, keys of " + counted(key_bytes, "bytes"),
                       counted(grid_sort_threads, "threads, ") + counted(shape.items, "items, ") +
                           counted(shape.finish_items, "in the finish"),
                       small_sorts_provenance});
    }
  }
  for (const unsigned key_bytes : {1U, 2U}) {
    lines.push_back({"counting sort, keys of " + counted(key_bytes, key_bytes == 1 ? "byte" : "bytes"),
                     counted(counting_threads, "threads, ") + counted(num_value_ranges(family, key_bytes), "ranges"),
                     counting_provenance});
  }
  for (const unsigned value_bytes : {0U, 4U, 8U}) {
    lines.push_back(line("reduce-then-scan sort, keys of 4 bytes, values of " + counted(value_bytes, "bytes"),
                         reduce_then_scan_policy_of(family, 4, value_bytes)));
  }
  lines.push_back(line("copies of pieces", copy_pieces_policy_of(family)));
  lines.push_back(line("pinned ring", pinned_ring_tuning));
  lines.push_back(line("packed keys", pack_keys_policy_of(family)));
  lines.push_back(line("packed ring", packed_ring_tuning));
  return lines;
}

std::string to_json(compute_capability code) {
  nlohmann::ordered_json lines = nlohmann::ordered_json::array();
  for (const tuning_line& l : describe(code)) {
    lines.push_back({{"primitive", l.primitive}, {"sizes", l.sizes}, {"provenance", l.provenance}});
  }
  const capability_entry& entry = entry_of(code);
  return nlohmann::ordered_json{{"compiled_for", std::to_string(code.major) + "." + std::to_string(code.minor)},
                                {"family", name(entry.family)},
                                {"provenance", entry.provenance},
                                {"sizes", std::move(lines)}}
      .dump();
}

}  // namespace spansort::device::cuda
