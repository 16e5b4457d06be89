// SPDX-License-Identifier: Apache-2.0
#include "files/valued_keys.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_buffer.hpp"
#include "base/for_blocks.hpp"
#include "files/io/input.hpp"
#include "files/io/key_writer.hpp"
#include "files/record_order.hpp"
#include "files/typed_input.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::uint64_t valued_piece_bytes = std::uint64_t{1} << 20;

/// An element is the first part, then the second one.
struct part_widths {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  [[nodiscard]] std::uint64_t whole() const noexcept { return first + second; }
  [[nodiscard]] std::uint64_t piece_elements() const noexcept {
    return std::max<std::uint64_t>(valued_piece_bytes / whole(), 1);
  }
};

class joining_source final : public external::element_source {
 public:
  joining_source(std::unique_ptr<external::element_source> keys, std::unique_ptr<external::element_source> values,
                 part_widths widths)
      : keys_(std::move(keys)), values_(std::move(values)), widths_(widths) {}

  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return keys_->num_elements(); }

  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    std::uint64_t count = 0;
    while (count < most) {
      const std::uint64_t wanted = std::min(widths_.piece_elements(), most - count);
      key_piece_.make_room(wanted * widths_.first);
      value_piece_.make_room(wanted * widths_.second);
      const std::uint64_t num_keys = keys_->read(key_piece_.data(), wanted);
      if (values_->read(value_piece_.data(), wanted) != num_keys)
        throw bad_input("values: fewer or more than the keys");
      join(elements + count * widths_.whole(), num_keys);
      count += num_keys;
      if (num_keys < wanted) break;
    }
    return count;
  }

 private:
  void join(std::byte* elements, std::uint64_t count) {
    base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        std::byte* const element = elements + i * widths_.whole();
        std::memcpy(element, key_piece_.data() + i * widths_.first, widths_.first);
        std::memcpy(element + widths_.first, value_piece_.data() + i * widths_.second, widths_.second);
      }
    });
  }

  std::unique_ptr<external::element_source> keys_;
  std::unique_ptr<external::element_source> values_;
  part_widths widths_;
  base::byte_buffer key_piece_;
  base::byte_buffer value_piece_;
};

/// Writes both parts of elements, each through a sink of its own.
class splitting_sink final : public external::element_sink {
 public:
  splitting_sink(std::unique_ptr<late_sink> keys, std::unique_ptr<late_sink> values, part_widths widths)
      : keys_(std::move(keys)), values_(std::move(values)), widths_(widths) {}

  void expect(std::uint64_t num_elements) override {
    keys_->expect(num_elements);
    values_->expect(num_elements);
  }
  void open() override {
    keys_->open();
    values_->open();
  }
  void write(std::byte* elements, std::uint64_t count) override {
    for (std::uint64_t at = 0; at < count; at += widths_.piece_elements()) {
      const std::uint64_t num_here = std::min(widths_.piece_elements(), count - at);
      split(elements + at * widths_.whole(), num_here);
      keys_->write(key_piece_.data(), num_here);
      values_->write(value_piece_.data(), num_here);
    }
  }
  void finish() override { atomic_file::commit_together(values_->complete(), keys_->complete()); }

 private:
  void split(const std::byte* elements, std::uint64_t count) {
    key_piece_.make_room(count * widths_.first);
    value_piece_.make_room(count * widths_.second);
    base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::byte* const element = elements + i * widths_.whole();
        std::memcpy(key_piece_.data() + i * widths_.first, element, widths_.first);
        std::memcpy(value_piece_.data() + i * widths_.second, element + widths_.first, widths_.second);
      }
    });
  }

  std::unique_ptr<late_sink> keys_;
  std::unique_ptr<late_sink> values_;
  part_widths widths_;
  base::byte_buffer key_piece_;
  base::byte_buffer value_piece_;
};

/// Returns the format of elements of a key and values, ordered by the key.
record_format format_of(const typed_input& keys, part_widths widths) {
  record_format format{.record_bytes = static_cast<std::uint32_t>(widths.whole()), .keys = {}};
  if (keys.records) {
    format.keys = keys.records->keys;
  } else {
    format.keys = {{0, static_cast<std::uint32_t>(widths.first), keys.reader.layout().type, false}};
  }
  return format;
}

class valued_keys final : public element_kind {
 public:
  valued_keys(typed_input keys, key_reader values, const std::string& input, const std::string& output,
              const file_options& file)
      : name_(keys.reader.name()),
        num_keys_(*keys.reader.num_keys()),
        widths_{keys.reader.layout().element_bytes(), values.layout().element_bytes()},
        on_values_temporary_(file.values->on_temporary),
        target_(find_output(output)),
        values_target_(find_output(file.values->output)),
        layout_(output_layout(target_, input, keys.reader.layout())),
        values_layout_(output_layout(values_target_, file.values->input, values.layout())) {
    require_width();
    require_outputs();
    format_ = format_of(keys, widths_);
    if (!file.unique) require_free_space(values_target_, file_bytes(values_layout_, num_wanted(file)));
    keys_.emplace(std::move(keys.reader));
    values_.emplace(std::move(values));
  }

