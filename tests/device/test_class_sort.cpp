// SPDX-License-Identifier: Apache-2.0
// Keys alone through classes, on one thread and several, with classes so small that a few thousand keys make many:
// keys that lie evenly, that crowd, that are nearly in order (slots overflow), that repeat, and samples that deceive.
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/host/class_sort.hpp"
#include "device/host/host_device.hpp"
#include "device/host/vector_sort.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::device::host {
namespace {

enum class kind {
  uniform,
  normal,
  crowded,
  nearly_sorted,
  sorted_then_not,
  thousand,
  heavy,
  one_heavy,
  deceiving,
  two_ends,
  narrow
};
constexpr kind all_kinds[] = {kind::uniform,         kind::normal,   kind::crowded, kind::nearly_sorted,
                              kind::sorted_then_not, kind::thousand, kind::heavy,   kind::one_heavy,
                              kind::deceiving,       kind::two_ends, kind::narrow};

/// Returns whether sample_encoded() looks there, for samples of 1,024 keys.
bool is_sampled(std::uint64_t i, std::uint64_t num_keys) { return i % (num_keys / 1024) == 0; }

template <class K>
std::vector<K> make_keys(kind what, std::uint64_t num_keys, std::mt19937_64& random) {
  std::vector<K> keys(num_keys);
  std::normal_distribution<double> normal(0, 1e6);
  for (std::uint64_t i = 0; i < num_keys; ++i) {
    const auto any = static_cast<K>(random());
    switch (what) {
      case kind::normal: keys[i] = static_cast<K>(static_cast<std::int64_t>(normal(random))); break;
      case kind::crowded: keys[i] = static_cast<K>(any & random() & random() & random()); break;
      case kind::thousand: keys[i] = static_cast<K>(any % 1000 * 0x1234567U); break;
      case kind::heavy:
        keys[i] = any % 3 == 0 ? static_cast<K>(random()) : static_cast<K>(any % 40 * 0x7654321U);
        break;
      case kind::one_heavy: keys[i] = any % 16 == 0 ? static_cast<K>(random()) : static_cast<K>(~K{0} / 3); break;
      case kind::deceiving: keys[i] = is_sampled(i, num_keys) ? any : static_cast<K>(any % 5000); break;
      case kind::two_ends: keys[i] = any % 2 == 0 ? static_cast<K>(any % 7) : static_cast<K>(~K{0} - any % 5); break;
      case kind::narrow: keys[i] = i == num_keys / 3 ? any : static_cast<K>(any % 50); break;
      default: keys[i] = any;
    }
  }
  if (what == kind::nearly_sorted || what == kind::sorted_then_not) {
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(what == kind::nearly_sorted ? num_keys : num_keys / 2);
    std::sort(keys.begin(), end);
    for (std::uint64_t i = 0; i < num_keys / 100; ++i) std::swap(keys[random() % num_keys], keys[random() % num_keys]);
  }
  return keys;
}

template <class K>
std::vector<key_type> types_of() {
  if (sizeof(K) == 4) return {key_type::u32, key_type::i32, key_type::f32};
  return {key_type::u64, key_type::i64, key_type::f64};
}

struct world {
  unsigned num_threads;
  std::uint64_t class_bytes;
  std::uint64_t stream_bytes;
  bool in_alternate;
};
constexpr world worlds[] = {{1, 1024, 1, false}, {2, 4096, 1 << 30, true}, {3, 2048, 1, false}, {2, 1 << 19, 1, false}};

template <class K>
class class_sort_test : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_vector_sort()) GTEST_SKIP() << "vectors of this machine are too narrow";
  }
};
using key_words = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(class_sort_test, key_words);

