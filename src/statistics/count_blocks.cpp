// SPDX-License-Identifier: Apache-2.0
#include "statistics/count_blocks.hpp"

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>

#include "base/math.hpp"
#include "device/block_sums.hpp"
#include "keys/dispatch.hpp"
#include "spansort/sort.hpp"

namespace spansort::statistics {
namespace {

using device::block_sum;
using device::sum_block_keys;

constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;
constexpr unsigned blocks_per_thread = 2;

/// Finds the interval of an encoded key: a table by the leading bits in which the starts differ says where to look, and
/// nearly always there is one interval or two.
template <class K>
class interval_finder {
 public:
  explicit interval_finder(const std::vector<std::uint64_t>& starts) : starts_(starts.begin(), starts.end()) {
    if (starts_.size() < 2) return;
    low_ = starts_[1];
    const K width = static_cast<K>(starts_.back() - low_);
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(width)));
    shift_ = static_cast<unsigned>(std::max(0, bits - table_bits));
    const std::size_t num_cells = (static_cast<std::uint64_t>(width) >> shift_) + 1;
    first_.resize(num_cells + 1);
    std::size_t interval = 1;
    for (std::size_t cell = 0; cell < num_cells; ++cell) {
      // The last interval that begins at the cell's first key or before it.
      const std::uint64_t key = std::uint64_t{low_} + (static_cast<std::uint64_t>(cell) << shift_);
      while (interval + 1 < starts_.size() && starts_[interval + 1] <= key) ++interval;
      first_[cell] = static_cast<std::uint32_t>(interval);
    }
    first_[num_cells] = static_cast<std::uint32_t>(starts_.size() - 1);
    for (std::size_t cell = 0; cell < num_cells; ++cell) {
      num_steps_ = std::max(num_steps_, static_cast<unsigned>(std::bit_width(first_[cell + 1] - first_[cell])));
    }
  }

  [[nodiscard]] std::size_t operator()(K key) const noexcept {
    if (starts_.size() < 2 || key < low_) return 0;
    const std::uint64_t distance = static_cast<std::uint64_t>(static_cast<K>(key - low_)) >> shift_;
    if (distance + 1 >= first_.size()) return starts_.size() - 1;
    // The last that begins at the key or before it, in so many steps for all cells: none is guessed wrong.
    const K* at = starts_.data() + first_[distance];
    std::size_t more = first_[distance + 1] - first_[distance];
    for (unsigned step = 0; step < num_steps_; ++step) {
      const std::size_t half = (more + 1) / 2;
      at = at[half] <= key ? at + half : at;
      more -= half;
    }
    return static_cast<std::size_t>(at - starts_.data());
  }

 private:
  static constexpr int table_bits = 16;
  std::vector<K> starts_;
  K low_ = 0;
  unsigned shift_ = 0;
  unsigned num_steps_ = 0;
  std::vector<std::uint32_t> first_;
};

/// A block in memory, and what was found in it.
template <class K>
struct block_slot {
  std::vector<K> keys;
  std::vector<K> collected;
  std::vector<block_sum> sums;
  std::uint64_t num_keys = 0;
};

template <class K>
class block_counter {
 public:
  block_counter(key_blocks& keys, const keys::key_codec& codec, const index_read& read, std::uint64_t most_collected,
                bool has_total)
      : keys_(keys),
        encoder_(codec.of<K>()),
        read_(read),
        find_(read.starts),
        marked_(read.is_collected.begin(), read.is_collected.end()),
        collects_(std::ranges::find(marked_, 1) != marked_.end()),
        has_total_(has_total),
        most_collected_(most_collected),
        counts_([this] { return std::vector<interval_count>(read_.starts.size()); }) {}

