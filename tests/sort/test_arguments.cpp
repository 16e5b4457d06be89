// SPDX-License-Identifier: Apache-2.0
// Arguments that cannot be: each is refused with the right exception and exit status, and nothing is touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "spansort/devices.hpp"
#include "spansort/segmented.hpp"
#include "spansort/sort.hpp"
#include "support/engines.hpp"
#include "support/environment.hpp"

namespace spansort::test {
namespace {

/// Runs `call`, which must throw an Error with this exit status and a message that holds `mentioned`.
template <class Error>
void expect_refusal(const std::function<void()>& call, int exit_status, const std::string& mentioned) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << mentioned;
  } catch (const Error& e) {
    EXPECT_EQ(e.exit_status(), exit_status) << e.what();
    EXPECT_NE(std::string(e.what()).find(mentioned), std::string::npos) << e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "wrong exception: " << e.what();
  }
}

TEST(Arguments, UnknownDeviceListsAreRefused) {
  for (const std::string devices : {"", "tpu", "host:0", "cpu:-1", "host:99999", "host:18446744073709551616", "host:2x",
                                    "cpu:", "cpu: 2", "CPU", "auto:2", "cpu,", "host:1.5"}) {
    std::vector<int> keys{2, 1};
    expect_refusal<invalid_argument>([&] { spansort::sort(keys, {.devices = devices}); }, 2, devices);
    EXPECT_EQ(keys, (std::vector<int>{2, 1})) << devices;
  }
}

TEST(Arguments, WrongListsOfGpusAreRefused) {
  for (const std::string devices : {"gpu:", "gpu:-1", "gpu:0,", "gpu:0,x", "gpu:,0", "gpu:0 ", "gpu:99999999999"}) {
    expect_refusal<invalid_argument>([&] { static_cast<void>(device_list(devices)); }, 2,
                                     "device list '" + devices + "': expected gpu:I,J,... with numbers of GPUs");
  }
  const std::vector<int> most(64, 1);
  EXPECT_EQ(device_list::gpus(most).ordinals(), most);
  expect_refusal<invalid_argument>([] { static_cast<void>(device_list::gpus(std::vector<int>(65, 1))); }, 2,
                                   "more than 64 GPUs");
  EXPECT_THROW(static_cast<void>(device_list::gpus(std::vector<int>{})), invalid_argument);
  EXPECT_THROW(static_cast<void>(device_list::gpus({0, -1})), invalid_argument);
  EXPECT_THROW(static_cast<void>(device_list::host(0)), invalid_argument);
}

TEST(Arguments, ListsOfDevicesHaveTheTextThatMakesThem) {
  for (const char* text : {"auto", "cpu", "host:1", "host:256", "gpu", "gpu:3", "gpu:1,0,1"}) {
    EXPECT_EQ(to_string(device_list(text)), text);
    EXPECT_EQ(device_list(to_string(device_list(text))), device_list(text));
  }
  EXPECT_EQ(to_string(device_list()), "auto");
  EXPECT_EQ(to_string(device_list::cpu()), "cpu");
  EXPECT_EQ(to_string(device_list::host(3)), "host:3");
  EXPECT_EQ(to_string(device_list::gpus()), "gpu");
  EXPECT_EQ(to_string(device_list::gpus({2, 0})), "gpu:2,0");
}

TEST(Arguments, GpuWithoutAGpuIsADeviceError) {
  if (why_no_gpu().empty()) return;  // this machine has one
  for (const std::string devices : {"gpu", "gpu:0", "gpu:0,1", "gpu:0,0,0,0"}) {
    std::vector<int> keys{2, 1};
    expect_refusal<device_error>([&] { spansort::sort(keys, {.devices = devices}); }, 5, "GPU");
    EXPECT_EQ(keys, (std::vector<int>{2, 1})) << devices;
  }
}

TEST(Arguments, UnknownAlgorithmsAreRefusedWithTheKnownOnes) {
  for (const std::string text : {"", "quick", "RMG", "rmg "}) {
    expect_refusal<invalid_argument>([&] { static_cast<void>(parse_algorithm(text)); }, 2, "rmg");
  }
}

