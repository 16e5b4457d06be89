// SPDX-License-Identifier: Apache-2.0
// A sort in one launch, by blocks that all run at once and meet at barriers. Each has its part of the input, one tile
// of it or several.
//
// The blocks count the digits of their parts, write the counts to device memory, meet, and add up what lies before
// theirs; then they order their tiles by that digit in shared memory and write them to the other array. Keys are
// partitioned by the highest digit where the largest of its buckets fits one block: the blocks then finish the buckets
// on chip (chip_sort.cuh), with two reads and two writes in all. Where it does not, as with floats, half of which may
// share an exponent, splitters from a sorted sample make the buckets; what is equal to a splitter that the sample has
// often is a bucket of its own, of any size, and finished as it is (samplesort: Frazer and McKellar, 1970). Where these
// do not fit, either, or keys differ in few bits, they go by all digits in which they differ, from the lowest up. What
// is in order already, or in opposite order, is seen in the first count.
//
// Blocks rank the keys of their tiles while they wait for each other.
#pragma once

#include <cooperative_groups.h>

#include <type_traits>
#include <utility>

#include "device/cuda/kernels/chip_sort.cuh"
#include "device/cuda/kernels/grid_sort_digits.cuh"

namespace spansort::device::cuda {

template <class K>
struct grid_sort_arguments {
  const K* given = nullptr;  ///< keys that are sorted: those of the source, or an argsort's, which are not changed
  K* keys[2] = {};           ///< of the source and the alternate
  void* values[2] = {};
  bool makes_positions = false;  ///< the values are the keys' positions, and all that is asked for
  std::uint32_t num_keys = 0;
  unsigned items = 0;       ///< records that each thread has of a tile
  unsigned tiles_each = 0;  ///< of a block
  unsigned begin_bit = 0;
  unsigned end_bit = 0;
  unsigned result_side = 0;
  bool may_reverse = false;       ///< keys that tie may change places
  std::uint32_t* seen = nullptr;  ///< order_seen bits
  uint4* rows = nullptr;          ///< [2][blocks][grid_row_words]: counts of each block's part, in 16 bits
  key_facts* facts = nullptr;     ///< [blocks]
};

/// A block's counts: one word of 16 bytes for each lane of the warp that reads them.
inline constexpr unsigned grid_row_words = small_digits * 2 / sizeof(uint4);
static_assert(grid_row_words == 32);

template <class K, class V, class Order, unsigned Shape>
class grid_sort_block {
 public:
  static constexpr unsigned threads = grid_sort_threads;
  static constexpr grid_sort_shape shape = grid_sort_shape_of(Shape, sizeof(K), value_bytes_of<V>);
  static constexpr unsigned items = shape.items;
  static constexpr unsigned warps = threads / 32;
  static constexpr unsigned most_tile_keys = threads * items;
  static constexpr bool has_values = value_bytes_of<V> != 0;
  static constexpr bool may_be_positions = value_bytes_of<V> == 4 || value_bytes_of<V> == 8;
  /// Narrower keys have so few digits that splitters take as long.
  static constexpr bool goes_by_splitters = sizeof(K) == 8;
  using chip = chip_sort<K, Order, has_values, threads, shape.finish_items>;

  struct shared_memory {
    union {
      struct {
        union {
          K keys[most_tile_keys];
          std::conditional_t<has_values, V, char> values[has_values ? most_tile_keys : 1];
        };
        digit_counters<warps> digits;
        K differing[warps];
        std::uint32_t seen[warps];
        std::uint32_t largest[warps];
        std::uint32_t warp_sums[warps];
        K splitters[goes_by_splitters ? small_digits : 1];
      } part;
      typename chip::shared_memory finish;
    };
    union {
      std::uint32_t before[small_digits];   ///< of earlier blocks' parts, while they are added up
      std::uint32_t targets[small_digits];  ///< where buckets go, minus their first position in the tile
    };
    union {
      std::uint32_t totals[small_digits];
      std::uint32_t bucket_begins[small_digits + 1];  ///< in all of the records
    };
    std::uint32_t job_begins[2];
    std::uint32_t whole[small_digits / 32];  ///< a bit for each bucket between splitters: its keys are equal
  };

