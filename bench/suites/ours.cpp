// SPDX-License-Identifier: Apache-2.0
// Spansort's algorithms as contenders: host to host by a sorter that keeps its workspace, and on a GPU by one for data
// that is there already.
#include <chrono>
#include <nlohmann/json.hpp>
#include <spansort/devices.hpp>
#include <spansort/options.hpp>
#include <spansort/report.hpp>
#include <spansort/sort.hpp>

#include "bench/suites/candidate.hpp"
#include "bench/suites/devices.hpp"
#include "bench/suites/gpu/gpu.hpp"

namespace bench {
namespace {

using json = nlohmann::ordered_json;

void sort_work(spansort::sorter& sorter, input& data) {
  const spansort::key_span keys{data.type(), data.work(), data.num_keys()};
  if (data.value_bytes() == 0) {
    sorter.sort(keys);
  } else {
    sorter.sort_pairs(keys, data.values_in(data.work()), data.value_bytes());
  }
}

/// Returns the bytes that all GPUs count as taken, 0 for lists without one.
std::uint64_t taken_bytes(const std::string& devices) {
  if (!is_gpu(devices)) return 0;
  std::uint64_t taken = 0;
  for (const spansort::device_description& device : spansort::list_devices()) {
    if (device.name.starts_with("gpu:")) taken += device.memory_bytes - device.available_bytes;
  }
  return taken;
}

/// Adds what the report of one more sort says, by a sorter of its own: taking the times of phases costs some. For these
/// it is the second of two sorts, as the first one takes the memory.
void add_report(json& result, spansort::sort_options options, const std::string& devices, input& data, detail wanted) {
  spansort::sort_report report;
  options.report = &report;
  const std::uint64_t taken_before = taken_bytes(devices);
  spansort::sorter sorter(options);
  for (int i = 0; i < (wanted == detail::phases ? 2 : 1); ++i) {
    data.restore();
    sort_work(sorter, data);
  }
  result["workspace_bytes"] = report.workspace_bytes;
  const std::uint64_t taken_now = taken_bytes(devices);
  if (taken_now > taken_before) result["gpu_bytes_counted"] = taken_now - taken_before;
  if (wanted != detail::phases) return;
  result["reported_ms"] = report.elapsed_ms;
  result["exchanged_bytes"] = report.exchanged_bytes;
  for (const spansort::phase_report& phase : report.phases) {
    result["phases"].push_back({{"name", phase.name},
                                {"elapsed_ms", phase.elapsed_ms},
                                {"busy_ms", phase.busy_ms},
                                {"bytes_moved", phase.bytes_moved}});
  }
}

contender host_contender(const spansort::sort_options& options, input& data) {
  const auto sorter = std::make_shared<spansort::sorter>(options);
  contender made;
  made.prepare = [&data] { data.restore(); };
  made.run = [sorter, &data] { return time_of([&] { sort_work(*sorter, data); }); };
  made.fetch = [] {};
  return made;
}

spansort::sort_options options_of(const std::string& algorithm, const std::string& devices, const case_spec& spec) {
  spansort::sort_options options;
  options.devices = devices;
  options.algorithm = spansort::parse_algorithm(algorithm);
  options.tuning.radix_bits = spec.radix_bits;
  options.device_memory_bytes = spec.device_memory_bytes;
  return options;
}

}  // namespace

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<candidate> our_candidates(const figure& of, const case_spec& spec, const std::vector<std::string>& lists) {
  std::vector<candidate> found;
  for (const std::string& devices : of.spans_devices ? prefixes(lists) : first_devices(lists)) {
    for (const std::string& algorithm : of.algorithms) {
      const spansort::sort_options options = options_of(algorithm, devices, spec);
      const bool is_resident = is_gpu(devices) && !of.spans_devices;
      candidate one{algorithm, devices, is_resident ? "resident" : "host", {}};
      one.is_ours = true;
      if (is_resident) {
        one.make = [options, devices](input& data) { return resident_contender(options, first_gpu(devices), data); };
      } else {
        one.make = [options](input& data) { return host_contender(options, data); };
        one.describe = [options, devices](json& result, input& data, detail wanted) {
          add_report(result, options, devices, data, wanted);
        };
        one.wanted = of.shows;
      }
      found.push_back(std::move(one));
    }
  }
  return found;
}

}  // namespace bench
