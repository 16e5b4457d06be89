// SPDX-License-Identifier: Apache-2.0
// Loops that must not fail, because what they move is half moved already: where no memory is left for tasks, the
// calling thread does all of the work itself.
#pragma once

#include <new>

namespace spansort::base {

/// Calls `in_tasks`, and where that throws std::bad_alloc, `alone`, which does the same from the start: what the tasks
/// have done does not change what it does. Throws nothing that `alone` does not throw.
template <class InTasks, class Alone>
void in_tasks_or_alone(const InTasks& in_tasks, const Alone& alone) {
  try {
    in_tasks();
  } catch (const std::bad_alloc&) {
    alone();
  }
}

}  // namespace spansort::base
