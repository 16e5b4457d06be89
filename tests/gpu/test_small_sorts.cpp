// SPDX-License-Identifier: Apache-2.0
// The sorts of few records on a GPU, in one block and by blocks that meet: each forced, at sizes around those of their
// shapes, on inputs that take each of their ways. Ranges of bits, results in the second array and what is seen of the
// order are asked of the kernels' launchers, and compared with a stable sort of the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device/cuda/local_sort/local_sort.hpp"
#include "device/cuda/tuning/small_sorts_policy.hpp"
#include "gpu/gpu_sort_test.hpp"
#include "keys/dispatch.hpp"

namespace spansort::test {
namespace {

using base::gpu_small_sort;
using kind = operation::kind;

class gpu_small_sort_test : public gpu_sort_test, public testing::WithParamInterface<gpu_small_sort> {
 protected:
  sorter sorter_of() { return reporting_sorter({.small_sort = GetParam()}); }
};

TEST_P(gpu_small_sort_test, SortsAllTypesAndWidths) {
  const operation operations[] = {{kind::keys, 0},   {kind::pairs, 4},   {kind::pairs, 8},
                                  {kind::pairs, 16}, {kind::argsort, 4}, {kind::argsort, 8}};
  sorter s = sorter_of();
  for (const key_type type : all_key_types()) {
    for (const bool descending : {false, true}) {
      for (const operation& op : operations) {
        for (const char* const shape :
             {"uniform", "zipf:1", "entropy:4", "special-floats", "sorted", "reverse", "zero"}) {
          ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, 7'011, shape, op, descending));
          ASSERT_NO_FATAL_FAILURE(expect_sorted(s, type, 20'011, shape, op, descending));
        }
      }
    }
  }
}

TEST_P(gpu_small_sort_test, SortsSizesAroundItsShapes) {
  sorter s = sorter_of();
  std::vector<std::uint64_t> sizes{2, 3, 31, 32, 33, 255, 256, 257};
  for (const std::uint64_t bound : {1'024, 2'048, 4'096, 8'192, 12'288, 65'536, 270'336}) {
    sizes.insert(sizes.end(), {bound - 1, bound, bound + 1});
  }
  for (const std::uint64_t n : sizes) {
    for (const char* const shape : {"uniform", "entropy:4", "nearly-sorted", "sorted", "reverse", "zero"}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, n, shape, {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::i64, n, shape, {kind::pairs, 8}, true));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f32, n, shape, {kind::pairs, 4}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u16, n, shape, {kind::pairs, 16}, false));
    }
  }
}

/// Blocks have several tiles, and buckets that one block finishes or not.
TEST_P(gpu_small_sort_test, SortsManyRecords) {
  sorter s = sorter_of();
  for (const std::uint64_t n : {540'673U, 1'048'576U, 1'081'345U, 2'097'152U, 4'194'304U}) {
    for (const char* const shape : {"uniform", "entropy:4", "zipf:1"}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, n, shape, {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f64, n, shape, {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f32, n, shape, {kind::pairs, 8}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, n, shape, {kind::pairs, 16}, false));
    }
  }
}

/// Floats share exponents, so that the highest digit has large buckets, which splitters divide; keys that repeat have
/// buckets of their own. Of the most keys blocks have several tiles.
TEST_P(gpu_small_sort_test, SortsKeysThatCrowd) {
  sorter s = sorter_of();
  for (const std::uint64_t n : {9'001U, 65'536U, 262'144U, 400'009U, 1'100'003U}) {
    for (const char* const shape : {"normal", "zipf:0.5", "zipf:2", "entropy:2", "entropy:8"}) {
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f32, n, shape, {kind::keys, 0}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f64, n, shape, {kind::keys, 0}, true));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f64, n, shape, {kind::pairs, 8}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f32, n, shape, {kind::pairs, 16}, true));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f32, n, shape, {kind::argsort, 4}, false));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f64, n, shape, {kind::argsort, 8}, true));
      ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u64, n, shape, {kind::argsort, 4}, false));
    }
  }
}

