// SPDX-License-Identifier: Apache-2.0
// nanobind, and what every source of the module declares to it.
#pragma once

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace python {

void define_errors(nb::module_& module);
void define_options(nb::module_& module);
void define_sorts(nb::module_& module);
void define_segments(nb::module_& module);
void define_sorter(nb::module_& module);
void define_statistics(nb::module_& module);
void define_files(nb::module_& module);
void define_tables(nb::module_& module);
void define_table_streams(nb::module_& module);
void define_gpu(nb::module_& module);
void define_dlpack(nb::module_& module);
void define_exchange(nb::module_& module);
void define_xla(nb::module_& module);

}  // namespace python
