// SPDX-License-Identifier: Apache-2.0
// check(), checksum() and checksum_pairs(): one parallel read each. Order here is order in value, -0.0 equal to +0.0
// and NaN to NaN, so that the output of sort_pairs passes as well as that of sort.
#include "spansort/check.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>
#include <concepts>

#include "base/threads.hpp"
#include "check/element_hash.hpp"
#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "keys/known_type.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t grain_keys = std::uint64_t{1} << 14;
using index_range = tbb::blocked_range<std::uint64_t>;

/// An encoding that loses what a tie by input order loses; integers skip the folding of zeros and NaNs.
template <std::unsigned_integral K, bool folds>
struct value_encoding {
  keys::codec_of<K> codec;
  [[nodiscard]] K operator()(K key) const noexcept { return codec.encode_bits(folds ? codec.fold(key) : key); }
};

/// Calls f(data, encoding) with keys and encoding of the right width.
template <class F>
auto with_values(const const_key_span& span, direction d, const F& f) {
  keys::require_known(span.type);
  const keys::key_codec codec{span.type, keys::is_descending(d), keys::tie_rule::by_input_order};
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* data = static_cast<const K*>(span.data);
    if (keys::is_float(span.type)) return f(data, value_encoding<K, true>{codec.of<K>()});
    return f(data, value_encoding<K, false>{codec.of<K>()});
  });
}

void merge(check_result& into, const check_result& from) {
  into.num_duplicates += from.num_duplicates;
  into.is_in_order = into.is_in_order && from.is_in_order;
  for (std::size_t i = 0; i < 2; ++i) into.checksum.words[i] += from.checksum.words[i];
  if (from.first_disorder && (!into.first_disorder || *from.first_disorder < *into.first_disorder)) {
    into.first_disorder = from.first_disorder;
  }
}

/// Checks keys [begin, end) of `data` against their left neighbours.
template <class K, class Encoding>
check_result check_block(const K* data, const index_range& block, const Encoding& encode, bool unique) {
  check_result result;
  std::uint64_t begin = block.begin();
  if (begin == 0) {
    checking::hash_pair hash;
    hash.absorb(data[begin++]);
    checking::add(result.checksum, hash);
  }
  K left = encode(data[begin - 1]);
  for (std::uint64_t i = begin; i < block.end(); ++i) {
    checking::hash_pair hash;
    hash.absorb(data[i]);
    checking::add(result.checksum, hash);
    const K here = encode(data[i]);
    result.num_duplicates += here == left;
    if (here < left || (unique && here == left)) [[unlikely]] {
      if (!result.first_disorder) result.first_disorder = i;
      if (here < left) result.is_in_order = false;
    }
    left = here;
  }
  return result;
}

// Task groups here are isolated: when the caller's own tasks are cancelled, a check must not say yes for having
// stopped.

template <class HashAt>
multiset_checksum sum_hashes(std::uint64_t num_keys, const HashAt& hash_at) {
  const auto sum_block = [&](const index_range& block, multiset_checksum sum) {
    for (std::uint64_t i = block.begin(); i != block.end(); ++i) checking::add(sum, hash_at(i));
    return sum;
  };
  tbb::task_group_context own(tbb::task_group_context::isolated);
  return tbb::parallel_reduce(
      index_range(0, num_keys, grain_keys), multiset_checksum{}, sum_block,
      [](const multiset_checksum& a, const multiset_checksum& b) { return a + b; }, own);
}

}  // namespace

check_result check(const const_key_span keys, const check_options& options) {
  check_result result;
  if (keys.num_keys != 0) {
    result = with_values(keys, options.direction, [&](const auto* data, const auto& encode) {
      const auto check_more = [&](const index_range& block, check_result found) {
        merge(found, check_block(data, block, encode, options.unique));
        return found;
      };
      const auto join = [](check_result a, const check_result& b) {
        merge(a, b);
        return a;
      };
      tbb::task_group_context own(tbb::task_group_context::isolated);
      return base::with_threads(options.threads, [&] {
        return tbb::parallel_reduce(index_range(0, keys.num_keys, grain_keys), check_result{}, check_more, join, own);
      });
    });
  }
  result.num_keys = keys.num_keys;
  return result;
}

multiset_checksum checksum(const const_key_span keys) { return checksum_pairs(keys, nullptr, 0); }

multiset_checksum checksum_pairs(const const_key_span keys, const void* values, std::uint64_t value_bytes) {
  keys::require_known(keys.type);
  return keys::with_width(static_cast<unsigned>(size_bytes(keys.type)), [&]<class K>() {
    return sum_hashes(keys.num_keys, [&, data = static_cast<const K*>(keys.data),
                                      bytes = static_cast<const unsigned char*>(values)](std::uint64_t i) {
      checking::hash_pair hash;
      hash.absorb(data[i]);
      if (value_bytes != 0) hash.absorb_bytes(bytes + i * value_bytes, value_bytes);
      return hash;
    });
  });
}

std::string to_string(const multiset_checksum& checksum) {
  return fmt::format("{:016x}{:016x}", checksum.words[0], checksum.words[1]);
}

}  // namespace spansort
