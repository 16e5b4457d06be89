// SPDX-License-Identifier: Apache-2.0
// Options, and how Python interrupts a call.
#include "calls.hpp"

#include <nanobind/stl/string.h>

#include <spansort/abandon.hpp>
#include <utility>

namespace python {

bool interruption::ask(std::string_view phase, double fraction) {
  const nb::gil_scoped_acquire locked;
  if (error_) return false;
  try {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!has_function()) return true;
    return !progress_(nb::str(phase.data(), phase.size()), fraction).is(nb::handle(Py_False));
  } catch (nb::python_error& error) {
    error_.emplace(std::move(error));
    return false;
  }
}

spansort::progress_callback interruption::callback(when_cancelled arrays) {
  return [this, arrays](const spansort::progress& state) {
    if (ask(state.phase, state.fraction)) return true;
    if (arrays == when_cancelled::disposed) throw spansort::abandoned("cancelled; the copy is thrown away");
    return false;
  };
}

void interruption::raise_error() {
  if (error_) throw nb::python_error(std::move(*error_));
}

void define_options(nb::module_& module) {
  nb::class_<call_options>(module, "Options")
      .def(
          "__init__",
          [](call_options* options, const std::string& devices, unsigned threads, std::uint64_t memory,
             std::uint64_t device_memory, const std::string& algorithm, nb::object progress) {
            new (options) call_options();
            try {
              options->sorting.devices = spansort::device_list(devices);
              options->sorting.algorithm = spansort::parse_algorithm(algorithm);
            } catch (...) {
              options->~call_options();
              throw;
            }
            options->sorting.threads = threads;
            options->sorting.memory_limit_bytes = memory;
            options->sorting.device_memory_bytes = device_memory;
            options->progress = std::move(progress);
          },
          nb::kw_only(), nb::arg("devices"), nb::arg("threads"), nb::arg("memory"), nb::arg("device_memory"),
          nb::arg("algorithm"), nb::arg("progress").none())
      .def_prop_ro("opens_devices", &call_options::opens_devices);
}

}  // namespace python
