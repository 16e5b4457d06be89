// SPDX-License-Identifier: Apache-2.0
// write_outliers(): the keys beyond the whiskers of a box plot, in input order, into a file.
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <vector>

#include "base/byte_buffer.hpp"
#include "base/math.hpp"
#include "files/io/key_writer.hpp"
#include "files/outliers.hpp"
#include "keys/dispatch.hpp"
#include "sort/arguments.hpp"
#include "spansort/files.hpp"
#include "statistics/open_keys.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t block_keys = std::uint64_t{1} << 16;

/// Whether an encoded key is a number outside of [inside_begin, inside_end).
struct outside_test {
  statistics::key_bound inside_begin;
  statistics::key_bound inside_end;
  statistics::key_bound first_nan;

  [[nodiscard]] bool operator()(std::uint64_t encoded) const noexcept {
    const bool is_below = inside_begin.is_end || encoded < inside_begin.encoded;
    const bool is_above = !inside_end.is_end && encoded >= inside_end.encoded;
    return (is_below || is_above) && (first_nan.is_end || encoded < first_nan.encoded);
  }
};

/// Calls f(block, first key, number of keys) for all blocks, on all processors.
template <class F>
void for_each_block(std::uint64_t num_keys, const F& f) {
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      std::uint64_t{0}, base::ceil_div(num_keys, block_keys),
      [&](std::uint64_t block) {
        const std::uint64_t begin = block * block_keys;
        f(block, begin, std::min(block_keys, num_keys - begin));
      },
      own);
}

/// Two reads: how many there are in each block, then they themselves at the position that follows from it.
template <class K>
base::byte_buffer collect_outside(std::span<const K> words, const keys::codec_of<K>& codec,
                                  const outside_test& is_outside) {
  std::vector<std::uint64_t> positions(base::ceil_div<std::uint64_t>(words.size(), block_keys) + 1);
  for_each_block(words.size(), [&](std::uint64_t block, std::uint64_t begin, std::uint64_t count) {
    const auto of_block = words.subspan(begin, count);
    positions[block + 1] = static_cast<std::uint64_t>(
        std::count_if(of_block.begin(), of_block.end(), [&](K word) { return is_outside(codec.encode(word)); }));
  });
  for (std::size_t b = 1; b < positions.size(); ++b) positions[b] += positions[b - 1];
  base::byte_buffer bytes(positions.back() * sizeof(K));
  K* const collected = reinterpret_cast<K*>(bytes.data());
  for_each_block(words.size(), [&](std::uint64_t block, std::uint64_t begin, std::uint64_t count) {
    const auto of_block = words.subspan(begin, count);
    std::copy_if(of_block.begin(), of_block.end(), collected + positions[block],
                 [&](K word) { return is_outside(codec.encode(word)); });
  });
  return bytes;
}

}  // namespace

base::byte_buffer files::outliers_of(const const_key_span& span, const summary& box) {
  // Of NaN whiskers, nothing is beyond.
  if (span.num_keys == 0 || box.whisker_low != box.whisker_low || box.whisker_high != box.whisker_high) return {};
  // Bounds are arithmetic on encodings; no key is read for them.
  const summary_options defaults{.devices = "host:1"};
  const auto keys = statistics::open_keys(span, {defaults.order, defaults.devices, defaults.threads});
  const outside_test is_outside{keys->at_least(box.whisker_low), keys->above(box.whisker_high), keys->first_nan()};
  const keys::key_codec codec{span.type, false, keys::tie_rule::by_bits};
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    return collect_outside(std::span(static_cast<const K*>(span.data), span.num_keys), codec.of<K>(), is_outside);
  });
}

std::uint64_t write_outliers(const std::string& output, const const_key_span keys, const summary& box,
                             const temporary_file_callback& on_temporary) {
  sorting::check_keys(keys);
  const files::output_target target = files::find_output(output);
  const files::key_layout layout = files::output_layout(target, output, {files::file_format::raw, keys.type});
  base::byte_buffer bytes = files::outliers_of(keys, box);
  const std::uint64_t num_outliers = bytes.size() / size_bytes(keys.type);
  files::require_free_space(target, files::file_bytes(layout, num_outliers));
  files::write_keys(target, layout, {keys.type, bytes.data(), num_outliers}, on_temporary);
  return num_outliers;
}

}  // namespace spansort
