// SPDX-License-Identifier: Apache-2.0
// CUB's sort in the place of ours: the same bytes.
#include <algorithm>
#include <cstdint>
#include <string>

#include "base/test_hooks.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/report.hpp"
#include "spansort/sort.hpp"
#include "support/environment.hpp"
#include "support/sort_job.hpp"

namespace spansort::test {
namespace {

constexpr std::uint64_t num_keys = 200'000;

class cub_sort_test : public gpu_test {
 protected:
  static void expect_sorted(key_type type, operation op, distribution d, bool descending, sort_options options) {
    const base::test_hooks_scope hooks({.cub_local_sort = true});
    sorter s(options);
    sort_job job(op, make_oracle(type, num_keys, d, seed_for(1), descending));
    job.run(s);
    EXPECT_EQ(job.diagnose_done(), "") << name(type) << ", values of " << op.bytes << " bytes, "
                                       << (descending ? "descending" : "ascending") << ", "
                                       << to_string(options.devices);
  }
};

TEST_F(cub_sort_test, GivesTheBytesOfOurs) {
  // Those that CUB is not compiled for or would tie otherwise are sorted by ours: that must not show either.
  for (const key_type type :
       {key_type::u32, key_type::i32, key_type::f32, key_type::u64, key_type::f64, key_type::u16}) {
    for (const bool descending : {false, true}) {
      for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
        const operation op =
            value_bytes == 0 ? operation{operation::kind::keys, 0} : operation{operation::kind::pairs, value_bytes};
        const distribution d{distribution_kind::zipf, 0.5};
        expect_sorted(type, op, d, descending, {.devices = "gpu:0", .algorithm = algorithm::single});
        expect_sorted(type, op, d, descending, {.devices = "gpu:0,0,0", .algorithm = algorithm::rmg});
      }
    }
  }
}

/// Phases of a sort of sorted keys.
sort_report report_of(key_type type, bool by_cub) {
  sort_report report;
  sort_options options{.devices = "gpu:0", .algorithm = algorithm::single};
  options.report = &report;
  const base::test_hooks_scope hooks({.cub_local_sort = by_cub});
  sorter s(options);
  sort_job job({operation::kind::keys, 0},
               make_oracle(type, num_keys, {distribution_kind::sorted}, seed_for(2), false));
  job.run(s);
  EXPECT_EQ(job.diagnose_done(), "");
  return report;
}

bool has_phase(const sort_report& report, const std::string& name) {
  return std::ranges::find(report.phases, name, &phase_report::name) != report.phases.end();
}

TEST_F(cub_sort_test, IsNamedWhereItSorts) {
  const sort_report by_cub = report_of(key_type::u32, true);
  EXPECT_TRUE(has_phase(by_cub, "local sort by CUB"));
  EXPECT_FALSE(has_phase(by_cub, "local sort"));
  EXPECT_EQ(by_cub.input_shape, "general");
  const sort_report ours = report_of(key_type::u32, false);
  EXPECT_TRUE(has_phase(ours, "local sort"));
  EXPECT_EQ(ours.input_shape, "sorted");
}

TEST_F(cub_sort_test, LeavesToOursWhatItIsNotCompiledFor) {
  const sort_report ours = report_of(key_type::u16, true);
  EXPECT_TRUE(has_phase(ours, "local sort"));
  EXPECT_FALSE(has_phase(ours, "local sort by CUB"));
  EXPECT_EQ(ours.input_shape, "sorted");
}

}  // namespace
}  // namespace spansort::test
