// SPDX-License-Identifier: Apache-2.0
// Sorts on a GPU of arrays that leave it in many pieces, with each allocation of the library failing, and with those of
// the threads that feed the GPU failing alone: a call either throws and leaves the arrays as they were, or has sorted
// them.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "memory/fail_every_allocation.hpp"
#include "spansort/devices.hpp"
#include "spansort/report.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

struct way {
  const char* name;
  const char* devices;
  const char* algorithm;
  operation op;
  key_type type = key_type::u32;
  test_tuning tuning = {};
};

constexpr test_tuning in_pieces{.copy_piece_bytes = 65536};
constexpr test_tuning in_packed_pieces{
    .fuse_threshold = 0, .copy_piece_bytes = 65536, .packing = base::key_packing::always};
constexpr test_tuning in_rounds{.radix_bits = 6, .fuse_threshold = 0, .copy_piece_bytes = 65536, .round_keys = 10'000};
constexpr test_tuning in_staged_rounds{.radix_bits = 6,
                                       .fuse_threshold = 0,
                                       .copy_piece_bytes = 65536,
                                       .round_keys = 20'000,
                                       .exchange_through_host = true};
constexpr test_tuning in_parts{.device_chunk_keys = 30'000};
constexpr test_tuning by_buckets{.buckets = base::gpu_buckets::where_even};

const way ways[] = {
    {"single_keys", "gpu:0", "single", {operation::kind::keys, 0}},
    {"single_by_buckets", "gpu:0", "single", {operation::kind::keys, 0}, key_type::u64, by_buckets},
    {"single_argsort", "gpu:0", "single", {operation::kind::argsort, 4}, key_type::f64},
    {"lsd_reduce_then_scan_keys", "gpu:0", "lsd_reduce_then_scan", {operation::kind::keys, 0}},
    {"rmg_keys", "gpu:0", "rmg", {operation::kind::keys, 0}, key_type::u64, in_pieces},
    {"rmg_pairs", "gpu:0", "rmg", {operation::kind::pairs, 3}, key_type::u16, in_pieces},
    {"rmg_wide_pairs", "gpu:0", "rmg", {operation::kind::pairs, 24}, key_type::f32, in_pieces},
    {"rmg_packed_keys", "gpu:0", "rmg", {operation::kind::keys, 0}, key_type::u64, in_packed_pieces},
    {"rmg_packed_pairs", "gpu:0,0", "rmg", {operation::kind::pairs, 8}, key_type::u32, in_packed_pieces},
    {"rmg_of_three_keys", "gpu:0,0,0", "rmg", {operation::kind::keys, 0}, key_type::u32, in_pieces},
    {"rmg_in_rounds_keys", "gpu:0,0,0", "rmg", {operation::kind::keys, 0}, key_type::u32, in_rounds},
    {"rmg_in_rounds_pairs", "gpu:0,0,0", "rmg", {operation::kind::pairs, 16}, key_type::u64, in_rounds},
    {"rmg_in_staged_rounds_keys", "gpu:0,0", "rmg", {operation::kind::keys, 0}, key_type::u32, in_staged_rounds},
    {"p2p_merge_pairs", "gpu:0,0", "p2p_merge", {operation::kind::pairs, 8}},
    {"out_of_core_pairs", "gpu:0,0", "out_of_core", {operation::kind::pairs, 8}, key_type::u32, in_parts},
    {"het_merge_keys", "gpu:0,0", "het_merge", {operation::kind::keys, 0}, key_type::u64, in_parts},
};

class FailingMemoryOnGpu : public testing::TestWithParam<way> {};

TEST_P(FailingMemoryOnGpu, ArraysAreSortedOrAsTheyWere) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const way& how = GetParam();
  constexpr std::uint64_t num_keys = 150'000;
  sort_job arrays(how.op, make_oracle(how.type, num_keys, {distribution_kind::uniform}, seed_for(11), false));
  for (const bool is_watched : {false, true}) {
    sort_report report;
    hooked_options options;
    options.devices = how.devices;
    options.algorithm = parse_algorithm(how.algorithm);
    options.world = how.tuning;
    if (is_watched) {
      options.report = &report;
      options.on_progress = [](const progress&) { return true; };
    }
    sorter kept = make_sorter(options);
    for (const failing_allocations which : {failing_allocations::of_new, failing_allocations::of_new_elsewhere}) {
      SCOPED_TRACE(std::string(is_watched ? "watched" : "unwatched") +
                   (which == failing_allocations::of_new ? "" : ", on other threads"));
      fail_every_allocation([&] { arrays.reset(); }, [&] { arrays.run(kept); },
                            [&](bool has_thrown) {
                              const std::string not_done = arrays.diagnose_done();
                              if (!has_thrown || not_done.empty()) return not_done;
                              return how.op.what == operation::kind::argsort ? "" : arrays.diagnose_untouched();
                            },
                            which);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FailingMemoryOnGpu, testing::ValuesIn(ways),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace spansort::test
