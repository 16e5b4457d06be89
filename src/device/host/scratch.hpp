// SPDX-License-Identifier: Apache-2.0
// Memory that one worker thread of a host device keeps: small enough to stay in its caches.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

namespace spansort::device::host {

/// Widest digit that host kernels take.
inline constexpr unsigned max_digit_bits = 12;
/// Most digits that a local sort takes in one go.
inline constexpr unsigned max_local_digits = 4;
/// Bytes of write-combining buffers of one thread.
inline constexpr std::uint64_t combining_bytes = std::uint64_t{1} << 19;
/// Widest digit whose buckets have a line each in them: 64 bytes of keys, and the values beside these.
[[nodiscard]] constexpr unsigned max_combining_digit_bits(std::uint64_t key_bytes, std::uint64_t value_bytes) noexcept {
  unsigned bits = max_digit_bits;
  while (((64 / key_bytes) * (key_bytes + value_bytes) << bits) > combining_bytes) --bits;
  return bits;
}
/// A bucket of up to this many bytes is sorted by one thread in its scratch (sort_limits may lower it).
inline constexpr std::uint64_t max_local_bytes = std::uint64_t{1} << 21;

/// A partition into classes takes up to this much for each thread, for blocks that end up not full
/// (class_partition.hpp), and for those that are lost where arrays begin and end.
inline constexpr std::uint64_t lost_block_bytes = std::uint64_t{1} << 15;
inline constexpr std::uint64_t spare_block_bytes = (std::uint64_t{4} << 20) + lost_block_bytes;
/// A thread that had less for blocks that are not full would have blocks of a few lines.
inline constexpr std::uint64_t least_spare_block_bytes = std::uint64_t{1} << 15;

namespace detail {
struct free_deleter {
  void operator()(void* p) const noexcept { std::free(p); }
};
}  // namespace detail

template <class T>
using aligned_array = std::unique_ptr<T[], detail::free_deleter>;

/// Returns memory for std::free() that begins on a page; from 4 MiB on it is in huge pages where the kernel gives them,
/// by which one thread of a Granite Rapids sorts 2^21 u64(u64) in 24.3 ms in the place of 26.6. In less a sort of 2^16
/// u64 took 5 % longer so. Throws std::bad_alloc.
[[nodiscard]] void* allocate_pages(std::uint64_t size_bytes);

template <class T>
[[nodiscard]] aligned_array<T> make_aligned(std::uint64_t count) {
  return aligned_array<T>(static_cast<T*>(allocate_pages(count * sizeof(T))));
}

/// Most records that are sorted as words (key_words.hpp) in a worker's scratch.
inline constexpr std::uint64_t max_words = std::uint64_t{1} << 17;

/// Allocated once, before any input is touched; only its owner thread uses it while work runs.
struct worker_scratch {
  aligned_array<std::byte> records[2] = {make_aligned<std::byte>(max_local_bytes + 64),
                                         make_aligned<std::byte>(max_local_bytes + 64)};
  aligned_array<std::uint64_t> words = make_aligned<std::uint64_t>(max_words + 8);
  aligned_array<std::byte> combining = make_aligned<std::byte>(combining_bytes);
  aligned_array<std::byte> cursors = make_aligned<std::byte>((std::uint64_t{8} << max_digit_bits) * 3);
  aligned_array<std::uint32_t> digit_counts =
      make_aligned<std::uint32_t>((std::uint64_t{1} << max_digit_bits) * max_local_digits);

  static constexpr std::uint64_t size_bytes = 2 * (max_local_bytes + 4096) + (max_words + 512) * 8 + combining_bytes +
                                              (std::uint64_t{24} << max_digit_bits) +
                                              (std::uint64_t{4} << max_digit_bits) * max_local_digits;
};

/// Returns where a thread notes the destinations of a digit's buckets, 16 bytes each at most, while it partitions.
template <class T>
[[nodiscard]] T* destinations_in(worker_scratch& scratch) noexcept {
  static_assert(sizeof(T) << max_digit_bits <= (sizeof(std::uint32_t) << max_digit_bits) * max_local_digits);
  static_assert(std::is_trivially_copyable_v<T>);
  return reinterpret_cast<T*>(scratch.digit_counts.get());
}

}  // namespace spansort::device::host
