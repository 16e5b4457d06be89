// SPDX-License-Identifier: Apache-2.0
// A block takes bucket after bucket. It counts the keys of one in shared memory, with as few bits a value as the number
// of keys makes likely to do, and writes as many of each value as there were:
// - Few keys stay in registers, and are counted in 2 bits a value, or in 4 where one has more than three copies. Each
//   goes to its position, which is told by the counts below it and by how many of the same value were counted before.
//   That is chance, so records with values that tie are then ordered by their places. From shared memory all are stored
//   in one piece, and values are gathered.
// - Keys alone that are more are counted in 4 bits where values have up to two keys on average, and each thread makes
//   those of its values.
// - Where they have more, keys alone are counted in 8 bits. Each warp makes the keys of 32 values at a time, each lane
//   that of every 32nd position.
// - Whatever else there is: keys alone are counted in 32 bits for a quarter of the values at a time, which reads them
//   four times. Records with values take two partitions by 8 bits, each by this one block.
// A counter that runs over makes the sum of all counters less than the number of keys, by which it is noticed.
#include "device/cuda/kernels/counting_finish.hpp"

#include <algorithm>
#include <type_traits>

#include "base/assert.hpp"
#include "device/cuda/cuda_error.hpp"
#include "device/cuda/kernels/blocks_at_once.hpp"
#include "device/cuda/kernels/first_of_digits.cuh"
#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/one_block_partition.cuh"
#include "device/cuda/kernels/partition_parts.cuh"
#include "device/cuda/kernels/value_counters.cuh"
#include "device/cuda/kernels/warp_scan.cuh"

namespace spansort::device::cuda {
namespace {

using key = std::uint32_t;

__device__ __forceinline__ bool is_wanted(const order_condition& when) {
  return when.decision == nullptr || *when.decision == when.wanted;
}

/// A thread for each bucket and one more: finds the bucket's first key.
template <class Order>
__global__ void __launch_bounds__(128)
    find_begins_kernel(Order order, const key* __restrict__ keys, std::uint32_t num_keys, counting_finish_memory memory,
                       order_condition when) {
  if (!is_wanted(when)) return;
  const unsigned bucket = blockIdx.x * 128 + threadIdx.x;
  if (bucket == 0) *memory.next_job = 0;
  if (bucket > counted_buckets) return;
  memory.begins[bucket] = first_of_digits(order, keys, num_keys, counted_bits, key{bucket});
}

template <class V, class Order, unsigned Threads>
class counting_finish_block;

/// A bucket of the finish.
struct counted_bucket {
  std::uint32_t begin = 0;  ///< of its keys
  std::uint32_t count = 0;
  key high = 0;  ///< the bits in which its keys agree
};

/// Finishes a bucket whatever its keys are. This is a call, so that what it needs of registers is not taken from the
/// ways of likely buckets.
template <class V, class Order, unsigned Threads>
__device__ __noinline__ void finish_any_bucket(
    Order order, const counting_finish_request& request, counted_bucket bucket,
    typename counting_finish_block<V, Order, Threads>::shared_memory& shared) {
  counting_finish_block<V, Order, Threads>(order, request, bucket, shared).finish_any();
}

/// One block's work on its buckets.
template <class V, class Order, unsigned Threads>
class counting_finish_block {
 public:
  static constexpr unsigned threads = Threads;
  static constexpr unsigned warps = threads / 32;
  static constexpr bool has_values = value_bytes_of<V> != 0;
  static constexpr unsigned held_each = counting_finish_held_keys;
  static constexpr unsigned held_keys = threads * held_each;
  /// A record is staged as its place, and above it its value; a key alone as its value.
  using staged = std::conditional_t<has_values, std::uint32_t, std::uint16_t>;
  using sparse = value_counters<4>;
  static constexpr unsigned most_segment_buckets = 1U << (has_values ? max_published_bits : max_partition_bits);

