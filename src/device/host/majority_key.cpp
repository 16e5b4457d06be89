// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/majority_key.hpp"

#include <algorithm>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/majority_key.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/majority_key-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <class K, bool compresses = false>
std::uint64_t drop_majority_of(K* keys, std::uint64_t num_keys, K& majority) {
  if (num_keys < 3 * std::max<std::uint64_t>(lanes_of<K>(), 8)) return num_keys;
  const majority_key<K, compresses> found(keys, num_keys);
  if (!found.is_likely() || found.are_three()) return num_keys;
  majority = found.value();
  return found.drop(keys, num_keys);
}

auto choose_drop_16() {
#if HWY_TARGET == HWY_AVX3
  if (__builtin_cpu_supports("avx512vbmi2")) return &drop_majority_of<std::uint16_t, true>;
#endif
  return &drop_majority_of<std::uint16_t, false>;
}

#else  // other vectors are too narrow

template <class K>
std::uint64_t drop_majority_of(K*, std::uint64_t num_keys, K&) {
  return num_keys;
}
auto choose_drop_16() { return &drop_majority_of<std::uint16_t>; }

#endif

// A choice at run time is one between plain functions.
std::uint64_t drop_majority_u32(std::uint32_t* keys, std::uint64_t n, std::uint32_t& key) {
  return drop_majority_of(keys, n, key);
}
std::uint64_t drop_majority_u64(std::uint64_t* keys, std::uint64_t n, std::uint64_t& key) {
  return drop_majority_of(keys, n, key);
}

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <>
std::uint64_t drop_majority<std::uint16_t>(std::uint16_t* keys, std::uint64_t n, std::uint16_t& majority) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(choose_drop_16)();
  return best(keys, n, majority);
}
template <>
std::uint64_t drop_majority<std::uint32_t>(std::uint32_t* keys, std::uint64_t n, std::uint32_t& majority) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(drop_majority_u32);
  return best(keys, n, majority);
}
template <>
std::uint64_t drop_majority<std::uint64_t>(std::uint64_t* keys, std::uint64_t n, std::uint64_t& majority) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(drop_majority_u64);
  return best(keys, n, majority);
}

}  // namespace spansort::device::host
#endif
