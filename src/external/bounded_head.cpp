// SPDX-License-Identifier: Apache-2.0
#include "external/bounded_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "files/byte_buffer.hpp"
#include "spansort/errors.hpp"

namespace spansort::external {
namespace {

/// The best elements so far, in front: sorted, at most K of them. Behind them, in input order, those that came since and
/// may be among them.
class best_elements {
 public:
  best_elements(element_order& order, const head_request& request)
      : order_(order),
        request_(request),
        element_bytes_(order.element_bytes()),
        elements_(request.num_buffered * element_bytes_),
        last_key_(order.key_bytes()),
        key_(order.key_bytes()) {}

  /// Takes the next elements of `source`; false at its end.
  bool take_from(element_source& source) {
    // Half of what is beside K: no read is shorter, and no sort has less that is new.
    if (request_.num_buffered - num_held_ < (request_.num_buffered - request_.num_wanted) / 2 ||
        num_held_ == request_.num_buffered)
      cut();
    const std::uint64_t wanted = request_.num_buffered - num_held_;
    std::byte* const arrived = at(num_held_);
    const std::uint64_t count = source.read(arrived, wanted);
    num_read_ += count;
    num_held_ += has_last_ ? drop_late(arrived, count) : count;
    return count == wanted;
  }

  /// Sorts what is held and forgets what is behind the K-th.
  void cut() {
    order_.sort(elements_.data(), num_held_);
    if (request_.unique) num_held_ = order_.remove_duplicates(nullptr, elements_.data(), num_held_);
    num_held_ = std::min(num_held_, request_.num_wanted);
    has_last_ = num_held_ == request_.num_wanted;
    if (has_last_ && num_held_ != 0) order_.write_key(at(num_held_ - 1), last_key_.data());
  }

  [[nodiscard]] std::byte* data() noexcept { return elements_.data(); }
  [[nodiscard]] head_result result() const noexcept { return {num_read_, num_held_}; }

 private:
  [[nodiscard]] std::byte* at(std::uint64_t i) noexcept { return elements_.data() + i * element_bytes_; }

  /// Moves those together that come before the K-th so far; returns how many those are. One that is equal to it comes
  /// later in the input, and so in the order.
  std::uint64_t drop_late(std::byte* elements, std::uint64_t count) {
    if (request_.num_wanted == 0) return 0;
    std::byte* end = elements;
    for (const std::byte* element = elements; count != 0; --count, element += element_bytes_) {
      order_.write_key(element, key_.data());
      if (std::memcmp(key_.data(), last_key_.data(), key_.size()) >= 0) continue;
      std::memmove(end, element, element_bytes_);
      end += element_bytes_;
    }
    return static_cast<std::uint64_t>(end - elements) / element_bytes_;
  }

  element_order& order_;
  const head_request& request_;
  std::uint64_t element_bytes_;
  files::byte_buffer elements_;
  std::vector<std::byte> last_key_;  ///< of the K-th best
  std::vector<std::byte> key_;
  std::uint64_t num_held_ = 0;
  std::uint64_t num_read_ = 0;
  bool has_last_ = false;  ///< K elements are in front
};

void require_sane(const head_request& request) {
  if (request.num_buffered >= 2 && request.num_buffered / 2 >= request.num_wanted) return;
  throw invalid_argument(
      fmt::format("the first {} elements: memory for {} elements is too little, twice as many as are "
                  "wanted are needed",
                  request.num_wanted, request.num_buffered));
}

}  // namespace

head_result write_head(element_source& source, element_order& order, const head_request& request, element_sink& sink) {
  require_sane(request);
  best_elements best(order, request);
  while (best.take_from(source)) {
  }
  best.cut();
  const head_result result = best.result();
  sink.expect(result.num_kept);
  if (result.num_kept != 0) sink.write(best.data(), result.num_kept);
  return result;
}

}  // namespace spansort::external
