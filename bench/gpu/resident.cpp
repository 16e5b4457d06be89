// SPDX-License-Identifier: Apache-2.0
// Suite `resident`: keys that are on the GPUs already. Wall clock around resident_sorter::sort, which begins when the
// inputs are there and returns when the result is. Inputs are made anew on the GPUs before each run.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <spansort/report.hpp>
#include <spansort/resident.hpp>
#include <utility>

#include "bench/gpu/device_arrays.hpp"
#include "bench/gpu/device_list.hpp"
#include "bench/gpu/sort_runs.hpp"
#include "bench/gpu/suites.hpp"
#include "bench/gpu/timing.hpp"
#include "device/cuda/handles.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

/// One GPU's keys.
struct part {
  int ordinal = 0;
  std::uint64_t first_place = 0;  ///< of its keys in the whole input
  std::uint64_t num_keys = 0;
  std::uint64_t capacity = 0;
  cuda::stream_handle stream;
  cuda::device_memory keys;
  cuda::device_memory values;  ///< null where keys travel alone
};

/// A case sorts unsigned keys, alone or with values as wide as they are.
struct resident_type {
  const char* name = "";
  spansort::key_type key = spansort::key_type::u32;
  bool has_values = false;

  [[nodiscard]] unsigned key_bytes() const { return static_cast<unsigned>(spansort::size_bytes(key)); }
  [[nodiscard]] unsigned record_bytes() const { return key_bytes() * (has_values ? 2 : 1); }
};

/// The keys are spread evenly over GPUs. Values are the places of their keys in the whole input.
class resident_keys {
 public:
  resident_keys(const resident_type& type, const std::vector<int>& devices, std::uint64_t num_keys, std::uint64_t seed)
      : type_(type), seed_(seed) {
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const cuda::device_guard guard(devices[i]);
      const std::uint64_t share = num_keys / devices.size() + (i < num_keys % devices.size() ? 1 : 0);
      const std::uint64_t capacity = share + share / 50 + 1024;  // balanced shards need a hundredth more
      const std::uint64_t size_bytes = capacity * type.key_bytes();
      part p{devices[i], begin, share, capacity, cuda::make_stream(), cuda::allocate_device_memory(size_bytes), {}};
      if (type.has_values) p.values = cuda::allocate_device_memory(size_bytes);
      parts_.push_back(std::move(p));
      begin += share;
    }
  }

  /// Uniform keys. Returns the shards as they are to be sorted.
  [[nodiscard]] std::vector<spansort::shard> fill() {
    std::vector<spansort::shard> shards;
    for (const part& p : parts_) {
      const cuda::device_guard guard(p.ordinal);
      fill_device(p.stream.get(), p.keys.get(), type_.key_bytes(), p.num_keys,
                  {.seed = seed_, .first_place = p.first_place});
      if (type_.has_values) {
        fill_places(p.stream.get(), p.values.get(), type_.key_bytes(), p.num_keys, p.first_place);
      }
      shards.push_back({.keys = p.keys.get(),
                        .values = p.values.get(),
                        .num_keys = p.num_keys,
                        .capacity = p.capacity,
                        .stream = p.stream.get()});
    }
    for (const part& p : parts_) cuda::check(cudaStreamSynchronize(p.stream.get()), "cudaStreamSynchronize");
    return shards;
  }

  /// Summarizes the keys of all shards, one shard behind the other.
  [[nodiscard]] key_summary look_at(const std::vector<spansort::shard>& shards) const {
    key_summary whole;
    bool is_first = true;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (shards[i].num_keys == 0) continue;
      const cuda::device_guard guard(parts_[i].ordinal);
      const key_summary here =
          summarize(parts_[i].stream.get(), {shards[i].keys, shards[i].values, type_.key_bytes(), shards[i].num_keys});
      whole.in_order = whole.in_order && here.in_order && (is_first || whole.last <= here.first);
      whole.checksum += here.checksum;
      whole.first = is_first ? here.first : whole.first;
      whole.last = here.last;
      is_first = false;
    }
    return whole;
  }

 private:
  resident_type type_;
  std::uint64_t seed_;
  std::vector<part> parts_;
};

std::vector<std::uint64_t> sizes_of(const std::vector<spansort::shard>& shards) {
  std::vector<std::uint64_t> sizes;
  for (const spansort::shard& s : shards) sizes.push_back(s.num_keys);
  return sizes;
}

