// SPDX-License-Identifier: Apache-2.0
// An exception for progress callbacks, which stops a sort even while it overwrites its arrays.
#pragma once

#include "spansort/errors.hpp"

namespace spansort {

/// Thrown by a progress callback, this stops a call of sort.hpp, sort_by.hpp, records.hpp, take.hpp, table.hpp or
/// arrow.hpp, also while the caller's arrays are being overwritten: they then hold neither input nor result. It is for
/// arrays that are made for the call and thrown away with it. The call throws it on, as soon as each thread has ended
/// the piece of work that it is at; that of a host device of one thread may be a partition of all that the device
/// holds. On GPUs, and by algorithms that are published sorts to compare with, a sort that is overwriting arrays runs
/// to its end first.
class abandoned : public cancelled {
 public:
  using cancelled::cancelled;
};

}  // namespace spansort
