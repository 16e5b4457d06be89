// SPDX-License-Identifier: Apache-2.0
#include "mpi/external/run_cutter.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/assert.hpp"
#include "base/math.hpp"

namespace spansort::mpi {
namespace {

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

int compare(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::memcmp(a.data(), b.data(), a.size());
}

/// The pivots of a cut at a time, of all node ranks: more would take fewer rounds of messages, but more counting.
constexpr std::size_t most_pivots = 16;
/// A node rank proposes so many at least: they bring it on where it is the only one that does not know yet.
constexpr std::size_t least_proposed = 4;

}  // namespace

bool run_cutter::pivot::comes_before(const pivot& other) const {
  const int order = compare(key, other.key);
  if (order != 0) return order < 0;
  return std::tie(node_rank, run, position) < std::tie(other.node_rank, other.run, other.position);
}

/// Returns up to `most` of the sorted candidates, so that about as much of what they stand for lies between each two,
/// and `first_eighths` eighths of that before the first.
std::vector<run_cutter::pivot> run_cutter::spread(std::vector<pivot> candidates, std::size_t most,
                                                  unsigned first_eighths) {
  if (candidates.size() <= most) return candidates;
  std::uint64_t total = 0;
  for (const pivot& p : candidates) total += p.weight;
  std::vector<pivot> chosen;
  std::uint64_t upto = 0;
  for (pivot& p : candidates) {
    upto += p.weight;
    // The i-th one is the first with i + first_eighths / 8 of `most` parts up to it.
    const std::uint64_t num_due = (8 * upto * most + (8 - first_eighths) * total) / (8 * total);
    if (num_due <= chosen.size()) continue;
    p.weight = base::ceil_div(total, std::uint64_t{most});
    chosen.push_back(std::move(p));
  }
  return chosen;
}

run_cutter::run_cutter(transport::communicator& group, const together_call& together,
                       const external::element_order& order, const external::run_list& runs,
                       const external::spill_plan& plan)
    : group_(group),
      together_(together),
      order_(order),
      runs_(runs),
      block_elements_(plan.block_elements),
      most_blocks_(std::max<std::uint64_t>(plan.chunk_elements / (2 * plan.block_elements), 1)),
      num_proposed_(std::max(base::ceil_div(most_pivots, std::size_t{group.num_nodes()}), least_proposed)),
      first_eighths_(1 + 2 * (group.node_rank() % 4)),
      pool_(plan.block_bytes),
      key_(order.key_bytes()) {}

std::vector<run_cut> run_cutter::find(std::span<const std::uint64_t> targets, std::span<const std::uint64_t> slacks,
                                      std::vector<cut_bounds> bounds) {
  const std::vector<cut_bounds> given = bounds;
  const std::size_t group_size = agree_on_group_size();
  for (std::size_t first = 0; first < targets.size(); first += group_size) {
    const std::size_t count = std::min(group_size, targets.size() - first);
    find_group({targets.subspan(first, count), slacks.subspan(first, count), std::span(given).subspan(first, count)},
               std::span(bounds).subspan(first, count));
  }
  std::vector<run_cut> cuts;
  for (cut_bounds& b : bounds) cuts.push_back(std::move(b.low));
  return cuts;
}

/// Returns for how many cuts every node rank has memory for a block of each of its runs: more of them would read the
/// same blocks again for every halving.
std::size_t run_cutter::agree_on_group_size() {
  const std::uint64_t mine = std::max<std::uint64_t>(most_blocks_ / std::max<std::size_t>(runs_.size(), 1), 1);
  return std::ranges::min(group_.all_gather({&mine, 1}));
}

void run_cutter::find_group(const sought_cuts& sought, std::span<cut_bounds> bounds) {
  while (true) {
    const std::vector<std::vector<pivot>> pivots = agree_on_pivots(bounds);
    if (std::ranges::all_of(pivots, [](const std::vector<pivot>& p) { return p.empty(); })) break;
    narrow(sought, pivots, bounds);
  }
  blocks_.clear();
}

/// Reads blocks that are about to be looked at side by side, if there is memory for all of them: a disk takes as long
/// for one as for several.
void run_cutter::read_blocks(std::vector<block_name> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase_if(names, [&](const block_name& name) { return blocks_.contains(name); });
  if (names.size() > most_blocks_) return;
  if (blocks_.size() + names.size() > most_blocks_) blocks_.clear();
  std::vector<std::vector<std::byte>> read(names.size());
  pool_.run(names.size(), [&](std::uint64_t i, std::span<std::byte> buffer) {
    const auto [run, block] = names[i];
    const std::uint64_t first = block * block_elements_;
    const std::uint64_t count = std::min(block_elements_, runs_[run]->num_elements() - first);
    read[i].resize(count * order_.element_bytes());
    runs_[run]->read(first, count, read[i].data(), buffer);
  });
  for (std::size_t i = 0; i < names.size(); ++i) blocks_.emplace(names[i], std::move(read[i]));
}

const std::vector<std::byte>& run_cutter::block_of(std::size_t run, std::uint64_t block) {
  const block_name name(run, block);
  if (!blocks_.contains(name)) read_blocks({name});
  return blocks_.find(name)->second;
}

std::span<const std::byte> run_cutter::key_at(std::size_t run, std::uint64_t position) {
  const std::uint64_t block = position / block_elements_;
  const std::uint64_t in_block = position % block_elements_;
  if (in_block == 0) return runs_[run]->first_key(block);
  order_.write_key(block_of(run, block).data() + in_block * order_.element_bytes(), key_.data());
  return key_;
}

bool run_cutter::is_before(std::span<const std::byte> key, std::size_t run, std::uint64_t position,
                           const pivot& p) const {
  const int order = compare(key, p.key);
  if (order != 0) return order < 0;
  const auto node_rank = std::uint64_t{group_.node_rank()};
  const auto number = std::uint64_t{run};
  return std::tie(node_rank, number, position) < std::tie(p.node_rank, p.run, p.position);
}

/// Blocks that begin before the pivot, but for the last one of them, lie before it as a whole.
run_cutter::bracket run_cutter::bracket_of(std::size_t run, const cut_bounds& bounds, const pivot& p) const {
  const std::uint64_t low = bounds.low[run];
  const std::uint64_t high = bounds.high[run];
  if (low == high) return {low, high};
  if (p.node_rank == group_.node_rank() && p.run == run) {
    const std::uint64_t at = std::clamp(p.position, low, high);
    return {at, at};
  }
  std::uint64_t first = low / block_elements_;
  std::uint64_t end = base::ceil_div(high, block_elements_);
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (is_before(runs_[run]->first_key(middle), run, middle * block_elements_, p)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  if (first == 0) return {low, low};  // not even the first block begins before it
  return {std::clamp((first - 1) * block_elements_ + 1, low, high), std::clamp(first * block_elements_, low, high)};
}

std::uint64_t run_cutter::count_before(std::size_t run, const bracket& within, const pivot& p) {
  std::uint64_t low = within.low;
  for (std::uint64_t high = within.high; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_before(key_at(run, middle), run, middle, p)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Returns the begin of the block that the position lies in, or of the next one, whichever is not known yet.
std::optional<std::uint64_t> run_cutter::block_start_near(std::uint64_t position, std::uint64_t low,
                                                          std::uint64_t high) const {
  const std::uint64_t block = position / block_elements_;
  if (block * block_elements_ >= low) return block * block_elements_;
  if ((block + 1) * block_elements_ < high) return (block + 1) * block_elements_;
  return std::nullopt;
}

/// Adds elements of a run that are spread over what is not known: begins of blocks, or `in_blocks` any.
void run_cutter::add_candidates(const cut_bounds& bounds, std::size_t run, bool in_blocks,
                                std::vector<pivot>& candidates) {
  const std::uint64_t low = bounds.low[run];
  const std::uint64_t high = bounds.high[run];
  std::optional<std::uint64_t> last;
  for (std::size_t i = 0; i < num_proposed_; ++i) {
    const std::uint64_t position = low + (high - low) * (8 * i + first_eighths_) / (8 * num_proposed_);
    const std::optional<std::uint64_t> next = in_blocks ? position : block_start_near(position, low, high);
    if (!next || next == last) continue;
    last = next;
    const std::span<const std::byte> key = key_at(run, *next);
    candidates.push_back({{key.begin(), key.end()},
                          group_.node_rank(),
                          run,
                          *next,
                          base::ceil_div(high - low, std::uint64_t{num_proposed_}),
                          in_blocks});
  }
}

/// `reads_all`: there is memory for a block of every run. Otherwise the longest of what is not known is looked at
/// alone.
std::vector<run_cutter::pivot> run_cutter::propose(const cut_bounds& bounds, bool reads_all) {
  std::size_t longest = 0;
  std::vector<pivot> candidates;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (bounds.high[run] - bounds.low[run] > bounds.high[longest] - bounds.low[longest]) longest = run;
    if (bounds.high[run] != bounds.low[run]) add_candidates(bounds, run, false, candidates);
  }
  if (candidates.empty()) {
    std::vector<block_name> names;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (bounds.high[run] != bounds.low[run]) names.emplace_back(run, bounds.low[run] / block_elements_);
    }
    if (reads_all) read_blocks(std::move(names));
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      if (bounds.high[run] != bounds.low[run] && (reads_all || run == longest))
        add_candidates(bounds, run, true, candidates);
    }
  }
  std::ranges::sort(candidates, [](const pivot& a, const pivot& b) { return a.comes_before(b); });
  return spread(std::move(candidates), num_proposed_, first_eighths_);
}

/// A failure of this node rank's own, if there is one, becomes that of all.
void run_cutter::share(const std::exception_ptr& failure, bool has_any_failed) {
  if (!has_any_failed) return;
  together_("finding splitters", [&] {
    if (failure != nullptr) std::rethrow_exception(failure);
  });
}

std::vector<std::vector<run_cutter::pivot>> run_cutter::agree_on_pivots(std::span<const cut_bounds> bounds) {
  constexpr std::size_t numbers_before_key = 4;
  const std::size_t stride = numbers_before_key + base::ceil_div(key_.size(), sizeof(std::uint64_t));
  std::vector<std::uint64_t> mine(1 + bounds.size() * num_proposed_ * stride);
  std::exception_ptr failure;
  try {
    const bool reads_all = bounds.size() * runs_.size() <= most_blocks_;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      std::uint64_t* to = mine.data() + 1 + i * num_proposed_ * stride;
      for (const pivot& p : propose(bounds[i], reads_all)) {
        to[0] = p.weight;
        to[1] = p.run;
        to[2] = p.position;
        to[3] = p.is_in_block ? 1 : 0;
        std::memcpy(to + numbers_before_key, p.key.data(), p.key.size());
        to += stride;
      }
    }
  } catch (...) {
    failure = std::current_exception();
    mine[0] = 1;
  }
  const std::vector<std::uint64_t> all = group_.all_gather(mine);
  bool has_any_failed = false;
  for (std::size_t r = 0; r < group_.num_nodes(); ++r) has_any_failed = has_any_failed || all[r * mine.size()] != 0;
  share(failure, has_any_failed);

