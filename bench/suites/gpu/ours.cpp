// SPDX-License-Identifier: Apache-2.0
// Spansort's algorithms on data that is on a GPU already. Wall clock around resident_sorter, which returns when the
// result is there.
#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <spansort/resident.hpp>

#include "bench/suites/gpu/gpu.hpp"
#include "bench/suites/gpu/resident_arrays.hpp"

namespace bench {

namespace cuda = spansort::device::cuda;

bool gpu_is_absent() { return false; }

host_memory allocate_pinned(std::uint64_t size_bytes) {
  return {cuda::allocate_pinned_memory(size_bytes).release(),
          [](void* memory) { cuda::pinned_memory_deleter()(memory); }};
}

contender resident_contender(const spansort::sort_options& options, int ordinal, input& data) {
  const auto sorter = std::make_shared<spansort::resident_sorter>(options);
  const auto arrays = resident_arrays::of(ordinal, data);
  contender made;
  made.prepare = [arrays] { arrays->restore(); };
  made.run = [sorter, arrays, &data] {
    std::array<spansort::shard, 1> shards{{{.keys = arrays->work().keys.get(),
                                            .values = arrays->work().values.get(),
                                            .num_keys = data.num_keys(),
                                            .capacity = data.num_keys(),
                                            .stream = arrays->stream()}}};
    const spansort::sharded_keys keys{data.type(), shards};
    return seconds_of([&] {
      if (data.value_bytes() == 0) {
        sorter->sort(keys);
      } else {
        sorter->sort_pairs(keys, data.value_bytes());
      }
    });
  };
  made.fetch = [arrays] { arrays->fetch(arrays->work().keys.get(), arrays->work().values.get()); };
  return made;
}

}  // namespace bench
