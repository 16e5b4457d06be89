// SPDX-License-Identifier: Apache-2.0
// Threads that sort segments in registers compare items: keys alone, or keys with the places that they came from, which
// makes any sort stable. Networks compare and exchange in a fixed order, without branches.
//
// Source: Batcher, Sorting networks and their applications (1968); Knuth, The Art of Computer Programming 3, 5.2.2,
// algorithm M, which serves any number of items.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "device/cuda/kernels/key_order.cuh"

namespace spansort::device::cuda {

/// An 8-byte key and its place, in words, of which the compiler makes registers where there are many.
struct placed_key {
  std::uint32_t low;
  std::uint32_t high;
  std::uint32_t place;

  [[nodiscard]] __device__ __forceinline__ std::uint64_t key() const { return std::uint64_t{high} << 32 | low; }
};

/// Items of narrow keys are one word: the key, above its place where places count.
template <class K, bool KeepsPlaces>
struct segment_items {
  static constexpr unsigned place_bits = sizeof(K) == 4 ? 32 : 16;
  using item = std::conditional_t<sizeof(K) == 8, std::conditional_t<KeepsPlaces, placed_key, std::uint64_t>,
                                  std::conditional_t<KeepsPlaces && sizeof(K) == 4, std::uint64_t, std::uint32_t>>;

  /// Bytes of registers that an item takes.
  static constexpr unsigned item_bytes = sizeof(item);

  [[nodiscard]] static __device__ __forceinline__ item make(K encoded, unsigned place) {
    if constexpr (!KeepsPlaces) {
      return encoded;
    } else if constexpr (sizeof(K) == 8) {
      return {static_cast<std::uint32_t>(encoded), static_cast<std::uint32_t>(encoded >> 32), place};
    } else {
      return static_cast<item>(encoded) << place_bits | place;
    }
  }
  /// Returns an item behind all others. Places are told apart, so that it comes behind a highest key.
  [[nodiscard]] static __device__ __forceinline__ item behind(unsigned place) {
    if constexpr (!KeepsPlaces) return static_cast<item>(~item{0});
    return make(static_cast<K>(~K{0}), place);
  }
  [[nodiscard]] static __device__ __forceinline__ K key_of(const item& i) {
    if constexpr (!KeepsPlaces) {
      return static_cast<K>(i);
    } else if constexpr (sizeof(K) == 8) {
      return i.key();
    } else {
      return static_cast<K>(i >> place_bits);
    }
  }
  [[nodiscard]] static __device__ __forceinline__ unsigned place_of(const item& i) {
    if constexpr (!KeepsPlaces) {
      return 0;
    } else if constexpr (sizeof(K) == 8) {
      return i.place;
    } else {
      return static_cast<unsigned>(i) & (sizeof(K) == 4 ? ~0U : 0xffffU);
    }
  }
};

/// A key's highest bits among those in which keys differ, above its place, in one word of the key's width: words are
/// sorted in a fraction of the time that whole keys with places take. Where no neighbours of the result agree in all
/// but the place, their order is that of the whole keys; else these are compared.
template <class K, unsigned PlaceBits>
struct packed_keys {
  static constexpr K places = (K{1} << PlaceBits) - 1;
  unsigned shift = 0;     ///< of the keys to the left
  bool is_exact = false;  ///< no bit in which keys differ is missing

