// SPDX-License-Identifier: Apache-2.0
// Cuts of the runs of all node ranks: exact for every target, whatever the keys are and however the runs are spread;
// a block that one node rank cannot read ends it for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <tuple>

#include "cluster_case.hpp"
#include "mpi/agreement.hpp"
#include "mpi/external/run_cutter.hpp"
#include "mpi/transport/mpi_handle.hpp"
#include "spansort/errors.hpp"

namespace spansort {
namespace {

using test::world_rank;
using test::world_size;

/// Elements are bytes, and their own keys.
class order_of_bytes final : public external::element_order {
 public:
  [[nodiscard]] std::uint64_t element_bytes() const noexcept override { return 1; }
  [[nodiscard]] std::uint64_t key_bytes() const noexcept override { return 1; }
  void write_key(const std::byte* element, std::byte* key) const override { *key = *element; }
  void sort(std::byte* elements, std::uint64_t count) override { std::sort(elements, elements + count); }
  [[nodiscard]] base::memory_formula sort_memory() const override { return {}; }
  [[nodiscard]] multiset_checksum checksum(const std::byte*, std::uint64_t) const override { return {}; }
  [[nodiscard]] std::optional<std::uint64_t> first_disorder(const std::byte*, const std::byte*, std::uint64_t,
                                                            bool) const override {
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t num_duplicates(const std::byte*, const std::byte*, std::uint64_t) const override {
    return 0;
  }
  [[nodiscard]] std::uint64_t remove_duplicates(const std::byte*, std::byte*, std::uint64_t count) const override {
    return count;
  }
};

class run_in_memory final : public external::sorted_run {
 public:
  run_in_memory(std::vector<std::byte> elements, std::uint64_t block_elements, bool is_corrupt,
                std::atomic<std::uint64_t>& num_reads)
      : elements_(std::move(elements)),
        block_elements_(block_elements),
        is_corrupt_(is_corrupt),
        num_reads_(num_reads) {}

  [[nodiscard]] std::uint64_t num_elements() const noexcept override { return elements_.size(); }
  [[nodiscard]] std::span<const std::byte> first_key(std::uint64_t block) const noexcept override {
    return std::span(elements_).subspan(block * block_elements_, 1);
  }
  [[nodiscard]] std::uint64_t readable_blocks(std::uint64_t) const noexcept override { return 1; }
  void read(std::uint64_t first, std::uint64_t count, std::byte* elements, std::span<std::byte>) override {
    ++num_reads_;
    if (is_corrupt_) throw io_error("a test corrupts this run", EIO);
    std::memcpy(elements, elements_.data() + first, count);
  }

 private:
  std::vector<std::byte> elements_;
  std::uint64_t block_elements_;
  bool is_corrupt_;
  std::atomic<std::uint64_t>& num_reads_;
};

struct world {
  unsigned num_values = 256;
  unsigned num_runs = 3;  ///< of each node rank, but for the one that has none
  unsigned rank_without_runs = ~0U;
  bool is_corrupt = false;
  std::uint64_t block_elements = 4;
  std::uint64_t longest_run = 40;
};

class cutting {
 public:
  explicit cutting(const world& w)
      : group_(transport::make_node_group(MPI_COMM_WORLD)), block_elements_(w.block_elements) {
    std::mt19937_64 random(world_rank() + 17 * w.num_values);
    const unsigned num_runs = world_rank() == w.rank_without_runs ? 0 : w.num_runs;
    for (unsigned r = 0; r < num_runs; ++r) {
      std::vector<std::byte> elements(random() % w.longest_run);
      for (std::byte& e : elements) e = static_cast<std::byte>(random() % w.num_values);
      std::ranges::sort(elements);
      total_ += elements.size();
      elements_.push_back(elements);
      runs_.push_back(std::make_unique<run_in_memory>(std::move(elements), block_elements_,
                                                      w.is_corrupt && world_rank() == 0, num_reads_));
    }
    total_ = group_->all_reduce_sum({&total_, 1}).front();
  }

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t num_reads() const { return num_reads_; }

  /// Cuts before each of the targets or so many elements away, with memory for so many blocks.
  std::vector<mpi::run_cut> find(std::span<const std::uint64_t> targets, std::uint64_t num_blocks,
                                 std::uint64_t slack = 0) {
    mpi::cut_bounds unknown;
    for (const auto& run : elements_) {
      unknown.low.push_back(0);
      unknown.high.push_back(run.size());
    }
    const mpi::together_call together = [&](std::string_view phase, const std::function<void()>& f) {
      std::exception_ptr failure;
      if (!mpi::try_together(*group_, phase, f, failure)) std::rethrow_exception(failure);
    };
    const external::spill_plan plan{.chunk_elements = 2 * num_blocks * block_elements_,
                                    .block_elements = block_elements_,
                                    .block_bytes = 4096,
                                    .batch_bytes = 4096};
    mpi::run_cutter cutter(*group_, together, order_, runs_, plan);
    return cutter.find(targets, std::vector<std::uint64_t>(targets.size(), slack),
                       std::vector<mpi::cut_bounds>(targets.size(), unknown));
  }

