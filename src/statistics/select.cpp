// SPDX-License-Identifier: Apache-2.0
#include "statistics/select.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/rank_sampler.hpp"
#include "keys/dispatch.hpp"
#include "statistics/select_plan.hpp"
#include "statistics/take_sample.hpp"

namespace spansort::statistics {
namespace {

/// What is still to be searched, and what for.
struct remainder {
  std::vector<key_chunk> chunks;
  std::vector<device::buffer> memory;  ///< of the chunks; none of the caller's, and nothing that is kept
  std::vector<target> targets;         ///< by rank
};

/// One batch of ranks: searches the keys, then what was collected of them, and so on.
class selection {
 public:
  selection(keys::key_codec codec, std::vector<std::uint64_t>& found, select_report& report,
            transport::communicator& group)
      : codec_(codec), max_key_(base::low_mask(codec.key_bits())), found_(found), report_(report), group_(group) {}

  void run(remainder left) {
    bool is_first = true;
    while (!left.targets.empty()) {
      std::erase_if(left.chunks, [](const key_chunk& c) { return c.num_keys == 0; });
      if (!is_first && is_worth_sorting(left.chunks)) return sort_and_pick(left);
      const key_extent extent = extent_of(num_keys_of(left.chunks), group_);
      std::optional<key_sample> sample;
      read_plan plan;
      if (device::rank_sampler* const sampler = sampler_of(left.chunks)) {
        plan = plan_on_device(*sampler, left);
      } else {
        sample = sample_of(left.chunks, extent);
        if (sample->keys.size() == extent.num_total) return pick(*sample, left.targets);
        plan = plan_by_sample(*sample, left.targets, extent.num_total, max_key_);
      }
      left = search(std::move(plan), std::move(sample), std::move(left), extent, is_first);
      is_first = false;
    }
  }

 private:
  /// What one read has brought.
  struct reading {
    std::vector<std::uint64_t> counts;  ///< of all keys, other processes' too
    std::uint64_t num_collected = 0;    ///< likewise
    std::vector<key_chunk> collected;
    std::vector<device::buffer> memory;
    bool is_complete = true;  ///< there was room for all that was marked
  };

  [[nodiscard]] bool is_alone() const noexcept { return group_.num_nodes() == 1; }

  /// Returns whether the keys lie on one GPU and are so few that sorting them takes less time than another read and
  /// what the host has to do with it. Keys of a CPU are searched further, for its sort takes ten times as long as a
  /// read.
  [[nodiscard]] bool is_worth_sorting(const std::vector<key_chunk>& chunks) const {
    return is_alone() && chunks.size() == 1 && is_worth_sorting(chunks[0]);
  }
  [[nodiscard]] bool is_worth_sorting(const key_chunk& chunk) const {
    // As many passes as a key has bytes move them: 25 million keys of 4 bytes take some 0.4 ms, as do 6 million of 8.
    constexpr std::uint64_t most_work = std::uint64_t{3} << 27;
    const std::uint64_t width = codec_.width_bytes();
    return !chunk.device->shares_host_memory() && chunk.num_keys <= most_work / (width * width);
  }

  /// Returns who takes the sample, sorts it and looks into it where the keys are; null: it is brought to the host.
  [[nodiscard]] device::rank_sampler* sampler_of(const std::vector<key_chunk>& chunks) const {
    const bool is_one_of_own_memory = is_alone() && chunks.size() == 1 && !chunks[0].device->shares_host_memory();
    if (!is_one_of_own_memory || chunks[0].num_keys <= keys_of_gpu_sample) return nullptr;
    return dynamic_cast<device::rank_sampler*>(chunks[0].queue);
  }

  [[nodiscard]] read_plan plan_on_device(device::rank_sampler& sampler, const remainder& from) const {
    const key_chunk& chunk = from.chunks.front();
    const std::uint64_t run_keys = device::sample_run_bytes / codec_.width_bytes();
    const std::uint64_t num_runs = num_sample_runs(chunk.num_keys, device::rank_sampler::most_sampled_keys, run_keys);
    const std::uint64_t num_sampled = num_runs * run_keys;
    std::vector<device::rank_bracket> brackets(from.targets.size());
    queued_work work(from.chunks);
    sampler.bracket_ranks({.codec = codec_,
                           .keys = chunk.keys,
                           .num_keys = chunk.num_keys,
                           .num_runs = num_runs,
                           .places = places_of(from.targets, num_sampled, chunk.num_keys),
                           .brackets = brackets.data()});
    work.finish();
    return plan_by_brackets(brackets, num_sampled, chunk.num_keys, max_key_);
  }

  [[nodiscard]] key_sample sample_of(const std::vector<key_chunk>& chunks, const key_extent& extent) const {
    key_sample sample = take_sample(codec_, chunks, extent, keys_to_sample(chunks));
    if (!is_alone()) sample.keys = group_.all_gather_joined(sample.keys);
    return sample;
  }