  std::vector<std::vector<pivot>> chosen(bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    std::vector<pivot> proposals;
    for (std::size_t r = 0; r < group_.num_nodes(); ++r) {
      const std::uint64_t* from = all.data() + r * mine.size() + 1 + i * num_proposed_ * stride;
      for (std::size_t j = 0; j < num_proposed_ && from[0] != 0; ++j, from += stride) {
        const auto* const key = reinterpret_cast<const std::byte*>(from + numbers_before_key);
        proposals.push_back({{key, key + key_.size()}, r, from[1], from[2], from[0], from[3] != 0});
      }
    }
    std::ranges::sort(proposals, [](const pivot& a, const pivot& b) { return a.comes_before(b); });
    chosen[i] = spread(std::move(proposals), most_pivots, 4);
  }
  return chosen;
}

/// The bounds that are known by now are taken from different pivots, and are no cuts themselves. Places of a pivot that
/// are kept within them may be none either, unless they are as many as the target: where others will do, they are those
/// of the pivot itself.
void run_cutter::narrow(const sought_cuts& sought, const std::vector<std::vector<pivot>>& pivots,
                        std::span<cut_bounds> bounds) {
  std::vector<question> questions;
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    for (const pivot& p : pivots[i]) questions.push_back({.cut = i, .asked = &p});
  }
  std::vector<std::uint64_t> sums;
  for (question& q : questions) {
    const cut_bounds& within = sought.slacks[q.cut] == 0 ? bounds[q.cut] : sought.given[q.cut];
    bracket sum;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      q.found.push_back(bracket_of(run, within, *q.asked));
      sum.low += q.found.back().low;
      sum.high += q.found.back().high;
    }
    sums.insert(sums.end(), {sum.low, sum.high});
  }
  sums = group_.all_reduce_sum(sums);
  for (std::size_t i = 0; i < questions.size(); ++i) questions[i].sum = {sums[2 * i], sums[2 * i + 1]};
  count_open(choose_open(questions, sought.targets));
  for (auto first = questions.begin(); first != questions.end();) {
    const std::size_t cut = first->cut;
    const auto end = std::find_if(first, questions.end(), [&](const question& q) { return q.cut != cut; });
    const std::span<const question> of_cut(first, end);
    if (const question* const near = find_near(of_cut, sought.targets[cut], sought.slacks[cut])) {
      for (std::size_t run = 0; run < runs_.size(); ++run)
        bounds[cut].low[run] = bounds[cut].high[run] = near->found[run].low;
    } else {
      for (const question& q : of_cut) narrow(bounds[cut], q, sought.targets[cut]);
    }
    first = end;
  }
}

