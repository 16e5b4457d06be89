// SPDX-License-Identifier: Apache-2.0
// Sorts in which one call to the GPU's runtime fails: the first, the second, and so on until a sort needs none so late.
// What is asserted of the arrays is what sort.hpp promises. An out_of_memory, and a device_error that says so, leave
// keys and values as they were, bit for bit. Of a device_error that says that the result was being written nothing more
// is asserted: the arrays are lost. A sort that returns has sorted, whether or not it met the fault.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

struct way {
  const char* name;
  const char* devices;
  const char* algorithm;
  operation op;
  test_tuning tuning = {};
  bool wants_report = false;  ///< reading the times of the work can fail too, and then takes nothing back
  key_type type = key_type::u32;
};

// Few buckets, so that a sort takes hundreds of calls and not thousands; small pieces, so that copies come in several.
constexpr test_tuning few_buckets{.radix_bits = 3, .fuse_threshold = 0, .copy_piece_bytes = 16384};
constexpr test_tuning few_buckets_staged{
    .radix_bits = 3, .fuse_threshold = 0, .copy_piece_bytes = 16384, .exchange_through_host = true};
constexpr test_tuning few_buckets_in_rounds{
    .radix_bits = 4, .fuse_threshold = 0, .copy_piece_bytes = 16384, .round_keys = 1500};
constexpr test_tuning few_buckets_packed{
    .radix_bits = 2, .fuse_threshold = 0, .copy_piece_bytes = 65536, .packing = base::key_packing::always};
const way ways[] = {{"single_keys", "gpu:0", "single", {operation::kind::keys, 0}},
                    {"single_pairs", "gpu:0", "single", {operation::kind::pairs, 4}},
                    {"single_by_buckets",
                     "gpu:0",
                     "single",
                     {operation::kind::keys, 0},
                     {.buckets = base::gpu_buckets::where_even},
                     false,
                     key_type::u64},
                    {"single_by_spread",
                     "gpu:0",
                     "single",
                     {operation::kind::pairs, 8},
                     {.buckets = base::gpu_buckets::by_spread},
                     false,
                     key_type::f64},
                    {"msd_hybrid_pairs", "gpu:0", "msd_hybrid", {operation::kind::pairs, 4}},
                    {"rmg_keys", "gpu:0,0,0", "rmg", {operation::kind::keys, 0}, few_buckets, true},
                    {"rmg_rounds_keys", "gpu:0,0,0", "rmg", {operation::kind::keys, 0}, few_buckets_in_rounds, true},
                    {"rmg_packed_keys", "gpu:0", "rmg", {operation::kind::keys, 0}, few_buckets_packed, true},
                    {"rmg_pairs", "gpu:0,0,0", "rmg", {operation::kind::pairs, 8}, few_buckets},
                    {"rmg_staged_keys", "gpu:0,0", "rmg", {operation::kind::keys, 0}, few_buckets_staged},
                    {"p2p_merge_pairs", "gpu:0,0", "p2p_merge", {operation::kind::pairs, 8}}};

constexpr cudaError_t faults[] = {cudaErrorUnknown, cudaErrorMemoryAllocation, cudaErrorIllegalAddress};

/// The driver takes memory of its own in portions of 2 MiB and keeps some of it.
constexpr std::uint64_t drivers_own_bytes = std::uint64_t{4} << 20;

