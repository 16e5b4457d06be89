// SPDX-License-Identifier: Apache-2.0
#include "mpi/external/cluster_sort_in_parts.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/math.hpp"
#include "base/shares.hpp"
#include "base/threads.hpp"
#include "mpi/external/background_call.hpp"

namespace spansort::mpi {
namespace {

constexpr std::size_t num_chunks = 3;
constexpr std::uint64_t page_bytes = external::direct_alignment_bytes;
/// A range ends where it is found soon: it may be so much of a chunk longer, or shorter, at either end.
constexpr std::uint64_t slacks_of_a_chunk = 64;

/// Returns the first begin of a page in a chunk's memory.
std::byte* first_page(external::element_chunk& c) {
  const auto address = reinterpret_cast<std::uintptr_t>(c.bytes.data());
  return c.bytes.data() + (base::round_up(std::uint64_t{address}, page_bytes) - address);
}

}  // namespace

cluster_sort_in_parts::cluster_sort_in_parts(transport::node_group& group, together_call together,
                                             external::element_order& order, parts_options options)
    : group_(group), together_(std::move(together)), order_(order), options_(std::move(options)), chunks_(num_chunks) {
  // They begin at a page, or so far behind it as a range begins in the output.
  for (external::element_chunk& c : chunks_)
    c.bytes = base::byte_buffer(options_.plan.chunk_elements * order_.element_bytes() + 2 * page_bytes);
}

cluster_sort_in_parts::~cluster_sort_in_parts() {
  if (may_be_written_to_) static_cast<void>(new std::vector<external::element_chunk>(std::move(chunks_)));
}

void cluster_sort_in_parts::make_runs(external::element_source& source) {
  together_("sorting runs", [&] {
    const std::uint64_t expected_bytes = source.num_elements().value_or(0) * order_.element_bytes();
    external::run_writer writer(order_, options_.plan, options_.folders, expected_bytes);
    const auto fill = [&](external::element_chunk& c) {
      c.count = source.read(first_page(c), options_.plan.chunk_elements);
      if (options_.sums_elements) result_.checksum = result_.checksum + order_.checksum(first_page(c), c.count);
      result_.num_read += c.count;
      return c.count != 0;
    };
    const auto work = [&](external::element_chunk& c) {
      group_.check();
      order_.sort(first_page(c), c.count);
      if (options_.drops_duplicates) c.count = order_.remove_duplicates(nullptr, first_page(c), c.count);
      c.count = std::min(c.count, options_.head);
    };
    const auto drain = [&](external::element_chunk& c) {
      writer.append(first_page(c), c.count);
      writer.finish_run();
    };
    external::run_pipeline(chunks_, {fill, work, drain});
    runs_ = writer.take_runs();
    result_.num_runs = runs_.size();
    result_.spilled_bytes = writer.bytes_written();
  });
  learn_sizes();
}

void cluster_sort_in_parts::learn_sizes() {
  const run_cut sizes = everything();
  const std::uint64_t mine[] = {std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}),
                                options_.plan.chunk_elements};
  const std::vector<std::uint64_t> all = group_.all_gather(mine);
  num_elements_ = 0;
  for (std::size_t i = 0; i < all.size(); i += 2) num_elements_ += all[i];
  // Elements of several runs may be equal: how many it takes for a head of different ones is not known.
  merges_all_ = options_.drops_duplicates || num_elements_ <= options_.head;
  if (!merges_all_) num_elements_ = options_.head;
  const unsigned num_nodes = group_.num_nodes();
  part_begins_.clear();
  slacks_.clear();
  num_rounds_ = 0;
  for (unsigned r = 0; r <= num_nodes; ++r) part_begins_.push_back(base::share_begin(num_elements_, num_nodes, r));
  for (unsigned r = 0; r < num_nodes; ++r) {
    const std::uint64_t size = part_begins_[r + 1] - part_begins_[r];
    const std::uint64_t chunk = all[2 * r + 1];
    slacks_.push_back(chunk / slacks_of_a_chunk);
    num_rounds_ = std::max(num_rounds_, base::ceil_div(size, chunk - 2 * slacks_.back()));
  }
}