  __device__ __forceinline__ explicit packed_keys(K differing) {
    if constexpr (sizeof(K) == 8) {
      shift = differing == 0 ? 0 : static_cast<unsigned>(__clzll(static_cast<long long>(differing)));
    } else {
      shift = differing == 0 ? 0 : static_cast<unsigned>(__clz(static_cast<int>(differing)));
    }
    is_exact = differing == 0 || shift >= PlaceBits;
  }
  [[nodiscard]] __device__ __forceinline__ K make(K encoded, unsigned place) const {
    return static_cast<K>(encoded << shift & ~places) | place;
  }
  [[nodiscard]] static __device__ __forceinline__ K behind(unsigned place) { return ~places | place; }
  [[nodiscard]] static __device__ __forceinline__ unsigned place_of(K word) {
    return static_cast<unsigned>(word & places);
  }
  [[nodiscard]] static __device__ __forceinline__ bool agree(K a, K b) { return (a ^ b) <= places; }
};

template <class T>
[[nodiscard]] __device__ __forceinline__ bool is_less(const T& a, const T& b) {
  return a < b;
}
[[nodiscard]] __device__ __forceinline__ bool is_less(const placed_key& a, const placed_key& b) {
  return a.key() < b.key() || (a.key() == b.key() && a.place < b.place);
}

/// Puts the lesser item first.
template <class T>
__device__ __forceinline__ void put_in_order(T& a, T& b) {
  const bool swaps = is_less(b, a);
  const T lesser = swaps ? b : a;
  b = swaps ? a : b;
  a = lesser;
}
__device__ __forceinline__ void put_in_order(std::uint32_t& a, std::uint32_t& b) {
  const std::uint32_t lesser = min(a, b);
  b = max(a, b);
  a = lesser;
}

/// Returns the lesser or the greater of two items.
template <class T>
[[nodiscard]] __device__ __forceinline__ T one_of(const T& mine, const T& other, bool keeps_lesser) {
  return is_less(other, mine) == keeps_lesser ? other : mine;
}
[[nodiscard]] __device__ __forceinline__ std::uint32_t one_of(std::uint32_t mine, std::uint32_t other,
                                                              bool keeps_lesser) {
  return keeps_lesser ? min(mine, other) : max(mine, other);
}

template <class T>
[[nodiscard]] __device__ __forceinline__ T shuffle_item(const T& item, unsigned lane_mask) {
  return __shfl_xor_sync(0xffffffffU, item, static_cast<int>(lane_mask));
}
[[nodiscard]] __device__ __forceinline__ placed_key shuffle_item(const placed_key& item, unsigned lane_mask) {
  return {__shfl_xor_sync(0xffffffffU, item.low, static_cast<int>(lane_mask)),
          __shfl_xor_sync(0xffffffffU, item.high, static_cast<int>(lane_mask)),
          __shfl_xor_sync(0xffffffffU, item.place, static_cast<int>(lane_mask))};
}

/// The comparators of a network over `Count` items, first to last.
template <unsigned Count>
struct sorting_network {
  struct comparator {
    unsigned char low;
    unsigned char high;
  };
  std::array<comparator, Count * Count / 2 + 1> comparators{};
  unsigned size = 0;

  constexpr sorting_network() {
    unsigned top = 1;
    while (top * 2 < Count) top *= 2;
    for (unsigned p = top; p > 0; p /= 2) {
      add(p, 0, p);
      for (unsigned q = top; q > p; q /= 2) add(p, p, q - p);
    }
  }

 private:
  constexpr void add(unsigned p, unsigned r, unsigned distance) {
    for (unsigned i = 0; i + distance < Count; ++i) {
      if ((i & p) != r) continue;
      comparators[size++] = {static_cast<unsigned char>(i), static_cast<unsigned char>(i + distance)};
    }
  }
};

/// Sorts the first `Count` items of a thread. All indices are constants, so that items stay in registers.
template <unsigned Count, class T, unsigned Size>
__device__ __forceinline__ void sort_in_thread(T (&items)[Size]) {
  static_assert(Count <= Size);
  if constexpr (Count >= 2) {
    constexpr sorting_network<Count> network;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (put_in_order(items[network.comparators[I].low], items[network.comparators[I].high]), ...);
    }
    (std::make_index_sequence<network.size>());
  }
}

/// Sorts the items of a thread when they rise and then fall, or are so up to a rotation: in halves while there are two,
/// and by a network what is odd then.
template <unsigned First, unsigned Count, class T, unsigned Size>
__device__ __forceinline__ void merge_in_thread(T (&items)[Size]) {
  if constexpr (Count % 2 == 0) {
#pragma unroll
    for (unsigned i = 0; i < Count / 2; ++i) put_in_order(items[First + i], items[First + i + Count / 2]);
    merge_in_thread<First, Count / 2>(items);
    merge_in_thread<First + Count / 2, Count / 2>(items);
  } else if constexpr (Count == 3) {
    put_in_order(items[First], items[First + 1]);
    put_in_order(items[First + 1], items[First + 2]);
    put_in_order(items[First], items[First + 1]);
  } else {
    static_assert(Count == 1);
  }
}

}  // namespace spansort::device::cuda
