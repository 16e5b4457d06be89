// SPDX-License-Identifier: Apache-2.0
// Files that are read, sorted on GPUs and written side by side: pieces go to the GPUs while the rest is read, and what
// comes back is written while the rest is sorted. The bytes are the CPU's; a call to the runtime that fails leaves the
// old output.
#include <array>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "files/file_folder.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

class gpu_file_flow_test : public gpu_test {
 protected:
  static constexpr std::array<const char*, 2> lists{"gpu:0", "gpu:0,0,0"};

  void make_input(key_type type, std::uint64_t num_keys) {
    generate_file(input_, type, num_keys, {}, seed_for(num_keys));
  }

  file_folder folder_;
  std::string input_ = folder_.path("in.npy");
  std::string output_ = folder_.path("out.npy");
};

TEST_F(gpu_file_flow_test, HasTheBytesOfTheCpu) {
  for (const key_type type : {key_type::u16, key_type::f32, key_type::u64}) {
    make_input(type, 3'000'017);
    for (const direction d : {direction::ascending, direction::descending}) {
      const file_options file{.direction = d, .verify = true};
      sort_file(input_, folder_.path("sorted.npy"), file, {.devices = "cpu"});
      argsort_file(input_, folder_.path("order.npy"), file, {.devices = "cpu"});
      for (const char* list : lists) {
        const base::test_hooks_scope hooks({.copy_piece_bytes = std::uint64_t{1} << 20, .file_flow_bytes = 1});
        sort_file(input_, output_, file, {.devices = list});
        EXPECT_TRUE(folder_.read("out.npy") == folder_.read("sorted.npy")) << name(type) << " " << list;
        argsort_file(input_, output_, file, {.devices = list});
        EXPECT_TRUE(folder_.read("out.npy") == folder_.read("order.npy")) << name(type) << " " << list;
      }
    }
  }
}

TEST_F(gpu_file_flow_test, ACallThatFailsLeavesTheOldOutput) {
  make_input(key_type::u32, 1'000'003);
  for (const char* list : lists) {
    // Some failures are survived; many in a row say that there are no more calls.
    for (std::uint64_t nth = 1, num_survived = 0; num_survived < 20; nth += 3) {
      folder_.write("out.npy", {});
      const base::test_hooks_scope hooks(
          {.copy_piece_bytes = std::uint64_t{1} << 18, .file_flow_bytes = 1, .fail_device_call_at = nth});
      try {
        sort_file(input_, output_, {}, {.devices = list});
        ++num_survived;
      } catch (const error&) {
        num_survived = 0;
        EXPECT_TRUE(folder_.read("out.npy").empty()) << nth;
        EXPECT_EQ(folder_.num_files(), 2u) << nth;
      }
      ASSERT_LT(nth, 100'000u);
    }
  }
}

}  // namespace
}  // namespace spansort::test
