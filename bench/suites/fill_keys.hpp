// SPDX-License-Identifier: Apache-2.0
// The inputs of the suites: the library's distributions, and some that only benchmarks ask for.
#pragma once

#include <cstdint>
#include <spansort/types.hpp>
#include <string>

namespace bench {

/// Fills arrays of `num_keys` keys each. Beside what `spansort gen` knows there are
///   bits:B          uniform in the low B bits, zero above
///   values:K        K uniform values, each as often as the others
///   runs:N          N sorted runs of all keys, one behind the other
///   sorted-tail     sorted, then the last hundredth (one key at least) replaced by uniform ones
///   whole:NAME      floats with the values of unsigned integers of that distribution
/// Throws spansort::invalid_argument.
void fill_keys(spansort::key_span keys, std::uint64_t num_keys, const std::string& distribution, std::uint64_t seed);

}  // namespace bench
