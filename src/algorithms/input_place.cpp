// SPDX-License-Identifier: Apache-2.0
#include "algorithms/input_place.hpp"

#include <algorithm>

#include "algorithms/rmg.hpp"
#include "algorithms/sizes.hpp"
#include "algorithms/way_out.hpp"
#include "base/assert.hpp"
#include "base/shares.hpp"

namespace spansort::algorithms {
namespace {

/// The caller's host memory, where this process's part of the result goes.
const device::records& result_of(const problem& sort) {
  return sort.others == nullptr ? sort.data() : sort.others->result;
}

/// Chunks and owned parts are the memory that holds the input and shall hold the result.
class in_place : public input_place {
 public:
  using input_place::input_place;

  std::vector<arrival> scatter(const share& of_input, const device::records&) override {
    if (of_input.count == 0) return {};
    if (sort_.flow != nullptr) sort_.flow->wait_for(of_input.begin + of_input.count);
    return {{.offset = 0, .count = of_input.count}};
  }
  void begin_overwriting() override { run_.commit(); }
  void finish_exchange(std::uint64_t num_keys) override {
    run_.join_queues();
    run_.mark_phase("exchange", fraction_after_exchange, num_keys);
  }
  bool ends_where_owned() const override { return true; }
  bool reverse() override { return false; }
  /// All at once, and back where they belong.
  std::vector<bucket_batch> batches(unsigned, std::vector<device::sort_segment> buckets,
                                    bool lies_in_alternate) const override {
    const std::uint64_t offset = buckets.front().begin;
    return {{.segments = std::move(buckets), .offset = offset, .in_alternate = lies_in_alternate}};
  }
  void gather(const share&, const bucket_batch&, const device::records&) override {}
};

/// The caller's host memory, which the devices share.
class shared_memory final : public in_place {
 public:
  using in_place::in_place;

  device::records chunk(const share& of_input, std::uint64_t) const override {
    return advance(sort_.shape, sort_.data(), of_input.begin);
  }
  device::records owned(const share& of_result, const device::records&) const override {
    return advance(sort_.shape, result_of(sort_), of_result.begin);
  }
  bool is_callers_memory() const override { return sort_.others == nullptr; }
  /// Each rank swaps its part of the front half with the mirrored part of the back half.
  bool reverse() override {
    run_.queue_as_one([&] {
      begin_overwriting();
      const std::uint64_t num_ranks = run_.num_ranks();
      for (std::uint64_t r = 0; r < num_ranks; ++r) {
        const std::uint64_t begin = base::share_begin(sort_.num_keys / 2, num_ranks, r);
        const std::uint64_t end = base::share_begin(sort_.num_keys / 2, num_ranks, r + 1);
        run_.ranks()[r].queue->swap_mirrored({.shape = sort_.shape,
                                              .left = advance(sort_.shape, sort_.data(), begin),
                                              .right = advance(sort_.shape, sort_.data(), sort_.num_keys - end),
                                              .num_records = end - begin});
      }
    });
    run_.finish_phase("reverse", 1.0, sort_.num_keys);
    return true;
  }
};

/// Parts that are on the devices already.
class resident_parts final : public in_place {
 public:
  using in_place::in_place;

  device::records chunk(const share& of_input, std::uint64_t capacity) const override {
    const resident_part& part = sort_.resident().parts[of_input.rank];
    SPANSORT_ASSERT(part.capacity >= capacity);
    return part.data;
  }
  device::records owned(const share&, const device::records& chunk) const override { return chunk; }
  bool is_callers_memory() const override { return sort_.others == nullptr; }
};

/// The caller's host memory, and devices with memory of their own: pieces are counted while the next ones arrive, and
/// buckets that are sorted leave while the next ones are being sorted (RMG paper, section 3.3 and Figure 7). The input
/// stays as it was until the first of them leaves.
class copied final : public input_place {
 public:
  copied(run_context& run, const problem& sort) : input_place(run, sort) {
    if (!goes_packed(run.ranks(), sort, run.options())) return;
    run.open_copies_out();
    for (rank& r : run.ranks()) ways_out_.push_back(std::make_unique<way_out>(r, sort.shape, run.options()));
  }

  device::records chunk(const share& of_input, std::uint64_t capacity) const override {
    return slot_records(run_.ranks()[of_input.rank], 1, sort_.shape, capacity);
  }

