// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/local_sort/even_segments.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "device/cuda/kernels/msd_launch.hpp"
#include "device/cuda/local_sort/even_keys.hpp"
#include "device/cuda/tuning/counting_finish_policy.hpp"
#include "device/cuda/tuning/even_keys_policy.hpp"

namespace spansort::device::cuda {
namespace {

/// Segments of fewer keys are not looked at, whatever the way.
constexpr std::uint64_t least_forced_segment = 64;

[[nodiscard]] bool is_forced(std::string_view way) { return way == always_by_buckets || way == by_buckets_where_even; }

[[nodiscard]] bool may_go_by_buckets(const launch_site& site, const local_sort_request& request, std::string_view way) {
  const record_shape& shape = request.shape;
  if (request.digit_bits != 0 || (!is_forced(way) && !way.empty())) return false;
  if (shape.codec.width_bytes() == 4) {
    return has_counting_finish(site.family()) && shape.codec.is_bijective() && is_counted_width(shape.value_bytes);
  }
  if (shape.codec.width_bytes() != 8 || !has_msd_hybrid(site.family())) return false;
  return is_forced(way) || shape.value_bytes <= most_bucket_value_bytes;
}

}  // namespace

even_segments::even_segments(const launch_site& site, const local_sort_request& request, std::string_view way,
                             std::uint64_t memory_bytes)
    : site_(site),
      request_(request),
      way_(way),
      memory_bytes_(memory_bytes),
      is_counted_(request.shape.codec.width_bytes() == 4),
      has_way_(may_go_by_buckets(site, request, way)) {}

bucket_way even_segments::way_by(const sort_segment& segment, unsigned least_digits) const {
  if (is_counted_) {
    return least_digits == 1 ? counted_way(request_.shape, segment.count, segment.bits.end) : bucket_way{};
  }
  const bucket_way way{bucket_digits_for(request_.shape, segment.count, least_digits),
                       large_buckets::by_one_block_each};
  const bool fits = msd_memory_bytes(request_.shape, segment.count, way.beginning()) <= memory_bytes_;
  return fits && way.digits.bits() < segment.bits.end ? way : bucket_way{};
}

std::uint32_t even_segments::most_finished() const {
  if (!is_counted_) return static_cast<std::uint32_t>(finished_records_of(request_.shape).most);
  return request_.shape.value_bytes == 0 ? 0 : counting_finish_threads[0] * counting_finish_held_keys;
}

bool even_segments::is_looked_at(const sort_segment& segment) const {
  if (!has_way_ || segment.bits.begin != 0 || segment.count > most_bucket_sort_keys) return false;
  if (is_forced(way_)) {
    if (segment.count < least_forced_segment) return false;
  } else {
    const bool is_counted_alone = is_counted_ && request_.shape.value_bytes == 0;
    const unsigned agreeing_bits = request_.shape.codec.key_bits() - segment.bits.end;
    if (segment.count < (is_counted_alone ? least_counted_segment : least_bucket_segment)) return false;
    if (agreeing_bits < least_agreeing_bits) return false;
  }
  return way_by(segment, 1) != bucket_way{};
}

void even_segments::look(std::size_t first) {
  segments_look look;
  for (num_looked_ = first; num_looked_ < request_.segments.size(); ++num_looked_) {
    const sort_segment& s = request_.segments[num_looked_];
    if (!is_looked_at(s)) continue;
    if (look.num_segments == most_segments_of_a_look) break;
    const bucket_digits digits = way_by(s, 1).digits;
    looked_[look.num_segments] = num_looked_;
    look.segments[look.num_segments++] = {.begin = s.begin,
                                          .count = s.count,
                                          .num_bits = s.bits.end,
                                          .digit_bits = digits.num_digits == 1 ? digits.digit_bits : 0,
                                          .most_finished = most_finished()};
  }
  num_in_look_ = look.num_segments;
  num_asked_ = 0;
  mailbox_.reset();
  mailbox_.emplace(site_.stream);
  if (mailbox_->get() == nullptr) return;
  const auto launch = [&]<class K>() {
    launch_segments_look<K>(site_, request_.shape.codec.of<K>(), request_.source.keys, look, mailbox_->get());
  };
  if (is_counted_) {
    launch.operator()<std::uint32_t>();
  } else {
    launch.operator()<std::uint64_t>();
  }
}

bucket_way even_segments::way_of(std::size_t number) {
  const sort_segment& segment = request_.segments[number];
  if (!is_looked_at(segment)) return {};
  if (way_ == always_by_buckets) return way_by(segment, 1);
  if (number >= num_looked_) look(number);
  if (mailbox_->get() == nullptr) return {};
  const auto slot = std::ranges::find(looked_, number) - looked_.begin();
  const bool are_all_asked = ++num_asked_ == num_in_look_;
  const segment_evenness& word = mailbox_->get()->seen[slot];
  switch (mailbox_->wait(word, segment_evenness::unknown, are_all_asked)) {
    case segment_evenness::even_by_one_digit: return way_by(segment, 1);
    case segment_evenness::even_by_two_digits: return way_by(segment, 2);
    case segment_evenness::uneven: break;
    case segment_evenness::unknown: SPANSORT_ASSERT(false);
  }
  return {};
}

}  // namespace spansort::device::cuda
