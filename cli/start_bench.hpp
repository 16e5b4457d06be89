// SPDX-License-Identifier: Apache-2.0
// The way from spansort to spansort-bench, a program of its own: it links what sorts are measured beside.
#pragma once

namespace cli {

/// Returns whether the first argument is `bench`, or `bench-compare`, which is short for `bench compare`.
[[nodiscard]] bool wants_bench(int argc, char** argv);

/// Replaces this process by the program spansort-bench of the same folder, with the arguments behind the first. Returns
/// only where that cannot be, with exit status 2 after a message.
int start_bench_program(char** argv);

}  // namespace cli
