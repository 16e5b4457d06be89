// SPDX-License-Identifier: Apache-2.0
// Comparisons of a key with the bounds of three intervals in as few integer operations as can be, which
// few_intervals.cu depends on. They are in inline assembly because C++ has no name for the carry of a sum.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/few_intervals.hpp"

namespace spansort::device::cuda {

static_assert(most_few_intervals == 3, "the assembly below is written out for three");

/// Bounds of intervals of encoded keys. None of the intervals begins at 0.
template <class K>
struct interval_bounds {
  K minus_low[most_few_intervals] = {};  ///< 0 less the lowest key; wraps around
  K reach[most_few_intervals] = {};      ///< from the lowest key to the highest
};

/// Counts a key for each of three intervals whose lower bound it reaches, and sets `bit` of `wanted` if it is within
/// one of them. Taking the lower bound off leaves a carry, which is counted, and a rest, which is compared with the
/// interval's reach. Left to itself the compiler keeps predicates in bits of registers, and takes 30 operations instead
/// of 10.
__device__ __forceinline__ void look_at(std::uint32_t encoded, const interval_bounds<std::uint32_t>& of,
                                        unsigned (&from_low)[most_few_intervals], unsigned& wanted, unsigned bit) {
  asm volatile(
      "{\n\t"
      ".reg .pred within;\n\t"
      ".reg .u32 above;\n\t"
      "add.cc.u32 above, %4, %5;\n\t"
      "addc.u32 %0, %0, 0;\n\t"
      "setp.le.u32 within, above, %6;\n\t"
      "add.cc.u32 above, %4, %7;\n\t"
      "addc.u32 %1, %1, 0;\n\t"
      "setp.le.or.u32 within, above, %8, within;\n\t"
      "add.cc.u32 above, %4, %9;\n\t"
      "addc.u32 %2, %2, 0;\n\t"
      "setp.le.or.u32 within, above, %10, within;\n\t"
      "@within or.b32 %3, %3, %11;\n\t"
      "}"
      : "+r"(from_low[0]), "+r"(from_low[1]), "+r"(from_low[2]), "+r"(wanted)
      : "r"(encoded), "r"(of.minus_low[0]), "r"(of.reach[0]), "r"(of.minus_low[1]), "r"(of.reach[1]),
        "r"(of.minus_low[2]), "r"(of.reach[2]), "r"(bit));
}

/// Does the same for keys of 8 bytes, in two halves.
__device__ __forceinline__ void look_at(std::uint64_t encoded, const interval_bounds<std::uint64_t>& of,
                                        unsigned (&from_low)[most_few_intervals], unsigned& wanted, unsigned bit) {
  asm volatile(
      "{\n\t"
      ".reg .pred within;\n\t"
      ".reg .u64 above;\n\t"
      ".reg .u32 low, high, bound_low, bound_high, above_low, above_high;\n\t"
      "mov.b64 {low, high}, %4;\n\t"
      "mov.b64 {bound_low, bound_high}, %5;\n\t"
      "add.cc.u32 above_low, low, bound_low;\n\t"
      "addc.cc.u32 above_high, high, bound_high;\n\t"
      "addc.u32 %0, %0, 0;\n\t"
      "mov.b64 above, {above_low, above_high};\n\t"
      "setp.le.u64 within, above, %6;\n\t"
      "mov.b64 {bound_low, bound_high}, %7;\n\t"
      "add.cc.u32 above_low, low, bound_low;\n\t"
      "addc.cc.u32 above_high, high, bound_high;\n\t"
      "addc.u32 %1, %1, 0;\n\t"
      "mov.b64 above, {above_low, above_high};\n\t"
      "setp.le.or.u64 within, above, %8, within;\n\t"
      "mov.b64 {bound_low, bound_high}, %9;\n\t"
      "add.cc.u32 above_low, low, bound_low;\n\t"
      "addc.cc.u32 above_high, high, bound_high;\n\t"
      "addc.u32 %2, %2, 0;\n\t"
      "mov.b64 above, {above_low, above_high};\n\t"
      "setp.le.or.u64 within, above, %10, within;\n\t"
      "@within or.b32 %3, %3, %11;\n\t"
      "}"
      : "+r"(from_low[0]), "+r"(from_low[1]), "+r"(from_low[2]), "+r"(wanted)
      : "l"(encoded), "l"(of.minus_low[0]), "l"(of.reach[0]), "l"(of.minus_low[1]), "l"(of.reach[1]),
        "l"(of.minus_low[2]), "l"(of.reach[2]), "r"(bit));
}

/// Loads in the order of the program, so that all loads of a step are under way before the first is waited for.
__device__ __forceinline__ uint4 load_early(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v;
}

}  // namespace spansort::device::cuda
