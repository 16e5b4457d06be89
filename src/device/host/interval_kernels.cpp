// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/interval_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "device/device.hpp"
#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/interval_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Encodings shifted into signed numbers, which more instruction sets compare in one instruction.
template <class K>
class interval_scan {
  using D = hn::ScalableTag<K>;
  using DI = hn::RebindToSigned<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  using S = hn::TFromD<DI>;
  static constexpr D d{};
  static constexpr DI di{};
  static constexpr K top = static_cast<K>(K{1} << (sizeof(K) * 8 - 1));
  static constexpr std::size_t num_lanes = HWY_MAX_BYTES / sizeof(K);  // of targets with vectors of one size: all
  /// Vectors of a group, and groups before a lane's counter could overflow.
  static constexpr unsigned together = 4;
  static constexpr unsigned group_keys = together * num_lanes;
  static_assert(num_lanes <= 64 && 64 % num_lanes == 0);
  static constexpr std::uint64_t most_groups = sizeof(K) == 1 ? 60 : 4096;

 public:
  interval_scan(const keys::codec_of<K>& codec, const splitter_list<K>& list, std::uint64_t* num_below, K* collected)
      : codec_(codec), list_(list), num_below_(num_below), first_(collected), next_(collected) {
    constexpr std::size_t lanes = num_lanes;
    for (std::size_t s = 0; s < list.splitters.size(); ++s) {
      hn::Store(hn::Set(d, static_cast<K>(list.splitters[s] ^ top)), d, splitters_ + s * lanes);
    }
  }

  std::uint64_t run(const K* keys, std::uint64_t num_keys) {
    std::uint64_t i = 0;
    while (num_keys - i >= group_keys) {
      const std::uint64_t num_groups = std::min(most_groups, (num_keys - i) / group_keys);
      if (codec_.to_negative != 0) {
        run_groups<true>(keys + i, num_groups);
      } else {
        run_groups<false>(keys + i, num_groups);
      }
      i += num_groups * group_keys;
    }
    for (; i < num_keys; ++i) run_one(keys[i]);
    return static_cast<std::uint64_t>(next_ - first_);
  }

 private:
  /// Vectors that are looked at together.
  struct group {
    VI v0, v1, v2, v3;
  };

