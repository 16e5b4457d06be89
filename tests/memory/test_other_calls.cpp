// SPDX-License-Identifier: Apache-2.0
// Calls beside the sorts of keys and pairs, with each allocation failing: records and elements are sorted or as they
// were, files are old or new, and what only reads gives its answer or throws.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "base/threads.hpp"
#include "memory/fail_every_allocation.hpp"
#include "memory/failing_memory.hpp"
#include "spansort/files.hpp"
#include "spansort/merge_sort.hpp"
#include "spansort/records.hpp"
#include "spansort/sort.hpp"
#include "spansort/statistics.hpp"
#include "spansort/top_k.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t num_elements = 40'000;

using record = std::array<unsigned char, 100>;

/// Records that are ordered by their first 10 bytes, of which `num_alike` are the same in all.
std::vector<record> make_records(std::size_t num_alike) {
  random_words random(seed_for(5));
  std::vector<record> records(num_elements);
  for (record& r : records) {
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = i < num_alike ? 7 : static_cast<unsigned char>(random());
  }
  return records;
}

/// Can fail where it is the first of its process, as ctest runs it.
TEST(FailingMemoryOfCalls, TheFirstThreadsThatFailLeaveOthersToTheNextCall) {
  const auto count_threads = [] {
    return base::with_threads(1, [] { return tbb::this_task_arena::max_concurrency(); });
  };
  ASSERT_GE(base::num_processors(), 1U);  // reads files once, and allocates for that
  {
    const failing_memory_scope scope(1, false, failing_allocations::all);
    try {
      static_cast<void>(count_threads());
    } catch (const std::bad_alloc&) {
    }
  }
  EXPECT_EQ(count_threads(), 1);
}

TEST(FailingMemoryOfCalls, RecordsAreSortedOrAsTheyWere) {
  for (const std::size_t num_alike : {0, 9}) {  // words of keys that set the records apart, and groups of equal ones
    const std::vector<record> input = make_records(num_alike);
    std::vector<record> expected = input;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const record& a, const record& b) { return std::memcmp(a.data(), b.data(), 10) < 0; });
    const record_format format{.record_bytes = sizeof(record), .keys = {{.offset = 0, .size_bytes = 10}}};
    std::vector<record> records;
    fail_every_allocation([&] { records = input; },
                          [&] { sort_records(records.data(), num_elements, format, direction::ascending, {}); },
                          [&](bool has_thrown) {
                            if (has_thrown && records == input) return "";
                            return records == expected ? "" : "neither sorted nor as they were";
                          });
  }
}

/// Elements that only the caller's code can compare.
TEST(FailingMemoryOfCalls, ComparedElementsAreSortedOrAsTheyWere) {
  struct element {
    std::uint32_t key;
    std::uint32_t place;
    bool operator==(const element&) const = default;
  };
  const auto precedes = [](const element& a, const element& b) { return a.key < b.key; };
  random_words random(seed_for(6));
  std::vector<element> input(5 * num_elements);
  for (std::uint32_t i = 0; i < input.size(); ++i) input[i] = {static_cast<std::uint32_t>(random.below(1000)), i};
  std::vector<element> expected = input;
  std::stable_sort(expected.begin(), expected.end(), precedes);
  std::vector<element> elements;
  fail_every_allocation([&] { elements = input; }, [&] { sort(elements, precedes); },
                        [&](bool has_thrown) {
                          if (has_thrown && elements == input) return "";
                          return elements == expected ? "" : "neither sorted nor as they were";
                        });
}

TEST(FailingMemoryOfCalls, StatisticsAreRightOrThrow) {
  std::vector<float> keys(5 * num_elements);
  generate(as_key_span(std::span(keys)), {distribution_kind::normal}, seed_for(7));
  const std::vector<float> input = keys;
  std::vector<float> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  double found = 0;
  fail_every_allocation([] {}, [&] { found = quantiles(keys, std::vector<double>{0.5}).front(); },
                        [&](bool has_thrown) {
                          const std::size_t half = sorted.size() / 2;
                          const double median = (double{sorted[half - 1]} + double{sorted[half]}) / 2;
                          if (keys != input) return "the keys have changed";
                          return has_thrown || found == median ? "" : "not the median";
                        });
  std::vector<float> largest;
  fail_every_allocation([&] { largest.clear(); }, [&] { largest = top_k(keys, 10); },
                        [&](bool has_thrown) {
                          if (has_thrown) return "";
                          return std::equal(largest.begin(), largest.end(), sorted.rbegin()) ? "" : "not the largest";
                        });
}

