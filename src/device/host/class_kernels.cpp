// SPDX-License-Identifier: Apache-2.0
// Highway compiles this file once a target (foreach_target includes it again); the exported functions below the guard
// dispatch at run time.
#include "device/host/class_kernels.hpp"

#include <algorithm>
#include <cstddef>

#include "device/host/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/class_kernels.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "device/host/class_classifier-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace spansort::device::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

/// Eight classes in four general registers. Read one by one from where vectors have just stored them, they made a
/// scatter take half as long again: 2^17 u32 to 128 slots 1.0 and 0.6 ns a key on a Granite Rapids.
class eight_classes {
 public:
  explicit HWY_INLINE eight_classes(const std::uint32_t* from)
      : eight_classes(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))) {}
#if HWY_TARGET == HWY_AVX3
  explicit HWY_INLINE eight_classes(const std::uint64_t* from)
      : eight_classes(_mm512_cvtepi64_epi32(_mm512_loadu_si512(from))) {}
#else
  explicit HWY_INLINE eight_classes(const std::uint64_t* from)
      : eight_classes(_mm256_permutevar8x32_epi32(
            _mm256_castps_si256(_mm256_shuffle_ps(_mm256_loadu_ps(reinterpret_cast<const float*>(from)),
                                                  _mm256_loadu_ps(reinterpret_cast<const float*>(from + 4)), 0x88)),
            _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7))) {}
#endif
  HWY_INLINE std::uint32_t operator[](unsigned i) const {
    return static_cast<std::uint32_t>(two_[i / 2] >> (i % 2 * 32));
  }

 private:
  explicit HWY_INLINE eight_classes(__m256i classes) {
    __asm__("" : "+x"(classes));  // without this the compiler reads each from memory
    two_[0] = static_cast<std::uint64_t>(_mm256_extract_epi64(classes, 0));
    two_[1] = static_cast<std::uint64_t>(_mm256_extract_epi64(classes, 1));
    two_[2] = static_cast<std::uint64_t>(_mm256_extract_epi64(classes, 2));
    two_[3] = static_cast<std::uint64_t>(_mm256_extract_epi64(classes, 3));
  }

  std::uint64_t two_[4];
};

/// Fetches keys two kilobytes behind these: a processor by itself looks no further than the end of a page.
template <class K>
HWY_INLINE void fetch_ahead(const K* keys, unsigned num_keys) {
  constexpr std::uint64_t bytes_ahead = 2048;
  const char* const ahead = reinterpret_cast<const char*>(keys) + bytes_ahead;
  for (std::uint64_t i = 0; i < num_keys * sizeof(K); i += 64) __builtin_prefetch(ahead + i);
}

template <class K>
void scatter_to_slots_of(const keys::codec_of<K>& codec, const key_classes<K>& how, const K* keys,
                         std::uint64_t num_keys, const tile_slots<K>& slots) {
  K* HWY_RESTRICT const to = slots.keys;
  std::uint32_t* HWY_RESTRICT const cursors = slots.cursors;
  with_classifier(codec, how, [&](const auto& encoder, const auto& classifier) HWY_ATTR {
    classify(encoder, classifier, keys, num_keys, [&](const K* from, const K* classes, unsigned count) HWY_ATTR {
      fetch_ahead(from, count);
      unsigned j = 0;
      for (; j + 8 <= count; j += 8) {
        const eight_classes eight(classes + j);
        for (unsigned i = 0; i < 8; ++i) to[cursors[eight[i]]++] = from[j + i];
      }
      for (; j < count; ++j) to[cursors[classes[j]]++] = from[j];
    });
  });
}

/// Calls all(vector's first key, class) where a whole vector is of one class, else one(key, class) for each.
template <class K, class All, class One>
HWY_INLINE void for_each_stretch(const K* HWY_RESTRICT keys, const K* HWY_RESTRICT classes, unsigned count,
                                 const All& all, const One& one) {
  const key_tag<K> d;
  constexpr unsigned lanes = hn::MaxLanes(key_tag<K>());
  unsigned i = 0;
  for (; i + lanes <= count; i += lanes) {
    if (hn::AllTrue(d, hn::Eq(hn::Load(d, classes + i), hn::Set(d, classes[i])))) {
      all(keys + i, classes[i]);
    } else {
      for (unsigned j = i; j < i + lanes; ++j) one(keys[j], classes[j]);
    }
  }
  for (; i < count; ++i) one(keys[i], classes[i]);
}

template <class K>
void scatter_runs_to_slots_of(const keys::codec_of<K>& codec, const key_classes<K>& how, const K* keys,
                              std::uint64_t num_keys, const tile_slots<K>& slots) {
  K* HWY_RESTRICT const to = slots.keys;
  std::uint32_t* HWY_RESTRICT const cursors = slots.cursors;
  const key_tag<K> d;
  constexpr std::uint64_t lanes = hn::MaxLanes(key_tag<K>());
  with_classifier(codec, how, [&](const auto& encoder, const auto& classifier) HWY_ATTR {
    classify(encoder, classifier, keys, num_keys, [&](const K* from, const K* classes, unsigned count) HWY_ATTR {
      for_each_stretch(
          from, classes, count,
          [&](const K* first, K of) HWY_ATTR {
            hn::StoreU(hn::LoadU(d, first), d, to + cursors[of]);
            cursors[of] += static_cast<std::uint32_t>(lanes);
          },
          [&](K key, K of) { to[cursors[of]++] = key; });
    });
  });
}