  __device__ __forceinline__ grid_sort_block(const Order& order, const grid_sort_arguments<K>& arguments,
                                             shared_memory& shared)
      : order_(order), a_(arguments), shared_(shared), grid_(cooperative_groups::this_grid()) {
    tile_.items = a_.items;
    tile_keys_ = threads * a_.items;
    part_begin_ = min(blockIdx.x * (tile_keys_ * a_.tiles_each), a_.num_keys);
    part_end_ = min(part_begin_ + tile_keys_ * a_.tiles_each, a_.num_keys);
  }

  __device__ __forceinline__ void run() {
    constexpr unsigned digit = small_digit_bits;
    unsigned shift = a_.end_bit - a_.begin_bit > most_digit_sort_bits ? a_.end_bit - digit : a_.begin_bit;
    count<true>(digit_of_bits{shift});
    meet_and_add_up(digit_of_bits{shift});
    const key_facts facts{warp_or_key(std::uint64_t{shared_.part.differing[tile_.lane]}),
                          warp_or(shared_.part.seen[tile_.lane])};
    if (blockIdx.x == 0 && tile_.thread == 0) *a_.seen = facts.seen;
    if (use_order(facts.seen)) return;
    if constexpr (8 * sizeof(K) > most_digit_sort_bits) {
      if (differs_in_many_bits(facts.differing)) {
        if (has_even_buckets(facts.differing, shift)) return finish_buckets(digit_of_bits{shift});
        if constexpr (goes_by_splitters) {
          const digit_of_splitters<K> by_splitters = find_splitters();
          count<false>(by_splitters);
          meet_and_add_up(by_splitters);
          if (largest_ <= chip::most_keys) return finish_buckets(by_splitters);
          shift = none_counted;
        }
      }
    }
    sort_by_digits(facts.differing, shift);
  }

 private:
  static constexpr unsigned none_counted = 64;

  /// Keys that differ in few bits go by two digits.
  [[nodiscard]] __device__ __forceinline__ static bool differs_in_many_bits(std::uint64_t differing) {
    return differing != 0 && highest_bit_of(differing) + 1 - lowest_bit(differing) > most_digit_sort_bits;
  }

  /// Returns whether a block has room for the largest bucket of the digit that was counted, or of the highest one in
  /// which keys differ, which is counted then. Where there are splitters, that one is worth a count only if all keys
  /// have the first digit in common, or if a block has room for an eighth of them: floats of [0, 1) have a sixteenth in
  /// a bucket.
  [[nodiscard]] __device__ __forceinline__ bool has_even_buckets(std::uint64_t differing, unsigned& shift) {
    const unsigned num_bits = highest_bit_of(differing) + 1;
    const bool is_worth_it = !goes_by_splitters || largest_ == a_.num_keys || a_.num_keys <= 8 * chip::most_keys;
    if (largest_ > chip::most_keys && is_worth_it && num_bits - small_digit_bits < shift) {
      shift = num_bits - small_digit_bits;
      count<false>(digit_of_bits{shift});
      meet_and_add_up(digit_of_bits{shift});
    }
    return largest_ <= chip::most_keys;
  }