  [[nodiscard]] const std::string& input_name() const noexcept override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return num_keys_; }
  [[nodiscard]] std::uint64_t input_bytes() const override { return num_keys_ * widths_.whole(); }
  [[nodiscard]] std::uint64_t record_bytes() const noexcept override { return widths_.whole(); }
  [[nodiscard]] std::optional<key_type> type() const noexcept override { return std::nullopt; }
  [[nodiscard]] const output_target& target() const noexcept override { return target_; }
  /// Those of both files, though they may lie on two disks.
  [[nodiscard]] std::uint64_t output_bytes(std::uint64_t count) const override {
    return file_bytes(layout_, count) + (are_on_one_disk() ? file_bytes(values_layout_, count) : 0);
  }
  [[nodiscard]] std::unique_ptr<external::element_order> make_order(direction d,
                                                                    const sort_options& options) const override {
    return make_record_order(format_, d, options);
  }
  [[nodiscard]] std::unique_ptr<external::element_source> take_source(source_options options) override {
    source_options quiet{.keeps_page_cache = options.keeps_page_cache};
    return std::make_unique<joining_source>(make_key_source(std::move(*keys_), std::move(options)),
                                            make_key_source(std::move(*values_), std::move(quiet)), widths_);
  }
  [[nodiscard]] std::unique_ptr<external::element_sink> make_sink(const sink_options& options) const override {
    sink_options quiet = options;
    quiet.on_progress = {};
    quiet.on_temporary = on_values_temporary_;
    return std::make_unique<splitting_sink>(make_late_sink(target_, layout_, options),
                                            make_late_sink(values_target_, values_layout_, quiet), widths_);
  }
  [[nodiscard]] disk_form form() const override {
    throw invalid_argument(fmt::format("{}: keys and values have no output in common", name_));
  }
  void hold_whole(std::uint64_t) override {}
  [[nodiscard]] std::uint64_t whole_bytes() const override { return input_bytes(); }

 private:
  [[nodiscard]] std::uint64_t num_wanted(const file_options& file) const {
    return std::min(num_keys_, file.head.value_or(num_keys_));
  }

  void require_width() const {
    if (widths_.whole() <= most_record_bytes) return;
    throw invalid_argument(
        fmt::format("{}: a key with its values has {} bytes, at most {} are sorted along; write the order of the keys "
                    "(argsort) and take the values by it (take)",
                    name_, widths_.whole(), most_record_bytes));
  }

  void require_outputs() const {
    if (target_.name == values_target_.name || (!target_.is_stream && target_.path == values_target_.path) ||
        is_same_file(target_.name, values_target_.name)) {
      throw invalid_argument(
          fmt::format("{}: named for the keys and for the values, each needs a place of its own", target_.name));
    }
    if (values_layout_.format == file_format::npy && values_layout_.descr.empty()) {
      throw invalid_argument(
          fmt::format("{}: the values are raw bytes, of which no .npy file can be made; give it another name",
                      values_target_.name));
    }
  }

  [[nodiscard]] bool are_on_one_disk() const {
    struct stat first {};
    struct stat second {};
    return !target_.is_stream && !values_target_.is_stream && ::stat(target_.directory.c_str(), &first) == 0 &&
           ::stat(values_target_.directory.c_str(), &second) == 0 && first.st_dev == second.st_dev;
  }

  std::string name_;
  std::uint64_t num_keys_;
  part_widths widths_;
  temporary_callback on_values_temporary_;
  output_target target_;
  output_target values_target_;
  key_layout layout_;
  key_layout values_layout_;
  record_format format_;
  std::optional<key_reader> keys_;
  std::optional<key_reader> values_;
};

}  // namespace

std::unique_ptr<element_kind> open_valued_keys(const std::string& input, const std::string& output,
                                               const file_options& file) {
  if (file.records || file.on_sorted || file.array.axis || file.array.flattens) {
    throw invalid_argument(
        "values (--values): go along with the keys of a file, not with raw records (--record), a summary (--summary) "
        "or "
        "an axis (--axis)");
  }
  typed_input keys = open_typed_input(input, {file.type, file.array, file.direction});
  if (!keys.reader.num_keys()) {
    throw invalid_argument(
        fmt::format("{}: is a stream; values (--values) are sorted along with keys of a regular file", input));
  }
  key_reader values = key_reader::open_rows(file.values->input, *keys.reader.num_keys());
  return std::make_unique<valued_keys>(std::move(keys), std::move(values), input, output, file);
}

}  // namespace spansort::files
