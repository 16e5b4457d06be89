// SPDX-License-Identifier: Apache-2.0
// Segmented sorts: segments of an array of one axis, by offsets, each by itself.
#include <spansort/segmented.hpp>

#include "arrays.hpp"
#include "calls.hpp"
#include "rows.hpp"

namespace python {
namespace {

/// Offsets are 64-bit integers; the library checks that they are such of the keys.
spansort::const_key_span offsets_of(nb::handle array) {
  const array_memory memory = readable(array);
  if (memory.element_bytes != sizeof(std::int64_t)) throw nb::type_error("offsets: 64-bit integers are expected");
  return {spansort::key_type::i64, memory.data, memory.num_elements};
}

bool is_long(const array_memory& memory) { return memory.size_bytes() > most_short_bytes; }

/// Calls put(segment, its begin) where dates may have NaT in front, which belong behind.
template <class Put>
void for_dates(const array_keys& keys, const spansort::const_key_span& offsets, const Put& put) {
  if (!keys.has_nat) return;
  const auto* const bounds = static_cast<const std::int64_t*>(offsets.data);
  for (std::uint64_t i = 0; i + 1 < offsets.num_keys; ++i) {
    const auto begin = static_cast<std::uint64_t>(bounds[i]);
    const spansort::key_span segment{keys.type, keys.memory.data + begin * keys.memory.element_bytes,
                                     static_cast<std::uint64_t>(bounds[i + 1]) - begin};
    put(segment, begin);
  }
}

void sort_segments(nb::handle array, int type, bool has_nat, nb::handle offset_array, bool descending,
                   const call_options* given) {
  const array_keys keys = keys_of(writeable(array), type, has_nat);
  const spansort::const_key_span offsets = offsets_of(offset_array);
  const spansort::direction d = direction_of(descending);
  run_unlocked(given, is_long(keys.memory), [&](const spansort::sort_options& options) {
    spansort::sort_segments(keys.all(), offsets, d, options);
    for_dates(keys, offsets, [&](spansort::key_span segment, std::uint64_t) { put_nat_last(keys, segment, d); });
  });
}

void order_segments(nb::handle array, int type, bool has_nat, nb::handle offset_array, nb::handle order_array,
                    bool descending, const call_options* given) {
  const array_keys keys = keys_of(readable(array), type, has_nat);
  std::int64_t* const order = indices_of(writeable(order_array), keys);
  const spansort::const_key_span offsets = offsets_of(offset_array);
  const spansort::direction d = direction_of(descending);
  run_unlocked(given, is_long(keys.memory), [&](const spansort::sort_options& options) {
    spansort::argsort_segments(keys.all(), order, sizeof(*order), offsets, d, options);
    for_dates(keys, offsets, [&](spansort::key_span segment, std::uint64_t begin) {
      put_nat_positions_last(keys, segment, order + begin, d);
    });
  });
}

}  // namespace

void define_segments(nb::module_& module) {
  module.def("sort_segments", &sort_segments, nb::arg("array"), nb::arg("type"), nb::arg("has_nat"), nb::arg("offsets"),
             nb::arg("descending"), nb::arg("options").none());
  module.def("order_segments", &order_segments, nb::arg("array"), nb::arg("type"), nb::arg("has_nat"),
             nb::arg("offsets"), nb::arg("order"), nb::arg("descending"), nb::arg("options").none());
}

}  // namespace python