  /// Takes splitters from a sorted sample of a key a thread, in which each block finds the same ones. Buckets are so
  /// many that their average is a quarter of what a block has room for.
  [[nodiscard]] __device__ __forceinline__ digit_of_splitters<K> find_splitters() {
    const unsigned stride = max(a_.num_keys / threads, 1U);
    const unsigned place = tile_.thread * stride + tile_.thread * 0x9e3779b9U % stride;
    const K sampled = static_cast<K>(encoded(a_.given[place % a_.num_keys]) >> a_.begin_bit);
    __syncthreads();
    const K key = sorted_key_of_each(sampled, shared_.part.keys);
    unsigned num_buckets = small_digits;
    while (num_buckets > 2 && num_buckets / 2 * (chip::most_keys / 4) >= a_.num_keys) num_buckets /= 2;
    const unsigned step = threads / num_buckets;
    K* const splitters = shared_.part.splitters;
    if (tile_.thread % step == step - 1) splitters[tile_.thread / step] = key;
    __syncthreads();
    const digit_of_splitters<K> digit{splitters, num_buckets, a_.begin_bit};
    if (tile_.thread < small_digits) {
      const unsigned whole = __ballot_sync(0xffffffffU, digit.is_whole(tile_.thread));
      if (tile_.lane == 0) shared_.whole[tile_.warp] = whole;
    }
    __syncthreads();
    return digit;
  }
  [[nodiscard]] __device__ __forceinline__ bool is_whole(unsigned bucket) const {
    return (shared_.whole[bucket / 32] >> bucket % 32 & 1) != 0;
  }

  [[nodiscard]] __device__ __forceinline__ K encoded(K key) const { return order_.encode(order_.take(key)); }
  [[nodiscard]] __device__ __forceinline__ bool has_one_tile() const { return a_.tiles_each == 1; }
  template <class Digit>
  [[nodiscard]] __device__ __forceinline__ unsigned digit_at(unsigned item, const Digit& digit) const {
    return digit(order_.encode(keys_[item]));
  }
  /// Buckets between splitters take a search, and are kept as long as the tile's keys are.
  template <class Digit>
  __device__ __forceinline__ void keep_digits(const Digit& digit) {
    if constexpr (has_splitters<Digit>) {
#pragma unroll
      for (std::uint32_t& kept : kept_) kept = 0;
      tile_.each([&](unsigned i) { kept_[i / 4] |= digit_at(i, digit) << i % 4 * 8; });
    }
  }
  template <class Digit>
  [[nodiscard]] __device__ __forceinline__ unsigned kept_digit(unsigned item, const Digit& digit) const {
    if constexpr (has_splitters<Digit>) {
      return kept_[item / 4] >> item % 4 * 8 & (small_digits - 1);
    } else {
      return digit_at(item, digit);
    }
  }
  [[nodiscard]] __device__ __forceinline__ bool has(unsigned item) const { return tile_.place_of(item) < num_valid_; }

  // ---- Counts

  /// Loads a tile; what is not there sorts last.
  __device__ __forceinline__ void load_tile(unsigned begin) {
    const K* const keys = (is_as_given_ ? a_.given : a_.keys[side_]) + begin;
    num_valid_ = begin < part_end_ ? min(tile_keys_, part_end_ - begin) : 0;
    tile_.each([&](unsigned i) { keys_[i] = has(i) ? keys[tile_.place_of(i)] : K{0}; });
    tile_.each([&](unsigned i) { keys_[i] = order_.take(keys_[i]); });
    is_loaded_ = true;
  }

  /// Counts the part's digits, and writes them to device memory.
  template <bool Looks, class Digit>
  __device__ __forceinline__ void count(const Digit& digit_of) {
    digit_counters<warps>& digits = shared_.part.digits;
    for (unsigned w = tile_.lane; w < digit_row_words; w += 32) digits.words[tile_.warp][w] = 0;
    if (tile_.thread < small_digits) shared_.before[tile_.thread] = shared_.totals[tile_.thread] = 0;
    __syncwarp();
    for (unsigned t = 0; t < a_.tiles_each; ++t) {
      const unsigned begin = part_begin_ + t * tile_keys_;
      if (!has_one_tile() || !is_loaded_) load_tile(begin);
      if constexpr (Looks) look(begin);
      keep_digits(digit_of);
      tile_.each([&](unsigned i) {
        const unsigned digit = kept_digit(i, digit_of);
        if (has(i)) atomicAdd(digits.words[tile_.warp] + digit / 2, 1U << digit % 2 * 16);
      });
    }
    if constexpr (Looks) {
      if (tile_.lane == 0) {
        shared_.part.differing[tile_.warp] = differing_;
        shared_.part.seen[tile_.warp] = seen_;
      }
    }
    __syncthreads();
    write_row();
    if constexpr (Looks) write_facts();
  }

