// SPDX-License-Identifier: Apache-2.0
#include "cli/key_source.hpp"

namespace cli {

key_source::key_source(spansort::const_key_span keys)
    : type(keys.type),
      num_keys(keys.num_keys),
      summarize([keys](const spansort::summary_options& options) { return spansort::summarize(keys, options); }),
      quantiles([keys](std::span<const double> q, const spansort::quantile_options& options) {
        return spansort::quantiles(keys, q, options);
      }),
      histogram([keys](std::span<const double> edges, const spansort::count_options& options) {
        return spansort::histogram(keys, edges, options);
      }) {}

key_source::key_source(spansort::file_statistics& keys)
    : type(keys.type()),
      num_keys(keys.num_keys()),
      summarize([&keys](const spansort::summary_options& options) { return keys.summarize(options); }),
      quantiles([&keys](std::span<const double> q, const spansort::quantile_options& options) {
        return keys.quantiles(q, options);
      }),
      histogram([&keys](std::span<const double> edges, const spansort::count_options& options) {
        return keys.histogram(edges, options);
      }),
      expect_quantiles([&keys](std::span<const double> q) { keys.expect_quantiles(q); }),
      prepare_edges([&keys](std::span<const double> edges) { keys.prepare_edges(edges); }) {}

}  // namespace cli
