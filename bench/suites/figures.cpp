// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/figures.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr const char* satish = "Satish, Harris and Garland 2009";
constexpr const char* onesweep = "Adinets and Merrill 2022 (Onesweep)";
constexpr const char* rmg = "Ilic et al. 2023 (RMG sort)";

/// What one device sorts by, and what the papers set it beside.
const std::vector<std::string> one_device_sorts = {
    "single", "onesweep", "lsd_reduce_then_scan", "msd_hybrid", "satish_radix", "satish_merge", "paradis"};
const std::vector<std::string> multi_device_sorts = {"rmg", "p2p_merge", "het_merge"};

/// Powers of two from 2^first on, by `step`; the last one is of at most 2^max keys.
std::vector<std::uint64_t> sizes(unsigned first, unsigned last, unsigned step, unsigned max) {
  std::vector<std::uint64_t> found;
  const unsigned end = std::min(last, max);
  for (unsigned log2 = std::min(first, end); log2 <= end; log2 += step) found.push_back(std::uint64_t{1} << log2);
  return found;
}

/// Two billion keys, as the paper's, or fewer.
std::uint64_t rmg_size(unsigned max) {
  constexpr std::uint64_t two_billion = 2'000'000'000;
  return max >= 31 ? two_billion : std::uint64_t{1} << max;
}

/// Every fourth of a figure's inputs comes first, the last one among them, then every second, then the rest.
unsigned level_of(std::size_t place, std::size_t count) {
  const std::size_t from_end = count - 1 - place;
  return from_end % 4 == 0 ? 0 : from_end % 2 == 0 ? 1 : 2;
}

void set_levels(std::vector<case_spec>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].level = level_of(i, cases.size());
}

std::vector<case_spec> of_sizes(const std::vector<std::string>& types, const std::vector<std::uint64_t>& counts) {
  std::vector<case_spec> cases;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (const std::string& type : types) {
      cases.push_back({.type = type, .distribution = "uniform", .num_keys = counts[i]});
      cases.back().level = level_of(i, counts.size());
    }
  }
  return cases;
}

std::vector<case_spec> of_distributions(const std::vector<std::string>& types,
                                        const std::vector<std::string>& distributions, std::uint64_t count) {
  std::vector<case_spec> cases;
  for (const std::string& type : types) {
    for (std::size_t i = 0; i < distributions.size(); ++i) {
      cases.push_back({.type = type, .distribution = distributions[i], .num_keys = count});
      cases.back().level = level_of(i, distributions.size());
    }
  }
  return cases;
}

std::vector<case_spec> of_digit_widths(std::uint64_t count) {
  std::vector<case_spec> cases;
  for (unsigned bits = 5; bits <= 9; ++bits) cases.push_back({"u32", "uniform", count, bits});
  set_levels(cases);
  return cases;
}

std::vector<figure> satish_figures(unsigned max) {
  const std::uint64_t count = sizes(22, 22, 1, max).front();
  figure rates{"papers", "satish-fig3-4", std::string(satish) + ", figures 3 and 4", one_device_sorts};
  rates.with_baselines = true;
  rates.cases = of_sizes({"u32(u32)", "u32"}, sizes(10, 24, 2, max));
  figure bits{"papers", "satish-fig5", std::string(satish) + ", figure 5", one_device_sorts};
  bits.with_baselines = true;
  bits.cases = of_distributions({"u32(u32)"}, {"bits:8", "bits:16", "bits:24", "bits:32"}, count);
  figure entropy{"papers", "satish-fig6", std::string(satish) + ", figure 6", one_device_sorts};
  entropy.with_baselines = true;
  entropy.cases =
      of_distributions({"u32(u32)"}, {"entropy:1", "entropy:2", "entropy:3", "entropy:4", "entropy:5", "zero"}, count);
  figure cpu{"papers", "satish-fig8", std::string(satish) + ", figure 8", {"single", "satish_radix", "satish_merge"}};
  cpu.with_baselines = cpu.with_cpu = true;
  cpu.cases = of_sizes({"u32(u32)", "f32"}, sizes(10, 24, 2, max));
  return {rates, bits, entropy, cpu};
}

std::vector<figure> onesweep_figures(unsigned max) {
  const std::vector<std::string> types = {"u32", "u32(u32)", "u64"};
  figure rates{"papers", "onesweep-fig9-11", std::string(onesweep) + ", figures 9 to 11, size", one_device_sorts};
  rates.with_baselines = true;
  rates.cases = of_sizes(types, sizes(12, 30, 2, max));
  figure entropy{"papers", "onesweep-fig9-11-entropy", std::string(onesweep) + ", figures 9 to 11, entropy",
                 one_device_sorts};
  entropy.with_baselines = true;
  entropy.cases =
      of_distributions(types, {"entropy:1", "entropy:2", "entropy:3", "entropy:4", "entropy:8", "entropy:16"},
                       sizes(28, 28, 1, max).front());
  figure widths{"papers", "onesweep-table2", std::string(onesweep) + ", table 2", {"onesweep", "lsd_reduce_then_scan"}};
  widths.cases = of_digit_widths(sizes(28, 28, 1, max).front());
  return {rates, entropy, widths};
}