  /// Processes sample alike, whatever devices they have.
  [[nodiscard]] std::uint64_t keys_to_sample(const std::vector<key_chunk>& chunks) const {
    const auto has_own_memory = [](const key_chunk& c) { return !c.device->shares_host_memory(); };
    return is_alone() && std::ranges::all_of(chunks, has_own_memory) ? keys_of_gpu_sample : keys_of_sample;
  }

  /// Sorts what was collected, which is the selection's own.
  void sort_and_pick(const remainder& left) {
    const key_chunk& chunk = left.chunks.front();
    const unsigned width = codec_.width_bytes();
    auto* const keys = static_cast<char*>(const_cast<void*>(chunk.keys));
    device::buffer more;
    void* alternate = spare_room(left);
    if (alternate == nullptr) {
      more = chunk.device->allocate(chunk.num_keys * width);
      alternate = more.data();
    }
    std::vector<std::uint64_t> bits(left.targets.size());
    queued_work work(left.chunks);
    chunk.queue->local_sort({.shape = {codec_, 0},
                             .source = {keys, nullptr},
                             .alternate = {alternate, nullptr},
                             .segments = {{0, chunk.num_keys, {0, codec_.key_bits()}}},
                             .looks_for_order = false});
    for (std::size_t i = 0; i < bits.size(); ++i) {
      chunk.queue->copy(&bits[i], keys + left.targets[i].rank * width, width, "selected");
    }
    work.finish();
    for (std::size_t i = 0; i < bits.size(); ++i) found_[left.targets[i].slot] = encode_at(codec_, &bits[i], 0);
  }

  /// Returns memory behind the only chunk's keys, for as many again; null where the memory that they were collected in
  /// ends before.
  [[nodiscard]] void* spare_room(const remainder& left) const {
    constexpr std::uint64_t alignment_bytes = 256;
    const key_chunk& chunk = left.chunks.front();
    const std::uint64_t size_bytes = chunk.num_keys * codec_.width_bytes();
    const std::uint64_t begin = base::round_up(size_bytes, alignment_bytes);
    if (begin + size_bytes > chunk.room_bytes) return nullptr;
    return static_cast<char*>(const_cast<void*>(chunk.keys)) + begin;
  }

  /// The sample is all there is.
  void pick(const key_sample& sample, const std::vector<target>& targets) {
    std::vector<std::uint64_t> keys = sample.keys;
    auto begin = keys.begin();
    for (const target& t : targets) {
      const auto at = keys.begin() + static_cast<std::ptrdiff_t>(t.rank);
      if (at >= begin) std::nth_element(begin, at, keys.end());
      found_[t.slot] = *at;
      begin = std::max(begin, at);
    }
  }

  /// Reads until every target that is left lies among keys that were collected. A sample that is not here is taken when
  /// the first plan was not enough.
  remainder search(read_plan plan, std::optional<key_sample> sample, remainder from, const key_extent& extent,
                   bool are_callers_keys) {
    const std::uint64_t num_own_keys = num_keys_of(from.chunks);
    while (true) {
      reading done = read(from.chunks, plan);
      if (are_callers_keys) ++report_.num_reads;
      report_.keys_read += num_own_keys;
      if (settle(from.targets, plan, done)) {
        return {std::move(done.collected), std::move(done.memory), renumbered(from.targets, plan, done.counts)};
      }
      if (!sample) sample = sample_of(from.chunks, extent);
      plan = plan_by_ranges(*sample, from.targets, extent.num_total, max_key_);
    }
  }

  [[nodiscard]] reading read(const std::vector<key_chunk>& chunks, const read_plan& plan) {
    reading done;
    const std::size_t num_intervals = plan.splitters.size() + 1;
    std::vector<std::uint64_t> counts(chunks.size() * num_intervals);
    for (const key_chunk& c : chunks) {
      const std::uint64_t capacity = std::min(c.num_keys, plan.most_collected);
      key_chunk collected{.device = c.device, .queue = c.queue, .num_keys = capacity};
      // What is going to be sorted takes its second array now: a further allocation takes longer.
      const std::uint64_t num_arrays = chunks.size() == 1 && is_worth_sorting(collected) ? 2 : 1;
      collected.room_bytes = num_arrays * capacity * codec_.width_bytes();
      collected.keys = take_room(c, collected.room_bytes, done.memory);
      done.collected.push_back(collected);
    }
    queued_work work(chunks);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      chunks[i].queue->count_intervals({.codec = codec_,
                                        .keys = chunks[i].keys,
                                        .num_keys = chunks[i].num_keys,
                                        .splitters = plan.splitters,
                                        .marked = plan.marked,
                                        .counts = counts.data() + i * num_intervals,
                                        .collected = const_cast<void*>(done.collected[i].keys),
                                        .capacity = done.collected[i].num_keys});
    }
    work.finish();
    done.counts.assign(num_intervals, 0);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      std::uint64_t num_marked = 0;
      for (std::size_t j = 0; j < num_intervals; ++j) {
        const std::uint64_t count = counts[i * num_intervals + j];
        done.counts[j] += count;
        if ((plan.marked >> j & 1) != 0) num_marked += count;
      }
      if (num_marked > done.collected[i].num_keys) done.is_complete = false;
      done.collected[i].num_keys = std::min(done.collected[i].num_keys, num_marked);
      done.num_collected += done.collected[i].num_keys;
    }
    report_.keys_collected += done.num_collected;
    if (!is_alone()) add_those_of_others(done);
    return done;
  }

