// SPDX-License-Identifier: Apache-2.0
#include "files/row_checks.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <cstddef>
#include <cstring>

#include "files/element_scan.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"

namespace spansort::files {
namespace {

/// Calls f(words, codec) with the keys as unsigned words and the encoding in which keys of equal value are equal.
template <class F>
decltype(auto) with_words(const const_key_span& keys, direction d, const F& f) {
  const keys::key_codec by_value{keys.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  return keys::with_width(by_value.width_bytes(),
                          [&]<class K>() { return f(static_cast<const K*>(keys.data), by_value.of<K>()); });
}

/// A view of the keys as elements that are their places alone.
element_view places_of(const const_key_span& keys) {
  return {nullptr, static_cast<const std::byte*>(keys.data), keys.num_keys, size_bytes(keys.type)};
}

/// Calls f(left, key) for the keys of the view; `f` is not called across rows.
template <class K, class F>
auto within_rows(const K* words, std::uint64_t row_keys, const F& f) {
  return [words, row_keys, f](const std::byte* left, const std::byte* element) {
    const auto i = static_cast<std::uint64_t>(reinterpret_cast<const K*>(element) - words);
    return i % row_keys != 0 && f(*reinterpret_cast<const K*>(left), *reinterpret_cast<const K*>(element));
  };
}

}  // namespace

std::vector<multiset_checksum> checksums_of_rows(const const_key_span& keys, std::uint64_t row_keys) {
  const std::uint64_t num_rows = keys.num_keys / row_keys;
  const std::uint64_t row_bytes = row_keys * size_bytes(keys.type);
  std::vector<multiset_checksum> sums(num_rows);
  tbb::task_group_context own(tbb::task_group_context::isolated);
  tbb::parallel_for(
      std::uint64_t{0}, num_rows,
      [&](std::uint64_t row) {
        sums[row] = checksum({keys.type, static_cast<const std::byte*>(keys.data) + row * row_bytes, row_keys});
      },
      own);
  return sums;
}

std::optional<std::uint64_t> first_row_disorder(const const_key_span& keys, std::uint64_t row_keys, direction d,
                                                bool unique) {
  return with_words(keys, d, [&]<class K>(const K* words, const keys::codec_of<K>& codec) {
    return first_wrong(places_of(keys), within_rows(words, row_keys, [&](K a, K b) {
                         const K x = codec.encode(a);
                         const K y = codec.encode(b);
                         return y < x || (unique && x == y);
                       }));
  });
}

std::uint64_t num_row_duplicates(const const_key_span& keys, std::uint64_t row_keys, direction d) {
  return with_words(keys, d, [&]<class K>(const K* words, const keys::codec_of<K>& codec) {
    const auto is_equal = within_rows(words, row_keys, [&](K a, K b) { return codec.encode(a) == codec.encode(b); });
    return count_equal(places_of(keys), [&](const std::byte* a, const std::byte* b) { return is_equal(a, b) ? 0 : 1; });
  });
}

bool is_order_of_rows(const const_key_span& keys, std::uint64_t row_keys, direction d, const std::uint64_t* indices) {
  return with_words(keys, d, [&]<class K>(const K* words, const keys::codec_of<K>& codec) {
    const element_view places{nullptr, reinterpret_cast<const std::byte*>(indices), keys.num_keys, sizeof(*indices)};
    const auto is_outside = [&](const std::byte*, const std::byte* b) {
      return *reinterpret_cast<const std::uint64_t*>(b) >= row_keys;
    };
    if (keys.num_keys != 0 && (indices[0] >= row_keys || first_wrong(places, is_outside))) return false;
    return !first_wrong(places, [&](const std::byte* a, const std::byte* b) {
      const auto i = static_cast<std::uint64_t>(reinterpret_cast<const std::uint64_t*>(b) - indices);
      if (i % row_keys == 0) return false;
      const K* const row = words + i / row_keys * row_keys;
      const std::uint64_t left = *reinterpret_cast<const std::uint64_t*>(a);
      const std::uint64_t right = *reinterpret_cast<const std::uint64_t*>(b);
      const K x = codec.encode(row[left]);
      const K y = codec.encode(row[right]);
      return y < x || (x == y && right <= left);
    });
  });
}

}  // namespace spansort::files
