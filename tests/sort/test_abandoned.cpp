// SPDX-License-Identifier: Apache-2.0
// Calls that are cancelled although they are overwriting arrays: argsorts, whose indices nobody wants then, and any
// other whose callback throws `abandoned`.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "spansort/abandon.hpp"
#include "spansort/records.hpp"
#include "spansort/sort.hpp"
#include "spansort/sort_by.hpp"
#include "spansort/take.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

std::vector<std::uint64_t> shuffled(std::uint64_t count) {
  std::vector<std::uint64_t> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = (i * 0x9E3779B97F4A7C15U) >> 13;
  return keys;
}

/// Options whose callback is done with the call when it has been called so many times.
struct impatient {
  unsigned allowed = 0;
  std::exception_ptr first_failure = nullptr;  ///< what the first call too many throws; null: it returns false
  std::exception_ptr later_failure = nullptr;  ///< what those after it throw
  unsigned num_calls = 0;
  double last_fraction = 0;  ///< of the call that went on no more

  sort_options options(const char* devices) {
    num_calls = 0;
    return {.devices = device_list(devices_under_test(devices)), .on_progress = [this](const progress& p) {
              if (num_calls++ < allowed) return true;
              if (num_calls == allowed + 1) last_fraction = p.fraction;
              const std::exception_ptr& failure = num_calls == allowed + 1 ? first_failure : later_failure;
              if (failure != nullptr) std::rethrow_exception(failure);
              return false;
            }};
  }
};

constexpr unsigned most_calls = 40;
const std::exception_ptr no_more = std::make_exception_ptr(abandoned("no more"));

