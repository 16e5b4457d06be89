// SPDX-License-Identifier: Apache-2.0
// Counts around those that 31 and 32 bits hold, on one GPU: up to 17 GB of host memory and twice that of the GPU's;
// keys of a byte where there is less of either.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpu/gpu_test.hpp"
#include "spansort/check.hpp"
#include "spansort/generate.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

std::uint64_t free_host_bytes() {
  std::uint64_t bytes = 0;
  for (const device_description& d : list_devices()) {
    if (d.name.starts_with("cpu:")) bytes += d.available_bytes;
  }
  return bytes;
}

class large_test : public gpu_test, public testing::WithParamInterface<std::uint64_t> {
 protected:
  /// Returns whether keys of this type find room: an array on the host, two on the GPU, and something to spare.
  [[nodiscard]] bool fits(key_type type) const {
    const std::uint64_t keys_bytes = GetParam() * size_bytes(type);
    const std::uint64_t spare_bytes = std::uint64_t{1} << 30;
    return keys_bytes + 2 * spare_bytes <= free_host_bytes() && 2 * keys_bytes + spare_bytes <= free_gpu_bytes();
  }
};

TEST_P(large_test, IsSortedWithAllItsKeys) {
  const std::uint64_t num_keys = GetParam();
  const key_type type = fits(key_type::u32) ? key_type::u32 : key_type::u8;
  if (!fits(type)) GTEST_SKIP() << "not even keys of a byte find room: " << num_keys << " of them";
  RecordProperty("key_type", std::string(name(type)));
  const std::unique_ptr<std::byte[]> memory(new std::byte[num_keys * size_bytes(type)]);  // not zeroed first
  const key_span keys(type, memory.get(), num_keys);
  generate(keys, {distribution_kind::uniform}, seed_for(1));
  const multiset_checksum before = checksum(keys);
  sort_report report;
  sorter({.devices = "gpu:0", .algorithm = algorithm::single, .report = &report}).sort(keys);
  const check_result after = check(keys);
  EXPECT_FALSE(after.first_disorder) << "at " << *after.first_disorder;
  EXPECT_EQ(after.checksum, before);
  EXPECT_EQ(after.num_keys, num_keys);
  EXPECT_EQ(report.num_keys, num_keys);
}

constexpr std::uint64_t sizes[] = {(std::uint64_t{1} << 31) - 1, (std::uint64_t{1} << 31) + 1, 3'000'000'000,
                                   (std::uint64_t{1} << 32) - 1, (std::uint64_t{1} << 32) + 1};
INSTANTIATE_TEST_SUITE_P(Large, large_test, testing::ValuesIn(sizes),
                         [](const auto& param) { return std::to_string(param.param) + "_keys"; });

}  // namespace
}  // namespace spansort::test
