// SPDX-License-Identifier: Apache-2.0
// Sorts that end early: cancelled, or out of memory at every allocation there is. The input is then as it was, bit for
// bit; and the same sorter sorts right afterwards.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

/// Ways that differ in what is allocated and when the input is overwritten.
std::vector<engine> failure_engines() {
  const test_tuning shrunken{.radix_bits = 3,
                             .epsilon = 0,
                             .host_inline_keys = 1,
                             .host_bucket_bytes = 4096,
                             .host_radix_bits = 4,
                             .host_tile_keys = 500};
  const test_tuning own{.host_separate_memory = true};
  const test_tuning in_parts{.host_inline_keys = 1, .host_separate_memory = true, .device_chunk_keys = 20'000};
  std::vector<engine> engines{{"cpu", "single"},
                              {"cpu", "single", shrunken},
                              {"cpu", "rmg"},
                              {"host:3", "rmg"},
                              {"host:3", "rmg", shrunken},
                              {"host:16", "rmg", shrunken},
                              {"auto", "auto"},
                              {"cpu", "single", own},
                              {"host:3", "rmg", own},
                              {"cpu", "out_of_core"},
                              {"host:3", "out_of_core", in_parts},
                              {"host:1", "p2p_merge"},
                              {"host:4", "p2p_merge", shrunken},
                              {"host:3", "het_merge"},
                              {"host:3", "het_merge", in_parts},
                              {"cpu", "lsd_reduce_then_scan", shrunken},
                              {"cpu", "satish_radix"},
                              {"cpu", "satish_merge", own},
                              {"cpu", "paradis"}};
  std::erase_if(engines, [](const engine& e) { return !is_offered(parse_algorithm(e.algorithm)); });
  return engines;
}

enum class ending { finished, was_cancelled, callback_threw, ran_out_of_memory };

/// What a progress callback may throw.
struct callers_own {};

/// A call and how it ended.
class job : public sort_job {
 public:
  job(std::uint64_t num_keys, operation op, std::uint64_t seed)
      : sort_job(op, make_oracle(key_type::f32, num_keys, {distribution_kind::special_floats}, seed, false)) {}

  ending run(sorter& s) {
    try {
      sort_job::run(s);
    } catch (const cancelled& e) {
      EXPECT_EQ(e.exit_status(), 130);
      return ending::was_cancelled;
    } catch (const callers_own&) {
      return ending::callback_threw;
    } catch (const out_of_memory& e) {
      EXPECT_EQ(e.exit_status(), 6);
      last_needed_bytes = e.needed_bytes();
      last_available_bytes = e.available_bytes();
      last_message = e.what();
      return ending::ran_out_of_memory;
    }
    return ending::finished;
  }

  std::uint64_t last_needed_bytes = 0;
  std::uint64_t last_available_bytes = 0;
  std::string last_message;
};

const operation all_operations[] = {{operation::kind::keys, 0},
                                    {operation::kind::pairs, 2},
                                    {operation::kind::pairs, 8},
                                    {operation::kind::pairs, 40},
                                    {operation::kind::argsort, 4}};

class failure_test : public testing::TestWithParam<std::size_t> {
 protected:
  engine how = failure_engines()[GetParam()];
  static std::uint64_t large() { return is_small_scale() ? 60'000 : 300'000; }
  /// The call at which something happens next: at small scale every one of the first few, then ever fewer.
  static int next_call(int call) { return is_small_scale() && call >= 4 ? 2 * call + 1 : call + 1; }
};

TEST_P(failure_test, CancelledAtOnceLeavesTheInputUntouched) {
  for (const operation& op : all_operations) {
    job j(large(), op, seed_for(1));
    hooked_options options = how.options();
    options.on_progress = [](const progress&) { return false; };
    sorter s = make_sorter(options);
    EXPECT_EQ(j.run(s), ending::was_cancelled) << describe(op) << ", " << how.describe();
    EXPECT_EQ(j.diagnose_untouched(), "") << describe(op) << ", " << how.describe();
  }
}

TEST_P(failure_test, CancelledAtAnyCallIsUntouchedOrDone) {
  for (const operation& op : all_operations) {
    job j(large() / 4, op, seed_for(2));
    bool has_finished = false;
    for (int allowed = 0; allowed < 200 && !has_finished; allowed = next_call(allowed)) {
      j.reset();
      int num_calls = 0;
      hooked_options options = how.options();
      options.on_progress = [&](const progress&) { return num_calls++ < allowed; };
      sorter s = make_sorter(options);
      const ending end = j.run(s);
      ASSERT_NE(end, ending::ran_out_of_memory);
      has_finished = end == ending::finished;
      ASSERT_EQ(has_finished ? j.diagnose_done() : j.diagnose_untouched(), "")
          << describe(op) << " cancelled at call " << allowed << ", " << how.describe();
    }
    EXPECT_TRUE(has_finished) << describe(op) << ", " << how.describe();
  }
}

TEST_P(failure_test, AnExceptionOfTheCallbackAtAnyCallLeavesTheInputUntouchedOrDone) {
  for (const operation& op : all_operations) {
    job j(large() / 4, op, seed_for(8));
    bool has_finished = false;
    bool was_sorted = false;
    for (int allowed = 0; allowed < 200 && !has_finished; allowed = next_call(allowed)) {
      j.reset();
      int num_calls = 0;
      double fraction = 0;
      hooked_options options = how.options();
      options.on_progress = [&](const progress& p) {
        fraction = p.fraction;
        if (num_calls++ == allowed) throw callers_own{};
        return true;
      };
      sorter s = make_sorter(options);
      const ending end = j.run(s);
      has_finished = end == ending::finished;
      ASSERT_EQ(end, num_calls > allowed ? ending::callback_threw : ending::finished);
      const std::string not_done = j.diagnose_done();
      was_sorted = was_sorted || not_done.empty();
      if (has_finished || fraction == 1) {
        ASSERT_EQ(not_done, "") << describe(op) << " thrown at call " << allowed << ", " << how.describe();
      } else if (!not_done.empty()) {
        ASSERT_EQ(j.diagnose_untouched(), "")
            << describe(op) << " thrown at call " << allowed << ", " << how.describe();
      }
    }
    EXPECT_TRUE(has_finished && was_sorted) << describe(op) << ", " << how.describe();
  }
}

TEST_P(failure_test, ASorterSortsAfterItWasCancelled) {
  bool go_on = false;
  hooked_options options = how.options();
  options.on_progress = [&](const progress&) { return go_on; };
  sorter s = make_sorter(options);
  for (const operation& op : all_operations) {
    job j(large() / 4, op, seed_for(3));
    go_on = false;
    EXPECT_EQ(j.run(s), ending::was_cancelled) << describe(op);
    EXPECT_EQ(j.diagnose_untouched(), "");
    go_on = true;
    EXPECT_EQ(j.run(s), ending::finished) << describe(op);
    EXPECT_EQ(j.diagnose_done(), "");
  }
}

TEST_P(failure_test, ProgressNeverFallsAndReachesOne) {
  for (const operation& op : all_operations) {
    job j(large(), op, seed_for(4));
    const std::thread::id caller = std::this_thread::get_id();
    double last = 0;
    int num_calls = 0;
    hooked_options options = how.options();
    options.on_progress = [&](const progress& p) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      EXPECT_GE(p.fraction, last) << p.phase;
      EXPECT_LE(p.fraction, 1.0) << p.phase;
      EXPECT_FALSE(p.phase.empty());
      last = p.fraction;
      ++num_calls;
      return true;
    };
    sorter s = make_sorter(options);
    EXPECT_EQ(j.run(s), ending::finished);
    EXPECT_EQ(j.diagnose_done(), "");
    EXPECT_GE(num_calls, 1) << describe(op) << ", " << how.describe();
    EXPECT_EQ(last, 1.0) << describe(op) << ", " << how.describe();
  }
}

