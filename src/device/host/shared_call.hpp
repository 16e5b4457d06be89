// SPDX-License-Identifier: Apache-2.0
// This header has what sorts of pairs and argsorts have in common that share the threads and the memory of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/math.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/records.hpp"
#include "device/host/run_buckets.hpp"
#include "device/host/scratch.hpp"
#include "device/host/selected_parts.hpp"
#include "device/host/shared_pairs.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// The threads and the memory of one call at a time: whoever comes first has them.
class kept_team {
 public:
  /// Returns the threads, so many of them ready, and sees to memory of the given size. A call with fewer threads than
  /// an earlier one uses the first of that one's: 16 threads took 290 to 470 us to be made anew.
  workers& prepare(unsigned num_threads, unsigned num_ready, std::uint64_t memory_bytes) {
    if (team_ == nullptr || team_->most_threads() < num_threads) {
      team_.reset();
      team_ = std::make_unique<workers>(num_threads, helpers_);
    }
    team_->use_threads(num_threads);
    team_->prepare_scratch(num_ready);
    if (memory_bytes > memory_bytes_) {
      memory_.reset();
      memory_bytes_ = 0;
      memory_ = make_aligned<std::byte>(memory_bytes);
      memory_bytes_ = memory_bytes;
    }
    return *team_;
  }
  void release() noexcept {
    if (team_ != nullptr) team_->release_scratch();
    memory_.reset();
    memory_bytes_ = 0;
  }
  [[nodiscard]] workers& team() const { return *team_; }
  [[nodiscard]] std::byte* memory() const { return memory_.get(); }

  std::mutex in_use;

 private:
  parked_threads helpers_;
  std::unique_ptr<workers> team_;
  aligned_array<std::byte> memory_;
  std::uint64_t memory_bytes_ = 0;
};

/// Returns the one of the process. It lives as long as the helpers do.
[[nodiscard]] kept_team& kept_pair_team();

/// Records of the caller or of the memory, and those beside them, which have room for what the plan says, too.
struct shared_call {
  workers& team;
  record_shape shape;
  records source;
  records alternate;
  std::uint64_t num_keys = 0;
  part_plan plan = {};
};

/// Returns up to how many pairs one of so many threads sorts alone where they are not sorted in parts.
[[nodiscard]] inline std::uint64_t most_alone(unsigned num_threads) {
  return num_threads < many_pair_threads ? most_small_pairs : most_pairs_alone_of_two;
}

/// Returns whether one of so many threads finds out that few keys are in order before the others are awake.
[[nodiscard]] inline bool may_settle_alone(std::uint64_t num_keys, unsigned num_threads) {
  return num_threads >= many_pair_threads && num_keys <= most_alone(num_threads);
}

/// Returns how many threads have to be ready for a look at the keys: few keys are looked at by the caller.
[[nodiscard]] inline unsigned num_ready_for(std::uint64_t num_keys, unsigned num_threads) {
  return num_keys <= most_small_pairs ? 1 : num_threads;
}

/// Returns how many keys a piece of a look at the keys has at least: few are looked at by the caller.
[[nodiscard]] inline std::uint64_t look_piece_keys(std::uint64_t num_keys, unsigned num_threads) {
  return num_threads < many_pair_threads && num_keys <= most_small_pairs ? num_keys : sort_limits{}.piece_keys;
}

inline constexpr std::uint64_t shared_page_bytes = 4096;

/// Bytes of an array that ends on a page.
[[nodiscard]] inline std::uint64_t pages(std::uint64_t size_bytes) {
  return base::round_up(size_bytes, shared_page_bytes);
}

/// Returns whether a device sorts a long run and its tail: it merges both on all threads. One thread that sorts all of
/// fewer keys alone takes longer than the threads that sort a part each.
[[nodiscard]] inline bool goes_to_a_device(const shared_call& call, std::uint64_t num_tail) {
  return call.num_keys > most_alone(call.team.num_threads()) && is_worth_a_merge(num_tail, call.num_keys);
}

/// Returns the memory beside the records.
[[nodiscard]] inline std::span<std::byte> spare_memory(const shared_call& call) {
  if (call.alternate.keys == nullptr) return {};
  return {static_cast<std::byte*>(call.alternate.keys), call.num_keys * call.shape.codec.width_bytes()};
}

/// Returns whether one of so many threads has done with few keys before others have come: those that are mostly a few
/// keys, those that are not sorted in parts, and, where many threads would be woken, those in order but for a tail.
[[nodiscard]] bool are_one_threads(const keys::key_codec& codec, const part_plan& plan, const void* keys,
                                   std::uint64_t num_keys, unsigned num_threads);

/// Sorts pairs of `from` into the source in parts; null values stand for positions. Returns false, with nothing
/// written to the source, where they are sorted some other way.
[[nodiscard]] bool sort_in_parts(const shared_call& call, const records& from);

/// Sorts records by the ways of a device.
void sort_with(const shared_call& call);

/// Sorts misplaced keys and where they come from.
template <class K>
[[nodiscard]] auto sort_with_origins(const shared_call& call) {
  return [&call](split_records<K, value4> misplaced, split_records<K, value4> spare, std::uint64_t count) {
    const keys::key_codec& codec = call.shape.codec;
    if (count <= most_small_pairs) return sort_small_pairs(codec, misplaced.keys, misplaced.values, 4, count);
    sort_with({call.team, {codec, 4}, {misplaced.keys, misplaced.values}, {spare.keys, spare.values}, count});
  };
}

/// Returns the runs of keys of which the first ones ascend, or how many there are of a large input.
template <class K, class V>
[[nodiscard]] ordered_runs find_few_runs(workers& team, const keys::codec_of<K>& codec, const K* keys,
                                         std::uint64_t num_keys) {
  const in_pieces each{team, look_piece_keys(num_keys, team.num_threads())};
  const unsigned most = most_runs_to_merge<K, V>(codec, num_keys, team.num_threads());
  // Those in order but for a few fall as often as runs do.
  const bool are_counted = can_be_many_runs<K, V>(num_keys) && !may_be_nearly_ordered(codec, keys, num_keys);
  ordered_runs runs = find_runs(each, codec, keys, num_keys, most, are_counted ? most_counted_runs : 0);
  if (are_misplaced_keys(codec, keys, num_keys, runs)) runs.count = 0;
  return runs;
}

}  // namespace spansort::device::host
