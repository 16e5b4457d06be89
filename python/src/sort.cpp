// SPDX-License-Identifier: Apache-2.0
// Sorts of arrays: keys, positions, pairs, records, and elements by position.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <spansort/check.hpp>
#include <spansort/records.hpp>
#include <spansort/sort.hpp>
#include <spansort/take.hpp>

#include "arrays.hpp"
#include "calls.hpp"
#include "gpu.hpp"
#include "row_blocks.hpp"
#include "rows.hpp"

namespace python {
namespace {

using spansort::direction;

// A call below this size keeps the interpreter's lock, for giving it away and back costs as much as such a sort.
constexpr std::uint64_t least_unlocked_bytes = 4096;

bool is_small(std::uint64_t moved_bytes) { return moved_bytes < least_unlocked_bytes; }
bool is_small(const array_memory& memory) { return is_small(memory.size_bytes()); }
bool is_long(std::uint64_t moved_bytes) { return moved_bytes > most_short_bytes; }
bool is_long(const array_memory& memory) { return is_long(memory.size_bytes()); }
/// Returns whether pairs are. Those of narrow values keep the way of small arrays, which the size of the keys decides.
bool are_long(const array_memory& keys, std::uint64_t value_bytes) {
  constexpr std::uint64_t most_travelling_bytes = 16;
  return is_long(keys) || (value_bytes > most_travelling_bytes && is_long(keys.num_elements * value_bytes));
}
when_cancelled rule_of(bool is_disposable) { return is_disposable ? when_cancelled::disposed : when_cancelled::kept; }

/// Runs work(row index, sorts) for every row; signals interrupt between rows, too.
void for_each_row(const array_memory& memory, const call_options* given, const row_work& work,
                  when_cancelled arrays = when_cancelled::kept) {
  run_unlocked(
      given, is_long(memory), [&](const spansort::sort_options& options) { for_all_rows(memory, options, work); },
      arrays);
}

void sort_array(const array_keys& keys, bool descending, const call_options* given, when_cancelled arrays) {
  const direction d = direction_of(descending);
  if (given == nullptr && is_small(keys.memory)) {
    for (std::uint64_t row = 0; row < keys.memory.num_rows(); ++row) {
      spansort::sort(keys.row(row), d);
      put_nat_last(keys, keys.row(row), d);
    }
    return;
  }
  for_each_row(
      keys.memory, given,
      [&](std::uint64_t row, row_sorts& sorts) {
        sorts.sort(keys.row(row), d);
        put_nat_last(keys, keys.row(row), d);
      },
      arrays);
}

void order_array(const array_keys& keys, std::int64_t* order, bool descending, const call_options* given) {
  const direction d = direction_of(descending);
  const std::uint64_t row_elements = keys.memory.row_elements;
  if (given == nullptr && is_small(keys.memory)) {
    for (std::uint64_t row = 0; row < keys.memory.num_rows(); ++row, order += row_elements) {
      spansort::argsort(keys.row(row), order, sizeof(*order), d);
      put_nat_positions_last(keys, keys.row(row), order, d);
    }
    return;
  }
  for_each_row(keys.memory, given, [&](std::uint64_t row, row_sorts& sorts) {
    std::int64_t* const row_order = order + row * row_elements;
    sorts.argsort(keys.row(row), row_order, d);
    put_nat_positions_last(keys, keys.row(row), row_order, d);
  });
}

nb::object sorted_copy(nb::handle array, bool descending) {
  std::optional<array_keys> keys = plain_keys(array);
  if (!keys) return sorted_gpu_copy(array, descending);
  nb::object copy = copy_of(array);
  keys->memory.data = data_of(copy);
  sort_array(*keys, descending, nullptr, when_cancelled::disposed);
  return copy;
}

nb::object stable_order(nb::handle array, bool descending) {
  const std::optional<array_keys> keys = plain_keys(array);
  if (!keys) return stable_gpu_order(array, descending);
  nb::object order = new_indices_like(array);
  order_array(*keys, reinterpret_cast<std::int64_t*>(data_of(order)), descending, nullptr);
  return order;
}

void sort_rows(nb::handle array, int type, bool has_nat, bool descending, const call_options* options,
               bool is_disposable) {
  sort_array(keys_of(writeable(array), type, has_nat), descending, options, rule_of(is_disposable));
}

void order_rows(nb::handle array, int type, bool has_nat, nb::handle order, bool descending,
                const call_options* options) {
  const array_keys keys = keys_of(readable(array), type, has_nat);
  order_array(keys, indices_of(writeable(order), keys), descending, options);
}

void sort_pairs(nb::handle key_array, int type, bool has_nat, nb::handle value_array, bool descending,
                const call_options* given, bool is_disposable) {
  const array_keys keys = keys_of(writeable(key_array), type, has_nat);
  const array_values values = values_of(writeable(value_array), keys);
  const direction d = direction_of(descending);
  run_unlocked(
      given, are_long(keys.memory, values.value_bytes),
      [&](const spansort::sort_options& options) {
        spansort::sort_pairs(keys.all(), values.data, values.value_bytes, d, options);
        put_nat_pairs_last(keys, values.data, values.value_bytes, d);
      },
      rule_of(is_disposable));
}

nb::object sorted_pairs(nb::handle key_array, nb::handle value_array, bool descending) {
  const std::optional<array_keys> keys = plain_keys(key_array);
  const std::optional<array_memory> values = plain_elements(value_array);
  if (!keys || !values || values->size_bytes() == 0 || !has_one_axis(key_array)) return nb::none();
  if (num_first_axis(value_array) != keys->memory.num_elements) return nb::none();
  const nb::object new_keys = copy_of(key_array);
  const nb::object new_values = copy_of(value_array);
  array_keys moved = *keys;
  moved.memory.data = data_of(new_keys);
  char* const moved_values = data_of(new_values);
  const std::uint64_t value_bytes = values->size_bytes() / num_first_axis(value_array);
  const direction d = direction_of(descending);
  const auto sort = [&](const spansort::sort_options& options) {
    spansort::sort_pairs(moved.all(), moved_values, value_bytes, d, options);
    put_nat_pairs_last(moved, moved_values, value_bytes, d);
  };
  if (is_small(moved.memory.size_bytes() + values->size_bytes())) {
    sort({});
  } else {
    run_unlocked(nullptr, are_long(moved.memory, value_bytes), sort, when_cancelled::disposed);
  }
  return nb::make_tuple(new_keys, new_values);
}

void sort_records(nb::handle array, std::uint64_t record_bytes, const std::string& fields, bool descending,
                  const call_options* given, bool is_disposable) {
  const array_memory memory = writeable(array);
  const std::uint64_t bytes = memory.num_elements * memory.element_bytes;
  const spansort::record_format format = spansort::parse_record_format(record_bytes, fields);
  if (bytes % record_bytes != 0) throw nb::value_error("the array does not hold whole records");
  run_unlocked(
      given, is_long(memory),
      [&](const spansort::sort_options& options) {
        spansort::sort_records(memory.data, bytes / record_bytes, format, direction_of(descending), options);
      },
      rule_of(is_disposable));
}

void take(nb::handle elements, nb::handle indices, int index_type, nb::handle destination, unsigned threads) {
  const array_memory from = readable(elements);
  const array_memory to = writeable(destination);
  const array_keys wanted = keys_of(readable(indices), index_type, false);
  const std::uint64_t bytes = from.num_elements * from.element_bytes;
  const auto num_rows = nb::cast<std::uint64_t>(elements.attr("shape")[0]);
  const std::uint64_t row_bytes = num_rows == 0 ? from.element_bytes : bytes / num_rows;
  if (to.num_elements * to.element_bytes != wanted.memory.num_elements * row_bytes) {
    throw nb::value_error("as many places as indices are expected in the destination");
  }
  if (row_bytes == 0) return;
  const std::uint64_t moved_bytes = wanted.memory.size_bytes() + wanted.memory.num_elements * row_bytes;
  run_unlocked(nullptr, is_long(moved_bytes), [&](const spansort::sort_options& options) {
    spansort::take_elements(from.data, num_rows, row_bytes, wanted.all(), to.data,
                            {.threads = threads, .on_progress = options.on_progress});
  });
}

nb::object taken_copy(nb::handle elements, nb::handle indices) {
  const std::optional<array_memory> from = plain_elements(elements);
  if (!from || from->element_bytes == 0 || !has_one_axis(elements)) return nb::none();
  const std::optional<array_keys> wanted = plain_keys(indices);
  if (!wanted || wanted->has_nat || !has_one_axis(indices)) return nb::none();
  if (wanted->type < spansort::key_type::u32 || wanted->type > spansort::key_type::i64) return nb::none();
  nb::object taken = new_elements_like(elements, wanted->memory.num_elements);
  const auto copy = [&](const spansort::sort_options& options) {
    spansort::take_elements(from->data, from->num_elements, from->element_bytes, wanted->all(), data_of(taken),
                            {.on_progress = options.on_progress});
  };
  const std::uint64_t moved_bytes = wanted->memory.num_elements * (wanted->memory.element_bytes + from->element_bytes);
  if (is_small(moved_bytes)) {
    copy({});
  } else {
    run_unlocked(nullptr, is_long(moved_bytes), copy);
  }
  return taken;
}

bool is_sorted(nb::handle array, int type, bool descending) {
  const array_keys keys = keys_of(readable(array), type, false);
  const nb::gil_scoped_release unlocked;
  return spansort::is_sorted(spansort::const_key_span(keys.all()), direction_of(descending));
}

}  // namespace

void define_sorts(nb::module_& module) {
  module.def("plain_copy", &plain_copy_of, nb::arg("array"));
  module.def("sorted_copy", &sorted_copy, nb::arg("array"), nb::arg("descending"));
  module.def("stable_order", &stable_order, nb::arg("array"), nb::arg("descending"));
  module.def("sort_rows", &sort_rows, nb::arg("array"), nb::arg("type"), nb::arg("has_nat"), nb::arg("descending"),
             nb::arg("options").none(), nb::arg("is_disposable"));
  module.def("order_rows", &order_rows, nb::arg("array"), nb::arg("type"), nb::arg("has_nat"), nb::arg("order"),
             nb::arg("descending"), nb::arg("options").none());
  module.def("sort_pairs", &sort_pairs, nb::arg("keys"), nb::arg("type"), nb::arg("has_nat"), nb::arg("values"),
             nb::arg("descending"), nb::arg("options").none(), nb::arg("is_disposable"));
  module.def("sorted_pairs", &sorted_pairs, nb::arg("keys"), nb::arg("values"), nb::arg("descending"));
  module.def("sort_records", &sort_records, nb::arg("array"), nb::arg("record_bytes"), nb::arg("fields"),
             nb::arg("descending"), nb::arg("options").none(), nb::arg("is_disposable"));
  module.def("take", &take, nb::arg("elements"), nb::arg("indices"), nb::arg("index_type"), nb::arg("destination"),
             nb::arg("threads"));
  module.def("taken_copy", &taken_copy, nb::arg("elements"), nb::arg("indices"));
  module.def("is_sorted", &is_sorted, nb::arg("array"), nb::arg("type"), nb::arg("descending"));
}

}  // namespace python