  template <unsigned Bits>
  struct few_keys {
    std::uint32_t words[value_counters<Bits>::num_places];
    std::uint16_t begins[value_counters<Bits>::num_places];  ///< of each word's keys
    staged in_order[held_keys];
  };
  struct more_keys {
    std::uint32_t words[sparse::num_places];
    std::uint16_t in_order[staged_keys];
  };
  struct shared_memory {
    union {
      few_keys<2> few_in_2_bits;
      few_keys<4> few_in_4_bits;
      std::conditional_t<has_values, typename one_block_partition<Threads>::shared_memory, more_keys> more;
      std::uint32_t
          words[has_values ? 1 : counted_values / 4];  ///< counters of 8 bits, or of 32 for a quarter of values
      uint4 vectors;
    };
    std::uint32_t warp_sums[warps];
    std::uint32_t segment_begins[most_segment_buckets + 1];
    std::uint32_t job;
  };

  __device__ __forceinline__ counting_finish_block(const Order& order, const counting_finish_request& request,
                                                   const counted_bucket& bucket, shared_memory& shared)
      : order_(order), a_(request), begin_(bucket.begin), count_(bucket.count), high_(bucket.high), shared_(shared) {}

  /// Finishes buckets until all are taken.
  static __device__ __forceinline__ void run(const Order& order, const counting_finish_request& a,
                                             shared_memory& shared) {
    const auto take_number = [&a] { return threadIdx.x == 0 ? atomicAdd(a.memory.next_job, 1U) : 0; };
    std::uint32_t taken = take_number();
    const bool is_segment = a.segment.counts != nullptr;
    const unsigned num_buckets = is_segment ? 1U << a.segment.digit.bits : counted_buckets;
    const unsigned low_bits = is_segment ? a.segment.digit.shift : counted_bits;
    const std::uint32_t* begins = a.memory.begins;
    key all_agree_in = 0;
    if (is_segment) {
      begins = counting_finish_block(order, a, {}, shared).find_segment_begins();
      const key first = order.encode(order.take(*static_cast<const key*>(a.held.keys)));
      all_agree_in = first & static_cast<key>(~std::uint64_t{0} << (low_bits + a.segment.digit.bits));
    }
    while (true) {
      if (threadIdx.x == 0) shared.job = taken;
      __syncthreads();
      const std::uint32_t job = shared.job;
      if (job >= num_buckets) return;
      taken = take_number();  // the next one, for which nobody waits here
      // The keys of most distributions that have large buckets have them at the upper end.
      const unsigned number = num_buckets - 1 - job;
      const std::uint32_t begin = begins[number];
      const std::uint32_t count = begins[number + 1] - begin;
      const counted_bucket bucket{begin, count, all_agree_in | number << low_bits};
      if (count != 0 && !counting_finish_block(order, a, bucket, shared).finish_likely()) {
        finish_any_bucket<V, Order, Threads>(order, a, bucket, shared);
      }
      __syncthreads();
    }
  }

  /// Finishes a bucket whatever its keys are, by way of the other array.
  __device__ __forceinline__ void finish_any() {
    if constexpr (has_values) {
      partition(a_.held, a_.other, 0);
      partition(a_.other, a_.held, 8);
      if (!a_.to_other) return;
      for (std::uint32_t i = threadIdx.x; i < count_; i += threads) {
        if (a_.stores_keys) store_global(keys_of(a_.other) + i, keys_of(a_.held)[i]);
        store_global(values_of(a_.other) + i, values_of(a_.held)[i]);
      }
    } else {
      count_by_quarters();
    }
  }

 private:
  /// Returns false where too many keys have one value; nothing has been written then.
  [[nodiscard]] __device__ __forceinline__ bool finish_likely() {
    if (count_ <= held_keys) {
      if (count_ <= most_keys_of_2_bits && finish_few<2>(shared_.few_in_2_bits)) return true;
      if (finish_few<4>(shared_.few_in_4_bits)) return true;
    }
    if constexpr (has_values) {
      return false;
    } else {
      return (count_ > held_keys && count_ <= most_sparse_keys && finish_sparse()) || finish_dense();
    }
  }

