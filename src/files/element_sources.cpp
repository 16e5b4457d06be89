// SPDX-License-Identifier: Apache-2.0
#include "files/element_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/assert.hpp"
#include "keys/dispatch.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

class key_source final : public external::element_source {
 public:
  key_source(key_reader reader, source_options options)
      : reader_(std::move(reader)), options_(std::move(options)), key_bytes_(reader_.layout().element_bytes()) {
    if (!options_.keeps_page_cache) reader_.drop_read_pages();
    if (options_.share) reader_.take_part(options_.share->first, options_.share->count);
  }

  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override {
    return options_.share ? options_.share->count : reader_.num_keys();
  }

  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    transfer_progress tell = options_.on_progress;
    // Keys that are changed, those in the other byte order and times, are so when all are there.
    if (options_.on_arrived && reader_.layout().changes().empty()) {
      tell = [this, first_byte = reader_.header_bytes() + num_read_ * key_bytes_](std::uint64_t done_bytes,
                                                                                  std::uint64_t total_bytes) {
        if (options_.on_progress) options_.on_progress(done_bytes, total_bytes);
        options_.on_arrived((done_bytes - std::min(done_bytes, first_byte)) / key_bytes_);
      };
    }
    const std::uint64_t count = reader_.read_some({elements, most * key_bytes_}, tell);
    num_read_ += count;
    return count;
  }

  [[nodiscard]] std::uint64_t key_bytes() const noexcept { return key_bytes_; }

 private:
  key_reader reader_;
  source_options options_;
  std::uint64_t key_bytes_;
  std::uint64_t num_read_ = 0;
};

/// Spreads `count` keys, which lie at `keys`, over elements of key and index. The keys may lie in the elements' own
/// memory if no element is written over a key behind its own.
template <class K>
void add_indices(std::byte* elements, const std::byte* keys, std::uint64_t count, std::uint64_t first_index) {
  for (std::uint64_t i = 0; i < count; ++i) {
    K key;
    std::memcpy(&key, keys + i * sizeof(K), sizeof(K));
    const std::uint64_t index = first_index + i;
    std::byte* const element = elements + i * (sizeof(K) + sizeof(index));
    std::memcpy(element, &key, sizeof(K));
    std::memcpy(element + sizeof(K), &index, sizeof(index));
  }
}

class indexed_key_source final : public external::element_source {
 public:
  indexed_key_source(key_reader reader, source_options options)
      : next_index_(options.share ? options.share->first : 0), keys_(std::move(reader), std::move(options)) {}

  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return keys_.num_elements(); }

  /// The keys are read into the end of the elements' memory: spread from the begin on, element i ends where key i + 1
  /// begins at the latest.
  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    std::byte* const keys = elements + most * sizeof(std::uint64_t);
    const std::uint64_t count = keys_.read(keys, most);
    keys::with_width(static_cast<unsigned>(keys_.key_bytes()),
                     [&]<class K>() { add_indices<K>(elements, keys, count, next_index_); });
    next_index_ += count;
    return count;
  }

 private:
  std::uint64_t next_index_;
  key_source keys_;
};

class record_source final : public external::element_source {
 public:
  record_source(input_file input, std::uint64_t record_bytes, source_options options)
      : input_(std::move(input)), record_bytes_(record_bytes), options_(std::move(options)) {
    SPANSORT_ASSERT(record_bytes != 0);
    if (is_npy_name(input_.name())) {
      throw bad_input(
          fmt::format("{}: records are plain bytes, but the name is that of a .npy file, which has a header; "
                      "give them another name, or sort the file's keys without --record",
                      input_.name()));
    }
    if (input_.size_bytes()) require_whole_records(*input_.size_bytes());
    if (!options_.keeps_page_cache) input_.drop_read_pages();
    if (options_.share) input_.seek(options_.share->first * record_bytes_);
  }

  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override {
    if (options_.share) return options_.share->count;
    if (!input_.size_bytes()) return std::nullopt;
    return *input_.size_bytes() / record_bytes_;
  }

  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    if (options_.share) return read_of_share(elements, most);
    const std::uint64_t wanted = most * record_bytes_;
    const std::uint64_t to_come = input_.size_bytes() ? *input_.size_bytes() - bytes_taken_ : wanted;
    const std::uint64_t num_bytes = input_.read(std::span(elements, std::min(wanted, to_come)), options_.on_progress);
    bytes_taken_ += num_bytes;
    if (num_bytes < wanted || bytes_taken_ == input_.size_bytes()) {
      input_.require_unchanged();
      require_whole_records(bytes_taken_);
    }
    return num_bytes / record_bytes_;
  }

 private:
  [[nodiscard]] std::uint64_t read_of_share(std::byte* elements, std::uint64_t most) {
    const std::uint64_t to_come = options_.share->count - bytes_taken_ / record_bytes_;
    const std::uint64_t wanted = std::min(most, to_come) * record_bytes_;
    const std::uint64_t num_bytes = input_.read(std::span(elements, wanted), options_.on_progress);
    input_.require_same_status();
    bytes_taken_ += num_bytes;
    if (num_bytes != wanted) throw bad_input(fmt::format("{}: ends before the end of a share of it", input_.name()));
    return num_bytes / record_bytes_;
  }

  void require_whole_records(std::uint64_t num_bytes) const {
    if (num_bytes % record_bytes_ == 0) return;
    throw bad_input(fmt::format("{}: {} bytes are not a multiple of {}, the size of a record", input_.name(), num_bytes,
                                record_bytes_));
  }

  input_file input_;
  std::uint64_t record_bytes_;
  source_options options_;
  std::uint64_t bytes_taken_ = 0;
};

}  // namespace

std::unique_ptr<external::element_source> make_key_source(key_reader reader, source_options options) {
  return std::make_unique<key_source>(std::move(reader), std::move(options));
}

std::unique_ptr<external::element_source> make_indexed_key_source(key_reader reader, source_options options) {
  return std::make_unique<indexed_key_source>(std::move(reader), std::move(options));
}

std::unique_ptr<external::element_source> make_record_source(input_file input, std::uint64_t record_bytes,
                                                             source_options options) {
  return std::make_unique<record_source>(std::move(input), record_bytes, std::move(options));
}

std::unique_ptr<external::element_source> make_record_source(const std::string& path, std::uint64_t record_bytes,
                                                             source_options options) {
  return make_record_source(input_file(path), record_bytes, std::move(options));
}

}  // namespace spansort::files
