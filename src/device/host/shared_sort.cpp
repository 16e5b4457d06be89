// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_sort.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/math.hpp"
#include "device/host/ordered_keys.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/scratch.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {
namespace {

/// A part of up to so many bytes is sorted by one thread in its scratch.
constexpr std::uint64_t part_bytes = std::uint64_t{1} << 18;
constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t num_cursors = part_bytes / line_bytes;
constexpr std::uint64_t thread_bytes =
    (1 + vector_sort_spread) * part_bytes + num_cursors * sizeof(std::uint32_t) + 4 * line_bytes;

/// Memory of a sort, and who sorts.
struct workspace {
  aligned_array<std::byte> memory;
  std::uint64_t size_bytes = 0;
  unsigned num_threads = 0;
  parked_threads* helpers = nullptr;  ///< none where there is one thread

  void prepare(unsigned threads) {
    const std::uint64_t wanted = shared_sort_bytes(threads);
    if (wanted > size_bytes) {
      memory.reset();
      size_bytes = 0;
      memory = make_aligned<std::byte>(wanted);
      size_bytes = wanted;
    }
    num_threads = threads;
    if (helpers != nullptr) helpers->start(threads - 1);
  }

  template <class K>
  [[nodiscard]] vector_sort_scratch<K> scratch_of(unsigned thread) const {
    std::byte* const data = memory.get() + thread * base::round_up(thread_bytes, line_bytes);
    constexpr std::uint64_t room = part_bytes / sizeof(K);
    return {.first = reinterpret_cast<K*>(data),
            .second = reinterpret_cast<K*>(data + part_bytes + line_bytes),
            .num_keys = room,
            .num_second_keys = vector_sort_spread * room,
            .cursors = reinterpret_cast<std::uint32_t*>(data + (1 + vector_sort_spread) * part_bytes + 2 * line_bytes),
            .num_cursors = num_cursors};
  }
};

/// One workspace with helpers is kept for whoever comes first; others sort alone, in their own memory.
struct kept_workspace {
  std::mutex in_use;
  parked_threads helpers;
  workspace kept = {.memory = {}, .helpers = &helpers};
};

/// Lives as long as the helpers do.
kept_workspace& process_wide() {
  static auto* const one = new kept_workspace;
  return *one;
}

/// The parts that nobody sorts yet.
template <class K>
class waiting_parts {
 public:
  /// Returns false where there is no room.
  bool put(const vector_part<K>& part) {
    const std::lock_guard lock(mutex_);
    if (count_ == parts_.size()) return false;
    parts_[count_++] = part;
    return true;
  }

  /// Returns the largest, or none.
  std::optional<vector_part<K>> take() {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return std::nullopt;
    const auto largest =
        std::max_element(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(count_),
                         [](const auto& left, const auto& right) { return left.num_keys < right.num_keys; });
    std::swap(*largest, parts_[--count_]);
    return parts_[count_];
  }

 private:
  std::mutex mutex_;
  std::array<vector_part<K>, 256> parts_;
  std::size_t count_ = 0;
};

/// The sort of one array. Each thread takes parts, splits them, leaves the upper ones to whoever comes, and sorts what
/// is small enough, until all keys are in place.
template <class K>
class shared_sorter {
 public:
  shared_sorter(const keys::codec_of<K>& codec, const workspace& space, std::uint64_t num_keys)
      : codec_(codec),
        space_(space),
        most_keys_(
            std::clamp<std::uint64_t>(num_keys / (2 * space.num_threads) + 1, fewest_keys, part_bytes / sizeof(K))),
        num_left_(num_keys) {}

  void sort(K* keys, std::uint64_t num_keys) {
    // Threads that sleep need about as long to wake as the first split takes.
    if (space_.num_threads > 1) space_.helpers->open({take_parts_of, this});
    sort(vector_sort_begin(codec_, keys, num_keys), 0);
    take_parts(0);
    if (space_.num_threads > 1) space_.helpers->close();
  }

 private:
  static constexpr std::uint64_t fewest_keys = 4096;  ///< fewer are not worth a split

  static void take_parts_of(void* sorter, unsigned thread) {
    auto& self = *static_cast<shared_sorter*>(sorter);
    if (thread < self.space_.num_threads) self.take_parts(thread);
  }

  void take_parts(unsigned thread) {
    while (num_left_.load(std::memory_order_acquire) != 0) {
      if (const std::optional<vector_part<K>> part = parts_.take()) {
        sort(*part, thread);
      } else {
        std::this_thread::yield();
      }
    }
  }

  void sort(vector_part<K> part, unsigned thread) {
    while (part.num_keys > most_keys_ && part.can_be_split()) {
      const auto [low, high] = vector_sort_split(codec_, part);
      if (!parts_.put(high)) sort(high, thread);
      part = low;
    }
    vector_sort_finish(codec_, part, space_.template scratch_of<K>(thread));
    num_left_.fetch_sub(part.num_keys, std::memory_order_acq_rel);
  }

  keys::codec_of<K> codec_;
  const workspace& space_;
  std::uint64_t most_keys_;  ///< of a part that is not split
  std::atomic<std::uint64_t> num_left_;
  waiting_parts<K> parts_;
};

template <class K>
void sort_with(workspace& space, const keys::key_codec& codec, K* keys, std::uint64_t num_keys, unsigned num_threads) {
  space.prepare(num_threads);
  const keys::codec_of<K> of_width = codec.of<K>();
  if (finish_ordered(of_width, keys, num_keys) || sort_few_values(of_width, keys, num_keys)) return;
  shared_sorter<K>(of_width, space, num_keys).sort(keys, num_keys);
}

}  // namespace

bool has_shared_sort(std::uint64_t key_bytes) { return key_bytes >= 4 && has_vector_sort(); }

std::uint64_t shared_sort_bytes(unsigned num_threads) { return num_threads * base::round_up(thread_bytes, line_bytes); }

void sort_shared(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads) {
  kept_workspace& shared = process_wide();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  workspace own;
  workspace& space = lock.owns_lock() ? shared.kept : own;
  const unsigned threads = lock.owns_lock() ? std::min(num_threads, most_shared_threads) : 1;
  if (codec.width_bytes() == 4) {
    sort_with(space, codec, static_cast<std::uint32_t*>(keys), num_keys, threads);
  } else {
    sort_with(space, codec, static_cast<std::uint64_t*>(keys), num_keys, threads);
  }
}

}  // namespace spansort::device::host
