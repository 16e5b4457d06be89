// SPDX-License-Identifier: Apache-2.0
// Calls that put a sort on a stream: against the oracle, for all types and sizes around those at which another way is
// taken; within a graph that is launched again on other keys; behind the caller's own work; wrong arguments.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/test_hooks.hpp"
#include "device/cuda/injected_faults.hpp"
#include "device/cuda/tuning/even_keys_policy.hpp"
#include "gpu/callers_kernels.hpp"
#include "gpu/gpu_test.hpp"
#include "spansort/enqueue.hpp"
#include "spansort/errors.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"
#include "support/shard_memory.hpp"

namespace spansort::test {
namespace {

constexpr key_type all_types[] = {key_type::u8,  key_type::i8,   key_type::u16, key_type::i16,
                                  key_type::u32, key_type::i32,  key_type::u64, key_type::i64,
                                  key_type::f16, key_type::bf16, key_type::f32, key_type::f64};

struct stream_deleter {
  void operator()(CUstream_st* stream) const noexcept { static_cast<void>(cudaStreamDestroy(stream)); }
};
using test_stream = std::unique_ptr<CUstream_st, stream_deleter>;

test_stream make_stream() {
  cudaStream_t made = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), cudaSuccess);
  return test_stream(made);
}

/// Arrays of one sort on GPU 0, and what they must hold afterwards.
class enqueued_job {
 public:
  enqueued_job(oracle expected, std::uint64_t value_bytes, workspace_size size = workspace_size::least)
      : expected_(std::move(expected)),
        value_bytes_(value_bytes),
        size_(size),
        keys_("gpu:0", expected_.input().size()),
        values_("gpu:0", expected_.num_keys() * value_bytes),
        workspace_("gpu:0", bytes_needed()) {}

  [[nodiscard]] std::uint64_t bytes_needed() const {
    return value_bytes_ == 0 ? enqueue_sort_bytes(expected_.type(), expected_.num_keys(), size_)
                             : enqueue_sort_pairs_bytes(expected_.type(), expected_.num_keys(), value_bytes_, size_);
  }
  void reset() {
    keys_.write(expected_.input());
    if (value_bytes_ != 0) values_.write(input_values(expected_.num_keys(), value_bytes_));
    // Copies of ordinary memory may return before they have arrived, and the sort's stream does not wait for them.
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  void enqueue(cudaStream_t stream) {
    const key_span keys{expected_.type(), keys_.data(), expected_.num_keys()};
    const gpu_workspace workspace{workspace_.data(), bytes_needed()};
    const direction d = expected_.descending() ? direction::descending : direction::ascending;
    if (value_bytes_ == 0) return enqueue_sort(keys, workspace, stream, d);
    enqueue_sort_pairs(keys, values_.data(), value_bytes_, workspace, stream, d);
  }
  [[nodiscard]] std::string diagnose() const {
    const std::span<const std::byte> keys = value_bytes_ == 0 ? expected_.keys_alone() : expected_.keys_of_pairs();
    const std::string of_keys = diagnose_bytes("keys", keys, keys_.read(keys.size()), size_bytes(expected_.type()));
    if (!of_keys.empty() || value_bytes_ == 0) return of_keys;
    const std::vector<std::byte> values = values_in_order(expected_.order(), value_bytes_);
    return diagnose_bytes("values", values, values_.read(values.size()), value_bytes_);
  }

 private:
  oracle expected_;
  std::uint64_t value_bytes_;
  workspace_size size_;
  shard_memory keys_;
  shard_memory values_;
  shard_memory workspace_;
};

class enqueue_test : public gpu_test {
 protected:
  void SetUp() override {
    gpu_test::SetUp();
    if (!IsSkipped()) stream = make_stream();
  }

  void expect_sorted(key_type type, std::uint64_t num_keys, const distribution& d, bool descending,
                     std::uint64_t value_bytes, workspace_size size = workspace_size::least) {
    enqueued_job job(make_oracle(type, num_keys, d, seed_for(num_keys), descending), value_bytes, size);
    job.reset();
    job.enqueue(stream.get());
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    ASSERT_EQ(job.diagnose(), "") << name(type) << ", n " << num_keys << ", values of " << value_bytes << " bytes, "
                                  << (descending ? "descending" : "ascending");
  }