TEST(Arguments, AlgorithmsAreFoundByTheirNames) {
  EXPECT_EQ(sort_options{}.algorithm, algorithm::automatic);
  const std::vector<algorithm> all = list_algorithms();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front(), algorithm::automatic);
  for (const algorithm known :
       {algorithm::single, algorithm::rmg, algorithm::out_of_core, algorithm::p2p_merge, algorithm::het_merge,
        algorithm::onesweep, algorithm::lsd_reduce_then_scan, algorithm::satish_radix, algorithm::satish_merge,
        algorithm::msd_hybrid, algorithm::paradis}) {
    EXPECT_EQ(std::ranges::count(all, known), 1) << name(known);
  }
  for (const algorithm which : all) {
    EXPECT_EQ(parse_algorithm(name(which)), which) << name(which);
    EXPECT_FALSE(description(which).empty()) << name(which);
  }
}

TEST(Arguments, P2pMergeRefusesOtherNumbersThanPowersOfTwo) {
  for (const char* devices : {"host:3", "host:5", "host:6", "host:7", "host:12"}) {
    std::vector<int> keys{2, 1, 3};
    expect_refusal<invalid_argument>(
        [&] { spansort::sort(keys, {.devices = devices, .algorithm = algorithm::p2p_merge}); }, 2,
        "p2p_merge takes 1, 2, 4, 8");
    EXPECT_EQ(keys, (std::vector<int>{2, 1, 3})) << devices;
  }
}