TEST(AbandonedTest, AnArgsortIsCancelledAtEveryCall) {
  const std::vector<std::uint64_t> keys = shuffled(100'000);
  for (const char* const devices : {"cpu", "host:3"}) {
    unsigned num_cancelled = 0;
    for (impatient caller; caller.allowed < most_calls; ++caller.allowed) {
      std::vector<std::uint64_t> indices(keys.size());
      try {
        spansort::argsort(keys, indices, caller.options(devices));
        // Only the last call is too late.
        ASSERT_TRUE(caller.num_calls <= caller.allowed || caller.last_fraction == 1) << devices << caller.allowed;
        if (caller.num_calls <= caller.allowed) break;
      } catch (const cancelled&) {
        ++num_cancelled;
      }
    }
    EXPECT_GE(num_cancelled, 1U);
    EXPECT_EQ(keys, shuffled(keys.size()));
  }
}

/// Keys in no order, and values of 24 bytes, which are fetched when the keys are sorted.
struct wide_pairs {
  std::vector<std::uint64_t> keys = shuffled(100'000);
  std::vector<std::array<std::uint64_t, 3>> values = std::vector<std::array<std::uint64_t, 3>>(keys.size());

  void sort(const sort_options& options, bool with_values) {
    if (with_values) return spansort::sort_pairs(keys, values, options);
    spansort::sort(keys, options);
  }
  [[nodiscard]] bool are_sorted() const { return std::is_sorted(keys.begin(), keys.end()); }
};

TEST(AbandonedTest, IsThrownOnFromEveryCall) {
  for (const char* const devices : {"cpu", "host:3"}) {
    for (const bool wide : {false, true}) {
      unsigned num_abandoned = 0;
      for (impatient caller{.first_failure = no_more}; caller.allowed < most_calls; ++caller.allowed) {
        wide_pairs pairs;
        try {
          pairs.sort(caller.options(devices), wide);
          ASSERT_LE(caller.num_calls, caller.allowed);
          break;
        } catch (const abandoned&) {
          ++num_abandoned;
          EXPECT_EQ(caller.num_calls, caller.allowed + 1) << "it was asked again";
          // The first call comes before all work; during later ones other threads may have come to the end.
          EXPECT_TRUE(caller.allowed > 0 || !pairs.are_sorted()) << "it went on to its end";
        }
      }
      EXPECT_GE(num_abandoned, 2U) << devices;
    }
  }
}

/// A sort is stopped while it overwrites the keys. Which call finds it there is a matter of time, so that longer sorts
/// are tried until one has.
TEST(AbandonedTest, StopsASortThatIsOverwriting) {
  bool is_torn = false;
  for (unsigned bits = 22; bits <= 25 && !is_torn; ++bits) {
    for (int attempt = 0; attempt < 2 && !is_torn; ++attempt) {
      const std::vector<std::uint64_t> input = shuffled(std::uint64_t{1} << bits);
      std::vector<std::uint64_t> keys = input;
      const auto leaves = [](const progress& p) -> bool {
        if (p.fraction > 0.55 && p.fraction < 0.95) throw abandoned("no more");  // the first half reads alone
        return true;
      };
      try {
        spansort::sort(keys, {.devices = "cpu", .threads = 1, .on_progress = leaves});
      } catch (const abandoned&) {
        is_torn = keys != input && !std::is_sorted(keys.begin(), keys.end());
      }
    }
  }
  EXPECT_TRUE(is_torn);
}

/// An exception of a callback that comes too late to stop ends no sort, and the callback is not called again: neither
/// by the sort nor where the values follow.
TEST(AbandonedTest, AnotherExceptionThatComesTooLateSurfacesAtTheEnd) {
  for (const char* const devices : {"cpu", "host:3"}) {
    for (const bool wide : {false, true}) {
      unsigned num_late = 0;
      impatient caller{.first_failure = std::make_exception_ptr(std::domain_error("first")),
                       .later_failure = std::make_exception_ptr(std::logic_error("later"))};
      for (; caller.allowed < most_calls; ++caller.allowed) {
        wide_pairs pairs;
        try {
          pairs.sort(caller.options(devices), wide);
          ASSERT_LE(caller.num_calls, caller.allowed);
          break;
        } catch (const std::domain_error&) {
          EXPECT_EQ(caller.num_calls, caller.allowed + 1) << "it was asked again";
          if (pairs.are_sorted()) ++num_late;
          EXPECT_TRUE(pairs.are_sorted() || pairs.keys == shuffled(pairs.keys.size()));
        }
      }
      EXPECT_GE(num_late, 1U) << devices;
    }
  }
}

/// A take asks between parts, which are shorter where elements are wide.
TEST(AbandonedTest, ATakeStopsBetweenParts) {
  const auto count_taken = [](const auto& values, std::uint64_t num_taken) {
    const std::vector<std::uint32_t> indices(num_taken, 5);
    auto taken = std::vector(num_taken, std::decay_t<decltype(values[0])>{});
    unsigned num_calls = 0;
    bool goes_on = false;
    const take_options options{.on_progress = [&](const progress&) { return ++num_calls != 0 && goes_on; }};
    EXPECT_THROW(take_into(values, indices, taken, options), cancelled);
    EXPECT_EQ(num_calls, 1U);
    const auto num_before = std::count(taken.begin(), taken.end(), values[5]);
    goes_on = true;
    take_into(values, indices, taken, options);
    EXPECT_EQ(std::count(taken.begin(), taken.end(), values[5]), static_cast<std::ptrdiff_t>(num_taken));
    return static_cast<std::uint64_t>(num_before);
  };
  constexpr std::uint64_t part = std::uint64_t{1} << 21;
  EXPECT_LE(count_taken(std::vector<std::uint8_t>(16, 7), 3 * part), part);
  using row = std::array<std::uint64_t, 1024>;
  row seven{};
  seven.fill(7);
  EXPECT_LE(count_taken(std::vector<row>(16, seven), 12'000), 8'192U);  // 94 MiB, of which it takes 64 at once
}

/// Records are untouched until they move: what is sorted before is the library's own.
TEST(AbandonedTest, RecordsAreCancelledWhileTheirKeysAreSorted) {
  struct pair_of_keys {
    std::uint32_t first, second;
    bool operator==(const pair_of_keys&) const = default;
  };
  std::vector<pair_of_keys> input(50'000);
  for (std::uint32_t i = 0; i < input.size(); ++i) input[i] = {i * 2654435761U >> 28, i * 40503U};
  const record_format format = parse_record_format(sizeof(pair_of_keys), "0:4:u32,4:4:u32");
  bool has_finished = false;
  for (impatient caller; caller.allowed < most_calls && !has_finished; ++caller.allowed) {
    std::vector<pair_of_keys> records = input;
    try {
      sort_records(records.data(), records.size(), format, caller.options("cpu"));
      has_finished = caller.num_calls <= caller.allowed;
    } catch (const cancelled&) {
      EXPECT_EQ(records, input);
    }
  }
  EXPECT_TRUE(has_finished);
}

struct wide_record {
  std::uint64_t key, other;
  std::array<std::uint64_t, 8> rest;
  bool operator==(const wide_record&) const = default;
};

std::vector<wide_record> make_wide_records() {
  std::vector<wide_record> records(40'000);
  for (std::uint64_t i = 0; i < records.size(); ++i) records[i] = {(i * 40503U) % 65536, i % 3, {i}};
  return records;
}

/// Sorts records by their own function or as structs.
void sort_wide(std::vector<wide_record>& records, bool as_structs, const progress_callback& on_progress) {
  if (as_structs) {
    spansort::sort_by({.devices = "cpu", .on_progress = on_progress}, records, &wide_record::key, &wide_record::other);
  } else {
    const record_format format = parse_record_format(sizeof(wide_record), "0:8:u64,8:8:u64");
    sort_records(records.data(), records.size(), format, {.devices = "cpu", .on_progress = on_progress});
  }
}

bool is_before(const wide_record& a, const wide_record& b) {
  return std::tie(a.key, a.other) < std::tie(b.key, b.other);
}

/// Records that move are all moved, whatever the callback throws then, unless it is that nobody wants them.
TEST(AbandonedTest, RecordsThatMoveAreLostOnlyWhereTheyAreAbandoned) {
  for (const bool as_structs : {false, true}) {
    for (const bool abandons : {false, true}) {
      std::vector<wide_record> records = make_wide_records();
      unsigned num_calls = 0;
      const auto fails = [&](const progress& p) -> bool {
        if (p.phase != "gather") return true;
        ++num_calls;
        if (abandons) throw abandoned("no more");
        throw std::domain_error("too late");
      };
      if (abandons) {
        EXPECT_THROW(sort_wide(records, as_structs, fails), abandoned);
      } else {
        EXPECT_THROW(sort_wide(records, as_structs, fails), std::domain_error);
      }
      EXPECT_EQ(num_calls, 1U);
      EXPECT_EQ(std::ranges::is_sorted(records, is_before), !abandons);
    }
  }
}

TEST(AbandonedTest, RecordsTellHowFarTheyAre) {
  for (const bool as_structs : {false, true}) {
    std::vector<wide_record> records = make_wide_records();
    double last = 0;
    std::vector<std::string> phases;
    sort_wide(records, as_structs, [&](const progress& p) {
      EXPECT_GE(p.fraction, last);
      EXPECT_EQ(p.fraction == 1, p.phase == "done");
      last = p.fraction;
      phases.emplace_back(p.phase);
      return true;
    });
    EXPECT_EQ(last, 1);
    EXPECT_EQ(std::ranges::count(phases, "done"), 1);
    EXPECT_GE(std::ranges::count(phases, "gather"), 1);
    EXPECT_TRUE(std::ranges::is_sorted(records, is_before));
  }
}

}  // namespace
}  // namespace spansort::test
