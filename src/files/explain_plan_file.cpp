// SPDX-License-Identifier: Apache-2.0
// explain_plan_file(): the counts of a plan, taken from a file in blocks. Where a sort would count a slice of its
// partitioned chunk, all keys of the bucket among those of the chunk are counted.
#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/available_memory.hpp"
#include "base/math.hpp"
#include "base/threads.hpp"
#include "files/file_blocks.hpp"
#include "files/shown_progress.hpp"
#include "keys/dispatch.hpp"
#include "sort/explain_counts.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "statistics/count_blocks.hpp"

namespace spansort {
namespace {

/// A value and its count in a map, with what the map takes.
constexpr std::uint64_t bytes_of_kept_key = 64;

/// Reads of the file that progress counts to: for the first digit, and for that of spanning buckets.
constexpr std::uint64_t usual_reads = 2;

/// The encoded keys of a pending bucket, and its digit.
struct bucket_range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  keys::digit_position digit;
  std::vector<std::uint64_t>* counts = nullptr;  ///< of its slice in the chunk that is being read
};

/// Keys that are counted again, each value once.
using key_counts = std::unordered_map<std::uint64_t, std::uint64_t>;

/// Counts one chunk's keys, on all threads. Of those in pending buckets it keeps up to so many different ones, for the
/// next digits, and none if there are more.
class chunk_counter {
 public:
  chunk_counter(std::vector<bucket_range> buckets, std::uint64_t most_kept)
      : buckets_(std::move(buckets)), most_kept_(most_kept), counts_([this] {
          std::vector<std::vector<std::uint64_t>> zeros;
          for (const bucket_range& b : buckets_) zeros.emplace_back(b.digit.num_buckets());
          return zeros;
        }) {}

  template <class KeyAt>
  void add(std::uint64_t num_keys, const KeyAt& encoded_at) {
    std::vector<std::vector<std::uint64_t>>& counts = counts_.local();
    const bool keeps = most_kept_ != 0 && !are_too_many_.load(std::memory_order_relaxed);
    key_counts kept;
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      const std::uint64_t key = encoded_at(i);
      if (add(key, 1, counts) && keeps) ++kept[key];
    }
    if (!keeps) return;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, count] : kept) kept_[key] += count;
    if (kept_.size() > most_kept_) {
      are_too_many_ = true;
      kept_ = {};
    }
  }

  void add_again(const key_counts& kept) {
    for (const auto& [key, count] : kept) add(key, count, counts_.local());
  }

  /// Adds the counts of all threads to those of the slices. Returns the keys that were kept; nothing if too many were.
  [[nodiscard]] std::optional<key_counts> finish() {
    for (const std::vector<std::vector<std::uint64_t>>& of_thread : counts_) {
      for (std::size_t b = 0; b < buckets_.size(); ++b) {
        std::ranges::transform(*buckets_[b].counts, of_thread[b], buckets_[b].counts->begin(), std::plus<>());
      }
    }
    if (are_too_many_ || most_kept_ == 0) return std::nullopt;
    return std::move(kept_);
  }

 private:
  /// Returns whether the key is in one of the buckets.
  bool add(std::uint64_t key, std::uint64_t count, std::vector<std::vector<std::uint64_t>>& counts) const {
    const auto behind = std::ranges::upper_bound(buckets_, key, {}, &bucket_range::low);
    if (behind == buckets_.begin()) return false;
    const auto bucket = static_cast<std::size_t>(behind - buckets_.begin()) - 1;
    if (key > buckets_[bucket].high) return false;
    counts[bucket][buckets_[bucket].digit.of(key)] += count;
    return true;
  }

  std::vector<bucket_range> buckets_;  ///< in the order of their keys
  std::uint64_t most_kept_;
  tbb::enumerable_thread_specific<std::vector<std::vector<std::uint64_t>>> counts_;
  std::atomic<bool> are_too_many_ = false;
  std::mutex mutex_;
  key_counts kept_;
};

class file_counter {
 public:
  file_counter(statistics::key_blocks& keys, direction d, std::uint64_t most_kept)
      : keys_(keys), codec_{keys.type(), keys::is_descending(d), keys::tie_rule::by_bits}, most_kept_(most_kept) {}

