// SPDX-License-Identifier: Apache-2.0
// The instruction set that is chosen is the best that the kernel reports, so that no machine runs slower code than it
// could.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "device/host/vector_kernels.hpp"
#include "device/host/vector_targets.hpp"

namespace spansort::device::host {
namespace {

#if defined(__x86_64__)
std::set<std::string> processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

instruction_set expected_set() {
  const std::set<std::string> flags = processor_flags();
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::ranges::all_of(names, [&](const char* name) { return flags.contains(name); });
  };
  if (!has({"ssse3", "sse4_1", "sse4_2", "aes", "pclmulqdq"})) return instruction_set::baseline;
  if (!has({"avx", "avx2", "bmi1", "bmi2", "fma", "f16c"})) return instruction_set::sse4;
  if (!has({"avx512f", "avx512cd", "avx512vl", "avx512dq", "avx512bw"})) return instruction_set::avx2;
  return instruction_set::avx3;
}

TEST(VectorTargets, TheBestThatTheKernelReports) { EXPECT_EQ(instruction_set_of_machine(), expected_set()); }

TEST(VectorTargets, TheirNameIsShown) {
  const char* const names[] = {"", "SSE4", "AVX2", "AVX-512"};
  if (expected_set() == instruction_set::baseline)
    GTEST_SKIP() << "the name of the baseline depends on Highway's version";
  EXPECT_EQ(vector_target(), names[static_cast<int>(best_instruction_set())]);
}
#endif

int baseline() { return 0; }
int with_sse4() { return 1; }
int with_avx2() { return 2; }
int with_avx3() { return 3; }

TEST(VectorTargets, TheBestFunctionThatWasCompiled) {
  const int best = static_cast<int>(best_instruction_set());
  EXPECT_EQ(choose_function(&with_avx3, &with_avx2, &with_sse4, &baseline)(), best);
  EXPECT_EQ(choose_function(nullptr, &with_avx2, &with_sse4, &baseline)(), std::min(best, 2));
  EXPECT_EQ(choose_function(nullptr, nullptr, &with_sse4, &baseline)(), std::min(best, 1));
  EXPECT_EQ(choose_function(nullptr, nullptr, nullptr, &baseline)(), 0);
}

}  // namespace
}  // namespace spansort::device::host