enum class file_verb : std::uint8_t { sort, argsort };

/// A folder with an input and an old output.
class files_case {
 public:
  explicit files_case(std::uint64_t num_keys, file_verb verb = file_verb::sort) : verb_(verb) {
    std::vector<std::uint64_t> keys(num_keys);
    generate(as_key_span(std::span(keys)), {distribution_kind::uniform}, seed_for(8));
    std::filesystem::create_directory(folder_);
    write(folder_ / "x.bin", as_text(keys));
    std::vector<std::uint64_t> result = keys;
    if (verb == file_verb::argsort) {
      std::iota(result.begin(), result.end(), 0);
      std::ranges::stable_sort(result, {}, [&](std::uint64_t i) { return keys[i]; });
    } else {
      std::ranges::sort(result);
    }
    expected_ = as_text(result);
  }
  ~files_case() { std::filesystem::remove_all(folder_); }
  files_case(const files_case&) = delete;
  files_case& operator=(const files_case&) = delete;

  void prepare() {
    write(folder_ / "y.bin", old);
    failure_of_device_.clear();
  }
  void run(const sort_options& options) {
    const auto call = verb_ == file_verb::sort ? &sort_file : &argsort_file;
    try {
      call((folder_ / "x.bin").string(), (folder_ / "y.bin").string(),
           {.temporary_directories = {folder_.string()}, .type = key_type::u64}, options);
    } catch (const device_error& failure) {
      // That a device gets no thread is its own failure.
      const std::string what = failure.what();
      if (what.find("memory") != std::string::npos) failure_of_device_ = what;
      throw;
    }
  }
  [[nodiscard]] std::string check(bool has_thrown) const {
    // Nothing of the caller's is overwritten before the output is whole: what ended is memory, and no device.
    if (!failure_of_device_.empty()) return "a lack of memory is told as a failure of a device: " + failure_of_device_;
    const auto num_files = std::distance(std::filesystem::directory_iterator(folder_), {});
    if (num_files != 2) return "a file is left behind";
    const std::string found = read(folder_ / "y.bin");
    if (found == (has_thrown ? std::string(old) : expected_)) return "";
    return has_thrown ? "the old output has changed" : "the output is not the result";
  }

 private:
  static constexpr const char* old = "the old output";

  [[nodiscard]] static std::string as_text(const std::vector<std::uint64_t>& keys) {
    return {reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(std::uint64_t)};
  }
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  [[nodiscard]] static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("spansort-memory-" + std::to_string(::getpid()));
  file_verb verb_;
  std::string expected_;
  std::string failure_of_device_;
};

void try_files(file_verb verb, const base::test_hooks& hooks, const sort_options& options = {},
               std::uint64_t num_keys = num_elements) {
  files_case files(num_keys, verb);
  const base::test_hooks_scope scope(hooks);
  fail_every_allocation([&] { files.prepare(); }, [&] { files.run(options); },
                        [&](bool has_thrown) { return files.check(has_thrown); });
}

TEST(FailingMemoryOfCalls, FilesAreOldOrNew) {
  try_files(file_verb::sort, {});
  try_files(file_verb::argsort, {});
}

/// A file that fits is read, sorted and written side by side. Where memory ends while its keys are in neither order,
/// nothing of the caller's is lost, for they are the library's own.
TEST(FailingMemoryOfCalls, FilesThatFlowAreOldOrNew) {
  for (const char* const devices : {"cpu", "host:3"}) {
    SCOPED_TRACE(devices);
    const sort_options options{.devices = device_list(devices), .threads = 3};
    // The greater number is sorted by several threads.
    for (const std::uint64_t num_keys : {num_elements, std::uint64_t{1} << 19}) {
      try_files(file_verb::sort, {.file_flow_bytes = 1}, options, num_keys);
      try_files(file_verb::argsort, {.file_flow_bytes = 1}, options, num_keys);
    }
  }
}

/// A file is sorted in parts that are spilled and merged, few runs at a time.
TEST(FailingMemoryOfCalls, FilesLargerThanMemoryAreOldOrNew) {
  const base::test_hooks in_parts{
      .file_chunk_elements = num_elements / 7, .file_block_elements = 1000, .file_fan_in = 3};
  try_files(file_verb::sort, in_parts);
  try_files(file_verb::argsort, in_parts);
}

}  // namespace
}  // namespace spansort::test
