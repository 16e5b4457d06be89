// SPDX-License-Identifier: Apache-2.0
// Exceptions of the library as those of Python.
#include <nanobind/stl/string.h>

#include <exception>
#include <spansort/errors.hpp>

#include "binding.hpp"

namespace python {
namespace {

/// Sets an exception of spansort/_errors.py.
template <class... Arguments>
void raise(const char* name, Arguments&&... arguments) {
  const nb::object type = nb::module_::import_("spansort._errors").attr(name);
  const nb::object error = type(std::forward<Arguments>(arguments)...);
  PyErr_SetObject(type.ptr(), error.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const spansort::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const spansort::bad_input& error) {
    raise("BadInputError", error.what());
  } catch (const spansort::io_error& error) {
    const nb::object made = nb::handle(PyExc_OSError)(error.code(), error.what());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (const spansort::device_error& error) {
    raise("DeviceError", error.what(), error.device());
  } catch (const spansort::out_of_memory& error) {
    raise("OutOfMemoryError", error.what(), error.needed_bytes(), error.available_bytes());
  } catch (const spansort::cancelled& error) {
    raise("Cancelled", error.what());
  } catch (const spansort::error& error) {
    raise("InternalError", error.what());
  }
}

}  // namespace

void define_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace python