  [[nodiscard]] __device__ __forceinline__ const records& target() const { return a_.to_other ? a_.other : a_.held; }
  [[nodiscard]] __device__ __forceinline__ key* keys_of(const records& array) const {
    return static_cast<key*>(array.keys) + begin_;
  }
  [[nodiscard]] __device__ __forceinline__ V* values_of(const records& array) const {
    return static_cast<V*>(array.values) + begin_;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned value_of(key loaded) const {
    return order_.encode(order_.take(loaded)) ^ high_;
  }
  /// Sums up the segment's counts, and returns where its buckets begin.
  [[nodiscard]] __device__ __forceinline__ const std::uint32_t* find_segment_begins() {
    static_assert(threads >= most_segment_buckets);
    const unsigned number = threadIdx.x;
    const unsigned num_buckets = 1U << a_.segment.digit.bits;
    std::uint32_t all = 0;
    const std::uint32_t begin =
        sum_before(number < num_buckets ? static_cast<std::uint32_t>(a_.segment.counts[number]) : 0, all);
    if (number < num_buckets) shared_.segment_begins[number] = begin;
    if (number == 0) shared_.segment_begins[num_buckets] = all;
    __syncthreads();
    return shared_.segment_begins;
  }
  [[nodiscard]] __device__ __forceinline__ key key_of(unsigned value) const { return order_.give(high_ | value); }

  __device__ __forceinline__ void clear(unsigned num_words) {
    uint4* const vectors = &shared_.vectors;
    for (unsigned i = threadIdx.x; i < num_words / 4; i += threads) vectors[i] = uint4{0, 0, 0, 0};
  }

  /// Returns the sum of `x` over the threads before this one, and tells all threads the sum over all.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t sum_before(std::uint32_t x, std::uint32_t& all) {
    const std::uint32_t inclusive = inclusive_warp_sum(x);
    if (threadIdx.x % 32 == 31) shared_.warp_sums[threadIdx.x / 32] = inclusive;
    __syncthreads();
    const std::uint32_t of_warp = threadIdx.x % 32 < warps ? shared_.warp_sums[threadIdx.x % 32] : 0;
    const std::uint32_t upto = inclusive_warp_sum(of_warp);
    all = __shfl_sync(0xffffffffU, upto, 31);
    const std::uint32_t before_warp = __shfl_sync(0xffffffffU, upto - of_warp, static_cast<int>(threadIdx.x / 32));
    __syncthreads();
    return before_warp + inclusive - x;
  }

  // ---- Few keys

  /// Finishes keys for which registers have room. Returns false where a counter has run over; nothing has been written
  /// then.
  template <unsigned Bits>
  [[nodiscard]] __device__ __forceinline__ bool finish_few(few_keys<Bits>& few) {
    using counters = value_counters<Bits>;
    std::uint32_t held[held_each];  // values, and above them how many of the same were counted before
#pragma unroll
    for (unsigned i = 0; i < held_each; ++i) {
      if (place(i) < count_) held[i] = keys_of(a_.held)[place(i)];
    }
    clear(counters::num_places);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < held_each; ++i) {
      if (place(i) >= count_) continue;
      const unsigned value = value_of(held[i]);
      const unsigned shift = counters::shift_of(value);
      const std::uint32_t before = atomicAdd(&few.words[counters::word_of(value)], 1U << shift);
      held[i] = value | (before >> shift & counters::mask) << counted_bits;
    }
    __syncthreads();
    if (!find_begins<Bits>(few)) return false;
#pragma unroll
    for (unsigned i = 0; i < held_each; ++i) {
      if (place(i) >= count_) continue;
      const unsigned value = held[i] & (counted_values - 1);
      const unsigned word = counters::word_of(value);
      const std::uint32_t below = few.words[word] & ((1U << counters::shift_of(value)) - 1);
      const unsigned position = few.begins[word] + counters::sum_of(below) + (held[i] >> counted_bits);
      few.in_order[position] = static_cast<staged>(has_values ? value << counted_bits | place(i) : value);
    }
    __syncthreads();
    if constexpr (has_values) {
      store_records(few.in_order);
    } else {
#pragma unroll
      for (unsigned i = 0; i < held_each; ++i) {
        if (place(i) < count_) store_global(keys_of(target()) + place(i), key_of(few.in_order[place(i)]));
      }
    }
    return true;
  }
  [[nodiscard]] static __device__ __forceinline__ unsigned place(unsigned item) { return item * threads + threadIdx.x; }