  template <bool depends_on_sign>
  void run_groups(const K* HWY_RESTRICT keys, std::uint64_t num_groups) {
    constexpr std::size_t lanes = num_lanes;
    const std::size_t num_splitters = list_.splitters.size();
    const std::size_t num_turning = list_.num_turning;
    const V to_positive = hn::Set(d, codec_.to_positive);
    const V to_negative = hn::Set(d, codec_.to_negative);
    const V offset = hn::Set(d, static_cast<K>(codec_.offset + top));
    const VI last_mark = hn::Set(di, static_cast<S>(list_.last_is_marked ? -1 : 0));
    std::fill_n(counts_, num_splitters * lanes, K{0});
    std::uint64_t waiting = 0;  // marks of up to 64 keys
    for (std::uint64_t g = 0; g < num_groups; ++g, keys += together * lanes) {
      const auto encoded = [&](unsigned i) HWY_ATTR {
        V x = hn::LoadU(d, keys + i * lanes);
        if constexpr (depends_on_sign) {
          const V sign = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x)));
          x = hn::Xor(x, hn::And(sign, to_negative));
        }
        return hn::BitCast(di, hn::Sub(hn::Xor(x, to_positive), offset));
      };
      const group x{encoded(0), encoded(1), encoded(2), encoded(3)};
      group m{last_mark, last_mark, last_mark, last_mark};
      for (std::size_t s = 0; s < num_turning; ++s) {
        const group below = count_below(x, s);
        m = {hn::Xor(m.v0, below.v0), hn::Xor(m.v1, below.v1), hn::Xor(m.v2, below.v2), hn::Xor(m.v3, below.v3)};
      }
      for (std::size_t s = num_turning; s < num_splitters; ++s) static_cast<void>(count_below(x, s));
      if constexpr (group_keys < 64) {
        const unsigned place = static_cast<unsigned>(g) * group_keys % 64;
        waiting |= bits_of(m) << place;
        if (place + group_keys != 64 && g + 1 != num_groups) continue;
        collect(std::exchange(waiting, 0), keys - place);
      } else {
        collect_group(m, keys);
      }
    }
    for (std::size_t s = 0; s < num_splitters; ++s) {
      for (std::size_t lane = 0; lane < lanes; ++lane) num_below_[s] += counts_[s * lanes + lane];
    }
  }

  /// All ones where a key is below splitter s.
  HWY_INLINE group count_below(const group& x, std::size_t s) {
    constexpr std::size_t lanes = num_lanes;
    const VI splitter = hn::BitCast(di, hn::Load(d, splitters_ + s * lanes));
    const group below{hn::VecFromMask(di, hn::Lt(x.v0, splitter)), hn::VecFromMask(di, hn::Lt(x.v1, splitter)),
                      hn::VecFromMask(di, hn::Lt(x.v2, splitter)), hn::VecFromMask(di, hn::Lt(x.v3, splitter))};
    // Minus one each.
    const V sum = hn::BitCast(d, hn::Add(hn::Add(below.v0, below.v1), hn::Add(below.v2, below.v3)));
    hn::Store(hn::Sub(hn::Load(d, counts_ + s * lanes), sum), d, counts_ + s * lanes);
    return below;
  }

  // Highway's CompressStore copies its table in every call, with GCC 12; and a branch for every few keys would be
  // guessed wrong as often as not.

  static HWY_INLINE std::uint64_t bits_of(VI mark) {
    // As wide as what is stored, so that nothing passes through memory.
    using narrow = std::conditional_t<num_lanes <= 8, std::uint8_t, std::uint16_t>;
    using wide = std::conditional_t<num_lanes <= 32, std::uint32_t, std::uint64_t>;
    std::conditional_t<num_lanes <= 16, narrow, wide> bits = 0;
    hn::StoreMaskBits(di, hn::MaskFromVec(mark), reinterpret_cast<std::uint8_t*>(&bits));
    return bits;
  }
  static HWY_INLINE std::uint64_t bits_of(const group& m) {
    return bits_of(m.v0) | bits_of(m.v1) << num_lanes | bits_of(m.v2) << 2 * num_lanes | bits_of(m.v3) << 3 * num_lanes;
  }

  /// Groups of 64 keys and more.
  HWY_INLINE void collect_group(const group& m, const K* keys) {
    if constexpr (num_lanes == 16) {
      collect(bits_of(m), keys);
    } else if constexpr (num_lanes == 32) {
      collect(bits_of(m.v0) | bits_of(m.v1) << 32, keys);
      collect(bits_of(m.v2) | bits_of(m.v3) << 32, keys + 64);
    } else {
      collect(bits_of(m.v0), keys);
      collect(bits_of(m.v1), keys + 64);
      collect(bits_of(m.v2), keys + 128);
      collect(bits_of(m.v3), keys + 192);
    }
  }

  /// Collects up to 64 keys. It always writes `unasked` of them, because they are seldom more.
  HWY_INLINE void collect(std::uint64_t bits, const K* keys) {
    constexpr int unasked = 6;
    if (bits == 0) return;
    K* next = next_;
    next_ += std::popcount(bits);
    for (int i = 0; i < unasked; ++i, bits &= bits - 1) *next++ = keys[std::countr_zero(bits) % 64];
    for (; bits != 0; bits &= bits - 1) *next++ = keys[std::countr_zero(bits)];
  }

  void run_one(K key) {
    const K encoded = codec_.encode_bits(key);
    bool is_marked = list_.last_is_marked;
    for (std::size_t s = 0; s < list_.splitters.size(); ++s) {
      const bool is_below = encoded < list_.splitters[s];
      num_below_[s] += is_below ? 1 : 0;
      is_marked ^= is_below && s < list_.num_turning;
    }
    *next_ = key;
    next_ += is_marked ? 1 : 0;
  }

  const keys::codec_of<K> codec_;
  const splitter_list<K>& list_;
  std::uint64_t* num_below_;
  K* first_;
  K* next_;
  HWY_ALIGN K splitters_[max_splitters * num_lanes];
  HWY_ALIGN K counts_[max_splitters * num_lanes];
};

// A choice at run time is one between plain functions.
#define SPANSORT_INTERVAL_KERNEL(K, SUFFIX)                                                                        \
  std::uint64_t collect_intervals_##SUFFIX(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,  \
                                           const splitter_list<K>& list, std::uint64_t* num_below, K* collected) { \
    return interval_scan<K>(codec, list, num_below, collected).run(keys, num_keys);                                \
  }
SPANSORT_INTERVAL_KERNEL(std::uint8_t, u8)
SPANSORT_INTERVAL_KERNEL(std::uint16_t, u16)
SPANSORT_INTERVAL_KERNEL(std::uint32_t, u32)
SPANSORT_INTERVAL_KERNEL(std::uint64_t, u64)
#undef SPANSORT_INTERVAL_KERNEL

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_DISPATCH(K, SUFFIX)                                                                         \
  template <>                                                                                                \
  std::uint64_t collect_intervals<K>(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,  \
                                     const splitter_list<K>& list, std::uint64_t* num_below, K* collected) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(collect_intervals_##SUFFIX);                           \
    return best(codec, keys, num_keys, list, num_below, collected);                                          \
  }
SPANSORT_DISPATCH(std::uint8_t, u8)
SPANSORT_DISPATCH(std::uint16_t, u16)
SPANSORT_DISPATCH(std::uint32_t, u32)
SPANSORT_DISPATCH(std::uint64_t, u64)
#undef SPANSORT_DISPATCH

}  // namespace spansort::device::host
#endif
