// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/narrow_counts.hpp"

#include <bit>
#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/narrow_counts.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Keys that are read at a time: what is left of them stays in the first-level cache.
constexpr std::uint64_t tile_keys = 1024;

/// Compares vectors with all heavy values, adds what it finds of each to `found`, and writes the other keys to
/// `others`, which has room for a vector more than all keys. Returns how many those are.
template <unsigned num_values, bool compresses>
HWY_INLINE std::uint64_t filter(const std::uint16_t* HWY_RESTRICT keys, std::uint64_t num_keys,
                                const std::uint16_t* values, std::uint64_t* found, std::uint16_t* HWY_RESTRICT others) {
  const hn::CappedTag<std::uint16_t, 32> d;
  using V = hn::Vec<decltype(d)>;
  const std::uint64_t lanes = hn::Lanes(d);
  V wanted[num_values];
  for (unsigned v = 0; v < num_values; ++v) wanted[v] = hn::Set(d, values[v]);
  std::uint64_t num_others = 0;
  for (std::uint64_t i = 0; i < num_keys; i += lanes) {
    const V x = hn::LoadU(d, keys + i);
    auto known = hn::Eq(x, wanted[0]);
    found[0] += hn::CountTrue(d, known);
    for (unsigned v = 1; v < num_values; ++v) {
      const auto equal = hn::Eq(x, wanted[v]);
      found[v] += hn::CountTrue(d, equal);
      known = hn::Or(known, equal);
    }
#if HWY_TARGET == HWY_AVX3
    if constexpr (compresses) {
      // Highway knows this instruction for a target that asks for more than all processors with it have.
      V front;
      const __mmask32 light = ~known.raw;
      __asm__("vpcompressw %1, %0%{%2%}%{z%}" : "=v"(front.raw) : "v"(x.raw), "Yk"(light));
      hn::StoreU(front, d, others + num_others);
      num_others += static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(light)));
      continue;
    }
#endif
    alignas(8) std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, hn::Not(known), bytes);
    std::uint32_t light = 0;
    std::memcpy(&light, bytes, sizeof(light));
    for (; light != 0; light &= light - 1) {
      others[num_others++] = keys[i + static_cast<unsigned>(std::countr_zero(light))];
    }
  }
  return num_others;
}

template <unsigned num_values, bool compresses>
void count_around(const std::uint16_t* keys, std::uint64_t num_keys, const std::uint16_t* values,
                  std::uint32_t* HWY_RESTRICT counters) {
  const std::uint64_t lanes = hn::Lanes(hn::CappedTag<std::uint16_t, 32>());
  HWY_ALIGN std::uint16_t others[tile_keys + 32];
  std::uint64_t found[num_values] = {};
  std::uint64_t i = 0;
  while (i + lanes <= num_keys) {
    const std::uint64_t count = std::min(tile_keys, (num_keys - i) / lanes * lanes);
    const std::uint64_t num_others = filter<num_values, compresses>(keys + i, count, values, found, others);
    for (std::uint64_t j = 0; j < num_others; ++j) ++counters[others[j]];
    i += count;
  }
  for (unsigned v = 0; v < num_values; ++v) counters[values[v]] += static_cast<std::uint32_t>(found[v]);
  for (; i < num_keys; ++i) ++counters[keys[i]];
}

template <bool compresses>
void count_keys_around(const std::uint16_t* keys, std::uint64_t num_keys, std::span<const std::uint16_t> heavy,
                       std::uint32_t* counters) {
  switch (heavy.size()) {
    case 1: return count_around<1, compresses>(keys, num_keys, heavy.data(), counters);
    case 2: return count_around<2, compresses>(keys, num_keys, heavy.data(), counters);
    case 3: return count_around<3, compresses>(keys, num_keys, heavy.data(), counters);
    default: return count_around<4, compresses>(keys, num_keys, heavy.data(), counters);
  }
}

/// Returns the function that this processor runs best.
auto choose_count_around() {
#if HWY_TARGET == HWY_AVX3
  if (__builtin_cpu_supports("avx512vbmi2")) return &count_keys_around<true>;
#endif
  return &count_keys_around<false>;
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

void count_around_heavy(const std::uint16_t* keys, std::uint64_t num_keys, std::span<const std::uint16_t> heavy,
                        std::uint32_t* counters) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(choose_count_around)();
  best(keys, num_keys, heavy, counters);
}

}  // namespace spansort::device::host
#endif
