// SPDX-License-Identifier: Apache-2.0
// One block sorts records on chip, with one read and one write of each. Keys are held encoded, in registers and in
// shared memory in turn. Bins of the highest bits in which keys differ bring each key close to its position, and
// comparisons within the bin do the rest; keys that crowd in few bins go by rounds of 8-bit digits, lowest first, in
// which digits that all keys share are left out. Values do not come along: each key has with it the place that it was
// loaded from, and in the end values are gathered from there.
//
// Kernels know values only by their bytes, at run time, so that few of them serve all types.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/chip_tile.cuh"

namespace spansort::device::cuda {

/// One job of a block. The result may lie where the records come from.
template <class K>
struct chip_job {
  const K* keys = nullptr;
  const void* values = nullptr;
  K* to_keys = nullptr;  ///< null: keys are not stored, where places are kept
  void* to_values = nullptr;
  unsigned count = 0;
  unsigned value_bytes = 0;
  unsigned index_bytes = 0;       ///< where it is not 0, the places are written to `to_values` as numbers
  unsigned begin_bit = 0;         ///< keys are ordered by their bits from here up
  bool looks_for_order = false;   ///< and may find that nothing is left to do
  bool may_reverse = false;       ///< keys that tie may change places
  bool is_partitioned = false;    ///< neighbours may have the same highest digit
  std::uint32_t* seen = nullptr;  ///< order_seen bits are written here where order is looked for
};

/// The work of one block of `Threads` threads on one job of up to `most_keys` records. Without places there are no
/// values to follow the keys, and the encoding loses nothing.
template <class K, class Order, bool KeepsPlaces, unsigned Threads, unsigned Items>
class chip_sort {
 public:
  static constexpr unsigned warps = Threads / 32;
  static constexpr unsigned most_keys = Threads * Items;
  static constexpr unsigned bins_each = 8;
  static constexpr unsigned bins = Threads * bins_each;
  static_assert(most_keys <= 0xffffU, "places have 16 bits");
  static_assert(KeepsPlaces || Order::holds_encoded);

  struct shared_memory {
    union {
      digit_counters<warps> digits;
      uint4 bins_of_thread[Threads];
      std::uint32_t bin_words[bins / 2];  ///< two bins each: counts, then where they begin
    };
    K keys[most_keys];
    std::uint16_t places[KeepsPlaces ? most_keys : 2];
    K differing[warps];
    std::uint32_t seen[warps];
    std::uint32_t warp_sums[warps];
    std::uint32_t comparisons[warps];
  };

  __device__ __forceinline__ chip_sort(const Order& order, const chip_job<K>& job, shared_memory& shared)
      : order_(order), job_(job), shared_(shared) {
    constexpr unsigned group_keys = Threads * warp_striped<Items>::group;
    tile_.items = (job.count + group_keys - 1) / group_keys * warp_striped<Items>::group;
  }

  __device__ __forceinline__ void run() {
    load();
    const key_facts facts = look();
    if (job_.looks_for_order && use_order(facts.seen)) return;
    if (facts.differing == 0) {
      keep_places();
    } else if (!order_by_bins(facts.differing)) {
      order_by_digits(facts.differing);
    }
    store();
  }

 private:
  [[nodiscard]] __device__ __forceinline__ bool has(unsigned item) const { return tile_.place_of(item) < job_.count; }
  [[nodiscard]] __device__ __forceinline__ K encoded(K key) const { return order_.encode(order_.take(key)); }
  [[nodiscard]] __device__ __forceinline__ static std::uint32_t pack(unsigned position, unsigned place) {
    return position | place << 16;
  }

  /// Places behind the end have the highest key, which comes last in every round.
  __device__ __forceinline__ void load() {
    tile_.each([&](unsigned i) { keys_[i] = has(i) ? job_.keys[tile_.place_of(i)] : K{0}; });
    tile_.each([&](unsigned i) { keys_[i] = has(i) ? encoded(keys_[i]) : static_cast<K>(~K{0}); });
  }