  /// Returns memory for what is collected of a chunk: what its owner keeps, or new one, which goes to `taken`.
  [[nodiscard]] static void* take_room(const key_chunk& chunk, std::uint64_t size_bytes,
                                       std::vector<device::buffer>& taken) {
    if (chunk.kept == nullptr) return taken.emplace_back(chunk.device->allocate(size_bytes)).data();
    if (chunk.kept->size_bytes() < size_bytes) {
      *chunk.kept = {};
      *chunk.kept = chunk.device->allocate(size_bytes);
    }
    return chunk.kept->data();
  }

  void add_those_of_others(reading& done) const {
    std::vector<std::uint64_t> mine = done.counts;
    mine.push_back(done.num_collected);
    mine.push_back(done.is_complete ? 0 : 1);
    std::vector<std::uint64_t> sums = group_.all_reduce_sum(mine);
    done.is_complete = sums.back() == 0;
    sums.pop_back();
    done.num_collected = sums.back();
    sums.pop_back();
    done.counts = std::move(sums);
  }

  /// Looks where the targets are. Those that are in intervals of one value are done and leave. Whether the others can
  /// be searched for among what was collected, and this is little enough.
  [[nodiscard]] bool settle(std::vector<target>& targets, const read_plan& plan, const reading& done) {
    bool are_collected = done.is_complete;
    std::erase_if(targets, [&](target& t) {
      const located_interval at = locate(t.rank, plan, done.counts, max_key_);
      t.range = at.range;
      if (at.range.low == at.range.high) {
        found_[t.slot] = at.range.low;
        return true;
      }
      if ((plan.marked >> at.interval & 1) == 0) are_collected = false;
      return false;
    });
    std::uint64_t num_keys = 0;
    for (const std::uint64_t count : done.counts) num_keys += count;
    return targets.empty() || (are_collected && done.num_collected <= num_keys / 2);
  }

  /// Targets by their ranks among the collected keys.
  [[nodiscard]] static std::vector<target> renumbered(std::vector<target> targets, const read_plan& plan,
                                                      const std::vector<std::uint64_t>& counts) {
    std::uint64_t num_below = 0;
    std::uint64_t num_skipped = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (; next < targets.size() && targets[next].rank < num_below + counts[i]; ++next) {
        targets[next].rank -= num_skipped;
      }
      num_below += counts[i];
      if ((plan.marked >> i & 1) == 0) num_skipped += counts[i];
    }
    return targets;
  }

  keys::key_codec codec_;
  std::uint64_t max_key_;
  std::vector<std::uint64_t>& found_;
  select_report& report_;
  transport::communicator& group_;
};

}  // namespace

std::vector<std::uint64_t> select_keys(keys::key_codec codec, std::span<const key_chunk> chunks,
                                       std::span<const std::uint64_t> ranks, select_report* report,
                                       transport::communicator& group) {
  codec.ties = keys::tie_rule::by_bits;
  select_report unseen;
  select_report& seen = report == nullptr ? unseen : *report;
  seen = {};
  std::vector<std::uint64_t> different(ranks.begin(), ranks.end());
  std::ranges::sort(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  SPANSORT_ASSERT(group.num_nodes() != 1 || different.empty() || different.back() < num_keys_of(chunks));
  for (const key_chunk& c : chunks) c.device->prepare();

  std::vector<std::uint64_t> found(different.size());
  selection batch(codec, found, seen, group);
  for (std::size_t begin = 0; begin < different.size(); begin += max_targets) {
    remainder all{.chunks = {chunks.begin(), chunks.end()}, .memory = {}, .targets = {}};
    for (std::size_t i = begin; i < std::min(different.size(), begin + max_targets); ++i) {
      all.targets.push_back({.rank = different[i], .slot = i, .range = {}});
    }
    batch.run(std::move(all));
  }
  std::vector<std::uint64_t> answers;
  answers.reserve(ranks.size());
  for (const std::uint64_t rank : ranks) {
    answers.push_back(found[static_cast<std::size_t>(std::ranges::lower_bound(different, rank) - different.begin())]);
  }
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> decoder = codec.of<K>();
    for (std::uint64_t& a : answers) a = decoder.decode(static_cast<K>(a));
  });
  return answers;
}

}  // namespace spansort::statistics