  /// Indices of 4 bytes are of a descending order, those of 8 bytes of an ascending one.
  void expect_order(key_type type, std::uint64_t num_keys, const distribution& d, unsigned index_bytes,
                    workspace_size workspace_wish = workspace_size::least) {
    const bool descending = index_bytes == 4;
    const oracle expected = make_oracle(type, num_keys, d, seed_for(num_keys), descending);
    shard_memory keys("gpu:0", expected.input().size());
    shard_memory indices("gpu:0", num_keys * index_bytes);
    const std::uint64_t size = enqueue_argsort_bytes(type, num_keys, index_bytes, workspace_wish);
    shard_memory workspace("gpu:0", size);
    keys.write(expected.input());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    enqueue_argsort({type, keys.data(), num_keys}, indices.data(), index_bytes, {workspace.data(), size}, stream.get(),
                    descending ? direction::descending : direction::ascending);
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    std::vector<std::byte> order(num_keys * index_bytes);
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      std::memcpy(order.data() + i * index_bytes, &expected.order()[i], index_bytes);
    }
    ASSERT_EQ(diagnose_bytes("indices", order, indices.read(order.size()), index_bytes), "")
        << name(type) << ", n " << num_keys;
    ASSERT_TRUE(std::ranges::equal(keys.read(expected.input().size()), expected.input())) << name(type);
  }

  /// Returns faults that are in force where workspaces are asked for, too: blocks that meet need no memory for buckets
  /// of so few keys. Expects that they have.
  static std::shared_ptr<device::cuda::injected_faults> blocks_that_cannot_meet() {
    using device::cuda::injected_faults;
    auto faults = std::make_shared<injected_faults>(injected_faults::settings{.blocks_cannot_meet = true});
    const device::cuda::fault_scope in_force(faults);
    const base::test_hooks_scope hooks({.buckets = base::gpu_buckets::where_even});
    EXPECT_GT(enqueue_sort_bytes(key_type::f64, 2'500'011, workspace_size::fastest),
              enqueue_sort_bytes(key_type::f64, 2'500'011));
    return faults;
  }

  test_stream stream;
};

