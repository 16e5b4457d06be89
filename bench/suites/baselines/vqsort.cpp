// SPDX-License-Identifier: Apache-2.0
// This file has Highway's vqsort, on one thread. Its pairs have the value first. Where SPANSORT_VECTORS keeps the
// library from AVX-512, so it does vqsort.
#include <hwy/contrib/sort/vqsort.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "bench/suites/baselines/baseline.hpp"

namespace bench {
namespace {

/// The sorter of vqsort is kept from call to call, for making one takes as long as a small sort.
const auto vqsort = [](auto* begin, auto* end) {
  static const hwy::Sorter sorter;
  sorter(begin, static_cast<std::size_t>(end - begin), hwy::SortAscending());
};

contender make_vqsort(input& data) {
  using spansort::key_type;
  if (data.is_argsort()) throw spansort::invalid_argument("vqsort has no argsort");
  if (data.value_bytes() == 0) {
    return with_key(data.type(), [&]<class K>() -> contender {
      if constexpr (sizeof(K) > 1) return key_contender<K>(vqsort, data);
      throw spansort::invalid_argument("vqsort has no keys of 8 bits");
    });
  }
  if (data.type() == key_type::u32 && data.value_bytes() == 4) {
    return pair_contender<hwy::K32V32, std::uint32_t>(vqsort, data);
  }
  if (data.type() == key_type::u64 && data.value_bytes() == 8) {
    return pair_contender<hwy::K64V64, std::uint64_t>(vqsort, data);
  }
  throw spansort::invalid_argument("vqsort has no such pairs");
}

}  // namespace

void add_vqsort(std::vector<candidate>& to) {
  const char* const text = std::getenv("SPANSORT_VECTORS");
  if (text != nullptr && text == std::string_view("avx2")) hwy::DisableTargets(HWY_AVX2 - 1);
  to.push_back({"vqsort", "cpu", "host", make_vqsort});
  to.back().is_one_thread = true;
}

}  // namespace bench
