// SPDX-License-Identifier: Apache-2.0
// Keys on their way into rows of vectors and back to memory, where a network leaves off in the middle of a row. This
// header is included once for each of Highway's targets.
#if defined(SPANSORT_VECTOR_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SPANSORT_VECTOR_ROWS_INL
#undef SPANSORT_VECTOR_ROWS_INL
#else
#define SPANSORT_VECTOR_ROWS_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "device/host/vector_forms-inl.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Lanes of 16 bits have no masked loads and stores on AVX2.
template <class K>
inline constexpr bool has_masked_memory = HWY_TARGET != HWY_AVX2 || sizeof(K) >= 4;

/// Loads the lanes of the mask, and `other` into the rest. Memory of other lanes is not touched, where that is known.
template <class D, class V>
HWY_INLINE V load_lanes(D d, hn::Mask<D> mask, const hn::TFromD<D>* from, V other) {
  if constexpr (!has_masked_memory<hn::TFromD<D>>) return hn::IfThenElse(mask, hn::LoadU(d, from), other);
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(*from) == 2) return V{_mm512_mask_loadu_epi16(other.raw, mask.raw, from)};
  if constexpr (sizeof(*from) == 4) return V{_mm512_mask_loadu_epi32(other.raw, mask.raw, from)};
  if constexpr (sizeof(*from) == 8) return V{_mm512_mask_loadu_epi64(other.raw, mask.raw, from)};
#else
  return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, from), other);
#endif
}

#if HWY_TARGET == HWY_AVX3
/// The lanes of 16 bits of a mask, in their order, and zeros behind them, where the processor has this instruction.
/// Highway knows it for a target that asks for more than all processors with it have.
HWY_INLINE __m512i compress_16(__m512i x, __mmask32 mask) {
  __m512i result;
  __asm__("vpcompressw %1, %0%{%2%}%{z%}" : "=v"(result) : "v"(x), "Yk"(mask));
  return result;
}
#endif

/// Loads and stores rows of a network. The first `full_rows` of them are full of keys, the others may have none.
template <class K>
class row_memory {
 public:
  using T = lane_type<K>;
  using D = full_tag<K>;
  using V = hn::Vec<D>;

  template <unsigned full_rows, class Form, class N, std::size_t rows>
  static HWY_INLINE void load(const Form& form, const T* keys, std::uint64_t num_keys, N (&v)[rows]) {
    load_rows<full_rows>(form, keys, num_keys, count_of(num_keys), v, std::make_index_sequence<rows>());
  }

  /// Whole vectors are written where the result goes on.
  template <unsigned full_rows, class Form, class N, std::size_t rows>
  static HWY_INLINE void store(const Form& form, N (&v)[rows], std::uint64_t num_keys, K* result, const K* result_end) {
    T* const to = reinterpret_cast<T*>(result);
    if (static_cast<std::uint64_t>(result_end - result) >= rows * lanes) {
      store_rows(form, v, to, std::make_index_sequence<rows>());
    } else if (!has_masked_memory<K> || HWY_UNLIKELY(ends_across_pages(result, num_keys))) {
      HWY_ALIGN T sorted[rows * lanes];
      store_rows(form, v, sorted, std::make_index_sequence<rows>());
      std::memcpy(result, sorted, num_keys * sizeof(K));
    } else {
      store_lanes<full_rows>(form, v, to, num_keys, count_of(num_keys), std::make_index_sequence<rows>());
    }
  }

 private:
  static constexpr std::uint64_t lanes = lanes_of<K>();
  using counts = hn::Vec<hn::RebindToSigned<D>>;

  static HWY_INLINE counts count_of(std::uint64_t num_keys) {
    return hn::Set(hn::RebindToSigned<D>(), static_cast<std::make_signed_t<T>>(num_keys));
  }

  /// Returns whether the last row reaches beyond the keys into another page, which may have no memory.
  static HWY_INLINE bool ends_across_pages(const K* result, std::uint64_t num_keys) {
    constexpr std::uintptr_t page_bytes = 4096;
    const auto end = reinterpret_cast<std::uintptr_t>(result + num_keys);
    const auto row_end = reinterpret_cast<std::uintptr_t>(result + (num_keys + lanes - 1) / lanes * lanes);
    return (end - 1) / page_bytes != (row_end - 1) / page_bytes;
  }

  /// The lanes of a row that hold keys, where `count` of them lie in all rows.
  template <unsigned row>
  static HWY_INLINE hn::Mask<D> lanes_of_row(counts count) {
    const hn::RebindToSigned<D> di;
    return hn::RebindMask(D(), hn::Gt(count, hn::Iota(di, static_cast<std::make_signed_t<T>>(row * lanes))));
  }

  /// Returns where a row begins, or the last row with keys where this one has none. Masked instructions that reach
  /// pages without memory are undone by microcode, in 300 cycles, even where the mask has no bit.
  template <unsigned row>
  static HWY_INLINE std::uint64_t begin_of(std::uint64_t num_keys) {
    return std::min(row * lanes, (num_keys - 1) / lanes * lanes);
  }

  template <unsigned full_rows, class Form, class N, std::size_t rows, std::size_t... i>
  static HWY_INLINE void load_rows(const Form& form, const T* keys, std::uint64_t num_keys, counts count, N (&v)[rows],
                                   std::index_sequence<i...>) {
    ((v[i] = load_row<i, full_rows>(form, keys, num_keys, count)), ...);
  }
  template <unsigned row, unsigned full_rows, class Form>
  static HWY_INLINE auto load_row(const Form& form, const T* keys, std::uint64_t num_keys, counts count) {
    const D d;
    if constexpr (row < full_rows) {
      return form.encode(hn::LoadU(d, keys + row * lanes));
    } else {
      const hn::Mask<D> own = lanes_of_row<row>(count);
      const T* const from = keys + begin_of<row>(num_keys);
      if constexpr (Form::pads_encoded) {
        const typename Form::compared_tag dc;
        const auto x = form.encode(load_lanes(d, own, from, hn::Zero(d)));
        return hn::IfThenElse(hn::RebindMask(dc, own), x, form.padding());
      } else {
        return form.encode(load_lanes(d, own, from, form.padding()));
      }
    }
  }
  template <class Form, class N, std::size_t rows, std::size_t... i>
  static HWY_INLINE void store_rows(const Form& form, N (&v)[rows], T* to, std::index_sequence<i...>) {
    (hn::StoreU(form.decode(v[i]), D(), to + i * lanes), ...);
  }
  template <unsigned full_rows, class Form, class N, std::size_t rows, std::size_t... i>
  static HWY_INLINE void store_lanes(const Form& form, N (&v)[rows], T* to, std::uint64_t num_keys, counts count,
                                     std::index_sequence<i...>) {
    (store_row<i, full_rows>(form.decode(v[i]), to, num_keys, count), ...);
  }
  template <unsigned row, unsigned full_rows>
  static HWY_INLINE void store_row(V x, T* to, std::uint64_t num_keys, counts count) {
    const D d;
    if constexpr (row < full_rows) return hn::StoreU(x, d, to + row * lanes);
#if HWY_TARGET == HWY_AVX2
    // Masked stores of AVX2 are slow on AMD's processors.
    if (num_keys >= (row + 1) * lanes) return hn::StoreU(x, d, to + row * lanes);
    if (num_keys <= row * lanes) return;
#endif
    hn::BlendedStore(x, lanes_of_row<row>(count), d, to + begin_of<row>(num_keys));
  }
};

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