enum class ending { sorted, untouched, lost };

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class fault_test : public gpu_test, public testing::WithParamInterface<std::tuple<std::size_t, std::size_t>> {
 protected:
  [[nodiscard]] hooked_options options(std::uint64_t fail_at) const {
    hooked_options o;
    o.devices = how.devices;
    o.algorithm = parse_algorithm(how.algorithm);
    o.world = how.tuning;
    o.report = how.wants_report ? &report : nullptr;
    o.world.fail_device_call_at = fail_at;
    o.world.fail_device_call_with = fault;
    return o;
  }

  /// Runs the job and holds its arrays against what the outcome promises.
  ending run(sorter& s, std::uint64_t fail_at) {
    SCOPED_TRACE("fail_device_call_at = " + std::to_string(fail_at));
    job.reset();
    ending end = ending::sorted;
    try {
      job.run(s);
      EXPECT_EQ(job.diagnose_done(), "");
    } catch (const out_of_memory& e) {
      end = ending::untouched;
      EXPECT_EQ(fault, cudaErrorMemoryAllocation) << e.what();
      EXPECT_EQ(e.device(), "gpu:0") << e.what();
      EXPECT_TRUE(contains(e.what(), "gpu:0: ")) << e.what();
      most_needed_bytes = std::max(most_needed_bytes, e.needed_bytes());
    } catch (const device_error& e) {
      end = contains(e.what(), "neither input nor result") ? ending::lost : ending::untouched;
      EXPECT_TRUE(contains(e.what(), "gpu:0: ")) << e.what();
      EXPECT_EQ(e.device(), "gpu:0") << e.what();
      EXPECT_EQ(dynamic_cast<const device_lost*>(&e) != nullptr, fault == cudaErrorIllegalAddress) << e.what();
      EXPECT_EQ(contains(e.what(), "lost for this process"), fault == cudaErrorIllegalAddress) << e.what();
      if (fault == cudaErrorMemoryAllocation) {
        EXPECT_EQ(end, ending::lost) << e.what();
      }
    }
    if (end == ending::untouched) {
      EXPECT_EQ(job.diagnose_untouched(), "");
    }
    ++num_endings[static_cast<std::size_t>(end)];
    return end;
  }

  way how = ways[std::get<0>(GetParam())];
  cudaError_t fault = faults[std::get<1>(GetParam())];
  sort_job job{how.op, make_oracle(how.type, 20'000, {distribution_kind::uniform}, seed_for(1), false)};
  mutable sort_report report;
  std::uint64_t num_endings[3] = {};
  std::uint64_t most_needed_bytes = 0;
};

TEST_P(fault_test, AnyCallToTheRuntimeMayFail) {
  // Keeps its devices all along, and sorts after every fault.
  sorter sound = make_sorter(options(0));
  ASSERT_EQ(run(sound, 0), ending::sorted);
  // What the runtime takes with the first use, it keeps.
  ASSERT_EQ(run(*std::make_unique<sorter>(make_sorter(options(0))), 0), ending::sorted);
  const std::uint64_t free_before = free_gpu_bytes();

  // Calls behind the last one that can fail are those of clean-up: several sorts in a row must succeed.
  constexpr unsigned enough_in_a_row = 20;
  constexpr std::uint64_t most_calls = 20'000;
  unsigned num_in_a_row = 0;
  std::uint64_t fail_at = 1;
  for (; num_in_a_row < enough_in_a_row && fail_at < most_calls && !HasFailure(); ++fail_at) {
    auto struck = std::make_unique<sorter>(make_sorter(options(fail_at)));
    const ending end = run(*struck, fail_at);
    num_in_a_row = end == ending::sorted ? num_in_a_row + 1 : 0;
    // Its devices are open now: the same number is another call.
    if (end != ending::sorted) run(*struck, fail_at);
    struck.reset();
    ASSERT_GE(free_gpu_bytes() + drivers_own_bytes, free_before) << "memory was not given back, call " << fail_at;
    ASSERT_EQ(run(sound, 0), ending::sorted) << "after a fault in call " << fail_at;
  }
  EXPECT_EQ(num_in_a_row, enough_in_a_row) << "no sort succeeded up to call " << fail_at;
  EXPECT_GE(free_gpu_bytes() + drivers_own_bytes, free_before);
  EXPECT_GT(num_endings[static_cast<std::size_t>(ending::untouched)], 20u)
      << "few calls failed before the result was written";
  EXPECT_GT(num_endings[static_cast<std::size_t>(ending::lost)], 0u) << "no call failed while the result was written";
  if (fault == cudaErrorMemoryAllocation) {
    EXPECT_GE(most_needed_bytes, 20'000u * 4) << "no allocation named what it needs";
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, fault_test,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(ways)),
                                          testing::Range(std::size_t{0}, std::size(faults))),
                         [](const auto& param) {
                           return std::string(ways[std::get<0>(param.param)].name) + "_" +
                                  cudaGetErrorName(faults[std::get<1>(param.param)]);
                         });

class named_fault_test : public gpu_test {};

TEST_F(named_fault_test, AHardwareMemoryErrorNamesTheGpu) {
  sort_job job({operation::kind::keys, 0},
               make_oracle(key_type::u32, 20'000, {distribution_kind::uniform}, seed_for(2), false));
  sort_options options{.devices = "gpu:0", .algorithm = algorithm::single};
  const base::test_hooks_scope hooks({.fail_device_call_at = 20, .fail_device_call_with = cudaErrorECCUncorrectable});
  sorter s(options);
  try {
    job.run(s);
    FAIL() << "the sort succeeded";
  } catch (const device_memory_error& e) {
    EXPECT_EQ(e.exit_status(), 5);
    EXPECT_EQ(e.device(), "gpu:0");
    EXPECT_TRUE(contains(e.what(), "gpu:0: ")) << e.what();
    EXPECT_TRUE(contains(e.what(), "hardware memory error, output withheld")) << e.what();
  }
  EXPECT_EQ(job.diagnose_untouched(), "");
}

}  // namespace
}  // namespace spansort::test