TEST_P(failure_test, EveryAllocationMayFail) {
  for (const operation& op : all_operations) {
    job j(20'000, op, seed_for(5));
    ending end = ending::ran_out_of_memory;
    std::uint64_t k = 1;
    for (; k < 2000 && end == ending::ran_out_of_memory; ++k) {
      j.reset();
      hooked_options options = how.options();
      options.world.fail_allocation_at = k;
      // Constructing the sorter may allocate too.
      try {
        sorter s = make_sorter(options);
        end = j.run(s);
      } catch (const out_of_memory& e) {
        j.last_needed_bytes = e.needed_bytes();
        j.last_message = e.what();
      }
      if (end == ending::finished) break;
      ASSERT_EQ(end, ending::ran_out_of_memory);
      ASSERT_EQ(j.diagnose_untouched(), "") << describe(op) << ", allocation " << k << ", " << how.describe();
      EXPECT_GT(j.last_needed_bytes, 0u) << j.last_message;
    }
    EXPECT_EQ(end, ending::finished) << "after " << k << " failing allocations";
    // In place, keys alone take nothing beside the threads' scratch.
    const bool allocates = how.algorithm != "paradis" || op.what != operation::kind::keys;
    EXPECT_TRUE(k > 1 || !allocates) << "no allocation failed: " << describe(op) << ", " << how.describe();
    EXPECT_EQ(j.diagnose_done(), "") << describe(op) << ", " << how.describe();
  }
}

TEST_P(failure_test, AMemoryLimitTooSmallIsRefusedBeforeAnyWork) {
  for (const operation& op : all_operations) {
    job j(large() / 4, op, seed_for(6));
    hooked_options options = how.options();
    options.memory_limit_bytes = 1;
    options.on_progress = [](const progress& p) {
      EXPECT_EQ(p.fraction, 0) << "work was done before memory was refused: " << p.phase;
      return true;
    };
    sorter s = make_sorter(options);
    ASSERT_EQ(j.run(s), ending::ran_out_of_memory) << describe(op) << ", " << how.describe();
    EXPECT_EQ(j.diagnose_untouched(), "");
    EXPECT_GT(j.last_needed_bytes, j.last_available_bytes) << j.last_message;
    EXPECT_LE(j.last_available_bytes, 1u) << j.last_message;
    EXPECT_NE(j.last_message.find(std::to_string(j.last_needed_bytes)), std::string::npos)
        << "the message should name the bytes needed (" << j.last_needed_bytes << "): " << j.last_message;
  }
}

/// The figure in the error is the whole of what the call needs: a limit of that size is enough, and is kept to.
TEST_P(failure_test, TheMemoryThatAnErrorAsksForIsEnough) {
  for (const operation& op : all_operations) {
    job j(large() / 4, op, seed_for(6));
    sort_report report;
    hooked_options options = how.options();
    options.memory_limit_bytes = 1;
    options.report = &report;
    ASSERT_EQ(j.run(*std::make_unique<sorter>(options)), ending::ran_out_of_memory);
    options.memory_limit_bytes = j.last_needed_bytes;
    ASSERT_EQ(j.run(*std::make_unique<sorter>(options)), ending::finished)
        << describe(op) << ", " << how.describe() << ": " << options.memory_limit_bytes
        << " bytes were asked for, then: " << j.last_message;
    EXPECT_EQ(j.diagnose_done(), "");
    EXPECT_LE(report.workspace_bytes, options.memory_limit_bytes) << describe(op) << ", " << how.describe();
  }
}

TEST_P(failure_test, WorkspaceStaysWithinTheDocumentedFormula) {
  for (const operation& op : all_operations) {
    job j(large(), op, seed_for(7));
    sort_report report;
    hooked_options options = how.options();
    options.report = &report;
    sorter s = make_sorter(options);
    ASSERT_EQ(j.run(s), ending::finished);
    std::uint64_t num_threads = 0;
    for (const rank_report& rank : report.ranks) num_threads += rank.num_threads;
    // sort.hpp: n * (k + v) + 1 MiB + 6 MiB a thread; wider values travel as an index of 8 bytes and are moved once,
    // values of 2 bytes travel as 4. argsort copies the keys. Devices with memory of their own hold the input too;
    // GPUs have 34 MiB each of scratch.
    std::uint64_t bytes_per_key = 4 + (op.bytes == 2 ? 4 : op.bytes > 16 ? 8 : op.bytes);
    const bool on_gpus = devices_under_test(how.devices).starts_with("gpu");
    const bool in_parts = how.algorithm == "out_of_core" || how.tuning.device_chunk_keys != 0;
    if (in_parts) {  // runs of all keys, and four chunks a device
      const std::uint64_t chunk = how.tuning.device_chunk_keys == 0 ? large() : how.tuning.device_chunk_keys;
      bytes_per_key += bytes_per_key * 4 * report.ranks.size() * chunk / large() + 1;
    } else if (how.algorithm == "het_merge") {
      bytes_per_key *= 3;
    } else if (how.tuning.host_separate_memory || on_gpus || how.algorithm == "p2p_merge") {
      bytes_per_key *= 2;
    }
    // options.hpp: the scratch of published sorts.
    if (how.algorithm == "paradis") bytes_per_key = op.what == operation::kind::keys ? 0 : 8;
    if (how.algorithm.starts_with("satish")) bytes_per_key += 1;
    if (op.bytes == 2) bytes_per_key += 4;
    if (op.bytes > 16) bytes_per_key += 8 + op.bytes;
    if (op.what == operation::kind::argsort) bytes_per_key += 4;
    std::uint64_t fixed_mebibytes = on_gpus ? 34 * report.ranks.size() : 1 + 6 * num_threads;
    if (on_gpus && how.algorithm == "lsd_reduce_then_scan") fixed_mebibytes += 9;
    EXPECT_LE(report.workspace_bytes, large() * bytes_per_key * 101 / 100 + fixed_mebibytes * (1u << 20))
        << describe(op) << ", " << how.describe();
  }
}

INSTANTIATE_TEST_SUITE_P(Sort, failure_test, testing::Range(std::size_t{0}, failure_engines().size()),
                         [](const auto& param) {
                           const engine how = failure_engines()[param.param];
                           return test_name(std::to_string(param.param) + "_" + how.algorithm + "_" + how.devices);
                         });

}  // namespace
}  // namespace spansort::test
