// SPDX-License-Identifier: Apache-2.0
// Sorts of files by the library: in memory, and in parts as if memory held a few thousand elements. However a call
// ends, each output is new as a whole, or all are as they were.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "keys/codec.hpp"
#include "records/record_case.hpp"
#include "soak/job.hpp"
#include "soak/job_folder.hpp"
#include "spansort/files.hpp"
#include "support/engines.hpp"
#include "support/oracle.hpp"

namespace spansort::soak {
namespace {

/// Keys or records as the bytes of a file of .npy, version 1.
std::vector<std::byte> as_npy(key_type type, std::span<const std::byte> keys) {
  static constexpr std::string_view dtypes[] = {"<u1", "<i1", "<u2", "<i2", "<u4", "<i4",
                                                "<u8", "<i8", "<f2", "<u2", "<f4", "<f8"};
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}",
                                   dtypes[static_cast<int>(type)], keys.size() / size_bytes(type));
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string file = "\x93NUMPY\x01";
  file += '\0';
  file += static_cast<char>(header.size());
  file += static_cast<char>(header.size() >> 8);
  file += header;
  const auto bytes = std::as_bytes(std::span(file));
  std::vector<std::byte> all(bytes.begin(), bytes.end());
  all.insert(all.end(), keys.begin(), keys.end());
  return all;
}

class file_job : public job {
 public:
  explicit file_job(drawing& from) : folder_(from.folder), sync_(from.one_in(30)), verify_(from.one_in(4)) {
    from.most_keys = std::min<std::uint64_t>(from.most_keys, 300'000);  // a thousand chunks take their time
    if (from.one_in(2)) {
      hooks_.file_chunk_elements = 300 + from.random.below(5000);
      hooks_.file_block_elements = 1 + from.random.below(hooks_.file_chunk_elements);
      hooks_.file_fan_in = 2 + static_cast<unsigned>(from.random.below(7));
    } else if (from.one_in(2)) {
      hooks_.file_flow_bytes = 1;
    }
  }

  std::string describe() const override {
    return fmt::format("{}{}{}, chunks of {}, blocks of {}, fan-in {}, flow from {}", words_, sync_ ? ", synced" : "",
                       verify_ ? ", verified" : "", hooks_.file_chunk_elements, hooks_.file_block_elements,
                       hooks_.file_fan_in, hooks_.file_flow_bytes);
  }

  void prepare() override { folder_.prepare(); }

  ending run(const test::hooked_options& options) override {
    base::test_hooks hooks = options.world.hooks();
    hooks.file_chunk_elements = hooks_.file_chunk_elements;
    hooks.file_block_elements = hooks_.file_block_elements;
    hooks.file_fan_in = hooks_.file_fan_in;
    hooks.file_flow_bytes = hooks_.file_flow_bytes;
    const base::test_hooks_scope scope(hooks);
    file_options file = file_;
    file.sync = sync_;
    file.verify = verify_;
    file.temporary_directories = {folder_.temporary()};
    call(file, options);
    return ending::done;
  }

  std::string check(ending end) override {
    if (end == ending::done) return folder_.diagnose_new();
    const std::string not_old = folder_.diagnose_old();
    if (end == ending::callback_threw && folder_.diagnose_new().empty()) return "";
    return not_old;
  }

 protected:
  virtual void call(const file_options& file, const sort_options& options) = 0;

  job_folder folder_;
  file_options file_ = {};
  std::string words_;

 private:
  bool sync_;
  bool verify_;
  base::test_hooks hooks_ = {};
};

/// Elements in one file, sorted into another.
class one_file_job : public file_job {
 public:
  one_file_job(drawing& from, bool is_argsort)
      : file_job(from), is_argsort_(is_argsort), is_npy_(from.one_in(4)), replaces_(!from.one_in(4)) {
    if (!is_argsort && from.one_in(4)) {
      draw_records(from);
    } else {
      draw_keys(from);
    }
  }

 protected:
  void call(const file_options& file, const sort_options& options) override {
    if (is_argsort_) {
      static_cast<void>(argsort_file(folder_.path(input_), folder_.path(output_), file, options));
    } else {
      static_cast<void>(sort_file(folder_.path(input_), folder_.path(output_), file, options));
    }
  }

 private:
  void draw_records(drawing& from) {
    const record_format format = test::random_format(from.random);
    const std::uint64_t count = std::min<std::uint64_t>(from.size(), (4U << 20) / format.record_bytes);
    const test::bytes records =
        test::make_records(format, count, test::all_contents[from.random.below(6)], from.random);
    file_.records = format;
    file_.direction = keys::direction_of(from.one_in(2));
    folder_.add_input(input_ = "in.bin", records);
    output_ = "out.bin";
    folder_.add_output(
        {output_, test::sorted_records(format, file_.direction == direction::descending, records), false, replaces_});
    words_ = fmt::format("{} {}", count, test::describe(format));
  }