TYPED_TEST(class_sort_test, SortsWhateverTheSampleSays) {
  using K = TypeParam;
  const tbb::global_control more_than_processors(tbb::global_control::max_allowed_parallelism, 4);
  std::mt19937_64 random(test::base_seed());
  const std::uint64_t largest = test::is_small_scale() ? 40'000 : 150'000;
  for (const world& w : worlds) {
    const auto on = make_host_device({.num_threads = w.num_threads,
                                      .limits = {.inline_keys = 10,
                                                 .vector_inline_bytes = 0,
                                                 .vector_alone_keys = 0,
                                                 .class_bytes = w.class_bytes,
                                                 .class_memory_parts = 0,
                                                 .heavy_values_keys = 1024,
                                                 .stream_bytes = w.stream_bytes}});
    on->prepare();
    const auto work = on->make_queue();
    for (const key_type type : types_of<K>()) {
      const keys::key_codec codec{.type = type, .descending = (random() & 1) != 0};
      for (const kind what : all_kinds) {
        for (const std::uint64_t num_keys : {std::uint64_t{1024}, std::uint64_t{9'999}, largest}) {
          SCOPED_TRACE(testing::Message()
                       << "seed " << test::base_seed() << ", " << w.num_threads << " threads, type "
                       << static_cast<int>(type) << ", kind " << static_cast<int>(what) << ", " << num_keys << " keys");
          std::vector<K> keys = make_keys<K>(what, num_keys, random);
          std::vector<K> expected = keys;
          const auto by = codec.template of<K>();
          std::sort(expected.begin(), expected.end(), [&](K l, K r) { return by.encode(l) < by.encode(r); });
          // Arrays that begin nowhere in particular, with a red zone at each end.
          constexpr K red_zone = static_cast<K>(0xDEADBEEF);
          std::vector<K> alternate(num_keys + 64, red_zone);
          keys.insert(keys.begin(), 3, red_zone);
          keys.insert(keys.end(), 61, red_zone);
          work->local_sort({.shape = {codec, 0},
                            .source = {keys.data() + 3, nullptr},
                            .alternate = {alternate.data() + 3, nullptr},
                            .result_in_alternate = w.in_alternate,
                            .segments = {{0, num_keys, {0, sizeof(K) * 8}}}});
          work->synchronize();
          const std::vector<K>& result = w.in_alternate ? alternate : keys;
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), result.begin() + 3));
          for (const std::vector<K>& array : {keys, alternate}) {
            ASSERT_EQ(std::count(array.begin(), array.begin() + 3, red_zone), 3);
            ASSERT_EQ(std::count(array.end() - 61, array.end(), red_zone), 61);
          }
        }
      }
    }
  }
}

TYPED_TEST(class_sort_test, StopsBeforeTheSourceIsOverwritten) {
  using K = TypeParam;
  std::mt19937_64 random(test::base_seed());
  for (const kind what : {kind::uniform, kind::heavy}) {
    const std::vector<K> input = make_keys<K>(what, 100'000, random);
    std::vector<K> keys = input;
    std::vector<K> alternate(keys.size());
    const auto on = make_host_device(
        {.num_threads = 2, .limits = {.vector_inline_bytes = 0, .vector_alone_keys = 0, .class_memory_parts = 0}});
    on->prepare();
    const auto work = on->make_queue();
    monitor watch;
    watch.stop_requested = true;
    work->set_monitor(&watch);
    work->local_sort({.shape = {{.type = sizeof(K) == 4 ? key_type::u32 : key_type::u64}, 0},
                      .source = {keys.data(), nullptr},
                      .alternate = {alternate.data(), nullptr},
                      .segments = {{0, keys.size(), {0, sizeof(K) * 8}}}});
    EXPECT_THROW(work->synchronize(), cancelled);
    EXPECT_EQ(keys, input);
  }
}

/// Classes of encoded keys ascend with the keys and are those that the loops find.
TYPED_TEST(class_sort_test, ClassesAscend) {
  using K = TypeParam;
  std::mt19937_64 random(test::base_seed());
  for (const kind what : all_kinds) {
    std::vector<K> sample = make_keys<K>(what, 4096, random);
    std::sort(sample.begin(), sample.end());
    const key_classes<K> classes = choose_classes<K>(sample, 40);
    EXPECT_GE(classes.num_classes, 1U);
    EXPECT_LE(classes.num_classes, 128U);
    std::vector<K> keys = make_keys<K>(kind::uniform, 1000, random);
    keys.insert(keys.end(), sample.begin(), sample.end());
    keys.insert(keys.end(), {K{0}, static_cast<K>(~K{0})});
    std::sort(keys.begin(), keys.end());
    std::vector<std::uint32_t> expected(classes.num_classes);
    std::uint64_t last = 0;
    for (const K key : keys) {
      const std::uint64_t c = classes.of(key);
      ASSERT_LE(last, c) << "seed " << test::base_seed() << ", kind " << static_cast<int>(what);
      ASSERT_LT(c, classes.num_classes);
      last = c;
      ++expected[c];
    }
    std::vector<std::uint32_t> counts(classes.num_classes);
    count_classes(keys::codec_of<K>(), classes, keys.data(), keys.size(), counts.data());
    EXPECT_EQ(counts, expected) << "seed " << test::base_seed() << ", kind " << static_cast<int>(what);
  }
}

}  // namespace
}  // namespace spansort::device::host