  /// Adds what the tile's keys tell to what the part's do.
  __device__ __forceinline__ void look(unsigned begin) {
    const K first = encoded(a_.given[0]);
    K differing = 0;
    tile_.each([&](unsigned i) {
      if (has(i)) differing |= static_cast<K>(order_.encode(keys_[i]) ^ first);
    });
    differing_ |= static_cast<K>(warp_or_key(differing) >> a_.begin_bit << a_.begin_bit);
    const unsigned num_followed = begin + num_valid_ == a_.num_keys ? max(num_valid_, 1U) - 1 : num_valid_;
    seen_ |= order_seen_in<K>(
        tile_, num_followed, a_.begin_bit, [&](unsigned i) { return order_.encode(keys_[i]); },
        [&](unsigned place) { return encoded(a_.given[begin + place]); });
  }

  __device__ __forceinline__ void write_row() const {
    constexpr unsigned groups = threads / small_digits;
    constexpr unsigned rows_each = warps / groups;
    const unsigned digit = tile_.thread / groups;
    const unsigned first_row = tile_.thread % groups * rows_each;
    unsigned sum = 0;
#pragma unroll
    for (unsigned r = 0; r < rows_each; ++r) sum += shared_.part.digits.counts[first_row + r][digit];
#pragma unroll
    for (unsigned distance = 1; distance < groups; distance *= 2) {
      sum += __shfl_xor_sync(0xffffffffU, sum, static_cast<int>(distance));
    }
    auto* const row = reinterpret_cast<std::uint16_t*>(row_of(blockIdx.x));
    if (tile_.thread % groups == 0) row[digit] = static_cast<std::uint16_t>(sum);
  }
  [[nodiscard]] __device__ __forceinline__ uint4* row_of(unsigned block) const {
    return a_.rows + (row_half_ * gridDim.x + block) * grid_row_words;
  }

  __device__ __forceinline__ void write_facts() const {
    if (tile_.warp != 0) return;
    const K differing = warp_or_key(shared_.part.differing[tile_.lane]);
    const std::uint32_t seen = warp_or(shared_.part.seen[tile_.lane]);
    if (tile_.lane == 0) a_.facts[blockIdx.x] = {differing, seen};
  }
  /// Takes what all blocks have seen of their parts into shared memory: each thread a block's.
  __device__ __forceinline__ void gather_facts() {
    std::uint64_t differing = 0;
    std::uint32_t seen = 0;
    if (tile_.thread < gridDim.x) {
      const auto words = __ldcg(reinterpret_cast<const ulonglong2*>(a_.facts + tile_.thread));
      differing = words.x;
      seen = static_cast<std::uint32_t>(words.y);
    }
    differing = warp_or_key(differing);
    seen = warp_or(seen);
    if (tile_.lane == 0) {
      shared_.part.differing[tile_.warp] = static_cast<K>(differing);
      shared_.part.seen[tile_.warp] = seen;
    }
  }
  static_assert(sizeof(key_facts) == sizeof(ulonglong2));

  // ---- Meetings

  /// Meets the other blocks, whose counts are there then, and adds them up. A single tile is ranked in the meantime.
  template <class Digit>
  __device__ __forceinline__ void meet_and_add_up(const Digit& digit) {
    auto arrival = grid_.barrier_arrive();
    if (has_one_tile()) rank_and_put(digit);
    grid_.barrier_wait(std::move(arrival));
    add_up_rows(digit);
    row_half_ ^= 1;
  }