  /// Finds where the keys of each word's values begin. Returns, to all threads alike, false where a counter has run
  /// over.
  template <unsigned Bits>
  [[nodiscard]] __device__ __forceinline__ bool find_begins(few_keys<Bits>& few) {
    using counters = value_counters<Bits>;
    constexpr unsigned words_each = counters::num_words / threads;
    static_assert(words_each <= 16 && 16 % words_each == 0, "a thread's words lie side by side");
    const unsigned first = counters::place_of(threadIdx.x * words_each);
    // Registers have room for the words' sums, a byte each, where there are no values; else these are made again.
    constexpr bool keeps_sums = !has_values;
    [[maybe_unused]] std::uint32_t sums[(words_each + 3) / 4] = {};
    unsigned mine = 0;
#pragma unroll
    for (unsigned i = 0; i < words_each; ++i) {
      const unsigned sum = counters::sum_of(few.words[first + i]);
      if constexpr (keeps_sums) sums[i / 4] |= sum << i % 4 * 8;
      mine += sum;
    }
    std::uint32_t all = 0;
    unsigned begin = sum_before(mine, all);
    if (all != count_) return false;
#pragma unroll keeps_sums ? words_each : 4
    for (unsigned i = 0; i < words_each; ++i) {
      few.begins[first + i] = static_cast<std::uint16_t>(begin);
      begin += keeps_sums ? sums[i / 4] >> i % 4 * 8 & 0xffU : counters::sum_of(few.words[first + i]);
    }
    __syncthreads();
    return true;
  }

  /// Stores records whose staged words are in order but for ties. The result may be where they were, so all is read
  /// before any is stored.
  __device__ __forceinline__ void store_records(const std::uint32_t* in_order) {
    std::uint32_t words[held_each];
    unsigned positions[held_each];
    V values[held_each];
#pragma unroll
    for (unsigned i = 0; i < held_each; ++i) {
      if (place(i) >= count_) continue;
      words[i] = in_order[place(i)];
      values[i] = values_of(a_.held)[words[i] & 0xffffU];
    }
#pragma unroll
    for (unsigned i = 0; i < held_each; ++i) {
      if (place(i) < count_) positions[i] = position_among_ties(in_order, words[i], place(i));
    }
    if (!a_.to_other) __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < held_each; ++i) {
      if (place(i) >= count_) continue;
      if (a_.stores_keys) store_global(keys_of(target()) + place(i), key_of(words[i] >> counted_bits));
      store_global(values_of(target()) + positions[i], values[i]);
    }
  }

  /// Returns where the record in `slot` goes: with as many of the same value before it as came from earlier places.
  [[nodiscard]] __device__ __forceinline__ unsigned position_among_ties(const std::uint32_t* in_order,
                                                                        std::uint32_t word, unsigned slot) const {
    const auto ties = [&](unsigned other) { return (in_order[other] ^ word) >> counted_bits == 0; };
    unsigned position = slot;
    for (unsigned other = slot; other != 0 && ties(other - 1); --other) position -= in_order[other - 1] > word ? 1 : 0;
    for (unsigned other = slot + 1; other < count_ && ties(other); ++other) position += in_order[other] < word ? 1 : 0;
    return position;
  }

