// SPDX-License-Identifier: Apache-2.0
// Sorts a fixed, seeded corpus by the public interface and compares a hash of the bytes of every result with
// tests/golden/corpus_<size>.txt: every key type and distribution, keys alone, pairs and argsort, both directions. All
// devices and algorithms must give the one set of bytes that the file records, and a change of the source that is
// to leave results alone must leave the file alone.
#include <gtest/gtest.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "spansort/files.hpp"
#include "spansort/generate.hpp"
#include "spansort/records.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/golden_file.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t corpus_seed = 20261122;

/// A size of the corpus and the golden file of its results.
struct corpus {
  std::uint64_t num_keys;
  const char* golden;
};
constexpr corpus small_corpus{1009, "corpus_1009.txt"};
constexpr corpus large_corpus{30011, "corpus_30011.txt"};

std::string hash_text(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string hash_of(std::span<const std::byte> first, std::span<const std::byte> second = {}) {
  const std::uint64_t seed = XXH3_64bits(first.data(), first.size());
  return hash_text(second.empty() ? seed : XXH3_64bits_withSeed(second.data(), second.size(), seed));
}

/// The keys of one line of a golden file.
struct key_array {
  key_type type;
  std::vector<std::byte> bytes;
  [[nodiscard]] std::uint64_t num_keys() const { return bytes.size() / size_bytes(type); }
  [[nodiscard]] key_span span() { return {type, bytes.data(), num_keys()}; }
};

/// The values' bytes tell where their keys stood.
std::vector<std::byte> numbered_values(std::uint64_t num_values, unsigned value_bytes) {
  std::vector<std::byte> values(num_values * value_bytes);
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::byte>((i / value_bytes) >> (8 * (i % value_bytes % 4)));
  }
  return values;
}

std::string sort_hash(sorter& s, key_array keys, direction d) {
  s.sort(keys.span(), d);
  return hash_of(keys.bytes);
}

std::string pairs_hash(sorter& s, key_array keys, unsigned value_bytes, direction d) {
  std::vector<std::byte> values = numbered_values(keys.num_keys(), value_bytes);
  s.sort_pairs(keys.span(), values.data(), value_bytes, d);
  return hash_of(keys.bytes, values);
}

std::string argsort_hash(sorter& s, const key_array& keys, unsigned index_bytes, direction d) {
  std::vector<std::byte> indices(keys.num_keys() * index_bytes);
  s.argsort(const_key_span(keys.type, keys.bytes.data(), keys.num_keys()), indices.data(), index_bytes, d);
  return hash_of(indices);
}

/// The lines of a golden file, as `e` makes them.
std::string results_of(const engine& e, const corpus& c) {
  std::string text =
      "# type distribution input sort sort-descending pairs:4 pairs:16-descending argsort:8 argsort:4-descending\n";
  constexpr direction up = direction::ascending;
  constexpr direction down = direction::descending;
  sorter s = e.make_sorter();
  for (const key_type type : all_key_types()) {
    for (const distribution& d : all_distributions()) {
      const key_array input{type, make_keys(type, c.num_keys, d, corpus_seed)};
      text += std::string(name(type)) + " " + to_string(d) + " " + hash_of(input.bytes);
      text += " " + sort_hash(s, input, up) + " " + sort_hash(s, input, down);
      text += " " + pairs_hash(s, input, 4, up) + " " + pairs_hash(s, input, 16, down);
      text += " " + argsort_hash(s, input, 8, up) + " " + argsort_hash(s, input, 4, down) + "\n";
    }
  }
  return text;
}

/// Engines that take tens of milliseconds however few the keys would take most of the time; the differential tests have
/// them.
std::vector<engine> quick_engines() {
  std::vector<engine> quick = all_engines();
  std::erase_if(quick, [](const engine& e) { return e.is_costly; });
  return quick;
}

class corpus_test : public testing::TestWithParam<engine> {};

TEST_P(corpus_test, ResultsAreThoseRecorded) {
  SCOPED_TRACE(GetParam().describe());
  expect_golden(small_corpus.golden, results_of(GetParam(), small_corpus));
}