  /// Returns, to all threads alike, in which bits keys differ and what is seen of their order. All keys have been
  /// loaded then.
  [[nodiscard]] __device__ __forceinline__ key_facts look() {
    const K first = encoded(job_.keys[0]);
    K differing = 0;
    tile_.each([&](unsigned i) {
      if (has(i)) differing |= static_cast<K>(keys_[i] ^ first);
    });
    differing = static_cast<K>(warp_or_key(differing) >> job_.begin_bit << job_.begin_bit);
    std::uint32_t seen = 0;
    if (job_.looks_for_order) {
      seen = order_seen_in<K>(
          tile_, job_.count - 1, job_.begin_bit, [&](unsigned i) { return keys_[i]; },
          [&](unsigned place) { return encoded(job_.keys[place]); });
    }
    shared_.bins_of_thread[tile_.thread] = {0, 0, 0, 0};
    if (tile_.lane == 0) {
      shared_.differing[tile_.warp] = differing;
      shared_.seen[tile_.warp] = seen;
    }
    __syncthreads();
    const unsigned read = tile_.lane % warps;
    const key_facts facts{warp_or_key(shared_.differing[read]), warp_or(shared_.seen[read])};
    if (job_.looks_for_order && tile_.thread == 0) *job_.seen = facts.seen;
    return facts;
  }

  /// Ends the work where keys are in order or in opposite order. Returns whether they are.
  [[nodiscard]] __device__ __forceinline__ bool use_order(std::uint32_t seen) {
    const unsigned last = job_.count - 1;
    if ((seen & seen_descent) == 0) {
      if (job_.to_keys == job_.keys) return true;
      keep_places();
    } else if ((seen & seen_ascent) == 0 && (job_.may_reverse || (seen & seen_equal) == 0)) {
      tile_.each([&](unsigned i) { moves_[i] = pack(last - tile_.place_of(i), tile_.place_of(i)); });
    } else {
      return false;
    }
    store();
    return true;
  }

  __device__ __forceinline__ void keep_places() {
    tile_.each([&](unsigned i) { moves_[i] = pack(tile_.place_of(i), tile_.place_of(i)); });
  }

  // ---- Bins

  /// Orders the keys where they spread over bins. Returns, to all threads alike, whether they do; nothing has happened
  /// where they do not.
  [[nodiscard]] __device__ __forceinline__ bool order_by_bins(std::uint64_t differing) {
    constexpr unsigned bin_bits = 31 - __builtin_clz(bins);
    if constexpr (8 * sizeof(K) <= most_digit_sort_bits) return false;
    const unsigned num_bits = highest_bit_of(differing) + 1;
    // Keys are compared whole, and ranges of bits that begin higher are no common case.
    if (num_bits - lowest_bit(differing) <= most_digit_sort_bits || job_.begin_bit != 0) return false;
    window_shift_ = num_bits > 32 ? num_bits - 32 : 0;
    find_bins(bin_bits);
    if (crowd_in_bins()) return false;
    tile_.each([&](unsigned i) {
      if (!has(i)) return;
      const unsigned bin = bin_of(keys_[i]);
      moves_[i] = atomicAdd(&shared_.bin_words[bin / 2], 1U << half_of(bin)) >> half_of(bin) & 0xffffU;
    });
    __syncthreads();
    if (!find_bin_begins()) return false;
    fill_bins();
    order_within_bins();
    return true;
  }

  /// Spreads the bins over what keys there are. Keys on both sides of a power of two differ in a high bit, and may be
  /// close to each other all the same.
  __device__ __forceinline__ void find_bins(unsigned bin_bits) {
    std::uint32_t least = ~std::uint32_t{0};
    std::uint32_t most = 0;
    tile_.each([&](unsigned i) {
      if (!has(i)) return;
      least = min(least, window_of(keys_[i]));
      most = max(most, window_of(keys_[i]));
    });
    least = warp_min(least);
    most = warp_max(most);
    if (tile_.lane == 0) {
      shared_.warp_sums[tile_.warp] = least;
      shared_.comparisons[tile_.warp] = most;
    }
    __syncthreads();
    const unsigned read = tile_.lane % warps;
    least_ = warp_min(shared_.warp_sums[read]);
    most = warp_max(shared_.comparisons[read]) - least_;
    const unsigned window_bits = most == 0 ? 1 : highest_bit_of(most) + 1;
    shift_ = window_bits > bin_bits ? window_bits - bin_bits : 0;
  }
  /// Returns the highest 32 bits among those in which keys differ.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t window_of(K key) const {
    return static_cast<std::uint32_t>(key >> window_shift_);
  }