  // ---- Keys alone

  /// Calls add(value) for the keys of the bucket.
  template <class Add>
  __device__ __forceinline__ void for_each_value(const Add& add) const {
    constexpr unsigned at_once = 4;
    const key* const keys = keys_of(a_.held);
    for (std::uint32_t first = 0; first < count_; first += at_once * threads) {
      key loaded[at_once];
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) {
        if (first + place(i) < count_) loaded[i] = keys[first + place(i)];
      }
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) {
        if (first + place(i) < count_) add(value_of(loaded[i]));
      }
    }
    __syncthreads();
  }

  /// Finishes keys that are up to two a value on average. Returns false where more than 15 have one value; nothing has
  /// been written then.
  [[nodiscard]] __device__ __forceinline__ bool finish_sparse() {
    more_keys& more = shared_.more;
    constexpr unsigned words_each = sparse::num_words / threads;
    clear(sparse::num_places);
    __syncthreads();
    for_each_value(
        [&more](unsigned value) { atomicAdd(&more.words[sparse::word_of(value)], 1U << sparse::shift_of(value)); });
    unsigned mine = 0;
    for (unsigned i = threadIdx.x; i < sparse::num_places; i += threads) mine += sparse::sum_of(more.words[i]);
    std::uint32_t all = 0;
    static_cast<void>(sum_before(mine, all));
    if (all != count_) return false;
    // As many words at once as will have no more keys than are staged.
    unsigned step = words_each;
    while (step > 1 && step * (count_ / words_each) > staged_keys / 4 * 3) step /= 2;
    std::uint32_t done = 0;
    for (unsigned first = 0; first < words_each; first += step) done += write_sparse(more, first, step, done);
    return true;
  }

  /// Writes the keys of `num` words of each thread, behind those of `first` words and their `done` keys. Returns the
  /// keys' number.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t write_sparse(more_keys& more, unsigned first, unsigned num,
                                                                      std::uint32_t done) {
    unsigned word_number = first * threads + threadIdx.x * num;
    unsigned mine = 0;
    for (unsigned i = 0; i < num; ++i) mine += sparse::sum_of(more.words[sparse::place_of(word_number + i)]);
    std::uint32_t all = 0;
    std::uint32_t at = sum_before(mine, all);
    const std::uint32_t end = at + mine;
    key* const to = keys_of(target()) + done;
    const bool fits = all <= staged_keys;
    std::uint32_t word = more.words[sparse::place_of(word_number)];
    while (at != end) {
      if (word == 0) {
        ++word_number;
        word = more.words[sparse::place_of(word_number)];
        continue;
      }
      const unsigned lowest = (static_cast<unsigned>(__ffs(static_cast<int>(word))) - 1) / 4;
      word -= 1U << lowest * 4;
      const unsigned value = word_number * sparse::word_values + lowest;
      if (fits) {
        more.in_order[at] = static_cast<std::uint16_t>(value);
      } else {
        store_global(to + at, key_of(value));
      }
      ++at;
    }
    __syncthreads();
    if (fits) {
      for (std::uint32_t i = threadIdx.x; i < all; i += threads) store_global(to + i, key_of(more.in_order[i]));
      __syncthreads();
    }
    return all;
  }

  /// Writes as many keys of each of 32 values as `copies` says, by a warp, lane by lane in order; returns their number.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t write_values(unsigned first_value, std::uint32_t copies,
                                                                      key* to) const {
    const std::uint32_t upto = inclusive_warp_sum(copies);
    const std::uint32_t all = __shfl_sync(0xffffffffU, upto, 31);
    for (std::uint32_t begin = 0; begin < all; begin += 32) {
      const std::uint32_t at = begin + threadIdx.x % 32;
      // The first lane whose values reach beyond this position has its value.
      unsigned owner = 0;
#pragma unroll
      for (unsigned step = 16; step != 0; step /= 2) {
        if (__shfl_sync(0xffffffffU, upto, static_cast<int>(owner + step - 1)) <= at) owner += step;
      }
      if (at < all) store_global(to + at, key_of(first_value + owner));
    }
    return all;
  }

  /// Finishes any number of keys. Returns false where more than 255 have one value; nothing has been written then.
  [[nodiscard]] __device__ __forceinline__ bool finish_dense() {
    std::uint32_t* const words = shared_.words;
    clear(counted_values / 4);
    __syncthreads();
    for_each_value([words](unsigned value) { atomicAdd(words + value / 4, 1U << value % 4 * 8); });
    constexpr unsigned warp_words = counted_values / 4 / warps;
    const unsigned first_word = threadIdx.x / 32 * warp_words;
    std::uint32_t mine = 0;
#pragma unroll 4
    for (unsigned i = 0; i < warp_words; i += 32) {
      mine += __dp4a(words[first_word + i + threadIdx.x % 32], 0x01010101U, 0U);
    }
    std::uint32_t all = 0;
    const std::uint32_t before = __shfl_sync(0xffffffffU, sum_before(mine, all), 0);
    if (all != count_) return false;
    key* to = keys_of(target()) + before;
    for (unsigned first = first_word * 4; first < (first_word + warp_words) * 4; first += 32) {
      const unsigned value = first + threadIdx.x % 32;
      to += write_values(first, words[value / 4] >> value % 4 * 8 & 0xffU, to);
    }
    return true;
  }

  /// Makes the result in the other array, for the keys are read again.
  __device__ __forceinline__ void count_by_quarters() {
    constexpr unsigned part_values = counted_values / 4;
    constexpr unsigned warp_values = part_values / warps;
    std::uint32_t* const words = shared_.words;
    key* const made = keys_of(a_.other);
    std::uint32_t done = 0;
    for (unsigned first = 0; first < counted_values; first += part_values) {
      clear(part_values);
      __syncthreads();
      for_each_value([words, first](unsigned value) {
        if (value - first < part_values) atomicAdd(words + (value - first), 1U);
      });
      const unsigned warp_first = threadIdx.x / 32 * warp_values;
      std::uint32_t mine = 0;
      for (unsigned i = threadIdx.x % 32; i < warp_values; i += 32) mine += words[warp_first + i];
      std::uint32_t all = 0;
      key* to = made + done + __shfl_sync(0xffffffffU, sum_before(mine, all), 0);
      for (unsigned i = 0; i < warp_values; i += 32) {
        to += write_values(first + warp_first + i, words[warp_first + i + threadIdx.x % 32], to);
      }
      done += all;
      __syncthreads();
    }
    if (a_.to_other) return;
    for (std::uint32_t i = threadIdx.x; i < count_; i += threads) store_global(keys_of(a_.held) + i, made[i]);
  }

  // ---- Records with values of a bucket that does not fit

  /// Moves the bucket's records to where 8 bits of their keys from `shift` up say, stably.
  __device__ __forceinline__ void partition(const records& from, const records& to, unsigned shift) {
    const auto digit_of = [this, shift](key loaded) { return value_of(loaded) >> shift & 0xffU; };
    using one_block = one_block_partition<threads>;
    static_cast<void>(one_block::count_digits(keys_of(from), count_, digit_of, shared_.more));
    one_block::move(bucket_of(from), bucket_of(to), count_, digit_of, shared_.more);
  }
  [[nodiscard]] __device__ __forceinline__ typed_records<key, V> bucket_of(const records& array) const {
    return {keys_of(array), values_of(array)};
  }

  const Order& order_;
  const counting_finish_request& a_;
  const std::uint32_t begin_;
  const std::uint32_t count_;
  const key high_;
  shared_memory& shared_;
};

