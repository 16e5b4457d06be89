// SPDX-License-Identifier: Apache-2.0
// Failures say to a caller what has become of the arrays, and how much memory the whole call needs.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "sort/run_reported.hpp"
#include "sort/sort_observer.hpp"
#include "spansort/errors.hpp"

namespace spansort::sorting {
namespace {

struct told {
  std::string type;
  std::string what;
  std::string device;
};

/// Returns what surfaces of a failure that ends an operation, of which the output has begun or not.
told told_of(const std::function<void()>& fail, bool output_has_begun, std::string_view operation_name = "sort") {
  try {
    run_telling_state(
        fail, [&] { return output_has_begun; }, operation_name);
  } catch (const device_memory_error& failure) {
    return {"device_memory_error", failure.what(), failure.device()};
  } catch (const device_lost& failure) {
    return {"device_lost", failure.what(), failure.device()};
  } catch (const device_error& failure) {
    return {"device_error", failure.what(), failure.device()};
  } catch (const out_of_memory& failure) {
    return {"out_of_memory", failure.what(), failure.device()};
  }
  return {};
}

const std::string untouched = "; the input is untouched";
const std::string lost = "; the result was being written: the data is neither input nor result";

TEST(FailureTexts, SayWhatHasBecomeOfTheArrays) {
  const struct {
    const char* type;
    std::function<void()> fail;
  } cases[] = {{"device_memory_error", [] { throw device_memory_error("it failed", "gpu:1"); }},
               {"device_lost", [] { throw device_lost("it failed", "gpu:1"); }},
               {"device_error", [] { throw device_error("it failed", "gpu:1"); }}};
  for (const auto& each : cases) {
    for (const bool has_begun : {false, true}) {
      const told found = told_of(each.fail, has_begun);
      EXPECT_EQ(found.type, each.type);
      EXPECT_EQ(found.what, "it failed" + (has_begun ? lost : untouched));
      EXPECT_EQ(found.device, "gpu:1");
    }
    EXPECT_EQ(told_of(each.fail, true, "argsort").what,
              "it failed; the result was being written: the indices are neither input nor result, the keys are "
              "untouched");
  }
}

TEST(FailureTexts, MemoryThatEndsInTheMidstIsNoLackOfMemory) {
  const auto fail = [] { throw out_of_memory("no room", 7, 5, "gpu:1"); };
  EXPECT_EQ(told_of(fail, false).type, "out_of_memory");
  EXPECT_EQ(told_of(fail, false).what, "no room");
  EXPECT_EQ(told_of(fail, true).type, "device_error") << "out_of_memory promises that nothing has been touched";
  EXPECT_EQ(told_of(fail, true).what, "no room" + lost);
  EXPECT_EQ(told_of(fail, true).device, "gpu:1");
}

TEST(FailureTexts, AStepThatLacksMemorySaysWhatTheWholeCallNeeds) {
  const auto beside = [](const out_of_memory& failure, std::uint64_t own_bytes) {
    try {
      rethrow_beside(failure, own_bytes);
    } catch (const out_of_memory& whole) {
      return whole;
    }
  };
  const out_of_memory whole = beside(out_of_memory("no room", 700, 500), 30);
  EXPECT_STREQ(whole.what(), "no room, beside 30 bytes that the call holds");
  EXPECT_EQ(whole.needed_bytes(), 730u);
  EXPECT_EQ(whole.available_bytes(), 530u);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(beside(out_of_memory("no room", most - 3, 500), 30).needed_bytes(), most);
  const out_of_memory of_a_gpu = beside(out_of_memory("no room", 700, 500, "gpu:1"), 30);
  EXPECT_EQ(of_a_gpu.needed_bytes(), 700u) << "a GPU's memory is not what the call holds";
  EXPECT_EQ(of_a_gpu.device(), "gpu:1");
}

TEST(FailureTexts, OrderingRecordsNeedsItsMemoryBeforehand) {
  const auto refusal = [](std::uint64_t needed, std::uint64_t limit) -> std::string {
    try {
      require_memory(9, needed, limit);
    } catch (const out_of_memory& failure) {
      EXPECT_EQ(failure.needed_bytes(), needed);
      return failure.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(100, 100), "ordering 9 records takes 100 bytes and more beside them, the limit is 100 bytes");
  EXPECT_EQ(refusal(100, 101), "");
  EXPECT_EQ(refusal(100, 0), "");
  EXPECT_EQ(refusal(std::uint64_t{65} << 20, 0), "");
  EXPECT_NE(refusal(std::uint64_t{1} << 60, 0).find("bytes and more beside them, "), std::string::npos);
  EXPECT_NE(refusal(std::uint64_t{1} << 60, 0).find(" are available"), std::string::npos);
}

}  // namespace
}  // namespace spansort::sorting