  /// Returns whether the first key of each thread meets so many others of its warp in its bin that the keys will take
  /// more comparisons than are worth it. Counters are slow where keys crowd, so they are asked before anything is
  /// counted.
  [[nodiscard]] __device__ __forceinline__ bool crowd_in_bins() const {
    unsigned bin = has(0) ? bin_of(keys_[0]) : bins + tile_.lane;
    // Neighbours of a partitioned job would tell of their own bucket alone, so a warp looks at keys all over the job.
    if (job_.is_partitioned) {
      const unsigned place = tile_.lane * (job_.count / 32) + tile_.warp % max(job_.count / 32, 1U);
      bin = place < job_.count ? bin_of(encoded(job_.keys[place])) : bins + tile_.lane;
    }
    const bool meets = __popc(__match_any_sync(0xffffffffU, bin)) != 1;
    const auto num_met = static_cast<unsigned>(__syncthreads_count(meets));
    return num_met * job_.count > most_chip_comparisons_each * 31 * min(job_.count, Threads);
  }

  [[nodiscard]] __device__ __forceinline__ unsigned bin_of(K key) const { return (window_of(key) - least_) >> shift_; }
  [[nodiscard]] static __device__ __forceinline__ unsigned half_of(unsigned bin) { return bin % 2 * 16; }
  [[nodiscard]] __device__ __forceinline__ unsigned begin_of(unsigned bin) const {
    return shared_.bin_words[bin / 2] >> half_of(bin) & 0xffffU;
  }

