// SPDX-License-Identifier: Apache-2.0
// Memory that others export as a capsule of DLPack, and capsules of memory that objects of this package hold.
#include "dlpack.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include "binding.hpp"

namespace python {
namespace {

constexpr const char* capsule_name = "dltensor";

/// The capsule stays the caller's.
const dlpack_tensor& tensor_of(nb::handle capsule) {
  const auto* const tensor = static_cast<const dlpack_tensor*>(PyCapsule_GetPointer(capsule.ptr(), capsule_name));
  if (tensor == nullptr) throw nb::python_error();
  return *tensor;
}

/// Returns the address of what a capsule exports, and whether it is C-contiguous.
nb::tuple exported_memory(nb::handle capsule) {
  const dlpack_tensor& tensor = tensor_of(capsule);
  bool is_contiguous = true;
  std::int64_t step = 1;
  for (int axis = tensor.num_axes - 1; axis >= 0; --axis) {
    if (tensor.strides != nullptr && tensor.shape[axis] > 1 && tensor.strides[axis] != step) is_contiguous = false;
    step *= tensor.shape[axis];
  }
  return nb::make_tuple(tensor.address(), is_contiguous || step == 0);
}

nb::tuple tuple_of(const std::int64_t* numbers, int count) {
  nb::list all;
  for (int i = 0; i < count; ++i) all.append(numbers[i]);
  return nb::tuple(all);
}

/// Returns address, ordinal of the device, shape, strides in elements or None, and code, bits and lanes of the type.
nb::tuple exported_elements(nb::handle capsule) {
  const dlpack_tensor& tensor = tensor_of(capsule);
  nb::object strides = nb::none();
  if (tensor.strides != nullptr) strides = tuple_of(tensor.strides, tensor.num_axes);
  return nb::make_tuple(tensor.address(), tensor.device, tuple_of(tensor.shape, tensor.num_axes), strides,
                        tensor.type.code, tensor.type.bits, tensor.type.lanes);
}

/// A tensor that this module exports, and what keeps its memory.
struct managed_tensor {
  dlpack_tensor tensor;
  void* context;
  void (*deleter)(managed_tensor*);
};

struct own_tensor {
  managed_tensor managed = {};
  std::vector<std::int64_t> shape;
  PyObject* owner = nullptr;
};

/// Called by whoever took the tensor, with or without the interpreter's lock.
void forget(managed_tensor* managed) {
  const std::unique_ptr<own_tensor> own(static_cast<own_tensor*>(managed->context));
  if (Py_IsInitialized() == 0) return;
  const PyGILState_STATE lock = PyGILState_Ensure();
  Py_DECREF(own->owner);
  PyGILState_Release(lock);
}

/// A capsule that was taken has another name.
void forget_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, capsule_name) == 0) return;
  auto* const managed = static_cast<managed_tensor*>(PyCapsule_GetPointer(capsule, capsule_name));
  managed->deleter(managed);
}

/// Returns a capsule of C-contiguous elements in the memory of a GPU, which `owner` keeps.
nb::object dlpack_capsule(nb::handle owner, std::uintptr_t address, int device, const nb::tuple& shape, int type_code,
                          int type_bits) {
  auto own = std::make_unique<own_tensor>();
  for (const nb::handle length : shape) own->shape.push_back(nb::cast<std::int64_t>(length));
  own->managed = {.tensor = {.data = reinterpret_cast<void*>(address),
                             .device_type = dlpack_cuda,
                             .device = device,
                             .num_axes = static_cast<std::int32_t>(own->shape.size()),
                             .type = {static_cast<std::uint8_t>(type_code), static_cast<std::uint8_t>(type_bits)},
                             .shape = own->shape.data(),
                             .strides = nullptr,
                             .byte_offset = 0},
                  .context = own.get(),
                  .deleter = forget};
  PyObject* const capsule = PyCapsule_New(&own->managed, capsule_name, forget_capsule);
  if (capsule == nullptr) throw nb::python_error();
  own->owner = owner.inc_ref().ptr();
  static_cast<void>(own.release());
  return nb::steal(capsule);
}

}  // namespace

void define_dlpack(nb::module_& module) {
  module.def("exported_memory", &exported_memory, nb::arg("capsule"));
  module.def("exported_elements", &exported_elements, nb::arg("capsule"));
  module.def("dlpack_capsule", &dlpack_capsule, nb::arg("owner"), nb::arg("address"), nb::arg("device"),
             nb::arg("shape"), nb::arg("type_code"), nb::arg("type_bits"));
}

}  // namespace python
