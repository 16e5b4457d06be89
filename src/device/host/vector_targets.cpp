// SPDX-License-Identifier: Apache-2.0
#include "device/host/vector_targets.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace spansort::device::host {

#if defined(__x86_64__)
namespace {

// Clang knows this one by name from version 18 on.
bool has_f16c() noexcept {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

// Each set is what Highway's targets of that name are compiled with. __builtin_cpu_supports() also asks whether the
// operating system saves the registers.
instruction_set instruction_set_of_machine() noexcept {
  __builtin_cpu_init();
  const bool has_sse4 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                        __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes") &&
                        __builtin_cpu_supports("pclmul");
  if (!has_sse4) return instruction_set::baseline;
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") && has_f16c();
  if (!has_avx2) return instruction_set::sse4;
  const bool has_avx3 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw");
  return has_avx3 ? instruction_set::avx3 : instruction_set::avx2;
}
#else
instruction_set instruction_set_of_machine() noexcept { return instruction_set::baseline; }
#endif

namespace {

std::string_view wanted_vectors() noexcept {
  const char* const text = std::getenv("SPANSORT_VECTORS");
  return text == nullptr ? "" : text;
}

}  // namespace

instruction_set best_instruction_set() noexcept {
  const std::string_view wanted = wanted_vectors();
  instruction_set most = instruction_set::avx3;
  if (wanted == "avx2") most = instruction_set::avx2;
  if (wanted == "sse4") most = instruction_set::sse4;
  if (wanted == "none") most = instruction_set::baseline;
  return std::min(most, instruction_set_of_machine());
}

namespace {

/// Returns whether AVX-512 is that of Intel's processors, or is to be treated as such.
bool has_vectors_of_intel() noexcept {
  const std::string_view wanted = wanted_vectors();
  if (wanted == "compress") return true;
  if (wanted == "permute") return false;
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

}  // namespace

bool stores_compressed_fast() noexcept { return has_vectors_of_intel(); }
bool compares_numbers_fast() noexcept { return has_vectors_of_intel(); }
bool merges_fast() noexcept { return has_vectors_of_intel(); }

}  // namespace spansort::device::host