  /// Returns "" where as many elements lie before the cut as there should, and none of them belongs behind it.
  std::string diagnose(const mpi::run_cut& cut, std::uint64_t target, std::uint64_t slack = 0) {
    using place = std::array<std::uint64_t, 4>;
    place last{};
    place next;
    next.fill(~std::uint64_t{0});
    std::uint64_t before = 0;
    for (std::size_t run = 0; run < cut.size(); ++run) {
      before += cut[run];
      const auto at = [&](std::uint64_t i) {
        return place{static_cast<std::uint64_t>(elements_[run][i]) + 1, world_rank(), run, i};
      };
      if (cut[run] != 0) last = std::max(last, at(cut[run] - 1));
      if (cut[run] != elements_[run].size()) next = std::min(next, at(cut[run]));
    }
    before = group_->all_reduce_sum({&before, 1}).front();
    const std::vector<std::uint64_t> lasts = group_->all_gather(last);
    const std::vector<std::uint64_t> nexts = group_->all_gather(next);
    for (unsigned r = 0; r < world_size(); ++r) {
      std::copy_n(lasts.begin() + 4 * r, 4, last.begin());
      for (unsigned s = 0; s < world_size(); ++s) {
        std::copy_n(nexts.begin() + 4 * s, 4, next.begin());
        if (last >= next) return "an element before the cut belongs behind it";
      }
    }
    const bool is_near = before + slack >= target && before <= target + slack;
    return is_near ? "" : std::to_string(before) + " elements lie before the cut";
  }

 private:
  std::unique_ptr<transport::node_group> group_;
  std::uint64_t block_elements_;
  order_of_bytes order_;
  std::vector<std::vector<std::byte>> elements_;
  external::run_list runs_;
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> num_reads_{0};  ///< of blocks, by this node rank
};

TEST(run_cutter, EveryCutIsExact) {
  for (const world& w : {world{}, world{.num_values = 1}, world{.num_values = 3, .num_runs = 7},
                         world{.num_runs = 5, .rank_without_runs = 0}, world{.num_runs = 0}}) {
    for (const std::uint64_t num_blocks : {1, 1000}) {
      cutting all(w);
      // Targets are sought one after another with memory for one block, which takes time.
      const std::uint64_t step = num_blocks == 1 ? all.total() / 20 + 1 : 1;
      std::vector<std::uint64_t> targets;
      for (std::uint64_t t = 0; t <= all.total(); t += step) targets.push_back(t);
      const std::vector<mpi::run_cut> cuts = all.find(targets, num_blocks);
      for (std::size_t i = 0; i < targets.size(); ++i) {
        EXPECT_EQ(all.diagnose(cuts[i], targets[i]), "") << w.num_values << " values, target " << i;
      }
    }
  }
}

/// Memory for a block of each run is enough for one cut; the others wait for it, and do not drop its blocks.
TEST(run_cutter, BlocksAreNotReadAgainForEachHalving) {
  constexpr unsigned num_runs = 24;
  constexpr std::uint64_t num_targets = 16;
  cutting all({.num_runs = num_runs, .block_elements = 64, .longest_run = 1000});
  std::vector<std::uint64_t> targets;
  for (std::uint64_t i = 1; i <= num_targets; ++i) targets.push_back(all.total() / (num_targets + 1) * i);
  const std::vector<mpi::run_cut> cuts = all.find(targets, num_runs);
  for (std::size_t i = 0; i < targets.size(); ++i) EXPECT_EQ(all.diagnose(cuts[i], targets[i]), "") << i;
  EXPECT_LE(all.num_reads(), 5 * num_targets * num_runs);
}

TEST(run_cutter, CutsWithSlackAreNear) {
  constexpr unsigned num_runs = 24;
  cutting all({.num_runs = num_runs, .block_elements = 64, .longest_run = 1000});
  std::vector<std::uint64_t> targets;
  for (std::uint64_t i = 0; i <= 16; ++i) targets.push_back(all.total() / 16 * i);
  const std::uint64_t slack = all.total() / 64;
  const std::vector<mpi::run_cut> cuts = all.find(targets, 1000, slack);
  for (std::size_t i = 0; i < targets.size(); ++i) EXPECT_EQ(all.diagnose(cuts[i], targets[i], slack), "") << i;
}

TEST(run_cutter, ADamagedBlockIsTheFailureOfAll) {
  cutting all({.num_values = 200, .num_runs = 4, .is_corrupt = true});
  const std::array<std::uint64_t, 1> targets{all.total() / 2};
  if (world_rank() == 0) {
    EXPECT_THROW(static_cast<void>(all.find(targets, 1000)), io_error);
  } else {
    EXPECT_THROW(static_cast<void>(all.find(targets, 1000)), cluster_failure);
  }
}

}  // namespace
}  // namespace spansort
