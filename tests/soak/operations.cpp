// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "soak/job.hpp"
#include "spansort/generate.hpp"

namespace spansort::soak {

std::span<const operation> operations() {
  static constexpr operation table[] = {
      {.name = "sort", .weight = 8, .draw = draw_sort},
      {.name = "sort_pairs", .weight = 8, .draw = draw_sort_pairs},
      {.name = "argsort", .weight = 6, .draw = draw_argsort},
      {.name = "segments", .weight = 4, .draw = draw_segments, .has_progress = false, .has_devices = false},
      {.name = "quantiles", .weight = 3, .draw = draw_quantiles, .has_progress = false, .has_devices = false},
      {.name = "top_k", .weight = 3, .draw = draw_top, .has_progress = false, .has_devices = false},
      {.name = "rank_of", .weight = 2, .draw = draw_rank, .has_progress = false, .has_devices = false},
      {.name = "sort_records", .weight = 4, .draw = draw_sort_records},
      {.name = "argsort_table", .weight = 3, .draw = draw_argsort_table},
      {.name = "sort_file", .weight = 5, .draw = draw_sort_file, .writes_files = true},
      {.name = "argsort_file", .weight = 3, .draw = draw_argsort_file, .writes_files = true},
      {.name = "merge_files", .weight = 2, .draw = draw_merge_files, .writes_files = true},
      {.name = "command",
       .weight = 1,
       .draw = draw_command,
       .has_progress = false,
       .has_devices = false,
       .is_process = true},
  };
  return table;
}

std::string_view name(ending e) {
  static constexpr std::string_view names[num_endings] = {
      "done", "cancelled", "threw", "out of memory", "bad_alloc", "no device", "lost", "I/O error", "killed"};
  return names[static_cast<std::size_t>(e)];
}

std::uint64_t drawing::size() {
  const std::uint64_t dice = random.below(40);
  const std::uint64_t most = dice < 26   ? std::min<std::uint64_t>(most_keys, 5000)
                             : dice < 39 ? std::min<std::uint64_t>(most_keys, 150'000)
                                         : most_keys;
  // Sizes of each magnitude alike.
  const double share = static_cast<double>(random.below(1 << 20)) / (1 << 20);
  return static_cast<std::uint64_t>(std::pow(static_cast<double>(most) + 1, share)) - (one_in(10) ? 1 : 0);
}

std::string drawing::distribution() {
  const std::vector<spansort::distribution> all = all_distributions();
  return to_string(all[random.below(all.size())]);
}

}  // namespace spansort::soak