  /// Turns counts into where bins begin. Returns whether few enough comparisons order the keys within them.
  [[nodiscard]] __device__ __forceinline__ bool find_bin_begins() {
    const uint4 counts = shared_.bins_of_thread[tile_.thread];
    const std::uint32_t words[4] = {counts.x, counts.y, counts.z, counts.w};
    unsigned sum = 0;
    unsigned comparisons = 0;
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned low = words[w] & 0xffffU;
      const unsigned high = words[w] >> 16;
      sum += low + high;
      comparisons += low * low + high * high;
    }
    comparisons = warp_sum(comparisons);
    if (tile_.lane == 0) shared_.comparisons[tile_.warp] = comparisons;
    unsigned before = sum_before<Threads>(sum, shared_.warp_sums);
    std::uint32_t begins[4];
#pragma unroll
    for (unsigned w = 0; w < 4; ++w) {
      const unsigned low = words[w] & 0xffffU;
      begins[w] = before | (before + low) << 16;
      before += low + (words[w] >> 16);
    }
    shared_.bins_of_thread[tile_.thread] = {begins[0], begins[1], begins[2], begins[3]};
    const unsigned all = warp_sum(tile_.lane < warps ? shared_.comparisons[tile_.lane] : 0);
    __syncthreads();
    return all <= most_chip_comparisons_each * job_.count;
  }

  __device__ __forceinline__ void fill_bins() {
    tile_.each([&](unsigned i) {
      if (!has(i)) return;
      const unsigned slot = begin_of(bin_of(keys_[i])) + moves_[i];
      shared_.keys[slot] = keys_[i];
      if constexpr (KeepsPlaces) shared_.places[slot] = static_cast<std::uint16_t>(tile_.place_of(i));
    });
    __syncthreads();
  }

  /// Takes each slot's key, and finds its position among those of its bin. Most bins have few keys: those of one bin
  /// that lie on either side of the slot are looked at together.
  __device__ __forceinline__ void order_within_bins() {
    tile_.each([&](unsigned i) {
      if (has(i)) keys_[i] = shared_.keys[tile_.place_of(i)];
    });
    tile_.each([&](unsigned i) {
      if (!has(i)) return;
      const unsigned bin = bin_of(keys_[i]);
      const unsigned begin = begin_of(bin);
      const unsigned end = bin + 1 == bins ? job_.count : begin_of(bin + 1);
      moves_[i] = pack(begin, end);
    });
    tile_.each([&](unsigned i) {
      if (!has(i)) return;
      const unsigned slot = tile_.place_of(i);
      const unsigned place = KeepsPlaces ? shared_.places[slot] : slot;
      unsigned position = moves_[i] & 0xffffU;
      const unsigned end = moves_[i] >> 16;
#pragma unroll 2
      for (unsigned other = position; other < end; ++other) {
        const K key = shared_.keys[other];
        const unsigned others_place = KeepsPlaces ? shared_.places[other] : other;
        position += key < keys_[i] || (key == keys_[i] && others_place < place) ? 1 : 0;
      }
      moves_[i] = pack(position, place);
    });
  }

  // ---- Digits

  __device__ __forceinline__ void order_by_digits(std::uint64_t differing) {
    keep_places();
    __syncthreads();  // bins were read
    while (differing != 0) {
      const unsigned shift = lowest_bit(differing);
      order_by_digit(shift);
      differing =
          shift + small_digit_bits >= 64 ? 0 : differing >> (shift + small_digit_bits) << (shift + small_digit_bits);
    }
    tile_.each([&](unsigned i) { moves_[i] = pack(tile_.place_of(i), moves_[i] >> 16); });
  }

  __device__ __forceinline__ void order_by_digit(unsigned shift) {
    const auto digit_of_item = [&](unsigned i) {
      return static_cast<unsigned>(keys_[i] >> shift) & (small_digits - 1);
    };
    rank_in_warps(tile_, shared_.digits, digit_of_item,
                  [&](unsigned i, unsigned rank) { moves_[i] = pack(rank, moves_[i] >> 16); });
    __syncthreads();
    find_digit_begins<Threads>(shared_.digits, shared_.warp_sums);
    tile_.each([&](unsigned i) {
      const unsigned position = shared_.digits.counts[tile_.warp][digit_of_item(i)] + (moves_[i] & 0xffffU);
      shared_.keys[position] = keys_[i];
      if constexpr (KeepsPlaces) shared_.places[position] = static_cast<std::uint16_t>(moves_[i] >> 16);
    });
    __syncthreads();
    tile_.each([&](unsigned i) {
      keys_[i] = shared_.keys[tile_.place_of(i)];
      if constexpr (KeepsPlaces) moves_[i] = static_cast<std::uint32_t>(shared_.places[tile_.place_of(i)]) << 16;
    });
  }

  // ---- Results

  /// Stores keys at their positions, and the values from where the keys came. All keys of the job have been read.
  __device__ __forceinline__ void store() const {
    if constexpr (KeepsPlaces) {
      if (job_.to_keys != nullptr) {
        if constexpr (Order::holds_encoded) {
          store_keys();
        } else {
          move(job_.keys, job_.to_keys, 1);
        }
      }
      if (job_.index_bytes == 4) {
        store_places(static_cast<std::uint32_t*>(job_.to_values));
      } else if (job_.index_bytes != 0) {
        store_places(static_cast<std::uint64_t*>(job_.to_values));
      }
      if (job_.value_bytes == 4) {
        move(static_cast<const std::uint32_t*>(job_.values), static_cast<std::uint32_t*>(job_.to_values), 1);
      } else if (job_.value_bytes != 0) {
        // Values of 16 bytes move in two halves, for which there are registers.
        const unsigned words = job_.value_bytes / 8;
        for (unsigned w = 0; w < words; ++w) {
          move(static_cast<const std::uint64_t*>(job_.values) + w, static_cast<std::uint64_t*>(job_.to_values) + w,
               words);
        }
      }
    } else {
      store_keys();
    }
  }
  __device__ __forceinline__ void store_keys() const {
    tile_.each([&](unsigned i) {
      if (has(i)) store_global(job_.to_keys + (moves_[i] & 0xffffU), order_.give(keys_[i]));
    });
  }
  template <class T>
  __device__ __forceinline__ void store_places(T* to) const {
    tile_.each([&](unsigned i) {
      if (has(i)) store_global(to + (moves_[i] & 0xffffU), T{moves_[i] >> 16});
    });
  }
  /// The result may lie where the records come from, so all are read before any is stored.
  template <class T>
  __device__ __forceinline__ void move(const T* from, T* to, unsigned step) const {
    T moved[Items];
    tile_.each([&](unsigned i) {
      if (has(i)) moved[i] = from[(moves_[i] >> 16) * step];
    });
    __syncthreads();
    tile_.each([&](unsigned i) {
      if (has(i)) store_global(to + (moves_[i] & 0xffffU) * step, moved[i]);
    });
  }

  const Order& order_;
  const chip_job<K>& job_;
  shared_memory& shared_;
  warp_striped<Items> tile_;
  unsigned window_shift_ = 0;
  std::uint32_t least_ = 0;     ///< of the keys' windows
  unsigned shift_ = 0;          ///< of the bins within the window
  K keys_[Items];               ///< encoded
  std::uint32_t moves_[Items];  ///< of the keys beside them: the position, or what leads to it, and the place above it
};

}  // namespace spansort::device::cuda