INSTANTIATE_TEST_SUITE_P(Engines, corpus_test, testing::ValuesIn(quick_engines()));

class large_corpus_test : public testing::TestWithParam<engine> {};

TEST_P(large_corpus_test, ResultsAreThoseRecorded) {
  SCOPED_TRACE(GetParam().describe());
  expect_golden(large_corpus.golden, results_of(GetParam(), large_corpus));
}

INSTANTIATE_TEST_SUITE_P(Engines, large_corpus_test,
                         testing::Values(engine{"cpu", "auto"}, engine{"host:3", "rmg"}, engine{"host:7", "auto"},
                                         engine{"host:2", "out_of_core"}));

std::string records_line(const std::string& engine_name, std::uint64_t record_bytes, const std::string& keys,
                         const sort_options& options, direction d = direction::ascending) {
  constexpr std::uint64_t num_bytes = 5000 * generated_record_bytes;
  std::vector<std::byte> records(num_bytes);
  generate_records(records, 0, corpus_seed);
  records.resize(num_bytes / record_bytes * record_bytes);
  sort_records(records.data(), records.size() / record_bytes, parse_record_format(record_bytes, keys), d, options);
  return engine_name + " " + std::to_string(record_bytes) + " " + keys + " " + hash_of(records) + "\n";
}

TEST(records_corpus_test, ResultsAreThoseRecorded) {
  std::string text = "# devices record-bytes keys result\n";
  for (const std::string devices : {"cpu", "host:3"}) {
    sort_options options;
    options.devices = devices_under_test(devices);
    for (const std::string keys : {"0:10", "0:1", "3:4:u32,0:2", "8:8:f64:r,1:1", "20:40:r"}) {
      text += records_line(devices, 100, keys, options);
    }
    text += records_line(devices, 13, "12:1,0:4:f32:r,0:9", options);
    text += records_line(devices, 5, "1:2:i16,0:1:u8:r", options, direction::descending);
  }
  expect_golden("corpus_records.txt", text);
}

/// A folder of this test's own, gone with it.
class corpus_folder {
 public:
  corpus_folder() : path_(testing::TempDir() + "spansort_corpus_" + std::to_string(getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~corpus_folder() { std::filesystem::remove_all(path_); }
  corpus_folder(const corpus_folder&) = delete;
  corpus_folder& operator=(const corpus_folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string hash(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return hash_of(std::as_bytes(std::span(bytes)));
  }

 private:
  std::string path_;
};

/// Sorts of files, in memory and in runs of a thousand elements, merged three at a time.
std::string file_results(std::uint64_t chunk_elements) {
  const corpus_folder folder;
  std::string text = "# type distribution sort unique-descending argsort head\n";
  const base::test_hooks_scope hooks({.file_chunk_elements = chunk_elements,
                                      .file_block_elements = chunk_elements / 8,
                                      .file_fan_in = chunk_elements == 0 ? 0U : 3U});
  for (const key_type type : all_key_types()) {
    for (const char* const shape : {"uniform", "zipf:1", "special-floats"}) {
      const distribution d = parse_distribution(shape);
      generate_file(folder.file("in"), type, 8009, d, corpus_seed);
      sort_file(folder.file("in"), folder.file("sorted.npy"), {.type = type});
      sort_file(folder.file("in"), folder.file("unique"),
                {.direction = direction::descending, .type = type, .unique = true});
      argsort_file(folder.file("in"), folder.file("order.npy"), {.type = type});
      sort_file(folder.file("in"), folder.file("head"), {.head = 100, .type = type});
      text += std::string(name(type)) + " " + shape + " " + folder.hash("sorted.npy") + " " + folder.hash("unique") +
              " " + folder.hash("order.npy") + " " + folder.hash("head") + "\n";
    }
  }
  return text;
}

TEST(files_corpus_test, ResultsInMemoryAreThoseRecorded) { expect_golden("corpus_files.txt", file_results(0)); }
TEST(files_corpus_test, ResultsInRunsAreThoseRecorded) { expect_golden("corpus_files.txt", file_results(1000)); }

}  // namespace
}  // namespace spansort::test
