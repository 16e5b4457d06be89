// SPDX-License-Identifier: Apache-2.0
#include "record_case.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "spansort/generate.hpp"
#include "support/engines.hpp"
#include "support/oracle.hpp"

namespace spansort::test {
namespace {

record_key random_key(std::uint32_t record_bytes, random_words& random) {
  record_key key;
  key.descending = random.below(2) == 1;
  const std::vector<key_type> types = all_key_types();
  const key_type type = types[random.below(types.size())];
  if (random.below(3) != 0 && size_bytes(type) <= record_bytes) {
    key.type = type;
    key.size_bytes = static_cast<std::uint32_t>(size_bytes(type));
  } else {
    const std::uint32_t most = std::min<std::uint32_t>(record_bytes, random.below(4) == 0 ? 256 : 12);
    key.size_bytes = 1 + static_cast<std::uint32_t>(random.below(most));
  }
  key.offset = static_cast<std::uint32_t>(random.below(record_bytes - key.size_bytes + 1));
  return key;
}

/// -1, 0 or 1.
int compare_fields(const record_key& key, bool descending, const std::byte* a, const std::byte* b) {
  const bool is_downwards = key.descending != descending;
  if (!key.type) {
    const int order = std::memcmp(a + key.offset, b + key.offset, key.size_bytes);
    const int sign = order < 0 ? -1 : (order > 0 ? 1 : 0);
    return is_downwards ? -sign : sign;
  }
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::memcpy(&left, a + key.offset, key.size_bytes);
  std::memcpy(&right, b + key.offset, key.size_bytes);
  if (precedes_in_value(*key.type, is_downwards, &left, &right)) return -1;
  return precedes_in_value(*key.type, is_downwards, &right, &left) ? 1 : 0;
}

void fill_random(bytes& records, record_contents contents, random_words& random) {
  for (std::byte& b : records) {
    const std::uint64_t word = random();
    const bool is_few = contents == record_contents::few_values || contents == record_contents::constant;
    b = static_cast<std::byte>(is_few ? (word % 2) * 255 : word % 256);
  }
}

/// Makes the fields of all records those of record 0 or, where there are two, of record 1 in every other.
void repeat_fields(const record_format& format, bytes& records, std::uint64_t period, std::uint64_t num_keys) {
  const std::uint64_t num_records = records.size() / format.record_bytes;
  for (std::uint64_t i = period; i < num_records; ++i) {
    for (std::uint64_t k = 0; k < num_keys; ++k) {
      const record_key& key = format.keys[k];
      std::memcpy(&records[i * format.record_bytes + key.offset],
                  &records[(i % period) * format.record_bytes + key.offset], key.size_bytes);
    }
  }
}

/// Equal fields but for the last, of which the first half is equal where it is wide.
void make_prefixes_equal(const record_format& format, bytes& records) {
  repeat_fields(format, records, 1, format.keys.size() - 1);
  const record_key& last = format.keys.back();
  for (std::uint64_t begin = 0; begin < records.size(); begin += format.record_bytes) {
    std::memcpy(&records[begin + last.offset], &records[last.offset], last.size_bytes / 2);
  }
}

void make_special(const record_format& format, bytes& records, random_words& random) {
  const std::uint64_t num_records = records.size() / format.record_bytes;
  for (const record_key& key : format.keys) {
    if (!key.type) continue;
    const bytes numbers = make_keys(*key.type, num_records, {distribution_kind::special_floats}, random());
    for (std::uint64_t i = 0; i < num_records; ++i) {
      std::memcpy(&records[i * format.record_bytes + key.offset], &numbers[i * key.size_bytes], key.size_bytes);
    }
  }
}

}  // namespace

record_format random_format(random_words& random) {
  record_format format;
  const std::uint32_t most = random.below(4) == 0 ? 600 : 40;
  format.record_bytes = 1 + static_cast<std::uint32_t>(random.below(most));
  const std::uint64_t num_keys = 1 + random.below(random.below(3) == 0 ? most_record_keys : 3);
  while (format.keys.size() < num_keys) format.keys.push_back(random_key(format.record_bytes, random));
  return format;
}

bytes make_records(const record_format& format, std::uint64_t num_records, record_contents contents,
                   random_words& random) {
  bytes records(num_records * format.record_bytes);
  fill_random(records, contents, random);
  if (num_records == 0) return records;
  if (contents == record_contents::constant) repeat_fields(format, records, 1, format.keys.size());
  if (contents == record_contents::two_values) repeat_fields(format, records, 2, format.keys.size());
  if (contents == record_contents::equal_prefixes) make_prefixes_equal(format, records);
  if (contents == record_contents::special) make_special(format, records, random);
  return records;
}

bool record_precedes(const record_format& format, bool descending, const std::byte* a, const std::byte* b) {
  for (const record_key& key : format.keys) {
    if (const int order = compare_fields(key, descending, a, b); order != 0) return order < 0;
  }
  return false;
}

bytes sorted_records(const record_format& format, bool descending, const bytes& records) {
  std::vector<std::uint64_t> order(records.size() / format.record_bytes);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return record_precedes(format, descending, &records[a * format.record_bytes], &records[b * format.record_bytes]);
  });
  bytes result(records.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    std::memcpy(&result[i * format.record_bytes], &records[order[i] * format.record_bytes], format.record_bytes);
  }
  return result;
}

std::string describe(const record_format& format) {
  return "records of " + std::to_string(format.record_bytes) + " bytes by " + to_string(format.keys);
}

}  // namespace spansort::test
