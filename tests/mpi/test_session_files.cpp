// SPDX-License-Identifier: Apache-2.0
// Files over the node ranks of a session: what verification finds in each command's result, what is refused, and
// outliers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "cluster_case.hpp"
#include "cluster_files.hpp"
#include "mpi/sorted_parts.hpp"
#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "spansort/mpi.hpp"
#include "spansort/report.hpp"

namespace spansort {
namespace {

using test::shared_file;
using test::world_rank;
using test::world_size;
using file_call = file_result (mpi::session::*)(const std::string&, const std::string&, const file_options&);

constexpr std::array<file_call, 2> file_calls{&mpi::session::sort_file, &mpi::session::argsort_file};

TEST(session_files, VerificationFindsACorruptResult) {
  for (const file_call call : file_calls) {
    for (const std::uint64_t num_keys : {1, 2, 1000, 1001}) {
      // The last one is more than the node ranks may hold.
      const base::test_hooks_scope hooks(
          {.file_chunk_elements = num_keys == 1001 ? 20U : 0U, .file_block_elements = 4, .corrupt_result = true});
      const shared_file file(num_keys);
      mpi::session all(MPI_COMM_WORLD);
      // Of one key, node rank 0 has it: the others hear of it.
      EXPECT_ANY_THROW((all.*call)(file.path, file.path + ".out.npy", {.verify = true})) << num_keys;
      EXPECT_TRUE(all.all_know_of_failure());
      EXPECT_FALSE(std::filesystem::exists(file.path + ".out.npy"));
    }
  }
}

TEST(session_files, WhatDoesNotFitIsSortedInParts) {
  const base::test_hooks_scope hooks({.file_chunk_elements = 20, .file_block_elements = 4});
  const shared_file file(2000);
  const std::string expected = file.path + ".expected.npy";
  mpi::session all(MPI_COMM_WORLD);
  if (world_rank() == 0) sort_file(file.path, expected, {.direction = direction::descending});
  const file_result result = all.sort_file(file.path, file.path, {.direction = direction::descending, .verify = true});
  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.num_keys_out, 2000U);
  EXPECT_EQ(result.spilled_bytes % 4096, 0U);
  EXPECT_GE(result.num_runs, 2000U / 20);
  if (world_rank() == 0) {
    EXPECT_EQ(test::contents_of(file.path), test::contents_of(expected));
    std::filesystem::remove(expected);
  }
}

TEST(session_files, WhatUniqueSpillsOnceMoreIsCounted) {
  const base::test_hooks_scope hooks({.file_chunk_elements = 20, .file_block_elements = 4});
  const shared_file file(2000);
  sort_report report;
  mpi::session all(MPI_COMM_WORLD, {.report = &report});
  const file_result result = all.sort_file(file.path, file.path, {.unique = true});
  EXPECT_EQ(result.num_keys_out, 2000U);
  EXPECT_GE(result.spilled_bytes, 2 * 2000 / 4 * 4096U);
  EXPECT_EQ(report.num_passes, 3U);
  EXPECT_EQ(report.phases.back().name, "copy");
}

TEST(session_files, VerifiedResultsSaySo) {
  for (const file_call call : file_calls) {
    const shared_file file(1000);
    mpi::session all(MPI_COMM_WORLD);
    const file_result result = (all.*call)(file.path, file.path, {.unique = true, .verify = true});
    EXPECT_TRUE(result.verified);
    EXPECT_EQ(result.num_keys_in, 1000U);
    EXPECT_EQ(result.num_keys_out, 1000U);
  }
}

TEST(session_files, HeadEndsTheResult) {
  for (const file_call call : file_calls) {
    for (const std::uint64_t head : {0U, 7U, 1000U, 5000U}) {
      const shared_file file(1000);
      mpi::session all(MPI_COMM_WORLD);
      const file_result result = (all.*call)(file.path, file.path, {.head = head});
      EXPECT_EQ(result.num_keys_in, 1000U);
      EXPECT_EQ(result.num_keys_out, std::min<std::uint64_t>(head, 1000));
    }
  }
}

TEST(session_files, PlansOfSortsInMemorySayWhatTheyDo) {
  const shared_file file(1000);
  const std::string output = file.path + ".out.npy";
  mpi::session all(MPI_COMM_WORLD);
  const mpi::cluster_file_plan sort = all.plan_sort_file(file.path, output, {.head = 7});
  const mpi::cluster_file_plan argsort = all.plan_argsort_file(file.path, output);
  EXPECT_FALSE(std::filesystem::exists(output));
  EXPECT_EQ(sort.here.element_bytes, 8U);
  EXPECT_EQ(argsort.here.element_bytes, 16U) << "a key with its index";
  EXPECT_GT(argsort.most_memory_bytes, sort.most_memory_bytes);
  for (const mpi::cluster_file_plan& plan : {sort, argsort}) {
    EXPECT_EQ(plan.num_node_ranks, world_size());
    EXPECT_EQ(plan.num_elements, 1000U);
    EXPECT_EQ(plan.num_runs, 0U);
    EXPECT_EQ(plan.spilled_bytes, 0U);
    EXPECT_EQ(plan.read_bytes, 8000U);
    EXPECT_GE(plan.most_memory_bytes, plan.here.memory_bytes);
  }
  EXPECT_GE(sort.here.output_bytes, 56U);
  EXPECT_LT(sort.here.output_bytes, 8000U);
  EXPECT_GE(argsort.here.output_bytes, 8000U);
}

TEST(session_files, PlansOfSortsInPartsAreWhatTheSortsThenDo) {
  using plan_call =
      mpi::cluster_file_plan (mpi::session::*)(const std::string&, const std::string&, const file_options&);
  constexpr std::array<plan_call, 2> plan_calls{&mpi::session::plan_sort_file, &mpi::session::plan_argsort_file};
  const base::test_hooks_scope hooks({.file_chunk_elements = 20, .file_block_elements = 4});
  const std::array<file_options, 4> requests{
      file_options{.verify = true}, {.unique = true, .sync = false}, {.head = 30, .sync = false}, {.head = 400}};
  for (const mpi::options& options : {mpi::options{}, mpi::options{.devices = "host:2", .threads = 1}}) {
    mpi::session all(MPI_COMM_WORLD, options);
    for (std::size_t call = 0; call < plan_calls.size(); ++call) {
      for (const file_options& request : requests) {
        const shared_file file(400);
        const mpi::cluster_file_plan plan = (all.*plan_calls[call])(file.path, file.path, request);
        const file_result result = (all.*file_calls[call])(file.path, file.path, request);
        EXPECT_EQ(plan.num_elements, 400U);
        EXPECT_EQ(result.num_keys_out, std::min<std::uint64_t>(request.head.value_or(400), 400));
        EXPECT_EQ(plan.here.element_bytes, call == 0 ? 8U : 16U);
        EXPECT_EQ(plan.num_runs, result.num_runs);
        EXPECT_EQ(plan.spilled_bytes, result.spilled_bytes) << call << ' ' << request.head.value_or(0);
      }
    }
  }
}

TEST(session_files, WhatOneMachineAloneDoesIsRefused) {
  const shared_file file(10);
  mpi::session all(MPI_COMM_WORLD);
  const std::array<file_options, 4> refused{file_options{.array = {.axis = 0}},
                                            {.array = {.flattens = true}},
                                            {.index_type = key_type::u32},
                                            {.on_sorted = [](const_key_span) {}}};
  for (const file_call call : file_calls) {
    for (const file_options& options : refused) {
      EXPECT_THROW((all.*call)(file.path, file.path, options), invalid_argument);
      EXPECT_TRUE(all.all_know_of_failure());
    }
  }
}

/// Sorted keys and the indices they had, of which every node rank has a part.
struct parts {
  std::vector<std::int32_t> keys;
  std::vector<std::uint64_t> indices;
};

/// Keys 0 0 0 1 1 1 2 ... over all, five on each node rank but none on the second; the input was the same, so that the
/// indices are 0 1 2 ...
parts make_parts() {
  const unsigned rank = world_rank();
  const unsigned before = rank <= 1 ? rank : rank - 1;
  parts made;
  for (std::uint64_t i = 5 * before; rank != 1 && i < 5 * before + 5; ++i) {
    made.keys.push_back(static_cast<std::int32_t>(i / 3));
    made.indices.push_back(i);
  }
  return made;
}

/// Returns whether any node rank found something.
bool any(transport::node_group& group, const std::string& fault) {
  const std::uint64_t has_fault = fault.empty() ? 0 : 1;
  return group.all_reduce_sum({&has_fault, 1}).front() != 0;
}

TEST(sorted_parts, FaultsAreFoundWhereverTheyAre) {
  const auto group = transport::make_node_group(MPI_COMM_WORLD);
  const parts right = make_parts();
  const const_key_span keys{key_type::i32, right.keys.data(), right.keys.size()};
  const multiset_checksum sum = checksum(keys);
  EXPECT_EQ(mpi::find_fault(*group, keys, false, sum), "");
  EXPECT_EQ(mpi::find_fault_of_order(*group, {}, keys, right.indices, false), "");
  EXPECT_TRUE(any(*group, mpi::find_duplicate(*group, keys, false)));

  const auto with = [&](const std::function<void(parts&)>& change) {
    parts changed = right;
    if (!changed.keys.empty() && world_rank() + 1 == world_size()) change(changed);
    const const_key_span changed_keys{key_type::i32, changed.keys.data(), changed.keys.size()};
    return std::array<bool, 2>{any(*group, mpi::find_fault(*group, changed_keys, false, sum)),
                               any(*group, mpi::find_fault_of_order(*group, {}, keys, changed.indices, false))};
  };
  if (world_size() == 2) return;  // the last has none
  EXPECT_EQ(with([](parts& p) { p.keys[4] += 1; }), (std::array{true, false})) << "another key";
  EXPECT_EQ(with([](parts& p) { p.keys[0] -= 1; }), (std::array{true, false})) << "before its predecessor";
  EXPECT_EQ(with([](parts& p) { std::swap(p.keys[0], p.keys[4]); }), (std::array{true, false})) << "out of order";
  EXPECT_EQ(with([](parts& p) { p.indices[3] += 1; }), (std::array{false, true})) << "twice the same";
  EXPECT_EQ(with([](parts& p) { p.indices[0] = 0; }), (std::array{false, world_size() != 1})) << "another's index";
  EXPECT_EQ(with([](parts& p) { p.indices[4] = 1000; }), (std::array{false, true})) << "no index";
  EXPECT_EQ(with([](parts& p) { std::swap(p.indices[0], p.indices[1]); }), (std::array{false, true})) << "unstable";
}

TEST(sorted_parts, TheFirstOfEqualKeysIsKept) {
  const auto group = transport::make_node_group(MPI_COMM_WORLD);
  parts p = make_parts();
  key_span keys{key_type::i32, p.keys.data(), p.keys.size()};
  keys.num_keys = mpi::keep_unique(*group, keys, false, p.indices.data());
  EXPECT_EQ(mpi::find_duplicate(*group, keys, false), "");
  std::uint64_t next = 0;
  for (const std::uint64_t before : group->exclusive_scan_sum({&keys.num_keys, 1})) next = before;
  for (std::uint64_t i = 0; i < keys.num_keys; ++i, ++next) {
    EXPECT_EQ(static_cast<std::uint64_t>(p.keys[i]), next);
    EXPECT_EQ(p.indices[i], 3 * next);
  }
  // A key that the neighbour has too, at the bound between two alone.
  if (world_size() > 2 && world_rank() == 2) p.keys[0] = p.keys[0] - 1;
  EXPECT_EQ(any(*group, mpi::find_duplicate(*group, keys, false)), world_size() > 2);
}

TEST(session_files, OutliersAreThoseOfOneProcess) {
  const shared_file file(10'000);
  mpi::session all(MPI_COMM_WORLD);
  const key_file share = all.read_share(file.path);
  const key_file whole(file.path);
  const summary box = summarize(whole.keys(), {.whiskers = {.iqr_factor = 0.4}});
  const std::string name = file.path + ".outliers";
  const std::uint64_t count = all.write_outliers(name, share.keys(), box);
  EXPECT_EQ(count, box.num_outliers_below + box.num_outliers_above);
  EXPECT_GT(count, 0U);
  const std::string expected = name + std::to_string(world_rank());
  EXPECT_EQ(write_outliers(expected, whole.keys(), box), count);
  EXPECT_EQ(test::contents_of(name), test::contents_of(expected));
  std::filesystem::remove(expected);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::filesystem::remove(name);
}

TEST(session_files, OutliersOfDifferentBoxesAreRefused) {
  const std::vector<float> keys(10);
  mpi::session all(MPI_COMM_WORLD);
  summary box = summarize(keys);
  box.whisker_high += world_rank();
  const std::string name = (std::filesystem::temp_directory_path() / "spansort-none.raw").string();
  const const_key_span span{key_type::f32, keys.data(), keys.size()};
  if (world_size() > 1) {
    EXPECT_THROW(all.write_outliers(name, span, box), invalid_argument);
  }
  EXPECT_THROW(all.write_outliers("-", span, summarize(keys)), invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(name));
}

}  // namespace
}  // namespace spansort