TEST_F(enqueue_test, SortsEveryTypeAndSize) {
  std::uint64_t number = 0;
  for (const key_type type : all_types) {
    for (const std::uint64_t num_keys :
         {0U, 1U, 2U, 255U, 1'000U, 4'097U, 16'384U, 16'385U, 70'000U, is_small_scale() ? 100'000U : 3'000'000U}) {
      for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
        const distribution d = ++number % 3 == 0 ? distribution{distribution_kind::special_floats}
                               : number % 3 == 1 ? distribution{distribution_kind::uniform}
                                                 : distribution{distribution_kind::zipf, 1};
        expect_sorted(type, num_keys, d, number % 2 == 0, value_bytes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(enqueue_test, SortsWhatIsInOrder) {
  for (const std::uint64_t num_keys : {2U, 1'000U, 50'000U, 2'500'000U}) {
    for (const distribution_kind kind : {distribution_kind::sorted, distribution_kind::reverse, distribution_kind::zero,
                                         distribution_kind::nearly_sorted}) {
      for (const unsigned value_bytes : {0U, 4U}) {
        expect_sorted(key_type::u32, num_keys, {kind}, false, value_bytes);
        expect_sorted(key_type::f64, num_keys, {kind}, true, value_bytes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(enqueue_test, ArgsortLeavesTheKeys) {
  for (const key_type type : all_types) {
    for (const std::uint64_t num_keys : {1U, 2U, 300U, 20'000U, 300'000U}) {
      for (const unsigned index_bytes : {4U, 8U}) {
        expect_order(type, num_keys, {distribution_kind::special_floats}, index_bytes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(enqueue_test, ArgsortOfWhatIsInOrder) {
  for (const std::uint64_t num_keys : {2U, 1'000U, 2'500'000U}) {
    for (const distribution_kind kind : {distribution_kind::sorted, distribution_kind::reverse, distribution_kind::zero,
                                         distribution_kind::nearly_sorted, distribution_kind::uniform}) {
      for (const unsigned index_bytes : {4U, 8U}) {
        expect_order(key_type::u32, num_keys, {kind}, index_bytes);
        expect_order(key_type::f64, num_keys, {kind}, index_bytes);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(enqueue_test, GoesIntoAGraphThatIsLaunchedAgain) {
  for (const std::uint64_t num_keys : {1'000U, 100'000U, 3'000'000U}) {
    for (const unsigned value_bytes : {0U, 8U}) {
      enqueued_job job(make_oracle(key_type::i64, num_keys, {distribution_kind::uniform}, seed_for(num_keys), false),
                       value_bytes);
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t ready = nullptr;
      ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
      job.enqueue(stream.get());
      ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
      ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
      for (int launch = 0; launch < 2; ++launch) {
        job.reset();
        ASSERT_EQ(cudaGraphLaunch(ready, stream.get()), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
        EXPECT_EQ(job.diagnose(), "") << "launch " << launch << ", n " << num_keys;
      }
      EXPECT_EQ(cudaGraphExecDestroy(ready), cudaSuccess);
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
  }
}

/// The device itself decides whether keys go by passes, or by buckets or counts: for all keys that could, where the
/// hook says so. Levels of buckets that are one launch are not among them.
TEST_F(enqueue_test, GoesTheWayThatTheDeviceFindsBetter) {
  const device::cuda::fault_scope level_by_level(blocks_that_cannot_meet());
  for (const base::gpu_buckets buckets : {base::gpu_buckets::where_even, base::gpu_buckets::always,
                                          base::gpu_buckets::by_spread, base::gpu_buckets::by_wide_spread}) {
    const base::test_hooks_scope hooks({.buckets = buckets});
    for (const char* const shape :
         {"uniform", "normal", "zipf:1", "entropy:4", "special-floats", "sorted", "reverse", "zero"}) {
      const distribution d = parse_distribution(shape);
      for (const key_type type : {key_type::u32, key_type::i32, key_type::f32}) {
        for (const unsigned value_bytes : {0U, 4U, 8U})
          expect_sorted(type, 200'003, d, type == key_type::i32, value_bytes);
        expect_order(type, 200'003, d, 4);
        expect_order(type, 200'003, d, 8);
      }
      for (const key_type type : {key_type::u64, key_type::f64}) {
        for (const unsigned value_bytes : {0U, 8U}) {
          expect_sorted(type, 2'500'011, d, type == key_type::f64, value_bytes, workspace_size::fastest);
        }
        expect_order(type, 2'500'011, d, 8, workspace_size::fastest);
      }
      if (HasFatalFailure()) FAIL() << shape;
    }
  }
}

/// Integers of few bits, far from 0, and near both ends of all integers, have a range of their own, which only the
/// device knows. Pairs say whether what ties keeps its order.
TEST_F(enqueue_test, SpreadsIntegersOverTheirRange) {
  const device::cuda::fault_scope level_by_level(blocks_that_cannot_meet());
  constexpr std::uint64_t n = 2'500'011;
  for (const base::gpu_buckets buckets :
       {base::gpu_buckets::where_even, base::gpu_buckets::by_spread, base::gpu_buckets::by_wide_spread}) {
    const base::test_hooks_scope hooks({.buckets = buckets});
    for (const unsigned bits : {20U, 33U, 40U, 55U, 63U}) {
      for (const std::int64_t least :
           {std::int64_t{0}, std::int64_t{-3} * (std::int64_t{1} << 32), std::numeric_limits<std::int64_t>::min()}) {
        std::mt19937_64 random(seed_for(bits));
        std::vector<std::int64_t> given(n);
        for (std::int64_t& key : given) {
          key = static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + (random() >> (64 - bits)));
        }
        given[n / 2] = std::numeric_limits<std::int64_t>::max();
        std::vector<std::uint64_t> order(n);
        std::iota(order.begin(), order.end(), std::uint64_t{0});
        std::ranges::stable_sort(order, [&](std::uint64_t a, std::uint64_t b) { return given[a] < given[b]; });
        const std::uint64_t size = enqueue_sort_pairs_bytes(key_type::i64, n, 8, workspace_size::fastest);
        shard_memory keys("gpu:0", n * 8);
        shard_memory values("gpu:0", n * 8);
        shard_memory workspace("gpu:0", size);
        std::vector<std::uint64_t> numbers(n);
        std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
        keys.write(std::as_bytes(std::span(given)));
        values.write(std::as_bytes(std::span(numbers)));
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        enqueue_sort_pairs({key_type::i64, keys.data(), n}, values.data(), 8, {workspace.data(), size}, stream.get());
        ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
        ASSERT_EQ(diagnose_bytes("values", std::as_bytes(std::span(order)), values.read(n * 8), 8), "")
            << bits << " bits from " << least;
        std::vector<std::int64_t> sorted(n);
        for (std::uint64_t i = 0; i < n; ++i) sorted[i] = given[order[i]];
        ASSERT_EQ(diagnose_bytes("keys", std::as_bytes(std::span(sorted)), keys.read(n * 8), 8), "")
            << bits << " bits from " << least;
      }
    }
  }
}

/// A graph holds the kernels of both ways, and the device chooses each time that it is launched.
TEST_F(enqueue_test, ChoosesAnewWheneverAGraphIsLaunched) {
  const device::cuda::fault_scope level_by_level(blocks_that_cannot_meet());
  const base::test_hooks_scope hooks({.buckets = base::gpu_buckets::where_even});
  for (const auto& [type, num_keys] : {std::pair{key_type::u32, 200'003U}, std::pair{key_type::u64, 2'500'011U},
                                       std::pair{key_type::f64, 2'500'011U}}) {
    const std::uint64_t bytes = enqueue_sort_bytes(type, num_keys, workspace_size::fastest);
    shard_memory keys("gpu:0", std::uint64_t{num_keys} * size_bytes(type));
    shard_memory workspace("gpu:0", bytes);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t launched = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    enqueue_sort({type, keys.data(), num_keys}, {workspace.data(), bytes}, stream.get());
    ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&launched, graph, 0), cudaSuccess);
    for (const char* const shape :
         {"uniform", "entropy:4", "sorted", "normal", "uniform", "zero", "reverse", "zipf:1"}) {
      const oracle expected = make_oracle(type, num_keys, parse_distribution(shape), seed_for(num_keys), false);
      keys.write(expected.input());
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      ASSERT_EQ(cudaGraphLaunch(launched, stream.get()), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
      const std::span<const std::byte> wanted = expected.keys_alone();
      ASSERT_EQ(diagnose_bytes("keys", wanted, keys.read(wanted.size()), size_bytes(type)), "") << shape;
    }
    EXPECT_EQ(cudaGraphExecDestroy(launched), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
}

TEST_F(enqueue_test, WaitsForTheCallersWorkAndForNothingElse) {
  constexpr std::uint64_t num_keys = 200'000;
  constexpr std::uint32_t word = 0xC0FFEE;
  const gpu_memory keys = take_gpu_memory(num_keys * 4);
  const std::uint64_t size = enqueue_sort_bytes(key_type::u32, num_keys);
  const gpu_memory workspace = take_gpu_memory(size);
  launch_slow_fill(static_cast<std::uint32_t*>(keys.get()), num_keys, word, 200'000'000, stream.get());
  enqueue_sort({key_type::u32, keys.get(), num_keys}, {workspace.get(), size}, stream.get());
  EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady) << "the call waited";
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  std::vector<std::uint32_t> found(num_keys);
  ASSERT_EQ(cudaMemcpy(found.data(), keys.get(), num_keys * 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(found, std::vector<std::uint32_t>(num_keys, word));
  static_cast<void>(cudaGetLastError());  // the answer of the query
}

TEST_F(enqueue_test, WrongArgumentsAreRefused) {
  constexpr std::uint64_t n = 1'000;
  const gpu_memory keys = take_gpu_memory(n * 8);
  const gpu_memory values = take_gpu_memory(n * 8);
  const std::uint64_t size = enqueue_sort_pairs_bytes(key_type::u32, n, 8);
  const gpu_memory space = take_gpu_memory(size);
  const gpu_workspace whole{space.get(), size};
  const key_span good{key_type::u32, keys.get(), n};
  std::vector<std::uint32_t> on_the_host(n);
  EXPECT_THROW(enqueue_sort({key_type::u32, nullptr, n}, whole, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort({key_type::u32, static_cast<char*>(keys.get()) + 1, n}, whole, stream.get()),
               invalid_argument);
  EXPECT_THROW(enqueue_sort({key_type::u32, on_the_host.data(), n}, whole, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort(good, {on_the_host.data(), size}, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort(good, {nullptr, size}, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort(good, {static_cast<char*>(space.get()) + 8, size}, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs(good, values.get(), 8, {space.get(), size - 1}, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs(good, values.get(), 5, whole, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs(good, static_cast<char*>(values.get()) + 4, 8, whole, stream.get()),
               invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs(good, on_the_host.data(), 4, whole, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_sort_pairs(good, keys.get(), 4, whole, stream.get()), invalid_argument);
  EXPECT_THROW(enqueue_argsort(good, values.get(), 2, whole, stream.get()), invalid_argument);
  EXPECT_THROW(static_cast<void>(enqueue_sort_pairs_bytes(key_type::u32, n, 3)), invalid_argument);
  enqueue_sort({key_type::u32, nullptr, 0}, {}, stream.get());
  EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

TEST_F(enqueue_test, FaultsAreReported) {
  enqueued_job job(make_oracle(key_type::u32, 100'000, {distribution_kind::uniform}, seed_for(1), false), 4);
  bool has_failed = true;
  for (std::uint64_t fail_at = 1; has_failed; ++fail_at) {
    job.reset();
    has_failed = false;
    try {
      const base::test_hooks_scope hooks({.fail_device_call_at = fail_at});
      job.enqueue(stream.get());
    } catch (const device_error&) {
      has_failed = true;
    }
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    ASSERT_LT(fail_at, 100u);
  }
  EXPECT_EQ(job.diagnose(), "");
}

/// Even keys, as many as this, are counted, in memory that the states of the passes have in between. Keys of 100,000
/// values are sorted by passes.
TEST_F(enqueue_test, SortsAsManyAsAreCounted) {
  constexpr std::uint64_t n = device::cuda::least_counted_records + 12'345;
  for (const std::uint32_t num_values : {0U, 100'000U}) {
    std::vector<std::uint32_t> given(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL;
      const auto random = static_cast<std::uint32_t>((x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL >> 32);
      given[i] = num_values == 0 ? random : random % num_values * 0x9e3779b9U;
    }
    std::vector<std::uint32_t> positions(n);
    std::iota(positions.begin(), positions.end(), 0U);
    for (const std::uint64_t value_bytes : {0U, 4U}) {
      const std::uint64_t needed =
          value_bytes == 0 ? enqueue_sort_bytes(key_type::u32, n) : enqueue_sort_pairs_bytes(key_type::u32, n, 4);
      shard_memory keys("gpu:0", n * sizeof(std::uint32_t));
      shard_memory values("gpu:0", n * value_bytes);
      shard_memory workspace("gpu:0", needed);
      keys.write(std::as_bytes(std::span(given)));
      if (value_bytes != 0) values.write(std::as_bytes(std::span(positions)));
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const key_span span{key_type::u32, keys.data(), n};
      if (value_bytes == 0) {
        enqueue_sort(span, {workspace.data(), needed}, stream.get());
      } else {
        enqueue_sort_pairs(span, values.data(), value_bytes, {workspace.data(), needed}, stream.get());
      }
      ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
      std::vector<std::uint32_t> sorted(n);
      std::memcpy(sorted.data(), keys.read(n * sizeof(std::uint32_t)).data(), n * sizeof(std::uint32_t));
      if (value_bytes == 0) {
        std::vector<std::uint32_t> expected = given;
        sort(expected, {.devices = "cpu"});
        ASSERT_TRUE(sorted == expected) << num_values;
        continue;
      }
      std::vector<std::uint32_t> order(n);
      std::memcpy(order.data(), values.read(n * value_bytes).data(), n * value_bytes);
      for (std::uint64_t i = 0; i < n; ++i) {
        ASSERT_LT(order[i], n) << i;
        ASSERT_EQ(sorted[i], given[order[i]]) << i;
        if (i == 0) continue;
        ASSERT_TRUE(sorted[i - 1] < sorted[i] || (sorted[i - 1] == sorted[i] && order[i - 1] < order[i])) << i;
      }
    }
  }
}

/// The workspace is what the header states.
TEST_F(enqueue_test, WorkspaceIsSizedByTheInput) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  for (const key_type type : {key_type::u8, key_type::u32, key_type::u64}) {
    for (const unsigned value_bytes : {0U, 4U, 8U, 16U}) {
      for (unsigned log2_size = 4; log2_size <= 30; log2_size += 2) {
        const std::uint64_t num_keys = std::uint64_t{1} << log2_size;
        const std::uint64_t records_bytes = num_keys * (size_bytes(type) + value_bytes);
        const std::uint64_t needed = value_bytes == 0 ? enqueue_sort_bytes(type, num_keys)
                                                      : enqueue_sort_pairs_bytes(type, num_keys, value_bytes);
        EXPECT_LE(needed, records_bytes + mib / 2 + std::max(4 * mib, records_bytes / 50))
            << name(type) << ", " << value_bytes << ", 2^" << log2_size;
        if (num_keys * 4 > mib) continue;
        EXPECT_LE(needed, records_bytes + mib) << name(type) << ", " << num_keys;
      }
    }
  }
}

TEST(enqueue_without_gpu_test, IsRefusedWithAReason) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THROW(static_cast<void>(enqueue_sort_bytes(key_type::u32, 100)), device_error);
}

}  // namespace
}  // namespace spansort::test
