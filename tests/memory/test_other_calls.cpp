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
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "memory/fail_every_allocation.hpp"
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

/// A folder with an input and an old output.
class files_case {
 public:
  explicit files_case(std::uint64_t num_keys) : keys_(num_keys) {
    generate(as_key_span(std::span(keys_)), {distribution_kind::uniform}, seed_for(8));
    std::filesystem::create_directory(folder_);
    write(folder_ / "x.bin", as_text(keys_));
    std::sort(keys_.begin(), keys_.end());
  }
  ~files_case() { std::filesystem::remove_all(folder_); }
  files_case(const files_case&) = delete;
  files_case& operator=(const files_case&) = delete;

  void prepare() { write(folder_ / "y.bin", old); }
  void run(const sort_options& options) {
    sort_file((folder_ / "x.bin").string(), (folder_ / "y.bin").string(),
              {.temporary_directories = {folder_.string()}, .type = key_type::u64}, options);
  }
  [[nodiscard]] std::string check(bool has_thrown) const {
    const auto num_files = std::distance(std::filesystem::directory_iterator(folder_), {});
    if (num_files != 2) return "a file is left behind";
    const std::string found = read(folder_ / "y.bin");
    if (found == (has_thrown ? std::string(old) : as_text(keys_))) return "";
    return has_thrown ? "the old output has changed" : "the output is not sorted";
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
  std::vector<std::uint64_t> keys_;
};

TEST(FailingMemoryOfCalls, FilesAreOldOrNew) {
  files_case files(num_elements);
  fail_every_allocation([&] { files.prepare(); }, [&] { files.run({}); },
                        [&](bool has_thrown) { return files.check(has_thrown); });
}

/// A file is sorted in parts that are spilled and merged, few runs at a time.
TEST(FailingMemoryOfCalls, FilesLargerThanMemoryAreOldOrNew) {
  files_case files(num_elements);
  const base::test_hooks_scope scope(
      {.file_chunk_elements = num_elements / 7, .file_block_elements = 1000, .file_fan_in = 3});
  fail_every_allocation([&] { files.prepare(); }, [&] { files.run({}); },
                        [&](bool has_thrown) { return files.check(has_thrown); });
}

}  // namespace
}  // namespace spansort::test