/// Inputs that grow, each with all of the devices' memory, and with a quarter of its own size on each device.
figure rmg_large_data(unsigned max) {
  constexpr std::uint64_t devices_own = std::uint64_t{34} << 20;  // what a device takes by itself, whatever the input
  figure large{"papers", "rmg-large-data", std::string(rmg) + ", section 5.2, sorting large data", multi_device_sorts};
  large.algorithms.emplace_back("out_of_core");
  large.spans_devices = true;
  for (const case_spec& fits : of_sizes({"u32"}, sizes(std::clamp(max, 4U, 31U) - 3, 35, 1, max))) {
    large.cases.push_back(fits);
    large.cases.push_back(fits);
    large.cases.back().device_memory_bytes = fits.num_keys * sizeof(std::uint32_t) / 4 + devices_own;
  }
  return large;
}

/// Unsigned integers, and floats that follow Zipf's law, are the paper's; it leaves signs and values to others.
figure rmg_data_types(unsigned max) {
  const std::uint64_t count = rmg_size(max);
  figure types{"papers", "rmg-data-types", std::string(rmg) + ", section 5.3, different data types",
               multi_device_sorts};
  types.spans_devices = true;
  for (const char* const unsigned_type : {"u32", "u64"}) types.cases.push_back({unsigned_type, "uniform", count});
  for (const char* const float_type : {"f32", "f64"}) types.cases.push_back({float_type, "zipf:1", count});
  for (const char* const other : {"u32(u32)", "i32", "i64", "f32", "f64", "u64(u64)"}) {
    types.cases.push_back({.type = other, .distribution = "uniform", .num_keys = count, .level = 2});
  }
  return types;
}

figure rmg_memory(unsigned max) {
  figure memory{"papers", "rmg-memory", std::string(rmg) + ", section 5, memory consumption", multi_device_sorts};
  for (const char* const other : {"single", "onesweep", "satish_radix", "satish_merge", "paradis", "out_of_core"}) {
    memory.algorithms.emplace_back(other);
  }
  memory.spans_devices = true;
  memory.shows = detail::memory;
  memory.cases = {{"u32(u32)", "uniform", sizes(26, 26, 1, max).front()},
                  {"u32", "uniform", sizes(28, 28, 1, max).front()}};
  return memory;
}

std::vector<figure> rmg_figures(unsigned max) {
  const std::uint64_t count = rmg_size(max);
  std::vector<std::string> all_sorts = multi_device_sorts;
  all_sorts.insert(all_sorts.begin(), {"auto", "single", "paradis"});
  figure rates{"papers", "rmg-fig5", std::string(rmg) + ", figure 5", all_sorts};
  rates.spans_devices = rates.with_baselines = rates.with_cpu = true;
  rates.cases = of_sizes({"u32"}, sizes(20, 30, 2, max));
  if (max >= 31) rates.cases.push_back({"u32", "uniform", count});
  figure phases{"papers", "rmg-fig6-7", std::string(rmg) + ", figures 6 and 7", multi_device_sorts};
  phases.spans_devices = true;
  phases.shows = detail::phases;
  phases.cases = {{"u32", "uniform", count}};
  figure table{"papers", "rmg-table2", std::string(rmg) + ", table 2", multi_device_sorts};
  table.spans_devices = true;
  table.cases = of_distributions({"u32"}, {"zero", "sorted", "nearly-sorted", "reverse", "uniform", "normal"}, count);
  figure skew{"papers", "rmg-fig8", std::string(rmg) + ", figure 8", multi_device_sorts};
  skew.spans_devices = true;
  skew.cases =
      of_distributions({"u32"}, {"zipf:0", "zipf:0.5", "zipf:1", "zipf:1.5", "zipf:2", "zipf:2.5", "zipf:3"}, count);
  return {rates, phases, rmg_large_data(max), table, skew, rmg_data_types(max), rmg_memory(max)};
}

figure multi_gpu_figure(unsigned max) {
  figure made{"multi-gpu", "multi-gpu", "host to host over 1, 2, 4 ... devices", multi_device_sorts};
  made.spans_devices = true;
  made.shows = detail::phases;
  made.cases = of_sizes({"u32", "u32(u32)", "u64"}, sizes(24, 30, 3, max));
  return made;
}

}  // namespace

std::vector<figure> figures_of(const std::string& suite, unsigned max_log2_size) {
  if (suite == "multi-gpu") return {multi_gpu_figure(max_log2_size)};
  std::vector<figure> found;
  for (const auto& of_paper : {satish_figures, onesweep_figures, rmg_figures}) {
    std::ranges::move(of_paper(max_log2_size), std::back_inserter(found));
  }
  return found;
}

}  // namespace bench
