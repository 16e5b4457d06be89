// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// choose among the targets at run time.
#include "device/host/write_positions.hpp"

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/write_positions.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Compilers left this loop to one number at a time in some of its places and not in others. Numbers may lie anywhere.
template <bool is_down, class V>
void write_sequence_of(V* to, std::uint64_t count, std::uint64_t first) {
  using T = decltype(V::word);
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto steps = hn::Iota(d, T{0});
  const auto start = hn::Set(d, static_cast<T>(first));
  auto next = is_down ? hn::Sub(start, steps) : hn::Add(start, steps);
  const auto step = hn::Set(d, static_cast<T>(lanes));
  std::uint64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(next, d, reinterpret_cast<T*>(to + i));
    next = is_down ? hn::Sub(next, step) : hn::Add(next, step);
  }
  for (; i < count; ++i) to[i].word = static_cast<T>(is_down ? first - i : first + i);
}

// A choice at run time is one between plain functions.
#define SPANSORT_POSITIONS(V, VALUE)                                         \
  void write_up_##VALUE(V* to, std::uint64_t count, std::uint64_t first) {   \
    write_sequence_of<false>(to, count, first);                              \
  }                                                                          \
  void write_down_##VALUE(V* to, std::uint64_t count, std::uint64_t first) { \
    write_sequence_of<true>(to, count, first);                               \
  }
SPANSORT_POSITIONS(value4, 4)
SPANSORT_POSITIONS(value8, 8)
#undef SPANSORT_POSITIONS

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

#define SPANSORT_POSITIONS(V, VALUE)                                               \
  template <>                                                                      \
  void write_positions<V>(V * to, std::uint64_t count, std::uint64_t first) {      \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(write_up_##VALUE);           \
    best(to, count, first);                                                        \
  }                                                                                \
  template <>                                                                      \
  void write_positions_down<V>(V * to, std::uint64_t count, std::uint64_t first) { \
    static const auto best = SPANSORT_CHOOSE_FUNCTION(write_down_##VALUE);         \
    best(to, count, first);                                                        \
  }
SPANSORT_POSITIONS(value4, 4)
SPANSORT_POSITIONS(value8, 8)
#undef SPANSORT_POSITIONS

}  // namespace spansort::device::host
#endif
