// SPDX-License-Identifier: Apache-2.0
#include "files/external/verifying_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spansort/errors.hpp"

namespace spansort::external {

verifying_writer::verifying_writer(const element_order& order, element_sink& sink, const write_options& options)
    : order_(order), sink_(sink), options_(options) {}

void verifying_writer::write(std::byte* elements, std::uint64_t count) {
  if (count == 0 || is_full()) return;
  take(elements, count);
  write_kept(elements, keep_wanted(elements, count));
}

void verifying_writer::write_whole(std::byte* elements, std::uint64_t count) {
  if (count != 0) take(elements, count);
  if (options_.on_whole) options_.on_whole(elements, count);
  const std::uint64_t num_kept = count == 0 ? 0 : keep_wanted(elements, count);
  sink_.expect(num_kept);
  if (num_kept != 0) write_kept(elements, num_kept);
}

void verifying_writer::write_kept(std::byte* elements, std::uint64_t count) {
  writing_.run([&] {
    sink_.write(elements, count);
    return count;
  });
}

void verifying_writer::take(std::byte* elements, std::uint64_t count) {
  if (options_.corrupts_result && !is_corrupted_) {
    elements[0] ^= std::byte{1};
    is_corrupted_ = true;
  }
  if (options_.verify) {
    verifying_.run([&] {
      check(elements, count);
      return count;
    });
  }
  num_in_ += count;
}

void verifying_writer::check(const std::byte* elements, std::uint64_t count) {
  if (const auto at = order_.first_disorder(left(), elements, count, false)) {
    fail(fmt::format("the element at index {} is out of order", num_in_ + *at));
  }
  checksum_ = checksum_ + order_.checksum(elements, count);
}

/// Moves the elements that are to be written to the front and returns how many those are.
std::uint64_t verifying_writer::keep_wanted(std::byte* elements, std::uint64_t count) {
  const std::uint64_t width = order_.element_bytes();
  const std::vector<std::byte> last(elements + (count - 1) * width, elements + count * width);
  std::uint64_t num_kept = count;
  if (options_.unique) {
    num_kept = order_.remove_duplicates(left(), elements, count);
    if (options_.verify) {
      if (const auto at = order_.first_disorder(left(), elements, num_kept, true)) {
        fail(fmt::format("duplicate at index {}", num_out_ + *at));
      }
    }
  }
  left_ = last;
  if (options_.head) num_kept = std::min(num_kept, *options_.head - num_out_);
  num_out_ += num_kept;
  return num_kept;
}

void verifying_writer::finish(const multiset_checksum& expected, std::uint64_t num_expected) {
  const bool saw_all = !is_full() || num_in_ == num_expected;
  const bool is_other = num_in_ != num_expected || checksum_ != expected;
  if (options_.verify && saw_all && is_other) {
    fail(fmt::format("the sorted elements are not those that were read ({} of {})", num_in_, num_expected));
  }
  writing_.run([&] {
    sink_.finish();
    return 0;
  });
}

void verifying_writer::fail(const std::string& what) const {
  throw internal_error(fmt::format("{}: verification failed: {}; the output was withheld; please report this",
                                   options_.input_name, what));
}

}  // namespace spansort::external