  /// Finds where each bucket begins in all of the records, and where this part's records of it begin.
  template <class Digit>
  __device__ __forceinline__ void add_up_rows(const Digit&) {
    gather_facts();
    // A thread has four neighbouring digits of every so many rows, all of which it loads at once.
    constexpr unsigned words_each = small_digits / 4;
    constexpr unsigned step = threads / words_each;
    constexpr unsigned together = 9;
    const unsigned word = tile_.thread % words_each;
    const auto* const rows = reinterpret_cast<const uint2*>(row_of(0)) + word;
    std::uint32_t before[4] = {};
    std::uint32_t totals[4] = {};
    for (unsigned first = tile_.thread / words_each; first < gridDim.x; first += together * step) {
      uint2 counts[together];
#pragma unroll
      for (unsigned r = 0; r < together; ++r) {
        const unsigned block = first + r * step;
        counts[r] = block < gridDim.x ? __ldcg(rows + block * words_each) : uint2{0, 0};
      }
#pragma unroll
      for (unsigned r = 0; r < together; ++r) {
        const std::uint32_t digits[4] = {counts[r].x & 0xffffU, counts[r].x >> 16, counts[r].y & 0xffffU,
                                         counts[r].y >> 16};
        const bool is_before = first + r * step < blockIdx.x;
#pragma unroll
        for (unsigned d = 0; d < 4; ++d) {
          totals[d] += digits[d];
          if (is_before) before[d] += digits[d];
        }
      }
    }
    // Neighbouring digits lie a row of words apart, so that lanes are in different banks.
    if (tile_.thread / words_each < gridDim.x) {
#pragma unroll
      for (unsigned d = 0; d < 4; ++d) {
        atomicAdd(&shared_.totals[d * words_each + word], totals[d]);
        atomicAdd(&shared_.before[d * words_each + word], before[d]);
      }
    }
    __syncthreads();
    const bool is_bucket = tile_.thread < small_digits;
    const unsigned at = tile_.thread % 4 * words_each + tile_.thread / 4;
    const unsigned total = is_bucket ? shared_.totals[at] : 0;
    const unsigned earlier = is_bucket ? shared_.before[at] : 0;
    bool is_bounded = is_bucket;
    if constexpr (has_splitters<Digit>) is_bounded = is_bucket && !is_whole(tile_.thread);
    const unsigned largest = warp_max(is_bounded ? total : 0);
    if (tile_.lane == 0) shared_.part.largest[tile_.warp] = largest;
    const unsigned begin = sum_before<threads>(total, shared_.part.warp_sums);
    target_ = begin + earlier;
    largest_ = warp_max(shared_.part.largest[tile_.lane]);
    if (is_bucket) shared_.bucket_begins[tile_.thread] = begin;
    if (tile_.thread == 0) shared_.bucket_begins[small_digits] = a_.num_keys;
    __syncthreads();
  }

  // ---- Partition

  /// Moves all records to the other array, by a digit that has been counted.
  template <class Digit>
  __device__ __forceinline__ void partition(const Digit& digit) {
    for (unsigned t = 0; t < a_.tiles_each; ++t) {
      const unsigned begin = part_begin_ + t * tile_keys_;
      if (!has_one_tile()) {
        load_tile(begin);
        keep_digits(digit);
        rank_and_put(digit);
      }
      find_targets();
      scatter(digit, begin);
      if (!has_one_tile()) __syncthreads();
    }
    side_ ^= 1;
    is_as_given_ = false;
  }

