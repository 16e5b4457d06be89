// SPDX-License-Identifier: Apache-2.0
// Few keys in the memory of a GPU go a short way, where their library exchanges arrays in C.
#pragma once

#include "binding.hpp"

namespace python {

/// Returns a sorted copy of a vector, and its stable order, put on the stream of the array's library. None of objects
/// that exchanged_keys does not take, of less than two keys and of many, and where memory ends.
nb::object sorted_gpu_copy(nb::handle array, bool descending);
nb::object stable_gpu_order(nb::handle array, bool descending);

}  // namespace python
