// SPDX-License-Identifier: Apache-2.0
#include "support/engines.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <sstream>

#include "keys/codec.hpp"
#include "spansort/devices.hpp"
#include "support/environment.hpp"
#include "support/guarded_array.hpp"

namespace spansort::test {
namespace {

struct world {
  std::uint64_t inline_keys;
  std::uint64_t bucket_bytes;
  unsigned host_radix_bits;
  std::uint64_t tile_keys;
};
constexpr world tiny{1, 256, 2, 16};
constexpr world small{8, 1024, 5, 64};
constexpr world middle{100, 4096, 11, 1000};

test_tuning tuning(world w, unsigned radix_bits = 0, double epsilon = -1, double fuse_threshold = -1) {
  return {.radix_bits = radix_bits,
          .epsilon = epsilon,
          .fuse_threshold = fuse_threshold,
          .host_inline_keys = w.inline_keys,
          .host_bucket_bytes = w.bucket_bytes,
          .host_radix_bits = w.host_radix_bits,
          .host_tile_keys = w.tile_keys};
}

/// `auto` takes all devices however few the keys.
test_tuning small_for_all(test_tuning t) {
  t.several_devices_keys = 1;
  return t;
}

/// Devices with memory of their own, as GPUs: copies in and out, in pieces.
test_tuning with_own_memory(test_tuning t) {
  t.host_separate_memory = true;
  t.copy_piece_bytes = 4096;
  return t;
}

/// Sorts larger than the devices, which hold this many keys at a time.
test_tuning in_parts_of(std::uint64_t num_keys, test_tuning t) {
  t.device_chunk_keys = num_keys;
  return t;
}

/// Has the exchange go through the host, as between devices that cannot reach each other's memory.
test_tuning staged(test_tuning t) {
  t.exchange_through_host = true;
  return t;
}

/// The exchange goes in rounds, in each of which a rank gets this many keys.
test_tuning in_rounds_of(std::uint64_t num_keys, test_tuning t) {
  t.round_keys = num_keys;
  return t;
}

/// Sorted keys leave the devices packed, by the queue that has the time.
test_tuning packed(test_tuning t) {
  t.packing = base::key_packing::always;
  return t;
}

/// An algorithm that no engine names is tested all the same.
std::vector<engine> with_all_algorithms(std::vector<engine> engines) {
  std::erase_if(engines, [](const engine& e) { return !is_offered(parse_algorithm(e.algorithm)); });
  for (const algorithm which : list_algorithms()) {
    const bool is_named = std::ranges::any_of(engines, [&](const engine& e) { return e.algorithm == name(which); });
    if (!is_named && is_offered(which)) engines.push_back({"host:3", std::string(name(which)), tuning(small)});
  }
  return engines;
}

std::string diagnose_argsort(sorter& s, const oracle& expected, direction wanted, unsigned index_bytes) {
  const std::uint64_t n = expected.num_keys();
  const std::size_t key_bytes = size_bytes(expected.type());
  guarded_array keys(expected.input(), key_bytes);
  guarded_array indices(n * index_bytes, index_bytes);
  s.argsort(const_key_span(expected.type(), keys.data(), n), indices.data(), index_bytes, wanted);
  std::string wrong =
      diagnose_bytes("index", values_in_order(expected.order(), index_bytes), indices.bytes(), index_bytes);
  if (wrong.empty()) wrong = diagnose_bytes("argsort changed key", expected.input(), keys.bytes(), key_bytes);
  return wrong + keys.corruption() + indices.corruption();
}

std::string diagnose_pairs(sorter& s, const oracle& expected, direction wanted, unsigned value_bytes,
                           unsigned misalignment_bytes) {
  const std::uint64_t n = expected.num_keys();
  const std::size_t key_bytes = size_bytes(expected.type());
  guarded_array keys(expected.input(), key_bytes);
  guarded_array values(input_values(n, value_bytes), misalignment_bytes);
  s.sort_pairs(key_span{expected.type(), keys.data(), n}, values.data(), value_bytes, wanted);
  std::string wrong = diagnose_bytes("key", expected.keys_of_pairs(), keys.bytes(), key_bytes);
  if (wrong.empty()) {
    wrong = diagnose_bytes("value", values_in_order(expected.order(), value_bytes), values.bytes(), value_bytes);
  }
  return wrong + keys.corruption() + values.corruption();
}

std::string diagnose_keys(sorter& s, const oracle& expected, direction wanted) {
  const std::size_t key_bytes = size_bytes(expected.type());
  guarded_array keys(expected.input(), key_bytes);
  s.sort(key_span{expected.type(), keys.data(), expected.num_keys()}, wanted);
  return diagnose_bytes("key", expected.keys_alone(), keys.bytes(), key_bytes) + keys.corruption();
}

}  // namespace

std::string devices_under_test(const std::string& devices) {
  const char* const wanted = std::getenv("SPANSORT_TEST_DEVICES");
  if (wanted == nullptr || std::string(wanted) != "gpu") return devices;
  unsigned count = 1;
  if (devices.starts_with("host:")) count = std::min(8U, static_cast<unsigned>(std::stoul(devices.substr(5))));
  static const auto num_gpus = static_cast<unsigned>(
      std::ranges::count_if(list_devices(), [](const device_description& d) { return d.name.starts_with("gpu:"); }));
  std::string list = "gpu:";
  for (unsigned i = 0; i < count; ++i) {
    if (i != 0) list += ',';
    list += std::to_string(i % std::max(num_gpus, 1U));
  }
  return list;
}

bool is_offered(algorithm which) {
  const bool on_gpus = devices_under_test("cpu") != "cpu";
  if (!on_gpus) return which != algorithm::onesweep;
  return which != algorithm::msd_hybrid && which != algorithm::paradis;
}

hooked_options engine::options() const {
  hooked_options o;
  o.devices = devices_under_test(devices);
  o.algorithm = parse_algorithm(algorithm);
  o.world = tuning;
  o.tuning = tuning.options();
  return o;
}

std::string engine::describe() const {
  std::ostringstream text;
  text << devices << " " << algorithm << " {.radix_bits = " << tuning.radix_bits << ", .epsilon = " << tuning.epsilon
       << ", .fuse_threshold = " << tuning.fuse_threshold << ", .host_inline_keys = " << tuning.host_inline_keys
       << ", .host_bucket_bytes = " << tuning.host_bucket_bytes << ", .host_radix_bits = " << tuning.host_radix_bits
       << ", .host_tile_keys = " << tuning.host_tile_keys << ", .host_separate_memory = " << tuning.host_separate_memory
       << ", .copy_piece_bytes = " << tuning.copy_piece_bytes << ", .device_chunk_keys = " << tuning.device_chunk_keys
       << ", .round_keys = " << tuning.round_keys << ", .exchange_through_host = " << tuning.exchange_through_host
       << ", .several_devices_keys = " << tuning.several_devices_keys
       << ", .packing = " << static_cast<int>(tuning.packing) << ", .spanning = " << static_cast<int>(tuning.spanning)
       << ", .buckets = " << static_cast<int>(tuning.buckets)
       << ", .small_sort = " << static_cast<int>(tuning.small_sort)
       << ", .blocks_cannot_meet = " << tuning.blocks_cannot_meet << "}";
  return text.str();
}

const std::vector<engine>& all_engines() {
  static const std::vector<engine> engines = with_all_algorithms({
      {"cpu", "single", {}},
      {"cpu", "single", tuning(tiny)},
      {"host:3", "rmg", tuning(small, 3, 0.2)},
      {"cpu", "auto", {}},
      {"host:7", "rmg", tuning(tiny, 8, 0)},
      {"cpu", "single", tuning(small)},
      {"host:2", "rmg", {}},
      {"host:64", "rmg", tuning(small, 8, 0.005), true},
      {"cpu", "single", tuning(middle)},
      {"host:2", "rmg", tuning(tiny, 1, 0)},
      {"host:3", "auto", small_for_all(tuning(small))},
      {"host:7", "rmg", tuning(middle, 11, 0.005, 0)},
      {"cpu", "rmg", {}},
      {"host:3", "rmg", tuning(tiny, 12, 0, 1)},
      {"host:7", "rmg", {}},
      {"cpu", "rmg", tuning(small, 1, 0.2)},
      {"host:64", "rmg", tuning(tiny, 3, 0, 0.3), true},
      {"host:7", "auto", small_for_all(tuning(tiny))},
      {"host:3", "rmg", {}},
      {"host:64", "auto", {}},
      {"cpu", "single", with_own_memory(tuning(small))},
      {"host:3", "rmg", with_own_memory(tuning(small, 3, 0.2))},
      {"host:2", "auto", with_own_memory(small_for_all({}))},
      {"host:7", "rmg", tuning(small, 3, 0.2, 0.5)},
      {"host:3", "rmg", staged(tuning(small, 8, 0))},
      {"host:7", "rmg", staged(with_own_memory(tuning(small, 3, 0.2)))},
      {"host:3", "rmg", in_rounds_of(50, with_own_memory(tuning(small, 5, 0.2, 0)))},
      {"host:7", "rmg", in_rounds_of(1, tuning(tiny, 8, 0.005, 0))},
      {"host:2", "rmg", in_rounds_of(10, staged(with_own_memory(tuning(small, 8, 0, 0))))},
      {"cpu", "auto", with_own_memory({})},
      {"cpu", "rmg", packed(with_own_memory(tuning(small, 8, 0)))},
      {"host:3", "rmg", packed(with_own_memory(tuning(small, 5, 0.2)))},
      {"cpu", "out_of_core", in_parts_of(300, tuning(small))},
      {"host:3", "out_of_core", in_parts_of(100, with_own_memory(tuning(small)))},
      {"host:7", "out_of_core", in_parts_of(977, with_own_memory(tuning(tiny)))},
      {"host:2", "out_of_core", with_own_memory({})},
      {"host:1", "p2p_merge", tuning(small)},
      {"host:2", "p2p_merge", tuning(tiny)},
      {"host:4", "p2p_merge", with_own_memory(tuning(small))},
      {"host:8", "p2p_merge", staged(tuning(tiny))},
      {"host:8", "p2p_merge", {}},
      {"host:1", "het_merge", tuning(small)},
      {"host:3", "het_merge", with_own_memory(tuning(small))},
      {"host:7", "het_merge", tuning(tiny)},
      {"host:3", "het_merge", in_parts_of(100, with_own_memory(tuning(tiny)))},
      {"host:2", "het_merge", in_parts_of(977, {})},
      {"cpu", "lsd_reduce_then_scan", tuning(tiny, 3)},
      {"cpu", "satish_radix", tuning(tiny)},
      {"cpu", "satish_merge", with_own_memory(tuning(small))},
      {"cpu", "msd_hybrid", tuning(tiny)},
      {"cpu", "paradis", tuning(tiny)},
      {"cpu", "lsd_reduce_then_scan", {}},
      {"host:2", "satish_radix", with_own_memory({})},
      {"cpu", "satish_merge", {}},
      {"cpu", "paradis", with_own_memory({})},
  });
  return engines;
}

std::string describe(const operation& op) {
  switch (op.what) {
    case operation::kind::keys: return "sort";
    case operation::kind::pairs: return "sort_pairs with values of " + std::to_string(op.bytes) + " bytes";
    default: return "argsort with indices of " + std::to_string(op.bytes) + " bytes";
  }
}

std::string diagnose_sort(sorter& s, const oracle& expected, const operation& op, unsigned misalignment_bytes) {
  return diagnose_sort(s, expected, keys::direction_of(expected.descending()), op, misalignment_bytes);
}

std::string diagnose_sort(sorter& s, const oracle& expected, direction wanted, const operation& op,
                          unsigned misalignment_bytes) {
  try {
    switch (op.what) {
      case operation::kind::keys: return diagnose_keys(s, expected, wanted);
      case operation::kind::pairs: return diagnose_pairs(s, expected, wanted, op.bytes, misalignment_bytes);
      default: return diagnose_argsort(s, expected, wanted, op.bytes);
    }
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

std::vector<std::byte> make_keys(key_type type, std::uint64_t num_keys, const distribution& d, std::uint64_t seed) {
  std::vector<std::byte> keys(num_keys * size_bytes(type));
  generate(key_span{type, keys.data(), num_keys}, d, seed);
  return keys;
}

oracle make_oracle(key_type type, std::uint64_t num_keys, const distribution& d, std::uint64_t seed, bool descending) {
  const std::vector<std::byte> keys = make_keys(type, num_keys, d, seed);
  return oracle(const_key_span(type, keys.data(), num_keys), descending);
}

std::vector<key_type> all_key_types() {
  return {key_type::u8,  key_type::i8,  key_type::u16, key_type::i16,  key_type::u32, key_type::i32,
          key_type::u64, key_type::i64, key_type::f16, key_type::bf16, key_type::f32, key_type::f64};
}

std::vector<key_type> varied_key_types() {
  if (!is_small_scale()) return all_key_types();
  return {key_type::u8, key_type::f16, key_type::i32, key_type::f64};
}

std::string test_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

}  // namespace spansort::test