/// GPUs that have too little shared memory, for which the kernel is compiled empty, have fewer threads, too.
template <class V, unsigned Threads>
inline constexpr unsigned compiled_blocks_each = has_counting_finish(compiled_family)
                                                     ? counting_finish_blocks_each(Threads, value_bytes_of<V>)
                                                     : 1;

/// Any number of blocks of `Threads` threads; sizeof(shared_memory) bytes of dynamic shared memory. One read and one
/// write of each record.
template <class V, class Order, unsigned Threads>
__global__ void __launch_bounds__(Threads, compiled_blocks_each<V, Threads>)
    counting_finish_kernel(Order order, __grid_constant__ const counting_finish_request request) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  if constexpr (has_counting_finish(compiled_family)) {
    using block = counting_finish_block<V, Order, Threads>;
    static_assert(sizeof(typename block::shared_memory) <= most_shared_bytes(kernel_family::ampere));
    if (!is_wanted(request.when)) return;
    block::run(order, request, *reinterpret_cast<typename block::shared_memory*>(shared_bytes));
  }
}

template <class V, class Order, unsigned Threads>
void launch_blocks(const launch_site& site, const Order& order, const counting_finish_request& request) {
  constexpr auto kernel = counting_finish_kernel<V, Order, Threads>;
  constexpr unsigned shared_bytes = sizeof(typename counting_finish_block<V, Order, Threads>::shared_memory);
  grant_shared_memory<kernel>(shared_bytes);
  const unsigned most_blocks = site.num_multiprocessors * counting_finish_blocks_each(Threads, value_bytes_of<V>);
  const bool is_segment = request.segment.counts != nullptr;
  const unsigned blocks = is_segment ? std::min(most_blocks, 1U << request.segment.digit.bits) : most_blocks;
  kernel<<<blocks, Threads, shared_bytes, site.stream>>>(order, request);
  check_done(cudaGetLastError(), "counting_finish_kernel");
}

