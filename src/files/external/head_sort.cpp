// SPDX-License-Identifier: Apache-2.0
#include "files/external/head_sort.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/byte_buffer.hpp"
#include "base/math.hpp"
#include "spansort/errors.hpp"

namespace spansort::external {
namespace {

/// Looked at by one task.
constexpr std::uint64_t slice_elements = std::uint64_t{1} << 14;

/// The best elements so far, in front: sorted, at most K of them. Behind them, in input order, those that came since
/// and may be among them.
class best_elements {
 public:
  best_elements(element_order& order, const head_request& request)
      : order_(order),
        request_(request),
        element_bytes_(order.element_bytes()),
        elements_(request.num_buffered * element_bytes_),
        last_key_(order.key_bytes()) {}

  /// Takes the next elements of `source`; false at its end.
  bool take_from(element_source& source) {
    // Half of what is beside K: no read is shorter, and no sort has less that is new.
    const std::uint64_t least = std::max<std::uint64_t>((request_.num_buffered - request_.num_wanted) / 2, 1);
    if (request_.num_buffered - num_held_ < least) cut();
    const std::uint64_t wanted = request_.num_buffered - num_held_;
    std::byte* const arrived = at(num_held_);
    std::uint64_t count = 0;
    result_.reading.run([&] { return count = source.read(arrived, wanted); });
    result_.num_read += count;
    num_held_ += has_last_ ? drop_late(arrived, count) : count;
    return count == wanted;
  }

  /// Sorts what is held and forgets what is behind the K-th.
  void cut() {
    result_.sorting.run([&] {
      order_.sort(elements_.data(), num_held_);
      return num_held_;
    });
    if (request_.unique) num_held_ = order_.remove_duplicates(nullptr, elements_.data(), num_held_);
    num_held_ = std::min(num_held_, request_.num_wanted);
    has_last_ = num_held_ == request_.num_wanted;
    if (has_last_ && num_held_ != 0) order_.write_key(at(num_held_ - 1), last_key_.data());
  }

  [[nodiscard]] std::byte* data() noexcept { return elements_.data(); }
  /// Returns what was done so far; the elements that are kept are those held.
  [[nodiscard]] head_result& result() noexcept {
    result_.num_kept = num_held_;
    return result_;
  }

 private:
  [[nodiscard]] std::byte* at(std::uint64_t i) noexcept { return elements_.data() + i * element_bytes_; }

  /// Moves those together that come before the K-th so far; returns how many those are. One that is equal to it comes
  /// later in the input, and so in the order.
  std::uint64_t drop_late(std::byte* elements, std::uint64_t count) {
    if (request_.num_wanted == 0) return 0;
    std::uint64_t num_left = 0;
    result_.dropping.run([&] {
      num_left = drop_late_of_all(elements, count);
      return count;
    });
    return num_left;
  }

  std::uint64_t drop_late_of_all(std::byte* elements, std::uint64_t count) const {
    std::vector<std::uint64_t> num_kept(base::ceil_div(count, slice_elements));
    tbb::task_group_context own(tbb::task_group_context::isolated);  // not cancelled with the caller's tasks
    tbb::parallel_for(
        std::size_t{0}, num_kept.size(),
        [&](std::size_t s) {
          const std::uint64_t first = s * slice_elements;
          num_kept[s] = drop_late_of_slice(elements + first * element_bytes_, std::min(slice_elements, count - first));
        },
        own);
    std::uint64_t num_joined = 0;
    for (std::size_t s = 0; s < num_kept.size(); ++s) {
      std::memmove(elements + num_joined * element_bytes_, elements + s * slice_elements * element_bytes_,
                   num_kept[s] * element_bytes_);
      num_joined += num_kept[s];
    }
    return num_joined;
  }

  [[nodiscard]] std::uint64_t drop_late_of_slice(std::byte* elements, std::uint64_t count) const {
    std::vector<std::byte> key(last_key_.size());
    std::uint64_t num_kept = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::byte* const element = elements + i * element_bytes_;
      order_.write_key(element, key.data());
      if (std::memcmp(key.data(), last_key_.data(), key.size()) >= 0) continue;
      std::memmove(elements + num_kept++ * element_bytes_, element, element_bytes_);
    }
    return num_kept;
  }

  element_order& order_;
  const head_request& request_;
  std::uint64_t element_bytes_;
  base::byte_buffer elements_;
  std::vector<std::byte> last_key_;  ///< of the K-th best
  std::uint64_t num_held_ = 0;
  head_result result_;
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
  head_result& result = best.result();
  sink.expect(result.num_kept);
  if (result.num_kept != 0) {
    result.writing.run([&] {
      sink.write(best.data(), result.num_kept);
      return result.num_kept;
    });
  }
  return result;
}

}  // namespace spansort::external