run_cut cluster_sort_in_parts::everything() const {
  run_cut sizes;
  for (const auto& run : runs_) sizes.push_back(run->num_elements());
  return sizes;
}

/// Returns where the part of each node rank begins, and the end of all.
std::vector<run_cut> cluster_sort_in_parts::cuts_at_begin(run_cutter& cutter) const {
  const cut_bounds unknown{run_cut(runs_.size()), everything()};
  const std::size_t num_unknown = part_begins_.size() - (merges_all_ ? 2 : 1);
  const std::span<const std::uint64_t> sought = std::span(part_begins_).subspan(1, num_unknown);
  std::vector<run_cut> cuts =
      cutter.find(sought, std::vector<std::uint64_t>(sought.size()), std::vector<cut_bounds>(sought.size(), unknown));
  cuts.insert(cuts.begin(), unknown.low);
  if (merges_all_) cuts.push_back(unknown.high);
  return cuts;
}

/// Returns where a round's ranges end, which begin at `begins`. `ends` is the end of each part.
cluster_sort_in_parts::places cluster_sort_in_parts::ends_of_ranges(std::uint64_t round, const places& begins,
                                                                    const places& ends, run_cutter& cutter) const {
  if (round + 1 == num_rounds_) return ends;
  std::vector<std::uint64_t> targets;
  std::vector<cut_bounds> bounds;
  for (unsigned r = 0; r < group_.num_nodes(); ++r) {
    const std::uint64_t part_begin = part_begins_[r];
    targets.push_back(part_begin + base::share_begin(part_begins_[r + 1] - part_begin, num_rounds_, round + 1));
    bounds.push_back({begins.cuts[r], ends.cuts[r]});
    // No run gives more than the range has.
    const std::uint64_t most = targets.back() + slacks_[r] - begins.ranks[r];
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      std::uint64_t& high = bounds.back().high[run];
      high = std::min(high, begins.cuts[r][run] + most);
    }
  }
  places found{cutter.find(targets, slacks_, std::move(bounds)), {}};
  for (const run_cut& cut : found.cuts)
    found.ranks.push_back(std::accumulate(cut.begin(), cut.end(), std::uint64_t{0}));
  found.ranks = group_.all_reduce_sum(found.ranks);
  return found;
}

void cluster_sort_in_parts::merge(const std::function<void(std::byte* elements, std::uint64_t count)>& take,
                                  const file_place& place) {
  run_cutter cutter(group_, together_, order_, runs_, options_.plan);
  range_exchange exchange(group_, together_, order_, runs_, options_.plan, chunks_[2].bytes.bytes(), options_.limits);
  group_.set_phase("finding splitters");
  const std::vector<run_cut> parts = cuts_at_begin(cutter);
  places begins{{parts.begin(), parts.end() - 1}, {part_begins_.begin(), part_begins_.end() - 1}};
  const places ends{{parts.begin() + 1, parts.end()}, {part_begins_.begin() + 1, part_begins_.end()}};

  background_call finishing;
  std::uint64_t num_merged = 0;
  const auto expect_round = [&](std::uint64_t round) {
    group_.set_phase("finding splitters");
    places next = ends_of_ranges(round, begins, ends, cutter);
    exchange.expect({std::move(begins.cuts), next.cuts});
    begins = std::move(next);
  };
  if (num_rounds_ != 0) expect_round(0);
  for (std::uint64_t round = 0; round < num_rounds_; ++round) {
    // Cuts take many short messages, which are waited for while this round's elements are read.
    if (round + 1 < num_rounds_) expect_round(round + 1);
    external::element_chunk& range = chunks_[round % 2];
    std::byte* const elements = first_page(range) + (place.first_byte + num_merged * place.element_bytes) % page_bytes;
    try {
      range.count = exchange.receive(elements);
    } catch (...) {
      may_be_written_to_ = exchange.is_under_way();
      throw;
    }
    num_merged += range.count;
    together_("sorting ranges", [&] { finishing.wait(); });
    finishing.start([&, this, elements] {
      base::with_threads(options_.threads, [&] {
        order_.sort(elements, range.count);
        take(elements, range.count);
      });
    });
  }
  together_("sorting ranges", [&] { finishing.wait(); });
  result_.sent_bytes = exchange.sent_bytes();
}

}  // namespace spansort::mpi