TEST_P(gpu_small_sort_test, NoticesTheShapeOfItsInput) {
  sorter s = sorter_of();
  const auto shape_of = [&](std::uint64_t n, const char* shape, const operation& op) {
    expect_sorted(s, key_type::u32, n, shape, op, false);
    return report.input_shape;
  };
  for (const std::uint64_t n : {1'000U, 8'000U, 100'000U}) {
    EXPECT_EQ(shape_of(n, "sorted", {kind::keys, 0}), "sorted") << n;
    EXPECT_EQ(shape_of(n, "reverse", {kind::keys, 0}), "reversed") << n;
    EXPECT_EQ(shape_of(n, "zero", {kind::pairs, 4}), "constant") << n;
    EXPECT_EQ(report.num_passes, 0U);
    EXPECT_EQ(shape_of(n, "uniform", {kind::pairs, 8}), "general") << n;
    EXPECT_GT(report.num_passes, 0U);
  }
}

class gpu_without_meetings_test : public gpu_sort_test {};

TEST_F(gpu_without_meetings_test, SortsByPasses) {
  sorter s = reporting_sorter({.blocks_cannot_meet = true, .small_sort = gpu_small_sort::grid});
  for (const char* const shape : {"uniform", "entropy:4"}) {
    ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::u32, 100'003, shape, {kind::keys, 0}, false));
    EXPECT_EQ(report.num_passes, 4U);
    ASSERT_NO_FATAL_FAILURE(expect_sorted(s, key_type::f64, 100'003, shape, {kind::pairs, 8}, true));
    EXPECT_EQ(report.num_passes, 8U);
  }
}

std::string name_of(const testing::TestParamInfo<gpu_small_sort>& info) {
  constexpr const char* names[] = {"by_size", "block", "grid", "count", "none"};
  return names[static_cast<std::size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(All, gpu_small_sort_test,
                         testing::Values(gpu_small_sort::by_size, gpu_small_sort::block, gpu_small_sort::grid,
                                         gpu_small_sort::count, gpu_small_sort::none),
                         name_of);

// ---- What the launchers are asked for

using namespace device::cuda;  // NOLINT(google-build-using-namespace): the kernels' own names, below this line alone

struct range_case {
  key_type type = key_type::u32;
  bool descending = false;
  unsigned value_bytes = 0;
  std::uint64_t n = 0;
  keys::bit_range bits;
  bool result_in_alternate = false;
  std::uint64_t spread = ~std::uint64_t{0};  ///< bits that keys may have
  bool crowds = false;         ///< half of the keys are below half of the range, a half of these again ...
  unsigned first[2] = {0, 0};  ///< of each array's elements: how many lie before its records
};

/// Sorts by a range of bits on the GPU and on the host; returns whether they agree byte for byte. Keys agree above the
/// range.
bool agrees(const char* algorithm, const range_case& c, std::mt19937_64& random) {
  const unsigned key_bytes = static_cast<unsigned>(size_bytes(c.type));
  const keys::key_codec codec{c.type, c.descending,
                              c.value_bytes == 0 ? keys::tie_rule::by_bits : keys::tie_rule::by_input_order};
  const device::record_shape shape{codec, c.value_bytes};
  std::vector<std::byte> in(c.n * key_bytes);
  std::vector<std::byte> values(c.n * c.value_bytes);
  std::vector<std::uint64_t> encoded(c.n);
  const std::uint64_t above = c.bits.end == 64 ? 0 : ~std::uint64_t{0} << c.bits.end;
  const std::uint64_t width = key_bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * key_bytes) - 1;
  const std::uint64_t shared = random() & above & width;
  keys::with_width(key_bytes, [&]<class K>() {
    for (std::uint64_t i = 0; i < c.n; ++i) {
      const int halvings = c.crowds ? std::countl_zero(random() | 1) : 0;
      const K wanted = static_cast<K>(shared | (random() & c.spread & ~above & width) >> halvings);
      const K key = codec.of<K>().decode(wanted);
      std::memcpy(in.data() + i * key_bytes, &key, key_bytes);
      encoded[i] = codec.of<K>().encode(key);
    }
  });
  for (std::uint64_t i = 0; i < c.n; ++i) {
    if (c.value_bytes != 0) std::memcpy(values.data() + i * c.value_bytes, &i, std::min(c.value_bytes, 8U));
  }
  std::vector<std::uint32_t> order(c.n);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return (encoded[i] & ~above) >> c.bits.begin; });

  const std::uint64_t before[] = {c.first[0] * key_bytes, c.first[1] * key_bytes};
  const gpu_memory memory[] = {take_gpu_memory(before[0] + in.size()), take_gpu_memory(before[1] + in.size()),
                               take_gpu_memory(values.size() + 16), take_gpu_memory(values.size() + 16),
                               take_gpu_memory(kernel_workspace::size_bytes)};
  void* const keys_of[] = {static_cast<std::byte*>(memory[0].get()) + before[0],
                           static_cast<std::byte*>(memory[1].get()) + before[1]};
  cudaMemcpy(keys_of[0], in.data(), in.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(memory[2].get(), values.data(), values.size(), cudaMemcpyHostToDevice);
  launch_site site = make_launch_site(nullptr);
  site.memory = kernel_workspace::in(memory[4].get());
  const segment_sort segment{.shape = shape,
                             .source = {keys_of[0], memory[2].get()},
                             .alternate = {keys_of[1], memory[3].get()},
                             .count = c.n,
                             .bits = c.bits,
                             .result_in_alternate = c.result_in_alternate};
  const local_sort_algorithm& chosen = choose_local_sort(algorithm, shape, c.n, site.code);
  EXPECT_EQ(chosen.name, algorithm);
  const gpu_memory scratch = take_gpu_memory(chosen.scratch_bytes + 16);
  static_cast<void>(enqueue_segment(chosen, site, segment, scratch.get(), order_check::skipped));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<std::byte> out(in.size());
  std::vector<std::byte> out_values(values.size());
  const unsigned side = c.result_in_alternate ? 1 : 0;
  cudaMemcpy(out.data(), keys_of[side], out.size(), cudaMemcpyDeviceToHost);
  cudaMemcpy(out_values.data(), memory[2 + side].get(), out_values.size(), cudaMemcpyDeviceToHost);
  for (std::uint64_t i = 0; i < c.n; ++i) {
    if (std::memcmp(out.data() + i * key_bytes, in.data() + order[i] * key_bytes, key_bytes) != 0) return false;
    if (std::memcmp(out_values.data() + i * c.value_bytes, values.data() + order[i] * c.value_bytes, c.value_bytes) !=
        0)
      return false;
  }
  return true;
}

class gpu_small_sort_ranges_test : public gpu_test {};

TEST_F(gpu_small_sort_ranges_test, AreSortedAsTheHostSortsThem) {
  std::mt19937_64 random(seed_for(17));
  constexpr unsigned value_widths[] = {0, 4, 8, 16};
  for (unsigned round = 0; round < 400; ++round) {
    range_case c;
    const auto types = all_key_types();
    c.type = types[random() % std::size(types)];
    c.descending = random() % 2 == 0;
    c.value_bytes = value_widths[random() % 4];
    c.result_in_alternate = random() % 2 == 0;
    const auto width = static_cast<unsigned>(8 * size_bytes(c.type));
    c.bits.begin = random() % 2 == 0 ? 0 : static_cast<unsigned>(random() % width);
    c.bits.end =
        random() % 2 == 0 ? width : c.bits.begin + 1 + static_cast<unsigned>(random() % (width - c.bits.begin));
    // Keys that are folded need not agree above the range where the keys before the fold do.
    if (c.value_bytes != 0 && keys::is_float(c.type)) c.bits.end = width;
    if (random() % 2 == 0) c.spread = random() & random() & random();
    c.crowds = random() % 2 == 0;
    for (const char* const algorithm : {"block_sort", "grid_sort"}) {
      const std::uint64_t most = algorithm[0] == 'b' ? most_block_sort_keys : 300'000;
      c.n = 2 + random() % (random() % 2 == 0 ? 3'000 : most - 1);
      ASSERT_TRUE(agrees(algorithm, c, random))
          << algorithm << " of " << c.n << " " << name(c.type) << ", values of " << c.value_bytes << " bytes, bits "
          << c.bits.begin << " to " << c.bits.end << (c.descending ? ", descending" : "") << ", spread " << c.spread
          << (c.crowds ? ", crowding" : "") << ", round " << round << ", seed " << seed_for(17);
    }
  }
}

/// Keys of one and two bytes, wherever they begin and end among the vectors of 16 bytes, and of few and many values.
TEST_F(gpu_small_sort_ranges_test, NarrowKeysAreCounted) {
  std::mt19937_64 random(seed_for(18));
  constexpr key_type types[] = {key_type::u8,  key_type::i8,  key_type::u16,
                                key_type::i16, key_type::f16, key_type::bf16};
  constexpr std::uint64_t sizes[] = {100, 5'000, 70'000, 1'500'000};
  for (unsigned round = 0; round < 120; ++round) {
    range_case c;
    c.type = types[random() % std::size(types)];
    c.descending = random() % 2 == 0;
    c.n = 2 + random() % sizes[round % 4];
    for (unsigned& first : c.first) first = static_cast<unsigned>(random() % 17);
    c.result_in_alternate = random() % 2 == 0;
    const auto width = static_cast<unsigned>(8 * size_bytes(c.type));
    c.bits.begin = random() % 4 == 0 ? static_cast<unsigned>(random() % width) : 0;
    c.bits.end =
        random() % 2 == 0 ? width : c.bits.begin + 1 + static_cast<unsigned>(random() % (width - c.bits.begin));
    if (random() % 2 == 0) c.spread = random() & random();
    ASSERT_TRUE(agrees("counting_sort", c, random))
        << c.n << " " << name(c.type) << ", behind " << c.first[0] << " and " << c.first[1] << ", bits " << c.bits.begin
        << " to " << c.bits.end << (c.descending ? ", descending" : "") << ", spread " << c.spread << ", round "
        << round << ", seed " << seed_for(18);
  }
}

/// The host enqueues and waits for nothing, so a stream that is being captured takes these sorts, too.
TEST_F(gpu_small_sort_ranges_test, GoIntoGraphs) {
  constexpr std::uint64_t n = 50'000;
  const gpu_memory keys = take_gpu_memory(n * 4);
  const gpu_memory alternate = take_gpu_memory(n * 4);
  const gpu_memory workspace = take_gpu_memory(kernel_workspace::fixed_bytes + kernel_workspace::tile_state_bytes);
  std::vector<std::uint32_t> in(n);
  std::mt19937 random(static_cast<unsigned>(seed_for(3)));
  for (std::uint32_t& key : in) key = static_cast<std::uint32_t>(random());
  std::vector<std::uint32_t> expected = in;
  std::ranges::sort(expected);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  launch_site site = make_launch_site(stream);
  site.memory =
      kernel_workspace::in(workspace.get(), kernel_workspace::fixed_bytes + kernel_workspace::tile_state_bytes);
  const device::record_shape shape{{key_type::u32, false, keys::tie_rule::by_bits}, 0};
  const segment_sort segment{.shape = shape,
                             .source = {keys.get(), nullptr},
                             .alternate = {alternate.get(), nullptr},
                             .count = n,
                             .bits = {0, 32}};
  const local_sort_algorithm& chosen = choose_local_sort("grid_sort", shape, n, site.code);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  static_cast<void>(enqueue_segment(chosen, site, segment, nullptr, order_check::skipped));
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(cudaMemcpy(keys.get(), in.data(), n * 4, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(ready, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    std::vector<std::uint32_t> out(n);
    ASSERT_EQ(cudaMemcpy(out.data(), keys.get(), n * 4, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(out, expected);
  }
  EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace spansort::test
