// SPDX-License-Identifier: Apache-2.0
#include "files/external/emitter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spansort/errors.hpp"

namespace spansort::external {

emitter::emitter(const element_order& order, element_sink& sink, const emit_options& options)
    : order_(order), sink_(sink), options_(options) {}

void emitter::emit(std::byte* elements, std::uint64_t count) {
  if (count == 0 || is_full()) return;
  if (options_.damages_result && !is_damaged_) {
    elements[0] ^= std::byte{1};
    is_damaged_ = true;
  }
  if (options_.verify) check(elements, count);
  num_in_ += count;
  const std::uint64_t width = order_.element_bytes();
  const std::byte* const left = left_.empty() ? nullptr : left_.data();
  const std::vector<std::byte> last(elements + (count - 1) * width, elements + count * width);
  std::uint64_t num_kept = count;
  if (options_.unique) {
    num_kept = order_.remove_duplicates(left, elements, count);
    if (options_.verify) {
      if (const auto at = order_.first_disorder(left, elements, num_kept, true)) {
        fail(fmt::format("duplicate at index {}", num_out_ + *at));
      }
    }
  }
  left_ = last;
  if (options_.head) num_kept = std::min(num_kept, *options_.head - num_out_);
  num_out_ += num_kept;
  sink_.write(elements, num_kept);
}

void emitter::check(const std::byte* elements, std::uint64_t count) {
  const std::byte* const left = left_.empty() ? nullptr : left_.data();
  if (const auto at = order_.first_disorder(left, elements, count, false)) {
    fail(fmt::format("the element at index {} is out of order", num_in_ + *at));
  }
  checksum_ = checksum_ + order_.checksum(elements, count);
}

void emitter::finish(const multiset_checksum& expected, std::uint64_t num_expected) {
  const bool went_by_whole = !is_full() || num_in_ == num_expected;
  const bool is_other = num_in_ != num_expected || checksum_ != expected;
  if (options_.verify && went_by_whole && is_other) {
    fail(fmt::format("the sorted elements are not those that were read ({} of {})", num_in_, num_expected));
  }
  sink_.finish();
}

void emitter::fail(const std::string& what) const {
  throw internal_error(fmt::format("{}: verification failed: {}; the output was withheld; please report this",
                                   options_.input_name, what));
}

}  // namespace spansort::external
