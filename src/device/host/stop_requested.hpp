// SPDX-License-Identifier: Apache-2.0
// This header says how work on the host device ends before its time.
#pragma once

namespace spansort::device::host {

/// Thrown inside a queue when the monitor asks to stop: before the source was overwritten, or at any time where nobody
/// wants the arrays any more.
struct stop_requested {};

}  // namespace spansort::device::host
