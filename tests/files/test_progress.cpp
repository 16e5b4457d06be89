// SPDX-License-Identifier: Apache-2.0
// Calls on files say how far they are, on the thread that made them and never less than before, and can be cancelled.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/available_memory.hpp"
#include "files/file_folder.hpp"
#include "spansort/errors.hpp"
#include "spansort/file_statistics.hpp"
#include "spansort/files.hpp"
#include "spansort/take_file.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t num_keys = 6'000'000;

/// The calls of a progress callback.
struct told {
  std::vector<std::string> phases;
  std::vector<double> fractions;
  bool was_on_caller = true;
  bool has_fallen = false;

  /// Returns a callback that takes its time at first, so that the next thing said is not held back, and says stop at
  /// the `stop_at`-th call.
  [[nodiscard]] progress_callback callback(std::size_t stop_at = 0) {
    return [this, stop_at, caller = std::this_thread::get_id()](const progress& now) {
      was_on_caller = was_on_caller && std::this_thread::get_id() == caller;
      has_fallen = has_fallen || (!fractions.empty() && now.fraction < fractions.back());
      if (phases.empty() || phases.back() != now.phase) phases.emplace_back(now.phase);
      fractions.push_back(now.fraction);
      if (fractions.size() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(101));
      return fractions.size() != stop_at;
    };
  }
};

class file_progress_test : public testing::Test {
 protected:
  file_progress_test() {
    std::vector<std::uint64_t> keys(num_keys);
    std::iota(keys.begin(), keys.end(), std::uint64_t{0});
    path_ = folder_.write("x.bin", std::as_bytes(std::span(keys)));
  }

  /// A ceiling below which the file does not fit.
  [[nodiscard]] static std::uint64_t little() { return base::resident_memory_bytes() + (std::uint64_t{24} << 20); }

  /// Expects the phases of `call`, and that it stops when told so, and leaves no file.
  void expect_told(const std::vector<std::string>& phases, const std::function<void(const progress_callback&)>& call) {
    told whole;
    call(whole.callback());
    EXPECT_EQ(whole.phases, phases);
    EXPECT_GE(whole.fractions.size(), 2u);
    EXPECT_FALSE(whole.has_fallen);
    EXPECT_TRUE(whole.was_on_caller);
    EXPECT_GE(whole.fractions.front(), 0);
    EXPECT_LE(whole.fractions.back(), 1);
    EXPECT_GT(whole.fractions.back(), 0);
    std::filesystem::remove(folder_.path("out"));
    for (const std::size_t at : {std::size_t{1}, std::size_t{2}}) {
      told part;
      EXPECT_THROW(call(part.callback(at)), cancelled);
      EXPECT_EQ(part.fractions.size(), at) << "nothing is said after the end";
      EXPECT_EQ(folder_.num_files(), 1u);
    }
  }

  test::file_folder folder_;
  std::string path_;
};

TEST_F(file_progress_test, Generate) {
  expect_told({"write"}, [&](const progress_callback& show) {
    generate_file(folder_.path("out"), key_type::u64, num_keys, {}, 1, {}, show);
  });
  expect_told({"write"},
              [&](const progress_callback& show) { generate_records_file(folder_.path("out"), 200'000, 1, {}, show); });
}

TEST_F(file_progress_test, Check) {
  expect_told({"check"}, [&](const progress_callback& show) {
    EXPECT_FALSE(check_file(path_, key_type::u64, {.on_progress = show}).keys.first_disorder);
  });
  const record_format format{.record_bytes = 16, .keys = {{.offset = 0, .size_bytes = 8, .type = key_type::u64}}};
  expect_told({"check"}, [&](const progress_callback& show) {
    EXPECT_FALSE(check_records_file(path_, format, {.threads = 1, .on_progress = show}).keys.first_disorder);
  });
}

TEST_F(file_progress_test, Take) {
  const take_file_options options{.type = key_type::u64, .index_type = key_type::u64, .threads = 1};
  expect_told({"read", "take"}, [&](const progress_callback& show) {
    take_file_options held = options;
    held.on_progress = show;
    EXPECT_TRUE(take_file(path_, path_, folder_.path("out"), held).was_held);
  });
  expect_told({"take"}, [&](const progress_callback& show) {
    take_file_options swept = options;
    swept.on_progress = show;
    swept.memory_limit_bytes = little();
    EXPECT_FALSE(take_file(path_, path_, folder_.path("out"), swept).was_held);
  });
}

TEST_F(file_progress_test, Statistics) {
  expect_told({"read"}, [&](const progress_callback& show) {
    EXPECT_EQ(summarize_file(path_, {}, {.type = key_type::u64, .on_progress = show}).maximum, num_keys - 1);
  });
  // Each call has a ceiling of its own: the memory of the process grows from call to call under a sanitizer, which
  // holds back what was freed.
  expect_told({"read"}, [&](const progress_callback& show) {
    EXPECT_EQ(summarize_file(path_, {},
                             {.type = key_type::u64, .memory_limit_bytes = little(), .threads = 1, .on_progress = show})
                  .maximum,
              num_keys - 1);
  });
}

TEST_F(file_progress_test, QuestionsCanBeAskedAgain) {
  bool goes_on = false;
  file_statistics keys(
      path_, {.type = key_type::u64, .memory_limit_bytes = little(), .threads = 1, .on_progress = [&](const progress&) {
                return goes_on;
              }});
  EXPECT_THROW(static_cast<void>(keys.summarize()), cancelled);
  goes_on = true;
  const summary box = keys.summarize({.whiskers = {.percentiles = percentile_pair{1, 99}}});
  EXPECT_EQ(box.maximum, num_keys - 1);
  goes_on = false;
  EXPECT_THROW(keys.write_outliers(folder_.path("out"), box), cancelled);
  EXPECT_EQ(folder_.num_files(), 1u);
  goes_on = true;
  EXPECT_EQ(keys.write_outliers(folder_.path("out"), box), box.num_outliers_below + box.num_outliers_above);
}

TEST_F(file_progress_test, Plan) {
  expect_told({"read"}, [&](const progress_callback& show) {
    const sort_options options{.devices = "host:3", .threads = 1, .on_progress = show};
    EXPECT_FALSE(explain_plan_file(path_, key_type::u64, direction::ascending, options).json.empty());
  });
}

}  // namespace
}  // namespace spansort
