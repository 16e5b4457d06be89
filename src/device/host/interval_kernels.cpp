// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/interval_kernels.hpp"

#include <algorithm>
#include <cstddef>

#include "device/device.hpp"

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
  static constexpr std::size_t most_lanes = HWY_MAX_BYTES / sizeof(K);
  /// Vectors that are looked at together, and how often before a lane's counter could overflow.
  static constexpr unsigned together = 4;
  static constexpr std::uint64_t most_groups = sizeof(K) == 1 ? 60 : 4096;

 public:
  interval_scan(const keys::codec_of<K>& codec, const splitter_list<K>& list, std::uint64_t* num_below, K* collected)
      : codec_(codec), list_(list), num_below_(num_below), first_(collected), next_(collected) {
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t s = 0; s < list.splitters.size(); ++s) {
      hn::Store(hn::Set(d, static_cast<K>(list.splitters[s] ^ top)), d, splitters_ + s * lanes);
    }
  }

  std::uint64_t run(const K* keys, std::uint64_t num_keys) {
    const std::uint64_t group_keys = together * hn::Lanes(d);
    std::uint64_t i = 0;
    while (num_keys - i >= group_keys) {
      const std::uint64_t num_groups = std::min(most_groups, (num_keys - i) / group_keys);
      run_groups(keys + i, num_groups);
      i += num_groups * group_keys;
    }
    for (; i < num_keys; ++i) run_one(keys[i]);
    return static_cast<std::uint64_t>(next_ - first_);
  }

 private:
  void run_groups(const K* HWY_RESTRICT keys, std::uint64_t num_groups) {
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t num_splitters = list_.splitters.size();
    const std::size_t num_turning = list_.num_turning;
    const V to_positive = hn::Set(d, codec_.to_positive);
    const V to_negative = hn::Set(d, codec_.to_negative);
    const V offset = hn::Set(d, static_cast<K>(codec_.offset + top));
    const VI last_mark = hn::Set(di, static_cast<S>(list_.last_is_marked ? -1 : 0));
    std::fill_n(counts_, num_splitters * lanes, K{0});
    for (std::uint64_t g = 0; g < num_groups; ++g, keys += together * lanes) {
      const auto rank = [&](unsigned i) HWY_ATTR {
        const V x = hn::LoadU(d, keys + i * lanes);
        const V sign = hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x)));
        return hn::BitCast(di, hn::Sub(hn::Xor(hn::Xor(x, to_positive), hn::And(sign, to_negative)), offset));
      };
      const VI x0 = rank(0);
      const VI x1 = rank(1);
      const VI x2 = rank(2);
      const VI x3 = rank(3);
      VI m0 = last_mark;
      VI m1 = last_mark;
      VI m2 = last_mark;
      VI m3 = last_mark;
      for (std::size_t s = 0; s < num_splitters; ++s) {
        const VI splitter = hn::BitCast(di, hn::Load(d, splitters_ + s * lanes));
        const VI b0 = hn::VecFromMask(di, hn::Lt(x0, splitter));
        const VI b1 = hn::VecFromMask(di, hn::Lt(x1, splitter));
        const VI b2 = hn::VecFromMask(di, hn::Lt(x2, splitter));
        const VI b3 = hn::VecFromMask(di, hn::Lt(x3, splitter));
        // Minus one each.
        const V sum = hn::BitCast(d, hn::Add(hn::Add(b0, b1), hn::Add(b2, b3)));
        hn::Store(hn::Sub(hn::Load(d, counts_ + s * lanes), sum), d, counts_ + s * lanes);
        if (s >= num_turning) continue;
        m0 = hn::Xor(m0, b0);
        m1 = hn::Xor(m1, b1);
        m2 = hn::Xor(m2, b2);
        m3 = hn::Xor(m3, b3);
      }
      if (hn::AllFalse(di, hn::MaskFromVec(hn::Or(hn::Or(m0, m1), hn::Or(m2, m3))))) continue;
      collect(m0, keys);
      collect(m1, keys + lanes);
      collect(m2, keys + 2 * lanes);
      collect(m3, keys + 3 * lanes);
    }
    for (std::size_t s = 0; s < num_splitters; ++s) {
      for (std::size_t lane = 0; lane < lanes; ++lane) num_below_[s] += counts_[s * lanes + lane];
    }
  }

  /// May write a vector's length past what is marked.
  HWY_INLINE void collect(VI mark, const K* keys) {
    if constexpr (sizeof(K) == 1) {
      HWY_ALIGN S marks[most_lanes];
      hn::Store(mark, di, marks);
      for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
        *next_ = keys[lane];
        next_ += marks[lane] != 0 ? 1 : 0;
      }
    } else {
      const auto mask = hn::MaskFromVec(hn::BitCast(d, mark));
      next_ += hn::CompressStore(hn::LoadU(d, keys), mask, d, next_);
    }
  }

  void run_one(K key) {
    const K rank = codec_.encode_bits(key);
    bool is_marked = list_.last_is_marked;
    for (std::size_t s = 0; s < list_.splitters.size(); ++s) {
      const bool is_below = rank < list_.splitters[s];
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
  HWY_ALIGN K splitters_[max_splitters * most_lanes];
  HWY_ALIGN K counts_[max_splitters * most_lanes];
};

// Highway's dispatch tables want plain functions.
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

#define SPANSORT_DISPATCH(K, SUFFIX)                                                                            \
  HWY_EXPORT(collect_intervals_##SUFFIX);                                                                       \
  template <>                                                                                                   \
  std::uint64_t collect_intervals<K>(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,     \
                                     const splitter_list<K>& list, std::uint64_t* num_below, K* collected) {    \
    return HWY_DYNAMIC_DISPATCH(collect_intervals_##SUFFIX)(codec, keys, num_keys, list, num_below, collected); \
  }
SPANSORT_DISPATCH(std::uint8_t, u8)
SPANSORT_DISPATCH(std::uint16_t, u16)
SPANSORT_DISPATCH(std::uint32_t, u32)
SPANSORT_DISPATCH(std::uint64_t, u64)
#undef SPANSORT_DISPATCH

}  // namespace spansort::device::host
#endif