  /// Orders the tile's keys by a digit in shared memory.
  template <class Digit>
  __device__ __forceinline__ void rank_and_put(const Digit& digit) {
    digit_counters<warps>& digits = shared_.part.digits;
    __syncthreads();
    // Missing records come last.
    const auto digit_of_item = [&](unsigned i) { return has(i) ? kept_digit(i, digit) : small_digits - 1; };
    rank_in_warps(tile_, digits, digit_of_item, [&](unsigned i, unsigned rank) { positions_[i] = rank; });
    __syncthreads();
    find_digit_begins<threads>(digits, shared_.part.warp_sums);
    tile_.each([&](unsigned i) {
      positions_[i] += digits.counts[tile_.warp][digit_of_item(i)];
      shared_.part.keys[positions_[i]] = keys_[i];
    });
  }

  /// Finds where the tile's records of each bucket go.
  __device__ __forceinline__ void find_targets() {
    if (tile_.thread < small_digits) {
      const std::uint16_t* const begins = shared_.part.digits.counts[0];
      const unsigned begin = begins[tile_.thread];
      const unsigned end = tile_.thread + 1 == small_digits ? num_valid_ : begins[tile_.thread + 1];
      shared_.targets[tile_.thread] = target_ - begin;
      target_ += end - begin;
    }
    __syncthreads();
  }

  template <class Digit>
  __device__ __forceinline__ void scatter(const Digit& digit, unsigned tile_begin) {
    K* const to = a_.keys[side_ ^ 1];
    tile_.each([&](unsigned i) {
      keys_[i] = shared_.part.keys[i * threads + tile_.thread];
      if (i * threads + tile_.thread < num_valid_) store_global(to + target_of(i, digit), order_.give(keys_[i]));
    });
    is_loaded_ = false;
    if constexpr (has_values) move_values(digit, tile_begin);
  }
  /// Returns where the record goes whose key this thread has of the ordered tile.
  template <class Digit>
  [[nodiscard]] __device__ __forceinline__ unsigned target_of(unsigned item, const Digit& digit) const {
    return shared_.targets[digit_at(item, digit)] + item * threads + tile_.thread;
  }

  template <class Digit>
  __device__ __forceinline__ void move_values(const Digit& digit, unsigned tile_begin) {
    const V* const from = static_cast<const V*>(a_.values[side_]) + tile_begin;
    V* const to = static_cast<V*>(a_.values[side_ ^ 1]);
    V moved[items];
    tile_.each([&](unsigned i) {
      if (!has(i)) return;
      if constexpr (may_be_positions) {
        if (a_.makes_positions && is_as_given_) {
          moved[i] = position(tile_begin + tile_.place_of(i));
          return;
        }
      }
      moved[i] = from[tile_.place_of(i)];
    });
    __syncthreads();
    tile_.each([&](unsigned i) { shared_.part.values[positions_[i]] = moved[i]; });
    __syncthreads();
    tile_.each([&](unsigned i) {
      const unsigned at = i * threads + tile_.thread;
      if (at < num_valid_) store_global(to + target_of(i, digit), shared_.part.values[at]);
    });
  }

  // ---- Ways

  /// Ends the work where the input is in order or in opposite order. Returns whether it is.
  [[nodiscard]] __device__ __forceinline__ bool use_order(std::uint32_t seen) {
    const bool is_ascending = (seen & seen_descent) == 0;
    if (!is_ascending && ((seen & seen_ascent) != 0 || (!a_.may_reverse && (seen & seen_equal) != 0))) return false;
    if constexpr (may_be_positions) {
      if (a_.makes_positions) {
        write_positions(is_ascending);
        return true;
      }
    }
    if (is_ascending) {
      if (a_.result_side != 0) copy(1);
      return true;
    }
    reverse(a_.keys[0], a_.keys[a_.result_side]);
    if constexpr (has_values) reverse(static_cast<V*>(a_.values[0]), static_cast<V*>(a_.values[a_.result_side]));
    return true;
  }