  [[nodiscard]] block_counts run() {
    const unsigned threads = static_cast<unsigned>(tbb::this_task_arena::max_concurrency());
    const std::uint64_t num_blocks = base::ceil_div(keys_.num_keys(), block_keys_);
    slots_.resize(std::min<std::uint64_t>(num_blocks, std::uint64_t{threads} * blocks_per_thread));
    for (block_slot<K>& s : slots_) free_.push_back(&s);
    std::uint64_t next = 0;
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::parallel_pipeline(slots_.size(),
                           tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order,
                                                                 [&](tbb::flow_control& control) {
                                                                   if (next == num_blocks) control.stop();
                                                                   return next++;
                                                                 }) &
                               tbb::make_filter<std::uint64_t, block_slot<K>*>(
                                   tbb::filter_mode::parallel, [&](std::uint64_t block) { return count(block); }) &
                               tbb::make_filter<block_slot<K>*, void>(tbb::filter_mode::serial_in_order,
                                                                      [&](block_slot<K>* slot) { fold(*slot); }),
                           own);
    keys_.require_unchanged();
    return finish();
  }

 private:
  [[nodiscard]] block_slot<K>* take_slot() {
    const std::lock_guard lock(mutex_);
    block_slot<K>* const slot = free_.back();  // as many as there are blocks in the pipeline
    free_.pop_back();
    return slot;
  }

  block_slot<K>* count(std::uint64_t block) {
    block_slot<K>* const slot = take_slot();
    const std::uint64_t first = block * block_keys_;
    slot->num_keys = std::min(block_keys_, keys_.num_keys() - first);
    slot->keys.resize(slot->num_keys);
    slot->collected.clear();
    keys_.read(first, slot->num_keys, slot->keys.data());
    if (has_total_) add_up(*slot);
    if (collects_ && !is_too_much_.load(std::memory_order_relaxed)) {
      count_keys<true>(*slot);
    } else {
      count_keys<false>(*slot);
    }
    return slot;
  }

  void add_up(block_slot<K>& slot) const {
    slot.sums.resize(base::ceil_div(slot.num_keys, sum_block_keys));
    keys::with_type(keys_.type(), [&]<class T>() {
      if constexpr (sizeof(T) == sizeof(K)) {
        for (std::size_t b = 0; b < slot.sums.size(); ++b) {
          const std::uint64_t begin = b * sum_block_keys;
          slot.sums[b] = device::sum_of_block(reinterpret_cast<const T*>(slot.keys.data()) + begin,
                                              std::min(sum_block_keys, slot.num_keys - begin));
        }
      }
    });
  }

  template <bool collects>
  void count_keys(block_slot<K>& slot) {
    std::vector<interval_count>& counts = counts_.local();
    for (std::uint64_t i = 0; i < slot.num_keys; ++i) {
      const K encoded = encoder_.encode_bits(slot.keys[i]);
      const std::size_t interval = find_(encoded);
      counts[interval].add(encoded);
      if constexpr (collects) {
        if (marked_[interval] != 0) slot.collected.push_back(encoded);
      }
    }
  }

  void fold(block_slot<K>& slot) {
    for (const block_sum& sum : slot.sums) add_to(total_, sum);
    slot.sums.clear();
    if (!is_too_much_.load(std::memory_order_relaxed) && !slot.collected.empty()) keep(slot.collected);
    const std::lock_guard lock(mutex_);
    free_.push_back(&slot);
  }

  void keep(const std::vector<K>& collected) {
    if (collected.size() > most_collected_ - num_collected_) {
      is_too_much_ = true;
      bytes_ = {};
      return;
    }
    const std::uint64_t needed = (num_collected_ + collected.size()) * sizeof(K);
    if (needed > bytes_.size())
      bytes_.resize(std::min(most_collected_ * sizeof(K), std::max(needed, 2 * bytes_.size())));
    std::memcpy(bytes_.data() + num_collected_ * sizeof(K), collected.data(), collected.size() * sizeof(K));
    num_collected_ += collected.size();
  }

  [[nodiscard]] block_counts finish() {
    block_counts found;
    found.counts.resize(read_.starts.size());
    for (const std::vector<interval_count>& of_thread : counts_) {
      for (std::size_t i = 0; i < of_thread.size(); ++i) found.counts[i].add(of_thread[i]);
    }
    found.total = total_;
    if (!collects_ || is_too_much_) return found;
    slots_.clear();
    const auto words = std::make_shared<sorted_words>();
    bytes_.resize(num_collected_ * sizeof(K));
    words->bytes = std::move(bytes_);
    words->word_bytes = sizeof(K);
    words->num_words = num_collected_;
    const auto threads = static_cast<unsigned>(tbb::this_task_arena::max_concurrency());
    sorter({.devices = "cpu", .threads = threads})
        .sort({unsigned_type, words->bytes.data(), num_collected_}, direction::ascending);
    found.collected = words;
    return found;
  }

  static constexpr key_type unsigned_type = sizeof(K) == 1   ? key_type::u8
                                            : sizeof(K) == 2 ? key_type::u16
                                            : sizeof(K) == 4 ? key_type::u32
                                                             : key_type::u64;

  key_blocks& keys_;
  keys::codec_of<K> encoder_;
  const index_read& read_;
  interval_finder<K> find_;
  std::vector<std::uint8_t> marked_;
  bool collects_;
  bool has_total_;
  std::uint64_t most_collected_;
  std::uint64_t block_keys_ = keys_of_block(sizeof(K));
  tbb::enumerable_thread_specific<std::vector<interval_count>> counts_;
  std::mutex mutex_;
  std::vector<block_slot<K>> slots_;
  std::vector<block_slot<K>*> free_;
  number_total total_;
  base::byte_buffer bytes_;
  std::uint64_t num_collected_ = 0;
  std::atomic<bool> is_too_much_ = false;
};

}  // namespace

std::uint64_t keys_of_block(unsigned key_bytes) noexcept {
  return std::max(block_bytes / key_bytes / sum_block_keys, std::uint64_t{1}) * sum_block_keys;
}

std::uint64_t memory_of_read(unsigned key_bytes, unsigned threads, std::uint64_t num_intervals) noexcept {
  // Each block may be collected as a whole.
  const std::uint64_t blocks = 2 * std::uint64_t{threads} * blocks_per_thread * keys_of_block(key_bytes) * key_bytes;
  return blocks + (threads + 2) * num_intervals * sizeof(interval_count);
}

block_counts count_blocks(key_blocks& keys, const keys::key_codec& codec, const index_read& read,
                          std::uint64_t most_collected, bool has_total) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    return block_counter<K>(keys, codec, read, most_collected, has_total).run();
  });
}

}  // namespace spansort::statistics
