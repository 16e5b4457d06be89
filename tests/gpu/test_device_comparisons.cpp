// SPDX-License-Identifier: Apache-2.0
// sort() by a comparison that runs on the GPU: against std::stable_sort, and with comparisons that are no order.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "gpu/device_comparisons.hpp"
#include "gpu/gpu_test.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

template <class T>
std::vector<T> make_elements(std::size_t count, std::uint64_t num_values, std::uint64_t seed) {
  random_words random(seed);
  std::vector<T> elements(count);
  for (std::size_t i = 0; i < count; ++i) {
    elements[i].key = static_cast<std::uint32_t>(random.below(num_values));
    elements[i].position = static_cast<std::uint32_t>(i);
    for (std::uint32_t& word : elements[i].payload) word = elements[i].key * 3 + elements[i].position;
  }
  return elements;
}

template <class T>
gpu_memory copy_to_gpu(const std::vector<T>& elements) {
  gpu_memory memory = take_gpu_memory(std::max<std::size_t>(1, elements.size()) * sizeof(T));
  EXPECT_EQ(cudaMemcpy(memory.get(), elements.data(), elements.size() * sizeof(T), cudaMemcpyHostToDevice),
            cudaSuccess);
  return memory;
}

template <class T>
std::vector<T> copy_back(const gpu_memory& memory, std::size_t count) {
  std::vector<T> elements(count);
  EXPECT_EQ(cudaMemcpy(elements.data(), memory.get(), count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
  return elements;
}

template <class T>
std::vector<T> sorted_by_gpu(const std::vector<T>& elements, device_order order) {
  const gpu_memory memory = copy_to_gpu(elements);
  sort_on_device(static_cast<T*>(memory.get()), elements.size(), order, nullptr);
  return copy_back<T>(memory, elements.size());
}

template <class T>
class device_comparison_test : public gpu_test {};
using element_types = testing::Types<small_element, middle_element, large_element>;
TYPED_TEST_SUITE(device_comparison_test, element_types);

TYPED_TEST(device_comparison_test, IsStdStableSort) {
  for (const std::size_t count :
       {0u, 1u, 2u, 3u, 63u, 64u, 65u, 511u, 512u, 513u, 1024u, 1537u, 5000u, 100'000u, 300'001u}) {
    for (const std::uint64_t num_values : {1ull, 2ull, 100ull, 1ull << 32}) {
      const std::uint64_t seed = seed_for(count + num_values);
      const std::vector<TypeParam> elements = make_elements<TypeParam>(count, num_values, seed);
      std::vector<TypeParam> expected = elements;
      std::ranges::stable_sort(expected, {}, &TypeParam::key);
      ASSERT_EQ(sorted_by_gpu(elements, device_order::by_key), expected) << count << ", " << num_values << ", " << seed;
      std::ranges::stable_sort(expected = elements, std::ranges::greater(), &TypeParam::key);
      ASSERT_EQ(sorted_by_gpu(elements, device_order::by_key_falling), expected) << count << ", " << num_values;
    }
  }
}

TYPED_TEST(device_comparison_test, WhatIsNoOrderEndsAndLosesNothing) {
  for (const std::size_t count : {2u, 100u, 1000u, 50'000u}) {
    for (const device_order order : {device_order::or_equal, device_order::no_order}) {
      const std::vector<TypeParam> elements = make_elements<TypeParam>(count, 1000, seed_for(count));
      std::vector<TypeParam> found = sorted_by_gpu(elements, order);
      std::ranges::sort(found, {}, &TypeParam::position);
      ASSERT_EQ(found, elements) << "an element is lost or torn";
    }
  }
}

class device_sort_graph_test : public gpu_test {};

TEST_F(device_sort_graph_test, ASortCanBeCaptured) {
  const std::vector<small_element> elements = make_elements<small_element>(100'000, 1 << 20, seed_for(1));
  std::vector<small_element> expected = elements;
  std::ranges::stable_sort(expected, {}, &small_element::key);
  const gpu_memory memory = copy_to_gpu(elements);
  sort_by_graph(static_cast<small_element*>(memory.get()), elements.size(), 2);
  EXPECT_EQ(copy_back<small_element>(memory, elements.size()), expected);
}

}  // namespace
}  // namespace spansort::test