template <class V, class Order>
void launch(const launch_site& site, const Order& order, const counting_finish_request& request) {
  const bool is_segment = request.segment.counts != nullptr;
  if (!is_segment) {
    find_begins_kernel<Order><<<counted_buckets / 128 + 1, 128, 0, site.stream>>>(
        order, static_cast<const key*>(request.held.keys), static_cast<std::uint32_t>(request.num_keys), request.memory,
        request.when);
    check_done(cudaGetLastError(), "find_begins_kernel");
  }
  constexpr unsigned few = counting_finish_threads[0];
  const std::uint64_t num_buckets = is_segment ? 1U << request.segment.digit.bits : counted_buckets;
  if (value_bytes_of<V> == 0 || request.num_keys <= num_buckets * most_average_of_few) {
    launch_blocks<V, Order, few>(site, order, request);
  } else if constexpr (value_bytes_of<V> != 0) {
    launch_blocks<V, Order, counting_finish_threads[1]>(site, order, request);
  }
}

}  // namespace

void launch_counting_finish(const launch_site& site, const keys::codec_of<std::uint32_t>& codec,
                            const counting_finish_request& request) {
  SPANSORT_ASSERT(has_counting_finish(site.family()) && request.value_bytes <= most_counted_value_bytes);
  const auto with_values = [&]<class V>() {
    if (codec.is_identity()) return launch<V>(site, identity_order<key>(codec), request);
    SPANSORT_ASSERT(!codec.folds_ties);
    launch<V>(site, encoded_order<key>(codec), request);
  };
  if (request.value_bytes == 4) return with_values.template operator()<value4>();
  if (request.value_bytes == 8) return with_values.template operator()<value8>();
  if (codec.is_identity()) return launch<no_value>(site, identity_order<key>(codec), request);
  if (request.segment.counts != nullptr) return launch<no_value>(site, encoded_order<key>(codec), request);
  launch<no_value>(site, decoding_order<key>(codec), request);
}

}  // namespace spansort::device::cuda
