// SPDX-License-Identifier: Apache-2.0
#include "exchange.hpp"

#include <utility>
#include <vector>

namespace python {

/// An array that its library keeps until it is forgotten.
struct managed_array {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*forget)(managed_array*);
  std::uint64_t flags;
  dlpack_tensor tensor;
};

/// The table that a library hands out. Functions return 0, or something else with an exception of Python's set;
/// allocate() reports to its last argument instead.
struct exchange_functions {
  std::uint32_t major;
  std::uint32_t minor;
  void* previous;
  int (*allocate)(dlpack_tensor* prototype, managed_array** made, void* context,
                  void (*report)(void* context, const char* kind, const char* message));
  int (*take)(void* object, managed_array** taken);
  int (*give)(managed_array* array, void** object);
  int (*look)(void* object, dlpack_tensor* tensor);
  int (*stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

namespace {

constexpr const char* attribute = "__dlpack_c_exchange_api__";
constexpr const char* capsule_name = "dlpack_exchange_api";

/// A library's type of arrays, and its dtype of indices of 64 bits. All pointers are good as long as the process lives.
struct exchanging_type {
  PyTypeObject* type;
  const exchange_functions* functions;
  PyObject* index_dtype;
};

/// These are few, and are read and written under the interpreter's lock.
std::vector<exchanging_type>& exchanging_types() {
  static std::vector<exchanging_type> types;
  return types;
}

const exchanging_type* exchanging_type_of(nb::handle array) {
  for (const exchanging_type& each : exchanging_types()) {
    if (each.type == Py_TYPE(array.ptr())) return &each;
  }
  return nullptr;
}

/// Tells the module of PyTorch's type of tensors. Returns whether it speaks the interface; a subclass does not by what
/// its base says, for it may see to more than memory.
bool exchange_with(nb::handle type, nb::handle index_dtype) {
  if (PyType_Check(type.ptr()) == 0) throw nb::type_error("a type is expected");
  const nb::object own = nb::getattr(type, "__dict__");
  if (!nb::cast<bool>(own.attr("__contains__")(attribute))) return false;
  const nb::object capsule = nb::getattr(type, attribute);
  if (PyCapsule_IsValid(capsule.ptr(), capsule_name) == 0) return false;
  const auto* const functions =
      static_cast<const exchange_functions*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name));
  if (functions->major != 1 || functions->minor < 3) return false;
  if (functions->allocate == nullptr || functions->look == nullptr || functions->stream == nullptr) return false;
  exchanging_types().push_back(
      {reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr()), functions, index_dtype.inc_ref().ptr()});
  capsule.inc_ref();
  return true;
}

std::optional<spansort::key_type> key_type_of(dlpack_type type) {
  using enum spansort::key_type;
  if (type.lanes != 1) return std::nullopt;
  const auto of_bits = [&](auto of_8, auto of_16, auto of_32, auto of_64) -> std::optional<spansort::key_type> {
    switch (type.bits) {
      case 8: return of_8;
      case 16: return of_16;
      case 32: return of_32;
      case 64: return of_64;
      default: return std::nullopt;
    }
  };
  switch (type.code) {
    case 0: return of_bits(i8, i16, i32, i64);
    case 1: return of_bits(u8, u16, u32, u64);
    case 2: return of_bits(std::nullopt, f16, f32, f64);
    case 4: return of_bits(std::nullopt, bf16, std::nullopt, std::nullopt);
    case 6: return of_bits(u8, std::nullopt, std::nullopt, std::nullopt);  // bool
    default: return std::nullopt;
  }
}

bool is_vector_on_gpu(const dlpack_tensor& tensor) {
  return tensor.device_type == dlpack_cuda && tensor.num_axes == 1 && tensor.data != nullptr &&
         (tensor.strides == nullptr || tensor.strides[0] == 1);
}

/// The interface gives the memory of all tensors.
bool is_more_than_memory(nb::handle tensor) {
  return nb::cast<bool>(tensor.attr("requires_grad")) || nb::cast<bool>(tensor.attr("is_neg")());
}

}  // namespace

exchanged_memory::~exchanged_memory() {
  if (array_ != nullptr && array_->forget != nullptr) array_->forget(array_);
}

exchanged_memory::exchanged_memory(exchanged_memory&& other) noexcept : array_(std::exchange(other.array_, nullptr)) {}

std::uintptr_t exchanged_memory::address() const { return array_->tensor.address(); }

exchanged_keys::exchanged_keys(const exchange_functions& functions, nb::handle array, const dlpack_tensor& tensor,
                               spansort::key_type type)
    : functions_(&functions),
      array_(array),
      tensor_(tensor),
      type_(type),
      num_keys_(static_cast<std::uint64_t>(tensor.shape[0])) {}

std::optional<exchanged_keys> exchanged_keys::of(nb::handle array) {
  const exchanging_type* const known = exchanging_type_of(array);
  if (known == nullptr) return std::nullopt;
  dlpack_tensor tensor;
  if (known->functions->look(array.ptr(), &tensor) != 0) {
    PyErr_Clear();  // whoever takes the array without this interface says what is wrong
    return std::nullopt;
  }
  const std::optional<spansort::key_type> type = key_type_of(tensor.type);
  if (!type || !is_vector_on_gpu(tensor) || is_more_than_memory(array)) return std::nullopt;
  return exchanged_keys(*known->functions, array, tensor, *type);
}

std::optional<std::uintptr_t> exchanged_keys::stream() const {
  void* stream = nullptr;
  if (functions_->stream(dlpack_cuda, tensor_.device, &stream) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  return reinterpret_cast<std::uintptr_t>(stream);
}

exchanged_result exchanged_keys::looked_at(nb::object made) const {
  dlpack_tensor tensor;
  if (functions_->look(made.ptr(), &tensor) != 0) throw nb::python_error();
  return {std::move(made), tensor.address()};
}

exchanged_result exchanged_keys::new_keys() const { return looked_at(array_.attr("new_empty")(num_keys_)); }

exchanged_result exchanged_keys::new_indices() const {
  const nb::handle dtype = exchanging_type_of(array_)->index_dtype;
  return looked_at(array_.attr("new_empty")(num_keys_, nb::arg("dtype") = dtype));
}

std::optional<exchanged_memory> exchanged_keys::new_bytes(std::uint64_t count) const {
  auto length = static_cast<std::int64_t>(count);
  std::int64_t step = 1;
  dlpack_tensor prototype{.device_type = dlpack_cuda,
                          .device = tensor_.device,
                          .num_axes = 1,
                          .type = {.code = 1, .bits = 8},
                          .shape = &length,
                          .strides = &step};
  managed_array* made = nullptr;
  const auto ignore = [](void*, const char*, const char*) {};
  if (functions_->allocate(&prototype, &made, nullptr, ignore) != 0) return std::nullopt;
  return exchanged_memory(made);
}

void define_exchange(nb::module_& module) {
  module.def("exchange_with", &exchange_with, nb::arg("type"), nb::arg("index_dtype"));
}

}  // namespace python