  std::vector<arrival> scatter(const share& of_input, const device::records& chunk) override {
    rank& self = run_.ranks()[of_input.rank];
    const device::records input = advance(sort_.shape, sort_.data(), of_input.begin);
    const std::uint64_t most = piece_records();
    std::vector<arrival> pieces;
    for (std::uint64_t offset = 0; offset < of_input.count; offset += most) {
      const std::uint64_t count = std::min(most, of_input.count - offset);
      const device::records from = advance(sort_.shape, input, offset);
      const device::records to = advance(sort_.shape, chunk, offset);
      if (base::record_flow* const flow = sort_.flow; flow != nullptr) {
        self.copies->wait_for_host([flow, end = of_input.begin + offset + count] { flow->wait_for(end); });
      }
      self.copies->copy(to.keys, from.keys, count * sort_.shape.codec.width_bytes(), "copy in");
      device::event& arrived = self.take_event();
      self.copies->record(arrived);  // only the keys are counted
      self.copies->copy(to.values, from.values, count * sort_.shape.value_bytes, "copy in");
      pieces.push_back({offset, count, &arrived});
    }
    return pieces;
  }

  device::records owned(const share&, const device::records& chunk) const override { return chunk; }
  overwriting_queues overwritten_by() const override { return overwriting_queues::of_copies; }
  void begin_overwriting() override {}
  void finish_exchange(std::uint64_t num_keys) override {
    // In one round, what fails must not begin the output.
    run_.finish_phase("exchange", fraction_after_exchange, num_keys);
  }
  bool ends_where_owned() const override { return false; }
  bool reverse() override { return false; }  // every key must change devices

  /// Neighbours that end in the same buffer, up to a piece.
  std::vector<bucket_batch> batches(unsigned rank, std::vector<device::sort_segment> buckets, bool) const override {
    const device::device& device = *run_.ranks()[rank].device;
    const std::uint64_t most = piece_records();
    std::vector<bucket_batch> all;
    for (const device::sort_segment& bucket : buckets) {
      const bool in_alternate = device.prefers_alternate(sort_.shape, bucket.bits);
      if (all.empty() || all.back().in_alternate != in_alternate || all.back().count + bucket.count > most) {
        all.push_back({.segments = {}, .offset = bucket.begin, .in_alternate = in_alternate});
      }
      all.back().segments.push_back(bucket);
      all.back().count += bucket.count;
    }
    return all;
  }

  void gather(const share& of_result, const bucket_batch& batch, const device::records& result) override {
    rank& self = run_.ranks()[of_result.rank];
    device::event& sorted = self.take_event();
    self.queue->record(sorted);
    self.copies->wait(sorted);
    const device::records to = advance(sort_.shape, result_of(sort_), of_result.begin + batch.offset);
    self.copies->copy(to.values, result.values, batch.count * sort_.shape.value_bytes, "copy out");
    if (ways_out_.empty()) {
      self.copies->copy(to.keys, result.keys, batch.count * sort_.shape.codec.width_bytes(), "copy out");
    } else {
      ways_out_[of_result.rank]->carry(
          {.sorted = &sorted, .keys = result.keys, .num_keys = batch.count, .destination = to.keys});
    }
    if (base::record_flow* const flow = sort_.flow; flow != nullptr) {
      self.copies->tell_host(
          [flow, begin = of_result.begin + batch.offset, count = batch.count] { flow->finished(begin, count); });
    }
  }

 private:
  [[nodiscard]] std::uint64_t piece_records() const { return keys_of_a_piece(sort_, run_.options().hooks); }

  std::vector<std::unique_ptr<way_out>> ways_out_;  ///< by rank, where keys leave packed; else empty
};

}  // namespace

bool is_copied(const std::vector<rank>& ranks, const problem& sort) {
  return !sort.is_resident() &&
         !std::ranges::all_of(ranks, [](const rank& r) { return r.device->shares_host_memory(); });
}

std::uint64_t keys_of_a_piece(const problem& sort, const base::test_hooks& hooks) {
  const std::uint64_t bytes = hooks.copy_piece_bytes == 0 ? copy_piece_bytes : hooks.copy_piece_bytes;
  return std::max<std::uint64_t>(1, bytes / sort.shape.bytes());
}

std::unique_ptr<input_place> make_input_place(run_context& run, const problem& sort) {
  if (sort.is_resident()) return std::make_unique<resident_parts>(run, sort);
  if (is_copied(run.ranks(), sort)) return std::make_unique<copied>(run, sort);
  return std::make_unique<shared_memory>(run, sort);
}

}  // namespace spansort::algorithms
