// SPDX-License-Identifier: Apache-2.0
// generate_records(): each record is drawn from its number alone.
#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <cstring>

#include "generate/random.hpp"
#include "spansort/errors.hpp"
#include "spansort/generate.hpp"

namespace spansort {
namespace {

constexpr std::uint64_t key_bytes = 10;
constexpr std::uint64_t number_digits = 32;
constexpr std::uint64_t filler_digits = 12;
constexpr std::uint64_t filler_repeats = 4;
constexpr unsigned char after_key[] = {0x00, 0x11};
constexpr unsigned char after_number[] = {0x88, 0x99, 0xaa, 0xbb};
constexpr unsigned char after_filler[] = {0xcc, 0xdd, 0xee, 0xff};
static_assert(key_bytes + sizeof(after_key) + number_digits + sizeof(after_number) + filler_digits * filler_repeats +
                  sizeof(after_filler) ==
              generated_record_bytes);

unsigned char hexadecimal(std::uint64_t digit) { return static_cast<unsigned char>("0123456789ABCDEF"[digit & 15]); }

/// The random words of all records of a seed.
struct record_streams {
  explicit record_streams(std::uint64_t seed) : first(seed, 0), second(seed, 1), filler(seed, 2) {}
  generation::random_stream first;   ///< 8 bytes of the key
  generation::random_stream second;  ///< 2 more
  generation::random_stream filler;
};

template <std::size_t size>
unsigned char* put(unsigned char* to, const unsigned char (&constant)[size]) {
  std::memcpy(to, constant, size);
  return to + size;
}

void write_record(unsigned char* to, std::uint64_t number, const record_streams& random) {
  // Byte by byte, so that they are the same whatever the machine's byte order.
  const std::uint64_t first = random.first(number);
  const std::uint64_t second = random.second(number);
  for (unsigned i = 0; i < 8; ++i) *to++ = static_cast<unsigned char>(first >> (8 * i));
  for (unsigned i = 0; i < 2; ++i) *to++ = static_cast<unsigned char>(second >> (8 * i));
  to = put(to, after_key);
  for (unsigned i = 0; i < number_digits; ++i) {
    const unsigned shift = static_cast<unsigned>(number_digits - 1 - i) * 4;
    *to++ = hexadecimal(shift < 64 ? number >> shift : 0);
  }
  to = put(to, after_number);
  const std::uint64_t filler = random.filler(number);
  for (unsigned i = 0; i < filler_digits; ++i) {
    std::memset(to, hexadecimal(filler >> (4 * i)), filler_repeats);
    to += filler_repeats;
  }
  put(to, after_filler);
}

}  // namespace

void generate_records(std::span<std::byte> records, std::uint64_t first_record, std::uint64_t seed) {
  if (records.size() % generated_record_bytes != 0) {
    throw invalid_argument(fmt::format("records of {} bytes do not fit into {} bytes without a rest",
                                       generated_record_bytes, records.size()));
  }
  constexpr std::uint64_t grain_records = 1024;
  const record_streams random(seed);
  auto* const begin = reinterpret_cast<unsigned char*>(records.data());
  tbb::task_group_context own(tbb::task_group_context::isolated);  // not cancelled with the caller's tasks
  tbb::parallel_for(
      tbb::blocked_range<std::uint64_t>(0, records.size() / generated_record_bytes, grain_records),
      [&](const tbb::blocked_range<std::uint64_t>& block) {
        for (std::uint64_t i = block.begin(); i != block.end(); ++i) {
          write_record(begin + i * generated_record_bytes, first_record + i, random);
        }
      },
      own);
}

}  // namespace spansort
