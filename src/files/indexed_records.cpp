// SPDX-License-Identifier: Apache-2.0
#include "files/indexed_records.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/byte_buffer.hpp"
#include "base/for_blocks.hpp"
#include "files/index_bytes.hpp"

namespace spansort::files {
namespace {

constexpr std::uint64_t reread_piece_bytes = std::uint64_t{1} << 20;

class indexed_record_source final : public external::element_source {
 public:
  indexed_record_source(std::unique_ptr<external::element_source> records, const record_format& format,
                        std::uint64_t first_index)
      : records_(std::move(records)), format_(format), packed_(packed_format(format)), next_index_(first_index) {}

  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return records_->num_elements(); }

  [[nodiscard]] std::uint64_t read(std::byte* elements, std::uint64_t most) override {
    const std::uint64_t piece_records = std::max<std::uint64_t>(reread_piece_bytes / format_.record_bytes, 1);
    piece_.make_room(std::min(piece_records, std::max<std::uint64_t>(most, 1)) * format_.record_bytes);
    std::uint64_t count = 0;
    while (count < most) {
      const std::uint64_t wanted = std::min(piece_records, most - count);
      const std::uint64_t got = records_->read(piece_.data(), wanted);
      pack(elements + count * packed_.record_bytes, got);
      count += got;
      if (got < wanted) break;
    }
    return count;
  }

 private:
  void pack(std::byte* elements, std::uint64_t count) {
    base::for_blocks(count, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::byte* const record = piece_.data() + i * format_.record_bytes;
        std::byte* const element = elements + i * packed_.record_bytes;
        for (std::size_t key = 0; key < format_.keys.size(); ++key) {
          std::memcpy(element + packed_.keys[key].offset, record + format_.keys[key].offset,
                      format_.keys[key].size_bytes);
        }
        const std::uint64_t index = next_index_ + i;
        std::memcpy(element + packed_.record_bytes - index_bytes, &index, index_bytes);
      }
    });
    next_index_ += count;
  }

  std::unique_ptr<external::element_source> records_;
  record_format format_;
  record_format packed_;
  base::byte_buffer piece_;
  std::uint64_t next_index_;
};

}  // namespace

record_format packed_format(const record_format& format) {
  record_format packed;
  for (record_key key : format.keys) {
    key.offset = packed.record_bytes;
    packed.record_bytes += key.size_bytes;
    packed.keys.push_back(key);
  }
  packed.record_bytes += index_bytes;
  return packed;
}

std::unique_ptr<external::element_source> make_indexed_record_source(std::unique_ptr<external::element_source> records,
                                                                     const record_format& format,
                                                                     std::uint64_t first_index) {
  return std::make_unique<indexed_record_source>(std::move(records), format, first_index);
}

}  // namespace spansort::files