TEST(Arguments, TuningOutsideItsLimitsIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const test_tuning wrong[] = {{.radix_bits = 13},      {.radix_bits = 64},
                               {.host_radix_bits = 13}, {.host_radix_bits = 4'000'000'000u},
                               {.epsilon = nan},        {.fuse_threshold = nan}};
  for (const test_tuning& t : wrong) {
    std::vector<int> keys{2, 1};
    const base::test_hooks_scope hooks(t.hooks());
    EXPECT_THROW(spansort::sort(keys, {.devices = "host:2", .algorithm = algorithm::rmg, .tuning = t.options()}),
                 invalid_argument)
        << engine{"host:2", "rmg", t}.describe();
  }
}

TEST(Arguments, CountsMustAgree) {
  std::vector<int> keys{3, 2, 1};
  std::vector<int> values{1, 2};
  std::vector<std::uint64_t> indices(4);
  EXPECT_THROW(spansort::sort_pairs(keys, values), invalid_argument);
  EXPECT_THROW(spansort::argsort(keys, indices), invalid_argument);
  EXPECT_EQ(keys, (std::vector<int>{3, 2, 1}));
}

TEST(Arguments, ValuesOfNoBytesAreRefused) {
  std::vector<int> keys{3, 2, 1};
  for (const char* devices : {"cpu", "host:2"}) {
    sorter s(sort_options{.devices = devices});
    expect_refusal<invalid_argument>([&] { s.sort_pairs(as_key_span(std::span(keys)), keys.data(), 0); }, 2,
                                     "values of 0 bytes: use sort() for keys alone");
  }
  EXPECT_EQ(keys, (std::vector<int>{3, 2, 1}));
}

TEST(Arguments, IndexWidthsOtherThanFourAndEightAreRefused) {
  std::vector<std::uint64_t> keys{2, 1};
  std::vector<std::uint64_t> indices(4);
  sorter s;
  for (const std::uint64_t width : {0, 1, 2, 3, 5, 16}) {
    EXPECT_THROW(s.argsort(const_key_span(key_type::u64, keys.data(), 2), indices.data(), width), invalid_argument)
        << width;
  }
}

/// Keys and values as windows of one array, `distance_bytes` from the start of the keys to the start of the values.
void expect_overlap_refused(std::ptrdiff_t distance_bytes) {
  constexpr std::uint64_t n = 100;
  std::vector<std::uint32_t> storage(4 * n);
  for (std::size_t i = 0; i < storage.size(); ++i) storage[i] = static_cast<std::uint32_t>(1000 - i);
  const std::vector<std::uint32_t> before = storage;
  const key_span keys{key_type::u32, storage.data() + n, n};
  char* values = reinterpret_cast<char*>(storage.data() + n) + distance_bytes;
  sorter s(sort_options{.devices = "cpu"});
  EXPECT_THROW(s.sort_pairs(keys, values, 4), invalid_argument) << "pairs, distance " << distance_bytes;
  EXPECT_THROW(s.argsort(keys, values, 4), invalid_argument) << "argsort, distance " << distance_bytes;
  EXPECT_EQ(storage, before) << "distance " << distance_bytes;
}

TEST(Arguments, OverlappingArraysAreRefused) {
  expect_overlap_refused(0);    // the same array
  expect_overlap_refused(200);  // half
  expect_overlap_refused(-200);
  expect_overlap_refused(396);  // one element
  expect_overlap_refused(-396);
  expect_overlap_refused(4);  // off by one
  expect_overlap_refused(-4);
}

TEST(Arguments, OverlapByOneByteIsRefused) {
  std::vector<std::byte> storage(64);
  const key_span keys{key_type::u8, storage.data() + 10, 10};
  sorter s(sort_options{.devices = "cpu"});
  EXPECT_THROW(s.sort_pairs(keys, storage.data() + 19, 1), invalid_argument);
  EXPECT_THROW(s.sort_pairs(keys, storage.data() + 1, 1), invalid_argument);
  EXPECT_NO_THROW(s.sort_pairs(keys, storage.data() + 20, 1));
  EXPECT_NO_THROW(s.sort_pairs(keys, storage.data(), 1));
  EXPECT_THROW(s.sort_pairs(keys, storage.data() + 19, 3), invalid_argument);
}

TEST(Arguments, NeighbouringArraysAreFine) {
  std::vector<std::uint32_t> storage{3, 2, 1, 10, 20, 30};
  spansort::sort_pairs(std::span(storage).first(3), std::span(storage).last(3));
  EXPECT_EQ(storage, (std::vector<std::uint32_t>{1, 2, 3, 30, 20, 10}));
}

/// Address space without memory: reading it would end the process.
class reserved_range {
 public:
  explicit reserved_range(std::uint64_t size_bytes)
      : size_bytes_(size_bytes),
        data_(mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  reserved_range(const reserved_range&) = delete;
  ~reserved_range() {
    if (is_valid()) munmap(data_, size_bytes_);
  }
  [[nodiscard]] bool is_valid() const { return data_ != MAP_FAILED; }
  [[nodiscard]] void* data() const { return data_; }

 private:
  std::uint64_t size_bytes_;
  void* data_;
};

/// The memory limit makes a sort that misses the check end with another exception instead of a crash.
sort_options without_memory() { return {.devices = "cpu", .memory_limit_bytes = 1}; }

TEST(Arguments, MoreKeysThanA32BitIndexCountsAreRefusedBeforeAnyWork) {
  const std::uint64_t n = (std::uint64_t{1} << 32) + 1;
  const reserved_range keys(n);
  const reserved_range indices(4 * n);
  ASSERT_TRUE(keys.is_valid() && indices.is_valid());
  sorter s(without_memory());
  EXPECT_THROW(s.argsort(const_key_span(key_type::u8, keys.data(), n), indices.data(), 4), invalid_argument);
}

TEST(Arguments, MoreKeysThanASigned32BitIndexCountsAreRefusedBeforeAnyWork) {
  const std::uint64_t n = (std::uint64_t{1} << 31) + 1;
  const reserved_range keys(n);
  const reserved_range indices(4 * n);
  ASSERT_TRUE(keys.is_valid() && indices.is_valid());
  const std::span<const std::uint8_t> key_view(static_cast<const std::uint8_t*>(keys.data()), n);
  EXPECT_THROW(spansort::argsort(key_view, std::span(static_cast<std::int32_t*>(indices.data()), n), without_memory()),
               invalid_argument);
  // 2^31 + 1 unsigned indices fit: what is missing is memory.
  EXPECT_THROW(spansort::argsort(key_view, std::span(static_cast<std::uint32_t*>(indices.data()), n), without_memory()),
               out_of_memory);
}

TEST(Arguments, ASegmentOfMoreKeysThan32BitsCountIsRefusedBeforeAnyWork) {
  const std::uint64_t n = (std::uint64_t{1} << 31) + 1;
  const reserved_range keys(n);
  const reserved_range indices(4 * n);
  ASSERT_TRUE(keys.is_valid() && indices.is_valid());
  const std::vector<std::uint64_t> offsets{0, n};
  expect_refusal<invalid_argument>(
      [&] {
        argsort_segments(const_key_span(key_type::u8, keys.data(), n), indices.data(), 4,
                         as_const_key_span(std::span(offsets)), direction::ascending, without_memory());
      },
      2, "a segment of 2147483649 keys needs 64-bit indices");
}

TEST(Arguments, ByteCountsThatWrapAreRefused) {
  std::vector<std::uint64_t> keys{2, 1};
  sorter s(without_memory());
  EXPECT_THROW(s.sort(key_span{key_type::u64, keys.data(), std::uint64_t{1} << 61}), error);
  EXPECT_THROW(s.sort_pairs(key_span{key_type::u64, keys.data(), 2}, keys.data() + 2, std::uint64_t{1} << 63), error);
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{2, 1}));
}

}  // namespace
}  // namespace spansort::test
