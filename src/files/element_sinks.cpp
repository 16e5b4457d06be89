// SPDX-License-Identifier: Apache-2.0
#include "files/element_sinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "files/io/key_writer.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

class file_sink final : public late_sink {
 public:
  file_sink(output_target target, disk_form form, sink_options options)
      : target_(std::move(target)), form_(std::move(form)), options_(std::move(options)) {
    if (!options_.is_count_known) require_late_count();
  }

  void expect(std::uint64_t num_elements) override {
    SPANSORT_ASSERT(!file_);
    num_expected_ = num_elements;
  }

  void open() override {
    if (file_) return;
    if (!num_expected_) require_late_count();
    const std::string text = form_.header(num_expected_.value_or(0));
    const std::uint64_t size_bytes = num_expected_ ? text.size() + *num_expected_ * form_.element_bytes : 0;
    file_.emplace(target_, size_bytes, options_.on_temporary);
    if (!options_.keeps_page_cache) file_->drop_written_pages();
    if (!options_.is_synced) file_->leave_unsynced();
    file_->write(std::as_bytes(std::span(text)));
  }

  bool take_room() override { return file_ && file_->take_room(); }

  void write(std::byte* elements, std::uint64_t count) override {
    open();
    form_.convert(elements, count);
    file_->write({elements, count * form_.element_bytes}, options_.on_progress);
    num_written_ += count;
  }

  void finish() override { complete().commit(); }

  [[nodiscard]] atomic_file& complete() override {
    open();
    if (num_expected_ && *num_expected_ != num_written_) {
      throw internal_error(
          fmt::format("{}: {} elements were to be written, {} came; the output was withheld; please "
                      "report this",
                      target_.name, *num_expected_, num_written_));
    }
    if (!num_expected_ && has_header()) write_count();
    return *file_;
  }

 private:
  [[nodiscard]] bool has_header() const { return form_.layout && form_.layout->format == file_format::npy; }

  void require_late_count() const {
    if (!has_header() || !target_.is_stream) return;
    throw invalid_argument(fmt::format(
        "{}: the header of a .npy stream comes first and names the number of keys, which is not known until "
        "all have been written; write to a file, or take raw input",
        target_.name));
  }

  /// NumPy pads its headers, so the one with the count is as long as the one without.
  void write_count() {
    const std::string text = form_.header(num_written_);
    SPANSORT_ASSERT(text.size() == form_.header(0).size());
    file_->write_at(0, std::as_bytes(std::span(text)));
  }

  output_target target_;
  disk_form form_;
  sink_options options_;
  std::optional<atomic_file> file_;
  std::optional<std::uint64_t> num_expected_;
  std::uint64_t num_written_ = 0;
};

/// Moves the indices of elements to the front, as numbers of the type. Forward: an index never moves over one that is
/// still to come.
template <class Index>
void gather_indices(std::byte* elements, std::uint64_t count, std::uint64_t key_bytes) {
  std::uint64_t largest = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t index;
    std::memcpy(&index, elements + i * (key_bytes + sizeof(index)) + key_bytes, sizeof(index));
    largest = std::max(largest, index);
    const auto written = static_cast<Index>(index);
    std::memcpy(elements + i * sizeof(written), &written, sizeof(written));
  }
  if (largest > std::numeric_limits<Index>::max()) require_index_type(key_traits<Index>::type, largest + 1);
}

/// Calls f with a value of the index type.
template <class F>
decltype(auto) with_index(key_type type, const F& f) {
  switch (type) {
    case key_type::i32: return f(std::int32_t{});
    case key_type::u32: return f(std::uint32_t{});
    case key_type::i64: return f(std::int64_t{});
    case key_type::u64: return f(std::uint64_t{});
    default: throw invalid_argument(fmt::format("indices of type {}: i64, u64, i32 or u32 expected", name(type)));
  }
}

}  // namespace

std::unique_ptr<external::element_sink> make_key_sink(output_target target, const key_layout& layout,
                                                      sink_options options) {
  return make_late_sink(std::move(target), layout, std::move(options));
}

std::unique_ptr<late_sink> make_late_sink(output_target target, const key_layout& layout, sink_options options) {
  return std::make_unique<file_sink>(std::move(target), form_of_keys(layout), std::move(options));
}

std::string disk_form::header(std::uint64_t num_elements) const {
  return layout ? header_of(*layout, num_elements) : std::string();
}

disk_form form_of_keys(const key_layout& layout) {
  const std::uint64_t width = layout.element_bytes();
  return {layout, width, [width, changes = layout.changes()](std::byte* elements, std::uint64_t count) {
            make_foreign({elements, count * width}, width, changes);
          }};
}

disk_form form_of_indices(const key_layout& layout, std::uint64_t key_bytes) {
  const std::uint64_t index_bytes = size_bytes(layout.type);
  return {layout, index_bytes, [key_bytes, layout, index_bytes](std::byte* elements, std::uint64_t count) {
            with_index(layout.type, [&]<class Index>(Index) { gather_indices<Index>(elements, count, key_bytes); });
            make_foreign({elements, count * index_bytes}, index_bytes, layout.changes());
          }};
}

disk_form form_of_records(const output_target& target, std::uint64_t record_bytes) {
  if (is_npy_name(target.name)) {
    throw invalid_argument(
        fmt::format("{}: records are written as plain bytes, without a header; give them a name that does not end in "
                    ".npy",
                    target.name));
  }
  return {std::nullopt, record_bytes, [](std::byte*, std::uint64_t) {}};
}

key_layout index_layout_of(const key_layout& layout, key_type type) {
  key_layout indices = layout;
  indices.type = type;
  indices.byte_order = std::endian::little;
  indices.record_bytes = 0;
  indices.lowers_times = false;
  indices.descr.clear();
  return indices;
}

void require_index_type(key_type type, std::uint64_t count) {
  if (type != key_type::i32 && type != key_type::u32 && type != key_type::i64 && type != key_type::u64) {
    throw invalid_argument(fmt::format("indices of type {}: i32, u32, i64 or u64 is expected", name(type)));
  }
  const std::uint64_t largest = with_index(
      type, []<class Index>(Index) { return static_cast<std::uint64_t>(std::numeric_limits<Index>::max()); });
  if (count == 0 || count - 1 <= largest) return;
  throw invalid_argument(
      fmt::format("indices of type {} (--index) count {} elements at most, and there are {}; i64 counts all",
                  name(type), largest + 1, count));
}

std::unique_ptr<external::element_sink> make_index_sink(output_target target, const key_layout& layout,
                                                        std::uint64_t key_bytes, sink_options options) {
  return std::make_unique<file_sink>(std::move(target), form_of_indices(layout, key_bytes), std::move(options));
}

std::unique_ptr<external::element_sink> make_record_sink(output_target target, std::uint64_t record_bytes,
                                                         sink_options options) {
  const disk_form form = form_of_records(target, record_bytes);
  return std::make_unique<file_sink>(std::move(target), form, std::move(options));
}

}  // namespace spansort::files
