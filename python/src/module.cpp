// SPDX-License-Identifier: Apache-2.0
// The module spansort._core. Its functions take arrays that the Python sources of the package have prepared:
// C-contiguous, aligned, in native byte order. They check what would harm memory and leave all else to those sources.
#include <nanobind/stl/string.h>

#include <spansort/devices.hpp>
#include <spansort/sort.hpp>
#include <spansort/version.hpp>

#include "arrays.hpp"
#include "binding.hpp"

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);
  python::import_numpy();
  python::define_errors(module);
  python::define_options(module);
  python::define_sorts(module);
  python::define_segments(module);
  python::define_sorter(module);
  python::define_statistics(module);
  python::define_files(module);
  python::define_tables(module);
  python::define_table_streams(module);
  python::define_gpu(module);
  python::define_dlpack(module);
  python::define_exchange(module);
  python::define_xla(module);
  module.def("release_kept_memory", [] {
    const nb::gil_scoped_release unlocked;
    spansort::release_kept_memory();
  });
  module.def("devices_json", [] {
    const nb::gil_scoped_release unlocked;
    return spansort::devices_json();
  });
  module.def("num_processors", &spansort::num_processors);
  module.attr("version") = SPANSORT_VERSION;
}