  [[nodiscard]] __device__ __forceinline__ static V position(unsigned place) {
    V made;
    made.word = place;
    return made;
  }
  /// Writes the order of keys that are in order, or in opposite order.
  __device__ __forceinline__ void write_positions(bool is_ascending) const {
    V* const to = static_cast<V*>(a_.values[a_.result_side]);
    for (unsigned i = part_begin_ + tile_.thread; i < part_end_; i += threads) {
      to[i] = position(is_ascending ? i : a_.num_keys - 1 - i);
    }
  }

  template <class T>
  __device__ __forceinline__ void reverse(T* from, T* to) const {
    const unsigned num_moves = from == to ? a_.num_keys / 2 : a_.num_keys;
    for (unsigned i = blockIdx.x * threads + tile_.thread; i < num_moves; i += gridDim.x * threads) {
      const unsigned mirrored = a_.num_keys - 1 - i;
      const T left = from[i];
      if (from == to) to[i] = from[mirrored];
      to[mirrored] = left;
    }
  }

  __device__ __forceinline__ void copy(unsigned to_side) const {
    for (unsigned i = part_begin_ + tile_.thread; i < part_end_; i += threads) {
      a_.keys[to_side][i] = a_.keys[to_side ^ 1][i];
      if constexpr (has_values) {
        static_cast<V*>(a_.values[to_side])[i] = static_cast<const V*>(a_.values[to_side ^ 1])[i];
      }
    }
  }

  /// Partitions by a digit that has been counted, and sorts its buckets on chip: neighbours together where each block
  /// has room for what begins in its share of the records, else one after the other.
  template <class Digit>
  __device__ __forceinline__ void finish_buckets(const Digit& digit) {
    partition(digit);
    grid_.sync();
    if constexpr (has_splitters<Digit>) return finish_between_splitters();
    // Neighbours that begin in the same cell are finished together, where that takes no more rounds.
    const unsigned cell = min((a_.num_keys - 1) / gridDim.x + 1, chip::most_keys - largest_);
    const unsigned num_cells = cell == 0 ? ~0U : (a_.num_keys - 1) / cell + 1;
    const bool by_cells = num_cells <= gridDim.x || num_cells < small_digits;
    const unsigned num_jobs = by_cells ? num_cells : small_digits;
    for (unsigned j = blockIdx.x; j < num_jobs; j += gridDim.x) {
      unsigned begin = shared_.bucket_begins[j % small_digits];
      unsigned end = shared_.bucket_begins[j % small_digits + 1];
      if (by_cells) {
        find_cell(j * cell, cell);
        begin = shared_.job_begins[0];
        end = shared_.job_begins[1];
      }
      finish(begin, end);
      __syncthreads();
    }
  }

  __device__ __forceinline__ void finish_between_splitters() {
    if (a_.result_side == 0) copy_whole_buckets();
    for (unsigned j = blockIdx.x; j < small_digits; j += gridDim.x) {
      if (is_whole(j)) continue;
      finish(shared_.bucket_begins[j], shared_.bucket_begins[j + 1]);
      __syncthreads();
    }
  }

  /// Copies the records of buckets whose keys are equal to where the result belongs.
  __device__ __forceinline__ void copy_whole_buckets() const {
    for (unsigned i = part_begin_ + tile_.thread; i < part_end_; i += threads) {
      unsigned bucket = 0;  // the last one that begins here or before
#pragma unroll
      for (unsigned step = small_digits / 2; step != 0; step /= 2) {
        if (shared_.bucket_begins[bucket + step] <= i) bucket += step;
      }
      if (!is_whole(bucket)) continue;
      if (!a_.makes_positions) a_.keys[0][i] = a_.keys[1][i];
      if constexpr (has_values) static_cast<V*>(a_.values[0])[i] = static_cast<const V*>(a_.values[1])[i];
    }
  }