template <class K>
void count_classes_of(const keys::codec_of<K>& codec, const key_classes<K>& how, const K* keys, std::uint64_t num_keys,
                      std::uint32_t* HWY_RESTRICT counts) {
  constexpr std::uint32_t lanes = hn::MaxLanes(key_tag<K>());
  with_classifier(codec, how, [&](const auto& encoder, const auto& classifier) HWY_ATTR {
    classify(encoder, classifier, keys, num_keys, [&](const K* from, const K* classes, unsigned count) HWY_ATTR {
      for_each_stretch(
          from, classes, count, [&](const K*, K of) { counts[of] += lanes; }, [&](K, K of) { ++counts[of]; });
    });
  });
}

/// Copies a line; `to` is aligned where it is streamed.
template <bool streams, class K>
HWY_INLINE void copy_line(const K* from, K* to) {
  const key_tag<K> d;
  constexpr std::uint64_t lanes = hn::MaxLanes(key_tag<K>());
  for (std::uint64_t i = 0; i < 64 / sizeof(K); i += lanes) {
    const auto x = hn::LoadU(d, from + i);
    if constexpr (streams) {
      hn::Stream(x, d, to + i);
    } else {
      hn::StoreU(x, d, to + i);
    }
  }
}

template <class K>
void begin_slots_of(const class_writer<K>& writer, const tile_slots<K>& slots) {
  for (unsigned c = 0; c < writer.num_classes; ++c) {
    copy_line<false>(writer.rests + c * class_writer<K>::line_keys, slots.keys + slots.begins[c]);
    slots.cursors[c] = slots.begins[c] + writer.rest_counts[c];
  }
}

template <bool streams, class K>
void flush_slots_as(class_writer<K> writer, const tile_slots<K>& slots) {
  constexpr std::uint32_t line_keys = class_writer<K>::line_keys;
  for (unsigned c = 0; c < writer.num_classes; ++c) {
    const K* from = slots.keys + slots.begins[c];
    const std::uint32_t count = slots.cursors[c] - slots.begins[c];
    const K* const lines_end = from + count / line_keys * line_keys;
    while (from != lines_end) {
      if (writer.nexts[c] == writer.ends[c]) writer.take_block(c);
      const auto num_keys = std::min<std::ptrdiff_t>(lines_end - from, writer.ends[c] - writer.nexts[c]);
      K* to = writer.nexts[c];
      for (std::ptrdiff_t i = 0; i < num_keys; i += line_keys) copy_line<streams>(from + i, to + i);
      writer.nexts[c] = to + num_keys;
      from += num_keys;
    }
    copy_line<false>(from, writer.rests + std::uint64_t{c} * line_keys);
    writer.rest_counts[c] = count % line_keys;
  }
}

template <class K>
void flush_slots_of(const class_writer<K>& writer, const tile_slots<K>& slots, bool stream) {
  if (stream) return flush_slots_as<true>(writer, slots);
  flush_slots_as<false>(writer, slots);
}

#else  // other vectors are too narrow

template <class K>
void scatter_to_slots_of(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t,
                         const tile_slots<K>&) {}
template <class K>
void scatter_runs_to_slots_of(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t,
                              const tile_slots<K>&) {}
template <class K>
void count_classes_of(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t, std::uint32_t*) {}
template <class K>
void begin_slots_of(const class_writer<K>&, const tile_slots<K>&) {}
template <class K>
void flush_slots_of(const class_writer<K>&, const tile_slots<K>&, bool) {}

#endif

}  // namespace spansort::device::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spansort::device::host {

template <class K>
void scatter_to_slots(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,
                      std::uint64_t num_keys, const tile_slots<K>& slots) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(scatter_to_slots_of<K>);
  best(codec, classes, keys, num_keys, slots);
}
template <class K>
void scatter_runs_to_slots(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys,
                           std::uint64_t num_keys, const tile_slots<K>& slots) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(scatter_runs_to_slots_of<K>);
  best(codec, classes, keys, num_keys, slots);
}
template <class K>
void count_classes(const keys::codec_of<K>& codec, const key_classes<K>& classes, const K* keys, std::uint64_t num_keys,
                   std::uint32_t* counts) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(count_classes_of<K>);
  best(codec, classes, keys, num_keys, counts);
}
template <class K>
void begin_slots(const class_writer<K>& writer, const tile_slots<K>& slots) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(begin_slots_of<K>);
  best(writer, slots);
}
template <class K>
void flush_slots(const class_writer<K>& writer, const tile_slots<K>& slots, bool stream) {
  static const auto best = SPANSORT_CHOOSE_FUNCTION(flush_slots_of<K>);
  best(writer, slots, stream);
}

#define SPANSORT_CLASS_KERNELS(K)                                                                                  \
  template void scatter_to_slots<K>(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t,      \
                                    const tile_slots<K>&);                                                         \
  template void scatter_runs_to_slots<K>(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t, \
                                         const tile_slots<K>&);                                                    \
  template void count_classes<K>(const keys::codec_of<K>&, const key_classes<K>&, const K*, std::uint64_t,         \
                                 std::uint32_t*);                                                                  \
  template void begin_slots<K>(const class_writer<K>&, const tile_slots<K>&);                                      \
  template void flush_slots<K>(const class_writer<K>&, const tile_slots<K>&, bool);
SPANSORT_CLASS_KERNELS(std::uint32_t)
SPANSORT_CLASS_KERNELS(std::uint64_t)
#undef SPANSORT_CLASS_KERNELS

}  // namespace spansort::device::host
#endif
