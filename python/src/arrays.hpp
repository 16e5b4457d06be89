// SPDX-License-Identifier: Apache-2.0
// NumPy arrays as the calls of the library want them. arrays.cpp alone knows NumPy's C interface.
#pragma once

#include <cstdint>
#include <optional>
#include <spansort/types.hpp>

#include "binding.hpp"

namespace python {

/// The memory of a C-contiguous array in native byte order; a row is what the last axis holds.
struct array_memory {
  char* data = nullptr;
  std::uint64_t num_elements = 0;
  std::uint64_t row_elements = 0;
  std::uint64_t element_bytes = 0;

  [[nodiscard]] std::uint64_t size_bytes() const { return num_elements * element_bytes; }
  [[nodiscard]] std::uint64_t num_rows() const { return row_elements == 0 ? 0 : num_elements / row_elements; }
};

/// Sortable elements: keys, and whether the least one is NaT, which belongs behind all others.
struct array_keys {
  array_memory memory;
  spansort::key_type type = spansort::key_type::u8;
  bool has_nat = false;

  [[nodiscard]] spansort::key_span row(std::uint64_t index) const {
    return {type, memory.data + index * memory.row_elements * memory.element_bytes, memory.row_elements};
  }
  [[nodiscard]] spansort::key_span all() const { return {type, memory.data, memory.num_elements}; }
};

/// Values that move with keys, as many as keys.
struct array_values {
  char* data = nullptr;
  std::uint64_t value_bytes = 0;
};

void import_numpy();

/// Returns the memory of an array that may be read, or written. Throws nb::type_error for other objects and arrays.
array_memory readable(nb::handle array);
array_memory writeable(nb::handle array);

/// Returns the elements of an array that readable() takes as keys of `type`, whose size they must have.
array_keys keys_of(const array_memory& memory, int type, bool has_nat);

/// Returns the elements of an array as values of the keys. Throws nb::value_error where they are not as many.
array_values values_of(const array_memory& memory, const array_keys& keys);

/// Returns where 64-bit indices of the keys are written. Throws nb::value_error where the array does not hold as many.
std::int64_t* indices_of(const array_memory& memory, const array_keys& keys);

/// Returns the keys of an array of exactly NumPy's own type that needs no preparation: one axis at least, C-contiguous,
/// aligned, native, of a dtype that is a key type, bool or a date. Nothing for all other objects.
std::optional<array_keys> plain_keys(nb::handle array);

/// Returns the memory of an array of exactly NumPy's own type that may be copied as bytes as it lies: C-contiguous, of
/// at least one axis, no Python objects. Nothing for all other objects.
std::optional<array_memory> plain_elements(nb::handle array);
/// Returns the elements along the first of an array's axes, and whether there is no other.
std::uint64_t num_first_axis(nb::handle array);
bool has_one_axis(nb::handle array);

/// Returns a new array of `count` elements of the dtype of another one, not initialised.
nb::object new_elements_like(nb::handle array, std::uint64_t count);

/// Returns a copy of an array that plain_keys() or plain_elements() took. Throws what a signal raises meanwhile.
nb::object copy_of(nb::handle array);
/// Returns the same of arrays that plain_elements() takes, None of others.
nb::object plain_copy_of(nb::handle array);

/// Returns new arrays, not initialised.
nb::object new_indices_like(nb::handle array);
nb::object new_indices(std::uint64_t count);
nb::object new_doubles(std::uint64_t count);
nb::object new_bytes(std::uint64_t count);
char* data_of(nb::handle array);

}  // namespace python