  void count(const plan::planner& planner, sorting::pass_counts& counts) {
    const bool reads = kept_.empty();
    bool keeps = reads && !is_first_;
    const unsigned num_ranks = planner.params().num_ranks;
    std::vector<key_counts> kept(num_ranks);
    for (unsigned rank = 0; rank < num_ranks; ++rank) {
      chunk_counter counter(buckets_of(planner, rank, counts), keeps ? most_kept_ / num_ranks : 0);
      if (reads) {
        read_chunk(planner.params(), rank, counter);
      } else {
        counter.add_again(kept_[rank]);
      }
      std::optional<key_counts> found = counter.finish();
      keeps = keeps && found;
      if (keeps) kept[rank] = std::move(*found);
    }
    if (reads) keys_.require_unchanged();
    if (keeps) kept_ = std::move(kept);
    is_first_ = false;
  }

 private:
  /// Pending buckets, in the order of their keys, that have keys in a rank's chunk.
  [[nodiscard]] std::vector<bucket_range> buckets_of(const plan::planner& planner, unsigned rank,
                                                     sorting::pass_counts& counts) const {
    std::vector<bucket_range> buckets;
    for (std::size_t i = 0; i < planner.pending().size(); ++i) {
      const plan::refinement& r = planner.pending()[i];
      const unsigned rest = codec_.key_bits() - r.prefix.bit_count;
      const std::uint64_t low = rest == 64 ? 0 : r.prefix.bits << rest;
      for (std::size_t j = 0; j < r.slices.size(); ++j) {
        if (r.slices[j].rank == rank) buckets.push_back({low, low | base::low_mask(rest), r.digit, &counts[i][j]});
      }
    }
    std::ranges::sort(buckets, {}, &bucket_range::low);
    return buckets;
  }

  void read_chunk(const plan::parameters& params, unsigned rank, chunk_counter& counter) {
    const std::uint64_t begin = source_begin(params, rank);
    const std::uint64_t num_keys = source_count(params, rank);
    const std::uint64_t block_keys = statistics::keys_of_block(codec_.width_bytes());
    tbb::task_group_context own(tbb::task_group_context::isolated);
    tbb::parallel_for(
        std::uint64_t{0}, base::ceil_div(num_keys, block_keys),
        [&](std::uint64_t block) {
          const std::uint64_t first = block * block_keys;
          count_block(begin + first, std::min(block_keys, num_keys - first), counter);
        },
        own);
  }

  void count_block(std::uint64_t first, std::uint64_t num_keys, chunk_counter& counter) {
    keys::with_width(codec_.width_bytes(), [&]<class K>() {
      std::vector<K> block(num_keys);
      keys_.read(first, num_keys, block.data());
      counter.add(num_keys, [&, encoder = codec_.of<K>()](std::uint64_t i) { return encoder.encode_bits(block[i]); });
    });
  }

  statistics::key_blocks& keys_;
  keys::key_codec codec_;
  std::uint64_t most_kept_;
  bool is_first_ = true;
  std::vector<key_counts> kept_;  ///< all keys of buckets that were pending, by rank; empty: they are not known
};

}  // namespace

plan_explanation explain_plan_file(const std::string& path, std::optional<key_type> type, direction d,
                                   const sort_options& options) {
  const files::key_reader reader(path, type);
  if (!reader.num_keys()) throw bad_input(reader.name() + ": is a stream; the plan of a regular file is explained");
  files::shown_progress shown(options.on_progress, "");
  const auto keys = files::open_key_blocks(path, reader, [&shown](std::uint64_t num_keys) { shown.add(num_keys); });
  shown.begin("read", 0, 1, usual_reads * keys->num_keys());
  const std::uint64_t memory_bytes =
      options.memory_limit_bytes != 0 ? options.memory_limit_bytes : base::available_memory_bytes();
  file_counter counter(*keys, d, memory_bytes / 8 / bytes_of_kept_key);
  return base::with_threads(options.threads, [&] {
    return sorting::explain_counts(
        keys->type(), keys->num_keys(), d, options,
        [&](const plan::planner& planner, sorting::pass_counts& counts) { counter.count(planner, counts); });
  });
}

}  // namespace spansort