struct resident_case {
  resident_type type;
  std::vector<int> devices;
  std::uint64_t num_keys = 0;
  spansort::shard_sizes sizes = spansort::shard_sizes::as_given;

  [[nodiscard]] const char* sizes_text() const {
    return sizes == spansort::shard_sizes::as_given ? "as given" : "balanced";
  }
};

struct resident_runs {
  sort_runs runs;
  std::vector<std::uint64_t> shard_sizes;  ///< after the last run
};

resident_runs run_resident(const resident_case& c, const settings& s) {
  resident_keys keys(c.type, c.devices, c.num_keys, s.seed);
  resident_runs found;
  const std::uint64_t checksum = keys.look_at(keys.fill()).checksum;
  std::optional<spansort::resident_sorter> sorter;
  for (unsigned i = 0; i < s.repeats + 3; ++i) {
    const bool is_reported = i > s.repeats;  // the last two: one takes the memory, and one is reported
    if (i == s.repeats + 1) sorter.reset();
    std::vector<spansort::shard> shards = keys.fill();
    const std::vector<std::uint64_t> sizes_before = sizes_of(shards);
    const double elapsed_ms = wall_ms([&] {
      if (!sorter) {
        spansort::sort_options options{.devices = device_list_text(c.devices)};
        if (is_reported) options.report = &found.runs.report;
        sorter.emplace(options);
      }
      const spansort::sharded_keys input{c.type.key, shards};
      if (c.type.has_values) {
        sorter->sort_pairs(input, c.type.key_bytes(), spansort::direction::ascending, c.sizes);
      } else {
        sorter->sort(input, spansort::direction::ascending, c.sizes);
      }
    });
    const key_summary result = keys.look_at(shards);
    found.shard_sizes = sizes_of(shards);
    const bool kept_sizes = c.sizes == spansort::shard_sizes::balanced || found.shard_sizes == sizes_before;
    found.runs.verified = found.runs.verified && result.in_order && result.checksum == checksum && kept_sizes;
    if (i == 0) {
      found.runs.first_call_ms = elapsed_ms;
      continue;
    }
    if (!is_reported) found.runs.runs_ms.push_back(elapsed_ms);
  }
  return found;
}

outcome measure(const resident_case& c, const settings& s) {
  const resident_runs found = run_resident(c, s);
  const sort_runs& runs = found.runs;
  outcome result;
  result.verified = runs.verified;
  result.fields = {{"type", c.type.name},     {"distribution", "uniform"},
                   {"num_keys", c.num_keys},  {"seed", s.seed},
                   {"devices", c.devices},    {"num_gpus", c.devices.size()},
                   {"sizes", c.sizes_text()}, {"shard_sizes", found.shard_sizes}};
  result.fields.update(to_json(runs, c.num_keys));
  result.fields["phases_by_rank"] = phases_by_rank(runs.report);
  result.line = fmt::format("{:8.2f} ms {:7.1f} G/s", runs.median_ms(),
                            giga_per_s(static_cast<double>(c.num_keys), runs.median_ms()));
  for (const spansort::phase_report& phase : runs.report.phases) {
    result.line += fmt::format("  {} {:.1f}", phase.name, phase.elapsed_ms);
  }
  return result;
}

}  // namespace

void add_resident_cases(const settings& s, case_list& cases) {
  constexpr std::array types{resident_type{"u32", spansort::key_type::u32, false},
                             resident_type{"u64", spansort::key_type::u64, false},
                             resident_type{"u32(u32)", spansort::key_type::u32, true},
                             resident_type{"u64(u64)", spansort::key_type::u64, true}};
  for (const resident_type& type : types) {
    // Each type moves as many bytes.
    const std::uint64_t num_keys = static_cast<std::uint64_t>(s.num_keys) * 4 / type.record_bytes();
    for (const std::vector<int>& devices : prefixes(s.devices)) {
      for (const auto sizes : {spansort::shard_sizes::as_given, spansort::shard_sizes::balanced}) {
        if (devices.size() == 1 && sizes == spansort::shard_sizes::balanced) continue;  // one shard: the same
        const resident_case c{type, devices, num_keys, sizes};
        cases.push_back({"resident", fmt::format("{}, {}, {}", type.name, count_text(devices), c.sizes_text()),
                         [s, c] { return measure(c, s); }});
      }
    }
  }
}

}  // namespace bench