/// Returns the pivot before which the cut may be made, if there is one.
const run_cutter::question* run_cutter::find_near(std::span<const question> of_cut, std::uint64_t target,
                                                  std::uint64_t slack) {
  for (const question& q : of_cut) {
    if (q.sum.low == q.sum.high && distance(q.sum.low, target) <= slack) return &q;
  }
  return nullptr;
}

/// Returns pivots of which blocks do not tell on which side the cut is, and for which they are to be read: all, where
/// all node ranks know the cut up to a block of each run. Before, others would be read than those that the cut lies in,
/// and it is the one that seems nearest to it, once most pivots are open.
std::vector<run_cutter::question*> run_cutter::choose_open(std::span<question> questions,
                                                           std::span<const std::uint64_t> targets) {
  std::vector<question*> chosen;
  for (std::size_t first = 0, end = 0; first < questions.size(); first = end) {
    const std::size_t cut = questions[first].cut;
    const std::uint64_t target = targets[cut];
    std::vector<question*> open;
    bool are_in_blocks = true;
    for (end = first; end < questions.size() && questions[end].cut == cut; ++end) {
      question& q = questions[end];
      are_in_blocks = are_in_blocks && q.asked->is_in_block;
      if (q.sum.low < q.sum.high && q.sum.low <= target && target <= q.sum.high) open.push_back(&q);
    }
    if (!are_in_blocks) {
      if (open.size() <= (end - first) / 2) continue;
      open = {*std::ranges::min_element(
          open, {}, [&](const question* q) { return distance(q->sum.low + (q->sum.high - q->sum.low) / 2, target); })};
    }
    chosen.insert(chosen.end(), open.begin(), open.end());
  }
  return chosen;
}

