// SPDX-License-Identifier: Apache-2.0
// NumPy's C interface: layout, dtypes and new arrays.
#include "arrays.hpp"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstring>
#include <spansort/errors.hpp>

namespace python {
namespace {

using spansort::key_type;

PyArrayObject* as_array(nb::handle object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

array_memory memory_of(PyArrayObject* array) {
  const int num_axes = PyArray_NDIM(array);
  array_memory memory;
  memory.data = PyArray_BYTES(array);
  memory.num_elements = static_cast<std::uint64_t>(PyArray_SIZE(array));
  memory.row_elements = num_axes == 0 ? 1 : static_cast<std::uint64_t>(PyArray_DIM(array, num_axes - 1));
  memory.element_bytes = static_cast<std::uint64_t>(PyArray_ITEMSIZE(array));
  return memory;
}

constexpr key_type integer_type(std::size_t size_bytes, bool is_signed) {
  constexpr key_type types[] = {key_type::u8, key_type::u16, key_type::u32, key_type::u64};
  const int log2 = size_bytes == 1 ? 0 : size_bytes == 2 ? 1 : size_bytes == 4 ? 2 : 3;
  return static_cast<key_type>(static_cast<int>(types[log2]) + (is_signed ? 1 : 0));
}

/// Returns the key type of a dtype by its number.
std::optional<key_type> type_of_number(int number) {
  switch (number) {
    case NPY_BOOL: return key_type::u8;
    case NPY_BYTE: return integer_type(sizeof(npy_byte), true);
    case NPY_UBYTE: return integer_type(sizeof(npy_ubyte), false);
    case NPY_SHORT: return integer_type(sizeof(npy_short), true);
    case NPY_USHORT: return integer_type(sizeof(npy_ushort), false);
    case NPY_INT: return integer_type(sizeof(npy_int), true);
    case NPY_UINT: return integer_type(sizeof(npy_uint), false);
    case NPY_LONG: return integer_type(sizeof(npy_long), true);
    case NPY_ULONG: return integer_type(sizeof(npy_ulong), false);
    case NPY_LONGLONG: return integer_type(sizeof(npy_longlong), true);
    case NPY_ULONGLONG: return integer_type(sizeof(npy_ulonglong), false);
    case NPY_HALF: return key_type::f16;
    case NPY_FLOAT: return key_type::f32;
    case NPY_DOUBLE: return key_type::f64;
    case NPY_DATETIME:
    case NPY_TIMEDELTA: return key_type::i64;
    default: return std::nullopt;
  }
}

/// Takes ownership of a new array, or throws the error that NumPy has set.
nb::object owned(PyObject* array) {
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

nb::object new_array(int num_axes, const npy_intp* shape, int type_number) {
  return owned(PyArray_SimpleNew(num_axes, const_cast<npy_intp*>(shape), type_number));
}

nb::object new_array(std::uint64_t count, int type_number) {
  const auto shape = static_cast<npy_intp>(count);
  return new_array(1, &shape, type_number);
}

}  // namespace

void import_numpy() {
  if (_import_array() < 0) throw nb::python_error();
}

array_memory readable(nb::handle array) {
  if (!PyArray_Check(array.ptr())) throw nb::type_error("a NumPy array is expected");
  PyArrayObject* const numpy_array = as_array(array);
  if (!PyArray_IS_C_CONTIGUOUS(numpy_array)) throw nb::type_error("a C-contiguous array is expected");
  return memory_of(numpy_array);
}

array_memory writeable(nb::handle array) {
  const array_memory memory = readable(array);
  if (!PyArray_ISWRITEABLE(as_array(array))) throw nb::type_error("the array is read-only");
  return memory;
}

array_keys keys_of(const array_memory& memory, int type, bool has_nat) {
  const auto key = static_cast<key_type>(type);
  if (type < 0 || type > static_cast<int>(key_type::f64) || spansort::size_bytes(key) != memory.element_bytes) {
    throw nb::type_error("the elements are no keys of this type");
  }
  return {memory, key, has_nat};
}

array_values values_of(const array_memory& memory, const array_keys& keys) {
  const std::uint64_t count = keys.memory.num_elements;
  if (count == 0) return {memory.data, memory.element_bytes};
  if (memory.size_bytes() == 0 || memory.size_bytes() % count != 0) {
    throw nb::value_error("as many values as keys are expected");
  }
  return {memory.data, memory.size_bytes() / count};
}

std::int64_t* indices_of(const array_memory& memory, const array_keys& keys) {
  if (memory.num_elements != keys.memory.num_elements || memory.element_bytes != sizeof(std::int64_t)) {
    throw nb::value_error("as many 64-bit indices as keys are expected");
  }
  return reinterpret_cast<std::int64_t*>(memory.data);
}

std::optional<array_keys> plain_keys(nb::handle array) {
  if (!PyArray_CheckExact(array.ptr())) return std::nullopt;
  PyArrayObject* const numpy_array = as_array(array);
  if (!PyArray_ISCARRAY_RO(numpy_array) || PyArray_NDIM(numpy_array) == 0) return std::nullopt;
  const int number = PyArray_TYPE(numpy_array);
  const std::optional<key_type> type = type_of_number(number);
  if (!type) return std::nullopt;
  return array_keys{memory_of(numpy_array), *type, number == NPY_DATETIME || number == NPY_TIMEDELTA};
}

std::optional<array_memory> plain_elements(nb::handle array) {
  if (!PyArray_CheckExact(array.ptr())) return std::nullopt;
  PyArrayObject* const numpy_array = as_array(array);
  if (PyArray_NDIM(numpy_array) == 0 || !PyArray_IS_C_CONTIGUOUS(numpy_array)) return std::nullopt;
  if (PyDataType_REFCHK(PyArray_DESCR(numpy_array))) return std::nullopt;
  return memory_of(numpy_array);
}

std::uint64_t num_first_axis(nb::handle array) { return static_cast<std::uint64_t>(PyArray_DIM(as_array(array), 0)); }
bool has_one_axis(nb::handle array) { return PyArray_NDIM(as_array(array)) == 1; }

nb::object new_elements_like(nb::handle array, std::uint64_t count) {
  const auto shape = static_cast<npy_intp>(count);
  PyArray_Descr* const dtype = PyArray_DESCR(as_array(array));
  Py_INCREF(dtype);  // the new array takes one
  return owned(PyArray_NewFromDescr(&PyArray_Type, dtype, 1, &shape, nullptr, nullptr, 0, nullptr));
}

nb::object copy_of(nb::handle array) {
  // The first touch of new memory takes longer than the sort of some arrays, so that signals are looked at meanwhile.
  constexpr std::uint64_t part_bytes = std::uint64_t{16} << 20;
  PyArrayObject* const original = as_array(array);
  const std::uint64_t size_bytes = memory_of(original).size_bytes();
  if (size_bytes <= part_bytes) return owned(PyArray_NewCopy(original, NPY_CORDER));
  nb::object copy = owned(PyArray_NewLikeArray(original, NPY_CORDER, nullptr, 0));
  for (std::uint64_t at = 0; at < size_bytes; at += part_bytes) {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const nb::gil_scoped_release unlocked;
    std::memcpy(data_of(copy) + at, PyArray_BYTES(original) + at, std::min(part_bytes, size_bytes - at));
  }
  return copy;
}

nb::object plain_copy_of(nb::handle array) { return plain_elements(array) ? copy_of(array) : nb::none(); }

nb::object new_indices_like(nb::handle array) {
  return new_array(PyArray_NDIM(as_array(array)), PyArray_DIMS(as_array(array)), NPY_INT64);
}
nb::object new_indices(std::uint64_t count) { return new_array(count, NPY_INT64); }
nb::object new_doubles(std::uint64_t count) { return new_array(count, NPY_DOUBLE); }
nb::object new_bytes(std::uint64_t count) { return new_array(count, NPY_UBYTE); }
char* data_of(nb::handle array) { return PyArray_BYTES(as_array(array)); }

}  // namespace python
