// SPDX-License-Identifier: Apache-2.0
// This header says which of the functions that Highway compiles for several instruction sets runs on this machine. It
// is included before any of Highway's headers. Only those headers are used: libhwy, whose own choice this replaces,
// calibrates a timer whenever a program that links it starts, which takes milliseconds.
#pragma once

#include <cstdint>
#include <type_traits>

// Assertions of the headers would call into libhwy.
#define HWY_IS_DEBUG_BUILD 0
#if defined(SPANSORT_NARROW_VECTORS)
#define HWY_DISABLED_TARGETS (~(HWY_AVX2 | HWY_EMU128 | HWY_SCALAR))
#elif defined(__x86_64__)
// Instruction sets beyond these gain nothing here.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_SSE4 | HWY_SSE2 | HWY_EMU128 | HWY_SCALAR))
#else
#define HWY_COMPILE_ONLY_STATIC
#endif
#include <hwy/detect_targets.h>
#if !defined(HWY_SSE2)
#define HWY_SSE2 0  // unknown to Highway 1.0.3
#endif

namespace spansort::device::host {

/// Ascending: a machine has those below its own as well.
enum class instruction_set : std::uint8_t { baseline, sse4, avx2, avx3 };

/// The best that processor and operating system offer.
[[nodiscard]] instruction_set instruction_set_of_machine() noexcept;

/// Returns the same, or what the environment's SPANSORT_VECTORS lowers it to (`avx2`, `sse4`, `none`), so that tests
/// and benchmarks reach what other machines run.
[[nodiscard]] instruction_set best_instruction_set() noexcept;

/// Returns whether AVX-512 stores the lanes of a mask to memory as fast as whole vectors: Intel's processors do, and
/// AMD's take hundreds of cycles. The environment's SPANSORT_VECTORS may say `compress` or `permute` instead, with the
/// same results.
[[nodiscard]] bool stores_compressed_fast() noexcept;

/// Returns whether AVX-512 takes minima of floating-point numbers faster than those of integers of their width:
/// Intel's processors do, and AMD's take both at the same rate. The environment says the same as above.
[[nodiscard]] bool compares_numbers_fast() noexcept;

/// Returns whether AVX-512 merges two networks' keys in less time than it takes to split them apart before: Intel's
/// processors do, and AMD's have not been measured. The environment says the same as above.
[[nodiscard]] bool merges_fast() noexcept;

/// The best of the functions that were compiled (the others are null) and that this machine can run.
template <class F>
[[nodiscard]] F* choose_function(std::type_identity_t<F>* avx3, std::type_identity_t<F>* avx2,
                                 std::type_identity_t<F>* sse4, F* baseline) noexcept {
  const instruction_set best = best_instruction_set();
  if (avx3 != nullptr && best >= instruction_set::avx3) return avx3;
  if (avx2 != nullptr && best >= instruction_set::avx2) return avx2;
  if (sse4 != nullptr && best >= instruction_set::sse4) return sse4;
  return baseline;
}

}  // namespace spansort::device::host

/// Chooses the function of that name for this machine. It stands below HWY_ONCE, where all targets are compiled.
#define SPANSORT_CHOOSE_FUNCTION(NAME)                                                                           \
  ::spansort::device::host::choose_function(HWY_CHOOSE_AVX3(NAME), HWY_CHOOSE_AVX2(NAME), HWY_CHOOSE_SSE4(NAME), \
                                            &HWY_STATIC_DISPATCH(NAME))
