// SPDX-License-Identifier: Apache-2.0
// The library as its users call it, on the CPU: a sorter that is kept, which has its workspace, and the free functions,
// which begin from nothing in each call.
#include <spansort/devices.hpp>
#include <spansort/sort.hpp>

#include "bench/suites/candidate.hpp"
#include "bench/suites/gpu/gpu.hpp"

namespace bench {
namespace {

/// Defaults are what users take; where there are GPUs those would be among the devices.
spansort::sort_options cpu_options() {
  spansort::sort_options options;
  if (!gpu_is_absent() && spansort::why_no_gpu().empty()) options.devices = "cpu";
  return options;
}

/// `calls` has sort, sort_pairs and argsort.
template <class Calls>
void sort_all(Calls& calls, input& data) {
  for (std::uint64_t array = 0; array < data.num_arrays(); ++array) {
    const spansort::key_span keys{data.type(), data.keys_at(array), data.num_keys()};
    if (data.is_argsort()) {
      calls.argsort(keys, data.values_at(array), data.value_bytes());
    } else if (data.value_bytes() != 0) {
      calls.sort_pairs(keys, data.values_at(array), data.value_bytes());
    } else {
      calls.sort(keys);
    }
  }
}

struct free_functions {
  spansort::sort_options options = cpu_options();

  void sort(spansort::key_span keys) const { spansort::sort(keys, options); }
  void sort_pairs(spansort::key_span keys, void* values, std::uint64_t value_bytes) const {
    spansort::sort_pairs(keys, values, value_bytes, options);
  }
  void argsort(spansort::const_key_span keys, void* indices, std::uint64_t index_bytes) const {
    spansort::argsort(keys, indices, index_bytes, options);
  }
};

template <class Calls>
candidate calling(const char* name, const std::function<std::shared_ptr<Calls>()>& make_calls) {
  const auto make = [make_calls](input& data) {
    const auto calls = make_calls();
    contender made;
    made.prepare = [&data] { data.restore(); };
    made.run = [calls, &data] { return time_of([&] { sort_all(*calls, data); }); };
    made.fetch = [] {};
    return made;
  };
  candidate one{name, "cpu", "host", make};
  one.is_ours = one.is_stable = true;
  return one;
}

}  // namespace

std::vector<candidate> our_calls() {
  return {calling<spansort::sorter>("spansort, reused sorter",
                                    [] { return std::make_shared<spansort::sorter>(cpu_options()); }),
          calling<free_functions>("spansort, one call", [] { return std::make_shared<free_functions>(); })};
}

}  // namespace bench
