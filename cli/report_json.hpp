// SPDX-License-Identifier: Apache-2.0
// This header makes the JSON of `--report FILE`. Beside what spansort::to_json() says of the sort, whose fields
// spansort/report.hpp documents, it holds:
//   spansort           version of the program
//   host               name of the machine; model, vectors, num_processors, memory_bytes as `spansort devices` has them
//   inputs             path and size_bytes of each input, output the same of the output; a stream's size is null
//   record_bytes       bytes of a record, 0 where keys were sorted
//   num_keys_out       keys or records written: fewer than num_keys with -u and --head
//   verified           whether order, count and checksum of the result were checked before it appeared
//   num_runs           sorted runs in temporary files; 0: all was in memory at once
//   peak_memory_bytes  most memory that the process held at a time
// `elapsed_ms` is the time from the call to the output's being in place, files included: the time that the line at the
// end of a sort tells. `elapsed_ms` of a phase is the time from its first begin to its last end, `busy_ms` the sum of
// its pieces, which is more where they ran side by side. `algorithm`, `picked` and `ranks` say what was chosen, and
// why.
#pragma once

#include <string>

#include "cli/finish_line.hpp"

namespace cli {

[[nodiscard]] std::string report_json(const finished_operation& done);

}  // namespace cli
