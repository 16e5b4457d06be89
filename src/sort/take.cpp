// SPDX-License-Identifier: Apache-2.0
#include "sort/take.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "base/call_watch.hpp"
#include "base/for_blocks.hpp"
#include "base/threads.hpp"
#include "sort/arguments.hpp"
#include "spansort/errors.hpp"
#include "spansort/take.hpp"

namespace spansort {
namespace {

/// Calls f(indices) with a pointer to indices of the right type.
template <class F>
auto with_indices(const const_key_span& indices, const F& f) {
  switch (indices.type) {
    case key_type::u32: return f(static_cast<const std::uint32_t*>(indices.data));
    case key_type::i32: return f(static_cast<const std::int32_t*>(indices.data));
    case key_type::u64: return f(static_cast<const std::uint64_t*>(indices.data));
    default: return f(static_cast<const std::int64_t*>(indices.data));
  }
}

/// A negative index becomes more than any number of elements.
template <class I>
std::uint64_t widened(I index) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(index));
}
template <>
std::uint64_t widened(std::uint32_t index) noexcept {
  return index;
}

/// `width` is 0 where it is known at run time only.
template <std::uint64_t width, class I>
void gather_block(const char* from, std::uint64_t element_bytes, const I* indices, std::uint64_t begin,
                  std::uint64_t end, char* to) {
  const std::uint64_t bytes = width != 0 ? width : element_bytes;
  for (std::uint64_t i = begin; i < end; ++i) {
    std::memcpy(to + i * bytes, from + widened(indices[i]) * bytes, bytes);
  }
}

}  // namespace

void sorting::require_index_type(key_type type) {
  using enum key_type;
  if (type == u32 || type == i32 || type == u64 || type == i64) return;
  throw invalid_argument(fmt::format("take: indices of type u32, i32, u64 or i64 are expected, found {}", name(type)));
}

std::optional<std::uint64_t> sorting::first_bad_index(const_key_span indices, std::uint64_t num_elements) {
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> first{none};
  with_indices(indices, [&](const auto* data) {
    base::for_blocks(indices.num_keys, [&](std::uint64_t begin, std::uint64_t end) {
      if (begin >= first.load(std::memory_order_relaxed)) return;
      // Nearly always all are good, which a loop without branches finds out faster.
      unsigned are_bad = 0;
      for (std::uint64_t i = begin; i < end; ++i) are_bad |= widened(data[i]) >= num_elements ? 1U : 0U;
      if (are_bad == 0) return;
      while (widened(data[begin]) < num_elements) ++begin;
      std::uint64_t known = first.load();
      while (begin < known && !first.compare_exchange_weak(known, begin)) {
      }
    });
  });
  return first == none ? std::nullopt : std::optional(first.load());
}

std::string sorting::bad_index_text(const_key_span indices, std::uint64_t at, std::uint64_t first,
                                    std::uint64_t num_elements) {
  return with_indices(indices, [&](const auto* data) {
    if (data[at] < 0) return fmt::format("index {} at position {} is negative", data[at], first + at);
    return fmt::format("index {} at position {} is out of range: there are {} elements", data[at], first + at,
                       num_elements);
  });
}

void sorting::gather_elements(const void* elements, std::uint64_t element_bytes, const_key_span indices,
                              void* destination) {
  const auto* const from = static_cast<const char*>(elements);
  auto* const to = static_cast<char*>(destination);
  with_indices(indices, [&](const auto* data) {
    const auto gather = [&](std::uint64_t begin, std::uint64_t end) {
      switch (element_bytes) {
        case 1: return gather_block<1>(from, element_bytes, data, begin, end, to);
        case 2: return gather_block<2>(from, element_bytes, data, begin, end, to);
        case 4: return gather_block<4>(from, element_bytes, data, begin, end, to);
        case 8: return gather_block<8>(from, element_bytes, data, begin, end, to);
        case 16: return gather_block<16>(from, element_bytes, data, begin, end, to);
        default: return gather_block<0>(from, element_bytes, data, begin, end, to);
      }
    };
    base::for_blocks(indices.num_keys, gather, base::block_elements(element_bytes));
  });
}

void take_elements(const void* elements, std::uint64_t num_elements, std::uint64_t element_bytes,
                   const_key_span indices, void* destination, const take_options& options) {
  sorting::require_index_type(indices.type);
  sorting::check_keys(indices);
  if (indices.num_keys == 0 || element_bytes == 0) return;
  base::with_threads(options.threads, [&] {
    const base::call_watch watch(options.on_progress, "take");
    if (const auto bad = sorting::first_bad_index(indices, num_elements)) {
      throw invalid_argument("take: " + sorting::bad_index_text(indices, *bad, 0, num_elements));
    }
    if (elements == nullptr || destination == nullptr) throw invalid_argument("take: null pointer for elements");
    const std::uint64_t index_bytes = size_bytes(indices.type);
    watch.in_parts(indices.num_keys, element_bytes, [&](std::uint64_t begin, std::uint64_t count) {
      const const_key_span part{indices.type, static_cast<const char*>(indices.data) + begin * index_bytes, count};
      sorting::gather_elements(elements, element_bytes, part, static_cast<char*>(destination) + begin * element_bytes);
    });
    if (options.on_progress) options.on_progress({"done", 1});
  });
}

}  // namespace spansort
