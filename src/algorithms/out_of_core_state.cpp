// SPDX-License-Identifier: Apache-2.0
#include "algorithms/out_of_core_state.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <bit>

#include "algorithms/out_of_core_sizes.hpp"
#include "base/math.hpp"
#include "base/said_of_done.hpp"

namespace spansort::algorithms {
namespace {

/// The caller's progress bar: how far a sort is when all runs are there.
constexpr double fraction_after_runs = 0.5;

}  // namespace

pipeline::pipeline(rank& self, const device::record_shape& shape, std::uint64_t capacity, unsigned num_slots)
    : self_(self),
      shape_(shape),
      copies_in_(self.copies == nullptr ? *self.queue : *self.copies),
      copies_out_(self.copies_out == nullptr ? copies_in_ : *self.copies_out) {
  for (unsigned i = 0; i < num_slots; ++i) slots_.push_back({slot_records(self, i, shape, capacity)});
}

pipeline::slot pipeline::take() {
  const slot first = slots_.front();
  slots_.pop_front();
  return first;
}

device::event* pipeline::mark(device::queue& q) {
  device::event& e = self_.take_event();
  q.record(e);
  return &e;
}

void pipeline::copy(device::queue& q, const device::records& to, const device::records& from, std::uint64_t num_records,
                    std::string_view label) {
  q.copy(to.keys, from.keys, num_records * shape_.codec.width_bytes(), label);
  q.copy(to.values, from.values, num_records * shape_.value_bytes, label);
}

std::uint64_t pipeline::bring(const std::vector<host_slice>& slices, const device::records& to) {
  std::uint64_t num_records = 0;
  for (const host_slice& slice : slices) {
    copy(copies_in_, advance(shape_, to, num_records), slice.data, slice.num_records, "copy in");
    num_records += slice.num_records;
  }
  return num_records;
}

void pipeline::process(const std::vector<host_slice>& slices, keys::bit_range bits, const device::records& to) {
  slot source = take();
  slot alternate = take();
  if (source.free != nullptr) copies_in_.wait(*source.free);
  const std::uint64_t num_records = bring(slices, source.data);
  device::queue& work = *self_.queue;
  work.wait(*mark(copies_in_));
  if (alternate.free != nullptr) work.wait(*alternate.free);

  const bool in_alternate = !bits.empty() && self_.device->prefers_alternate(shape_, bits);
  if (!bits.empty()) {
    work.local_sort({.shape = shape_,
                     .source = source.data,
                     .alternate = alternate.data,
                     .result_in_alternate = in_alternate,
                     .segments = {{0, num_records, bits}}});
  }
  if (in_alternate) std::swap(source, alternate);
  alternate.free = mark(work);
  copies_out_.wait(*alternate.free);
  copy(copies_out_, to, source.data, num_records, "copy out");
  source.free = mark(copies_out_);
  // In this order: the next to arrive takes the one that is free while this result still leaves.
  slots_.push_back(alternate);
  slots_.push_back(source);
}

out_of_core_state::out_of_core_state(run_context& run, const problem& sort)
    : run_(run),
      sort_(sort),
      capacity_(std::min(least_slot_records(run.ranks(), sort.shape, num_pipeline_slots),
                         wanted_part_records(run.num_ranks(), run.options(), sort))),
      num_parts_(num_parts(sort.num_keys, capacity_, run.num_ranks())),
      runs_(host_slot_records(run.ranks().front(), 0, sort.shape, sort.num_keys)) {
  run_.open_copies_out();
}

out_of_core_state::~out_of_core_state() { run_.drain(); }

std::vector<pipeline> out_of_core_state::make_pipelines() {
  std::vector<pipeline> pipelines;
  for (rank& r : run_.ranks()) pipelines.emplace_back(r, sort_.shape, capacity_);
  return pipelines;
}

void out_of_core_state::make_runs() {
  std::vector<pipeline> pipelines = make_pipelines();
  const keys::bit_range all_bits{0, sort_.shape.codec.key_bits()};
  for (std::uint64_t part = 0; part < num_parts_; ++part) {
    const std::uint64_t begin = part_begin(part);
    const host_slice chunk{advance(sort_.shape, sort_.data(), begin), part_begin(part + 1) - begin};
    pipelines[rank_of(part)].process({chunk}, all_bits, advance(sort_.shape, runs_, begin));
  }
  run_.finish_phase("sort chunks", fraction_after_runs, sort_.num_keys);
}

std::vector<plan::sorted_run> out_of_core_state::all_runs() const {
  std::vector<plan::sorted_run> runs;
  for (std::uint64_t part = 0; part < num_parts_; ++part) {
    const std::uint64_t begin = part_begin(part);
    runs.push_back({advance(sort_.shape, runs_, begin).keys, part_begin(part + 1) - begin});
  }
  return runs;
}

out_of_core_state::range out_of_core_state::cut_range(const cuts& begins, const cuts& ends) const {
  range cut;
  std::uint64_t first_key = ~std::uint64_t{0};
  std::uint64_t last_key = 0;
  bool is_in_order = true;
  for (std::uint64_t part = 0; part < num_parts_; ++part) {
    if (begins[part] == ends[part]) continue;
    const std::uint64_t count = ends[part] - begins[part];
    const device::records data = advance(sort_.shape, runs_, part_begin(part) + begins[part]);
    const std::uint64_t its_first = encode_at(sort_.shape.codec, data.keys, 0);
    const std::uint64_t its_last = encode_at(sort_.shape.codec, data.keys, count - 1);
    is_in_order = is_in_order && (cut.slices.empty() || last_key <= its_first);
    first_key = std::min(first_key, its_first);
    last_key = std::max(last_key, its_last);
    cut.slices.push_back({data, count});
  }
  if (!is_in_order) cut.bits = {0, static_cast<unsigned>(std::bit_width(first_key ^ last_key))};
  return cut;
}

std::vector<out_of_core_state::cuts> out_of_core_state::cut_runs(std::uint64_t first_part, const cuts& begins) const {
  const std::vector<plan::sorted_run> runs = all_runs();
  std::vector<cuts> ends(std::min<std::uint64_t>(run_.num_ranks(), num_parts_ - first_part));
  tbb::parallel_for(std::size_t{0}, ends.size(), [&](std::size_t i) {
    ends[i] = split_runs(sort_.shape.codec, runs, part_begin(first_part + i + 1), begins);
  });
  return ends;
}

void out_of_core_state::merge_ranges() {
  std::vector<pipeline> pipelines = make_pipelines();
  cuts begins(num_parts_);
  run_.begin_parts();
  run_.add_part({runs_, sort_.num_keys, runs_});
  run_.commit();
  for (std::uint64_t part = 0; part < num_parts_;) {
    // Found while the devices are at work on the ranges before.
    for (const cuts& ends : cut_runs(part, begins)) {
      const range next = cut_range(begins, ends);
      pipelines[rank_of(part)].process(next.slices, next.bits, advance(sort_.shape, sort_.data(), part_begin(part)));
      begins = ends;
      ++part;
    }
  }
  run_.finish_phase("sort ranges", 1.0, sort_.num_keys);
}

void out_of_core_state::fill_report() {
  base::say_of_done([&] { run_.report().algorithm = "out_of_core"; });
  run_.report().num_passes = 2;
  report_turns(run_, sort_.num_keys, num_parts_);
}

void report_turns(run_context& run, std::uint64_t num_keys, std::uint64_t num_parts) {
  sort_report& report = run.report();
  base::say_of_done([&] { report.input_shape = "unknown"; });
  for (rank_report& r : report.ranks) r.num_keys_in = r.num_keys_out = 0;
  std::uint64_t largest = 0;
  for (std::uint64_t part = 0; part < num_parts; ++part) {
    rank_report& r = report.ranks[part % run.num_ranks()];
    r.num_keys_out = r.num_keys_in += base::share_size(num_keys, num_parts, part);
    largest = std::max(largest, r.num_keys_out);
  }
  if (num_keys == 0) return;
  report.imbalance = static_cast<double>(largest) * run.num_ranks() / static_cast<double>(num_keys);
}

}  // namespace spansort::algorithms
