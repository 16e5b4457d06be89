// SPDX-License-Identifier: Apache-2.0
#include "files/element_sinks.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "files/io/key_writer.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

/// What becomes of elements on the disk.
struct disk_form {
  std::optional<key_layout> layout;  ///< nothing: no header
  std::uint64_t element_bytes = 0;   ///< of one, on the disk
  /// Turns elements into what is written, in place: the bytes from `elements` on.
  std::function<void(std::byte* elements, std::uint64_t count)> convert;
};

class file_sink final : public external::element_sink {
 public:
  file_sink(output_target target, disk_form form, sink_options options)
      : target_(std::move(target)), form_(std::move(form)), options_(std::move(options)) {
    if (!options_.is_count_known) require_late_count();
  }

  void expect(std::uint64_t num_elements) override {
    SPANSORT_ASSERT(!file_);
    num_expected_ = num_elements;
  }

  void write(std::byte* elements, std::uint64_t count) override {
    if (!file_) open();
    form_.convert(elements, count);
    file_->write({elements, count * form_.element_bytes}, options_.on_progress);
    num_written_ += count;
  }

  void finish() override {
    if (!file_) open();
    if (num_expected_ && *num_expected_ != num_written_) {
      throw internal_error(
          fmt::format("{}: {} elements were to be written, {} came; the output was withheld; please "
                      "report this",
                      target_.name, *num_expected_, num_written_));
    }
    if (!num_expected_ && has_header()) write_count();
    file_->commit();
  }

 private:
  [[nodiscard]] bool has_header() const { return form_.layout && form_.layout->format == file_format::npy; }

  [[nodiscard]] std::string header(std::uint64_t num_elements) const {
    return form_.layout ? header_of(*form_.layout, num_elements) : std::string();
  }

  void require_late_count() const {
    if (!has_header() || !target_.is_stream) return;
    throw invalid_argument(fmt::format(
        "{}: the header of a .npy stream comes first and names the number of keys, which is not known until "
        "all have been written; write to a file, or take raw input",
        target_.name));
  }

  void open() {
    if (!num_expected_) require_late_count();
    const std::string text = header(num_expected_.value_or(0));
    const std::uint64_t size_bytes = num_expected_ ? text.size() + *num_expected_ * form_.element_bytes : 0;
    file_.emplace(target_, size_bytes, options_.on_temporary);
    if (!options_.keeps_page_cache) file_->drop_written_pages();
    if (!options_.is_synced) file_->leave_unsynced();
    file_->write(std::as_bytes(std::span(text)));
  }

  /// NumPy pads its headers, so the one with the count is as long as the one without.
  void write_count() {
    const std::string text = header(num_written_);
    SPANSORT_ASSERT(text.size() == header(0).size());
    file_->write_at(0, std::as_bytes(std::span(text)));
  }

  output_target target_;
  disk_form form_;
  sink_options options_;
  std::optional<atomic_file> file_;
  std::optional<std::uint64_t> num_expected_;
  std::uint64_t num_written_ = 0;
};

void swap_if_foreign(std::endian order, std::span<std::byte> words, std::uint64_t word_bytes) {
  if (order != std::endian::native) swap_bytes(words, word_bytes);
}

/// Moves the indices of elements to the front. Forward: an index never moves over one that is still to come.
void gather_indices(std::byte* elements, std::uint64_t count, std::uint64_t key_bytes) {
  constexpr std::uint64_t index_bytes = sizeof(std::uint64_t);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t index;
    std::memcpy(&index, elements + i * (key_bytes + index_bytes) + key_bytes, index_bytes);
    std::memcpy(elements + i * index_bytes, &index, index_bytes);
  }
}

}  // namespace

std::unique_ptr<external::element_sink> make_key_sink(output_target target, const key_layout& layout,
                                                      sink_options options) {
  const std::uint64_t key_bytes = size_bytes(layout.type);
  const auto convert = [key_bytes, order = layout.byte_order](std::byte* keys, std::uint64_t count) {
    swap_if_foreign(order, {keys, count * key_bytes}, key_bytes);
  };
  return std::make_unique<file_sink>(std::move(target), disk_form{layout, key_bytes, convert}, std::move(options));
}

std::unique_ptr<external::element_sink> make_index_sink(output_target target, const key_layout& layout,
                                                        sink_options options) {
  constexpr std::uint64_t index_bytes = sizeof(std::uint64_t);
  const auto convert = [key_bytes = size_bytes(layout.type)](std::byte* elements, std::uint64_t count) {
    gather_indices(elements, count, key_bytes);
    swap_if_foreign(std::endian::little, {elements, count * index_bytes}, index_bytes);
  };
  const key_layout of_indices{layout.format, key_type::i64, std::endian::little};
  return std::make_unique<file_sink>(std::move(target), disk_form{of_indices, index_bytes, convert},
                                     std::move(options));
}

std::unique_ptr<external::element_sink> make_record_sink(output_target target, std::uint64_t record_bytes,
                                                         sink_options options) {
  if (is_npy_name(target.name)) {
    throw invalid_argument(
        fmt::format("{}: records are written as plain bytes, without a header; give them a name that does not end in "
                    ".npy",
                    target.name));
  }
  const disk_form form{std::nullopt, record_bytes, [](std::byte*, std::uint64_t) {}};
  return std::make_unique<file_sink>(std::move(target), form, std::move(options));
}

}  // namespace spansort::files