  /// Finds the records of the buckets that begin in a cell.
  __device__ __forceinline__ void find_cell(unsigned cell_begin, unsigned cell) const {
    if (tile_.thread < 2) shared_.job_begins[tile_.thread] = a_.num_keys;
    __syncthreads();
    if (tile_.thread <= small_digits) {
      const unsigned begin = shared_.bucket_begins[tile_.thread];
      const unsigned before = tile_.thread == 0 ? 0 : shared_.bucket_begins[tile_.thread - 1];
      for (unsigned side = 0; side < 2; ++side) {
        const unsigned least = cell_begin + side * cell;
        if (begin >= least && (tile_.thread == 0 || before < least)) shared_.job_begins[side] = begin;
      }
    }
    __syncthreads();
  }

  __device__ __forceinline__ void finish(unsigned begin, unsigned end) {
    if (begin >= end) return;
    chip_job<K> job;
    job.keys = a_.keys[1] + begin;
    job.to_keys = a_.makes_positions ? nullptr : a_.keys[a_.result_side] + begin;
    if constexpr (has_values) {
      job.values = static_cast<const V*>(a_.values[1]) + begin;
      job.to_values = static_cast<V*>(a_.values[a_.result_side]) + begin;
    }
    job.count = end - begin;
    job.value_bytes = value_bytes_of<V>;
    job.begin_bit = a_.begin_bit;
    chip(order_, job, shared_.finish).run();
  }

  /// Sorts by all digits in which keys differ. `counted` is the shift of the digit that was counted last, if one was.
  __device__ __forceinline__ void sort_by_digits(std::uint64_t differing, unsigned counted) {
    while (differing != 0) {
      unsigned shift = lowest_bit(differing);
      if (side_ == 0 && counted <= shift && shift < counted + small_digit_bits) {
        shift = counted;
      } else {
        count<false>(digit_of_bits{shift});
        meet_and_add_up(digit_of_bits{shift});
      }
      counted = none_counted;
      partition(digit_of_bits{shift});
      const unsigned done = shift + small_digit_bits;
      differing = done >= 64 ? 0 : differing >> done << done;
      if (differing != 0 || side_ != a_.result_side) grid_.sync();
    }
    if (side_ != a_.result_side) copy(a_.result_side);
  }

  const Order& order_;
  const grid_sort_arguments<K>& a_;
  shared_memory& shared_;
  cooperative_groups::grid_group grid_;
  warp_striped<items> tile_;
  unsigned tile_keys_ = 0;
  unsigned part_begin_ = 0;  ///< of all records
  unsigned part_end_ = 0;
  unsigned num_valid_ = 0;  ///< of the tile's records
  unsigned side_ = 0;       ///< on which the records are
  unsigned row_half_ = 0;
  unsigned largest_ = 0;  ///< records of the largest bucket of the digit that was counted
  unsigned target_ = 0;   ///< where the next record of bucket `thread` goes
  bool is_loaded_ = false;
  bool is_as_given_ = true;  ///< nothing has been moved yet
  K differing_ = 0;          ///< of the part
  std::uint32_t seen_ = 0;
  K keys_[items];  ///< as the order holds them
  std::uint32_t positions_[items];
  std::uint32_t kept_[(items + 3) / 4];  ///< buckets of the keys, a byte each
};

/// A cooperative launch of blocks of grid_sort_threads threads, with sizeof(shared_memory) bytes of dynamic shared
/// memory; both arrays are clobbered.
template <class K, class V, class Order, unsigned Shape>
__global__ void __launch_bounds__(grid_sort_threads, 1)
    grid_sort_kernel(Order order, __grid_constant__ const grid_sort_arguments<K> arguments) {
  using block = grid_sort_block<K, V, Order, Shape>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (compiles_small_sorts) {
    static_assert(sizeof(typename block::shared_memory) <= most_shared_bytes(compiled_family));
    block(order, arguments, *reinterpret_cast<typename block::shared_memory*>(shared_bytes)).run();
  }
}

}  // namespace spansort::device::cuda