/// Reads blocks for these pivots: of a run for all of them before the next, since there may be memory for one block
/// alone.
void run_cutter::count_open(std::span<question* const> open) {
  if (open.empty()) return;
  std::vector<std::uint64_t> exact(1 + open.size());
  std::exception_ptr failure;
  try {
    std::vector<block_name> names;
    for (const question* const q : open) {
      for (std::size_t run = 0; run < runs_.size(); ++run) {
        if (q->found[run].low != q->found[run].high) names.emplace_back(run, q->found[run].low / block_elements_);
      }
    }
    read_blocks(std::move(names));
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      for (std::size_t i = 0; i < open.size(); ++i) {
        bracket& found = open[i]->found[run];
        found.low = found.high = count_before(run, found, *open[i]->asked);
        exact[1 + i] += found.low;
      }
    }
  } catch (...) {
    failure = std::current_exception();
    exact[0] = 1;
  }
  exact = group_.all_reduce_sum(exact);
  share(failure, exact[0] != 0);
  for (std::size_t i = 0; i < open.size(); ++i) open[i]->sum = {exact[1 + i], exact[1 + i]};
}

/// A pivot that is still open says nothing.
void run_cutter::narrow(cut_bounds& bounds, const question& answered, std::uint64_t target) const {
  const pivot& p = *answered.asked;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const bracket& found = answered.found[run];
    if (answered.sum.high < target) {
      const bool is_of_pivot = p.node_rank == group_.node_rank() && p.run == run;
      bounds.low[run] = std::max(bounds.low[run], found.low + (is_of_pivot ? 1 : 0));
    } else if (answered.sum.low > target) {
      bounds.high[run] = std::min(bounds.high[run], found.high);
    }
    SPANSORT_ASSERT(bounds.low[run] <= bounds.high[run]);
  }
}

}  // namespace spansort::mpi
