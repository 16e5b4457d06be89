// SPDX-License-Identifier: Apache-2.0
// Fusing of buckets (RMG paper, section 3.3). A launch for each tiny bucket costs more than sorting it, and sorting a
// whole rank at once would look at bits that are known already. So small neighbours of one pass are sorted together,
// on their unexamined bits and those in which their prefixes differ. Buckets without bits left arrive in order.
#include "plan/fuse.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace spansort::plan {

namespace {

class fuser {
 public:
  explicit fuser(const parameters& params)
      : key_bits_(params.key_bits), small_keys_(params.fuse_threshold * static_cast<double>(largest_target(params))) {}

  /// `count` keys of `b` at `offset` of `rank`'s part; called in order.
  void add(const bucket& b, unsigned rank, std::uint64_t offset, std::uint64_t count) {
    const unsigned bits_left = key_bits_ - b.prefix.bit_count;
    if (!joins(b, bits_left, rank, count)) {
      sorts_.push_back({rank, offset, count, {0, bits_left}, 1});
      first_ = &b;
      return;
    }
    local_sort& group = sorts_.back();
    group.count += count;
    group.num_buckets += 1;
    if (bits_left == 0) return;
    // The first prefix and a later one differ highest where any two of the group do: prefixes ascend.
    const auto differing_bits = static_cast<unsigned>(std::bit_width(first_->prefix.bits ^ b.prefix.bits));
    group.bits.end = std::max(group.bits.end, bits_left + differing_bits);
  }

  [[nodiscard]] std::vector<local_sort> take() && { return std::move(sorts_); }

 private:
  [[nodiscard]] bool joins(const bucket& b, unsigned bits_left, unsigned rank, std::uint64_t count) const {
    if (sorts_.empty() || sorts_.back().rank != rank) return false;
    const local_sort& group = sorts_.back();
    if (group.bits.empty() || bits_left == 0) return group.bits.empty() && bits_left == 0;
    return first_->pass == b.pass && is_small(group.count) && is_small(count);
  }
  [[nodiscard]] bool is_small(std::uint64_t count) const { return static_cast<double>(count) < small_keys_; }

  unsigned key_bits_;
  double small_keys_;
  std::vector<local_sort> sorts_;
  const bucket* first_ = nullptr;  // of the last group
};

}  // namespace

std::vector<local_sort> fuse_buckets(const parameters& params, std::span<const bucket> buckets,
                                     std::span<const std::uint64_t> rank_begins, rank_group ranks) {
  fuser fused(params);
  for (const bucket& b : buckets) {
    if (goes_to_all_its_ranks(params, b)) continue;
    const std::uint64_t end = b.begin + b.count;
    const unsigned last_rank = std::min(b.last_rank, ranks.end() - 1);
    for (unsigned rank = std::max(b.first_rank, ranks.first); rank <= last_rank; ++rank) {
      const std::uint64_t piece_begin = std::max(b.begin, rank_begins[rank]);
      const std::uint64_t piece_end = std::min(end, rank_begins[rank + 1]);
      if (piece_begin < piece_end) fused.add(b, rank, piece_begin - rank_begins[rank], piece_end - piece_begin);
    }
  }
  return std::move(fused).take();
}

}  // namespace spansort::plan