  void draw_keys(drawing& from) {
    const key_type type = from.type();
    const std::string distribution = from.distribution();
    const test::oracle expected =
        test::make_oracle(type, from.size(), parse_distribution(distribution), from.random(), from.one_in(2));
    file_.type = type;
    file_.direction = keys::direction_of(expected.descending());
    input_ = is_npy_ ? "in.npy" : "in.bin";
    output_ = is_npy_ ? "out.npy" : "out.bin";
    folder_.add_input(input_, is_npy_ ? as_npy(type, expected.input())
                                      : std::vector(expected.input().begin(), expected.input().end()));
    words_ = fmt::format("{} {} keys {}{}{}", expected.num_keys(), name(type), distribution,
                         expected.descending() ? " descending" : "", is_npy_ ? ", .npy" : "");
    std::vector<std::byte> sorted = is_argsort_ ? draw_indices(from, expected) : draw_sorted(from, expected);
    folder_.add_output({output_, std::move(sorted), is_npy_, replaces_});
  }

  std::vector<std::byte> draw_indices(drawing& from, const test::oracle& expected) {
    file_.index_type = from.one_in(2) ? key_type::i64 : key_type::u32;
    return test::values_in_order(expected.order(), size_bytes(file_.index_type));
  }

  /// All keys, those that differ, the first of them, or all and the values of another file.
  std::vector<std::byte> draw_sorted(drawing& from, const test::oracle& expected) {
    const std::size_t width = size_bytes(expected.type());
    const std::span<const std::byte> all = expected.keys_alone();
    switch (from.random.below(6)) {
      case 0: return draw_values(from, expected);
      case 1: {
        file_.head = from.random.below(expected.num_keys() + 2);
        words_ += fmt::format(", first {}", *file_.head);
        return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(
                                               std::min<std::uint64_t>(*file_.head, expected.num_keys()) * width)};
      }
      case 2: {
        file_.unique = true;
        words_ += ", unique";
        std::vector<std::byte> kept;
        for (std::uint64_t i = 0; i < expected.num_keys(); ++i) {
          const std::byte* const key = all.data() + i * width;
          const bool differs =
              i == 0 || test::precedes_in_value(expected.type(), expected.descending(), key - width, key);
          if (differs) kept.insert(kept.end(), key, key + width);
        }
        return kept;
      }
      default: return {all.begin(), all.end()};
    }
  }

  std::vector<std::byte> draw_values(drawing& from, const test::oracle& expected) {
    const std::uint64_t value_bytes = 1 + from.random.below(40);
    // How wide values are in a raw file follows from their number.
    if (expected.num_keys() == 0) return {};
    folder_.add_input("values.bin", test::input_values(expected.num_keys(), value_bytes));
    folder_.add_output({"moved.bin", test::values_in_order(expected.order(), value_bytes), false, replaces_});
    file_.values = value_files{folder_.path("values.bin"), folder_.path("moved.bin"), {}};
    words_ += fmt::format(" with values of {} bytes", value_bytes);
    return {expected.keys_of_pairs().begin(), expected.keys_of_pairs().end()};
  }

  bool is_argsort_;
  bool is_npy_;
  bool replaces_;
  std::string input_;
  std::string output_;
};

class merge_job : public file_job {
 public:
  explicit merge_job(drawing& from) : file_job(from) {
    const key_type type = from.type();
    const bool descends = from.one_in(2);
    const std::string distribution = from.distribution();
    std::vector<std::byte> all;
    for (std::uint64_t i = 1 + from.random.below(6); i != 0; --i) {
      const std::uint64_t num_keys = from.size() / 2;
      const test::oracle part =
          test::make_oracle(type, num_keys, parse_distribution(distribution), from.random(), descends);
      const std::string input = fmt::format("in{}.bin", i);
      folder_.add_input(input, part.keys_alone());
      inputs_.push_back(folder_.path(input));
      all.insert(all.end(), part.input().begin(), part.input().end());
    }
    const std::uint64_t num_keys = all.size() / size_bytes(type);
    const test::oracle expected(const_key_span(type, all.data(), num_keys), descends);
    file_.type = type;
    file_.direction = keys::direction_of(descends);
    folder_.add_output({"out.bin", {expected.keys_alone().begin(), expected.keys_alone().end()}, false, true});
    words_ = fmt::format("{} {} keys {} of {} files", num_keys, name(type), distribution, inputs_.size());
  }

 protected:
  void call(const file_options& file, const sort_options& options) override {
    static_cast<void>(merge_files(inputs_, folder_.path("out.bin"), file, options));
  }

 private:
  std::vector<std::string> inputs_;
};

}  // namespace

std::unique_ptr<job> draw_sort_file(drawing& from) { return std::make_unique<one_file_job>(from, false); }
std::unique_ptr<job> draw_argsort_file(drawing& from) { return std::make_unique<one_file_job>(from, true); }
std::unique_ptr<job> draw_merge_files(drawing& from) { return std::make_unique<merge_job>(from); }

}  // namespace spansort::soak
