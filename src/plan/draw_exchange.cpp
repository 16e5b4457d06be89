// SPDX-License-Identifier: Apache-2.0
// Transfers as a matrix of source and destination ranks, or one line a rank where the matrix would be too wide.
#include "plan/draw_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "plan/notation.hpp"

namespace spansort::plan {

namespace {

constexpr unsigned most_rank_lines = 16;
constexpr std::size_t most_sort_lines = 24;

using matrix = std::vector<std::vector<std::uint64_t>>;  // keys by source and destination

/// Nothing: it did not fit.
std::string draw_matrix(const matrix& keys, std::size_t width, const std::function<std::string(std::uint64_t)>& name) {
  std::size_t cell = fmt::format("to {}", keys.size() - 1).size();
  for (const auto& row : keys) {
    for (const std::uint64_t count : row) cell = std::max(cell, name(count).size());
  }
  const std::size_t head = fmt::format("  from {}", keys.size() - 1).size();
  if (head + keys.size() * (cell + 2) > width) return {};

  std::string out(head, ' ');
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    out += fmt::format("  {:>{}}", fmt::format("to {}", rank), cell);
  }
  out += "\n";
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    out += fmt::format("{:<{}}", fmt::format("  from {}", rank), head);
    for (const std::uint64_t count : keys[rank]) out += fmt::format("  {:>{}}", count == 0 ? "." : name(count), cell);
    out += "\n";
  }
  return out;
}

std::string draw_senders(const matrix& keys) {
  std::string out;
  const std::vector<unsigned> ranks = shown_ranks(static_cast<unsigned>(keys.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    out += skipped_ranks_line(ranks, i);
    const auto& row = keys[ranks[i]];
    std::uint64_t sent = 0;
    std::uint64_t num_receivers = 0;
    for (std::size_t to = 0; to < row.size(); ++to) {
      if (to == ranks[i] || row[to] == 0) continue;
      sent += row[to];
      ++num_receivers;
    }
    out += fmt::format("  rank {:<3} keeps {}, sends {} to {}\n", ranks[i], grouped(row[ranks[i]]),
                       counted(sent, "key"), counted(num_receivers, "rank"));
  }
  return out;
}

/// Local sorts that are alike in rank and bits.
struct sort_summary {
  unsigned rank = 0;
  keys::bit_range bits;
  std::uint64_t num_sorts = 0;
  std::uint64_t num_buckets = 0;
  std::uint64_t count = 0;
};

std::vector<sort_summary> summarize(const std::vector<local_sort>& sorts, bool by_rank) {
  std::vector<sort_summary> summaries;
  for (const local_sort& sort : sorts) {
    const unsigned rank = by_rank ? sort.rank : 0;
    const auto alike = [&](const sort_summary& s) { return s.rank == rank && s.bits == sort.bits; };
    auto found = std::find_if(summaries.begin(), summaries.end(), alike);
    if (found == summaries.end()) found = summaries.insert(found, {rank, sort.bits, 0, 0, 0});
    found->num_sorts += 1;
    found->num_buckets += sort.num_buckets;
    found->count += sort.count;
  }
  std::stable_sort(summaries.begin(), summaries.end(), [](const sort_summary& a, const sort_summary& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.bits.end > b.bits.end;
  });
  return summaries;
}

}  // namespace

std::vector<unsigned> shown_ranks(unsigned num_ranks) {
  std::vector<unsigned> ranks;
  for (unsigned rank = 0; rank < num_ranks; ++rank) {
    const bool is_shown =
        num_ranks <= most_rank_lines || rank < most_rank_lines / 2 || rank >= num_ranks - most_rank_lines / 2;
    if (is_shown) ranks.push_back(rank);
  }
  return ranks;
}

std::string skipped_ranks_line(const std::vector<unsigned>& ranks, std::size_t index) {
  if (index == 0 || ranks[index] == ranks[index - 1] + 1) return {};
  return fmt::format("  .. {} ..\n", counted(ranks[index] - ranks[index - 1] - 1, "more rank"));
}

std::string draw_transfers(const sort_plan& plan, std::size_t width) {
  const unsigned num_ranks = plan.params.num_ranks;
  matrix keys(num_ranks, std::vector<std::uint64_t>(num_ranks));
  std::uint64_t crossing = 0;
  std::uint64_t in_place = 0;
  for (const transfer& t : plan.transfers) {
    keys[t.source_rank][t.destination_rank] += t.count;
    if (t.source_rank != t.destination_rank) crossing += t.count;
    if (t.is_identity()) in_place += t.count;
  }
  std::string out =
      fmt::format("Exchange: {}; {} of {} change rank, {} in place\n", counted(plan.transfers.size(), "transfer"),
                  grouped(crossing), counted(plan.params.num_keys, "key"), grouped(in_place));
  std::string drawn = draw_matrix(keys, width, grouped);
  if (drawn.empty()) drawn = draw_matrix(keys, width, abbreviated);
  if (drawn.empty()) drawn = draw_senders(keys);
  return out + drawn;
}

std::string draw_local_sorts(const sort_plan& plan) {
  std::vector<sort_summary> summaries = summarize(plan.local_sorts, true);
  const bool by_rank = summaries.size() <= most_sort_lines;
  if (!by_rank) summaries = summarize(plan.local_sorts, false);

  std::string out = fmt::format("Local sorts, small neighbours fused{}\n", by_rank ? "" : ", over all ranks");
  if (summaries.size() > most_sort_lines) summaries.resize(most_sort_lines);
  std::uint64_t listed_keys = 0;
  for (const sort_summary& s : summaries) {
    const std::string rank = by_rank ? fmt::format("rank {:<3}", s.rank) : "ranks   ";
    const std::string what = s.bits.empty() ? "in order already" : fmt::format("sort on bits {}", bits_name(s.bits));
    out += fmt::format("  {} {:<21}  {:>13}  {:>14}  {}\n", rank, what, counted(s.num_sorts, "range"),
                       counted(s.num_buckets, "bucket"), counted(s.count, "key"));
    listed_keys += s.count;
  }
  std::uint64_t num_kept = 0;
  for (const copied_sort& s : plan.copied_sorts) num_kept += s.num_kept;
  if (listed_keys + num_kept < plan.params.num_keys) {
    out += fmt::format("  .. and {} in ranges on fewer bits\n",
                       counted(plan.params.num_keys - num_kept - listed_keys, "key"));
  }
  if (num_kept != 0) {
    out += fmt::format("  .. and {} of buckets that are copied to each of their ranks\n", counted(num_kept, "key"));
  }
  return out;
}

}  // namespace spansort::plan
