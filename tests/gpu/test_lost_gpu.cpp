// SPDX-License-Identifier: Apache-2.0
// A kernel wrote where there is no memory: no call of this process reaches its GPUs any more. In a process of its own.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "gpu/callers_kernels.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

class LostGpuDeathTest : public gpu_test {};

/// Returns the message of the device_error that the call throws; "" where none is thrown.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const device_error& e) {
    return e.what();
  }
  return "";
}

/// Ends the process: status 0 when all was as it should be.
[[noreturn]] void lose_the_gpu_and_go_on() {
  int num_wrong = 0;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "not so: %s\n", what);
    num_wrong += holds ? 0 : 1;
  };
  {
    sort_job job({operation::kind::keys, 0},
                 make_oracle(key_type::u32, 300'000, {distribution_kind::uniform}, seed_for(1), false));
    bool is_lost = false;
    sort_options options{.devices = "gpu:0", .algorithm = algorithm::single};
    options.on_progress = [&](const progress&) {
      if (!is_lost) launch_illegal_write();
      is_lost = true;
      static_cast<void>(cudaDeviceSynchronize());
      return true;
    };
    sorter s(options);
    const std::string first = refusal([&] { job.run(s); });
    const std::string again = refusal([&] { job.run(s); });
    const std::string anew = refusal([&] { sort_job(job).run(*std::make_unique<sorter>(options)); });
    std::fprintf(stderr, "first: %s\nagain: %s\nanew: %s\n", first.c_str(), again.c_str(), anew.c_str());
    expect(first.find("lost for this process") != std::string::npos, "the first error says that the device is lost");
    expect(job.diagnose_untouched().empty(), "the input is untouched");
    // Not always that of the first error: several threads may have met theirs at the same time.
    expect(again.find("lost for this process") != std::string::npos, "the sorter refuses");
    expect(!again.empty() && anew.find(again) != std::string::npos, "another sorter refuses with the same message");
    sorter on_the_cpu({.devices = "cpu"});
    job.run(on_the_cpu);
    expect(job.diagnose_done().empty(), "the CPU sorts");
  }
  std::_Exit(num_wrong);
}

TEST_F(LostGpuDeathTest, RefusesFurtherWorkWithTheSameMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lose_the_gpu_and_go_on(), testing::ExitedWithCode(0), "again: .*lost for this process");
}

}  // namespace
}  // namespace spansort::test
