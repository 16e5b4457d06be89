// SPDX-License-Identifier: Apache-2.0
// Links that the driver praises and that give wrong data: found out, gone round, and said.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/test_hooks.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/devices.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

using peers_test = gpu_test;

sort_report sort_over_three(const base::test_hooks& changed) {
  const oracle expected = make_oracle(key_type::u32, 100'000, {distribution_kind::uniform}, seed_for(1), false);
  std::vector<std::byte> keys(expected.input().begin(), expected.input().end());
  sort_report report;
  sort_options options{.devices = "gpu:0,0,0", .algorithm = algorithm::rmg};
  options.report = &report;
  const base::test_hooks_scope hooks(changed);
  sorter(options).sort(key_span{key_type::u32, keys.data(), expected.num_keys()});
  EXPECT_TRUE(std::ranges::equal(keys, expected.keys_alone()));
  return report;
}

TEST_F(peers_test, ThatLieAreStagedAndNamed) {
  const sort_report lied_to = sort_over_three({.corrupt_peer_probes = true});
  EXPECT_GT(lied_to.staged_bytes, 0u);
  EXPECT_NE(lied_to.staged_because.find("wrong data"), std::string::npos) << lied_to.staged_because;
  const sort_report sound = sort_over_three({});
  EXPECT_EQ(sound.staged_bytes, 0u);
  EXPECT_EQ(sound.staged_because, "");
  EXPECT_GT(sound.exchanged_bytes, 0u);
}

TEST_F(peers_test, AreListedBothWays) {
  const std::vector<device_description> devices = list_devices();
  const auto num_gpus = std::ranges::count_if(devices, [](const auto& d) { return d.name.starts_with("gpu:"); });
  if (num_gpus < 2) GTEST_SKIP() << "needs 2 GPUs; this machine has " << num_gpus;
  const std::vector<link_description> links = list_links();
  EXPECT_EQ(std::ssize(links), num_gpus * (num_gpus - 1));
  for (const link_description& link : links) {
    EXPECT_NE(link.from, link.to);
    EXPECT_EQ(link.works, link.why_not.empty());
    EXPECT_EQ(link.works, link.gigabytes_per_s > 0);
    const auto is_opposite = [&](const link_description& l) { return l.from == link.to && l.to == link.from; };
    EXPECT_EQ(std::ranges::count_if(links, is_opposite), 1);
  }
}

}  // namespace
}  // namespace spansort::test
