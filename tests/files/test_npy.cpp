// SPDX-License-Identifier: Apache-2.0
// The .npy header parser: what NumPy writes is read, mutations of it are read or refused with bad_input and nothing
// else.
#include "files/io/npy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

const std::string file = "x.npy";

std::string text_of(std::string_view bytes) {
  const npy_extent extent = npy_header_extent(bytes, file);
  return std::string(bytes.substr(extent.begin_bytes, extent.size_bytes));
}

// Parses a preamble and header as a file's first bytes are parsed; nothing when refused.
std::optional<npy_array> parse_or_refuse(const std::string& bytes) {
  try {
    // Exact copies on the heap: a read past their end is seen by the address sanitizer.
    const std::vector<char> start(bytes.begin(), bytes.begin() + std::min<std::ptrdiff_t>(std::ssize(bytes), 10));
    const std::size_t preamble_bytes = npy_preamble_size({start.data(), start.size()}, file);
    const std::vector<char> preamble(bytes.begin(),
                                     bytes.begin() + std::min(std::ssize(bytes), std::ptrdiff_t(preamble_bytes)));
    const npy_extent extent = npy_header_extent({preamble.data(), preamble.size()}, file);
    const std::string rest = bytes.substr(extent.begin_bytes, extent.size_bytes);
    const std::vector<char> text(rest.begin(), rest.end());
    return parse_npy_header({text.data(), text.size()}, file);
  } catch (const bad_input& refusal) {
    const std::string_view message = refusal.what();
    EXPECT_TRUE(message.starts_with("x.npy: ")) << message;
    EXPECT_LT(message.size(), 400u) << message;
    for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << "not printable: " << int{c};
    return std::nullopt;
  }
}

constexpr key_type types_of_numpy[] = {key_type::u8,  key_type::i8,  key_type::u16, key_type::i16,
                                       key_type::u32, key_type::i32, key_type::u64, key_type::i64,
                                       key_type::f16, key_type::f32, key_type::f64};

TEST(Npy, HeaderIsWhatNumpyWrites) {
  const std::string written = make_npy_header({key_type::f32, std::endian::little, 10});
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }";
  expected.append(127 - expected.size(), ' ');
  EXPECT_EQ(written, expected + "\n");
}

TEST(Npy, WrittenHeadersAreRead) {
  for (const key_type type : types_of_numpy) {
    for (const std::endian order : {std::endian::little, std::endian::big}) {
      for (const std::uint64_t count :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 33, (~std::uint64_t{0}) / 8}) {
        const std::string bytes = make_npy_header({type, order, count});
        EXPECT_EQ(bytes.size() % 64, 0u);
        const npy_array array = parse_npy_header(text_of(bytes), file);
        EXPECT_EQ(array.dtype.key, type);
        EXPECT_EQ(array.num_elements, count);
        EXPECT_EQ(array.dtype.byte_order, size_bytes(type) > 1 ? order : std::endian::native);
      }
    }
  }
  EXPECT_EQ(parse_npy_header(text_of(make_npy_header({key_type::bf16, std::endian::little, 3})), file).dtype.key,
            key_type::u16);
}

TEST(Npy, SpellingsOfTheSameHeaderAreRead) {
  for (const char* text : {"{'descr': '=u4', 'fortran_order': False, 'shape': (10,), }\n",
                           "{'descr':'u4','fortran_order':True,'shape':(10,)}",
                           "{\"shape\": (10L,), \"descr\": \"u4\", \"fortran_order\": False}",
                           " { 'shape' : ( 10 , ) , 'fortran_order' : False , 'descr' : 'u4' , } \n\n"}) {
    const npy_array array = parse_npy_header(text, file);
    EXPECT_EQ(array.dtype.key, key_type::u32) << text;
    EXPECT_EQ(array.dtype.byte_order, std::endian::native) << text;
    EXPECT_EQ(array.shape, std::vector<std::uint64_t>{10}) << text;
  }
}

TEST(Npy, FieldsLieWhereNumpyPutsThem) {
  const std::string text =
      "{'descr': [('a', 'i1'), ('', '|V3'), ('b', '<f8'), (('a title', 'c'), '>M8[ns]'), ('d', '<u2', (2, 3)), "
      "('e', [('x', '<U2'), ('y', '|b1')])], 'fortran_order': True, 'shape': (2, 5), }";
  const npy_array array = parse_npy_header(text, file);
  ASSERT_EQ(array.dtype.fields.size(), 5u);
  EXPECT_EQ(array.dtype.item_bytes, 4u + 8 + 8 + 12 + 9);
  const auto& fields = array.dtype.fields;
  const std::vector<std::string> names{fields[0].name, fields[1].name, fields[2].name, fields[3].name, fields[4].name};
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(fields[1].offset, 4u);
  EXPECT_EQ(fields[2].dtype.kind, npy_kind::time);
  EXPECT_EQ(fields[2].dtype.byte_order, std::endian::big);
  EXPECT_EQ(dtype_text(fields[2].dtype), "datetime64[ns]");
  EXPECT_TRUE(fields[3].is_array);
  EXPECT_EQ(fields[4].offset, 32u);
  EXPECT_EQ(fields[4].dtype.fields[1].offset, 8u);
  EXPECT_EQ(array.num_elements, 10u);
  EXPECT_TRUE(array.is_fortran);
  EXPECT_EQ(make_npy_header(array.dtype.descr, array.shape, true).substr(10, text.size()), text);
}

TEST(Npy, ClaimsThatNoFileHoldsAreRefused) {
  const std::string begin = "{'descr': '<u8', 'fortran_order': False, 'shape': (";
  EXPECT_THROW(static_cast<void>(parse_npy_header(begin + "2305843009213693952,)}", file)), bad_input);
  EXPECT_EQ(parse_npy_header(begin + "2305843009213693951,)}", file).num_elements, 2305843009213693951u);
  EXPECT_THROW(static_cast<void>(parse_npy_header(begin + "18446744073709551616,)}", file)), bad_input);
  EXPECT_THROW(static_cast<void>(parse_npy_header(begin + "-0,)}", file)), bad_input);
}

npy_array array_of(const std::string& descr) {
  return parse_npy_header("{'descr': " + descr + ", 'fortran_order': False, 'shape': (3,)}", file);
}

TEST(Npy, EveryDtypeHasAKindAndAName) {
  const struct {
    const char* descr;
    npy_kind kind;
    std::uint64_t item_bytes;
    const char* text;
  } cases[] = {{"'<f4'", npy_kind::number, 4, "f32"},
               {"'<V2'", npy_kind::number, 2, "bf16"},
               {"'|V2'", npy_kind::raw, 2, "V2"},
               {"'>V2'", npy_kind::raw, 2, "V2"},
               {"'?'", npy_kind::boolean, 1, "bool"},
               {"'<M8[25s]'", npy_kind::time, 8, "datetime64[25s]"},
               {"'>m8[Y/12]'", npy_kind::time, 8, "timedelta64[Y/12]"},
               {"'<m8'", npy_kind::time, 8, "timedelta64"},
               {"'|S7'", npy_kind::bytes, 7, "S7"},
               {"'a7'", npy_kind::bytes, 7, "S7"},
               {"'>U3'", npy_kind::text, 12, "U3"},
               {"'|U0'", npy_kind::text, 0, "U0"},
               {"'<c8'", npy_kind::other, 8, "''<c8''"},
               {"'<c32'", npy_kind::other, 32, "''<c32''"},
               {"'<f16'", npy_kind::other, 16, "''<f16''"},
               {"'<f12'", npy_kind::other, 12, "''<f12''"},
               {"[('a', '<u4'), ('b', '|S3')]", npy_kind::structured, 7, "record of 7 bytes"}};
  for (const auto& each : cases) {
    const npy_dtype dtype = array_of(each.descr).dtype;
    EXPECT_EQ(dtype.kind, each.kind) << each.descr;
    EXPECT_EQ(dtype.item_bytes, each.item_bytes) << each.descr;
    EXPECT_EQ(dtype_text(dtype), each.text) << each.descr;
    EXPECT_EQ(dtype.descr, each.descr);
  }
}

TEST(Npy, DtypesThatAreNoneAreRefused) {
  for (const char* descr : {"''",
                            "'<'",
                            "'|f4'",
                            "'<f3'",
                            "'<f14'",
                            "'<c9'",
                            "'<c'",
                            "'<U'",
                            "'|U2'",
                            "'|M8[s]'",
                            "'M8[]'",
                            "'M8[s'",
                            "'M8s]'",
                            "'M8[s-]'",
                            "'M8[{]'",
                            "'M4'",
                            "'m'",
                            "'<x4'",
                            "'S4294967297'",
                            "'S99999999999999999999'",
                            "'S-1'",
                            "'S1x'",
                            "'O'",
                            "'|O8'",
                            "{'names': ['a']}",
                            "('<u4', (2,))",
                            "[('a', '<u4', (2,)"}) {
    EXPECT_THROW(static_cast<void>(array_of(descr)), bad_input) << descr;
  }
}

TEST(Npy, FieldsOfASizeThatCannotBeAreRefused) {
  const auto refusal_of = [](const std::string& descr) -> std::string {
    try {
      static_cast<void>(array_of(descr));
    } catch (const bad_input& refused) {
      return refused.what();
    }
    return "";
  };
  for (const char* descr :
       {"[('a', '<u4', (-1,))]", "[('a', '<u4', (99999999999999999999,))]", "[('a', '<u4', (4294967296, 4294967296))]",
        "[('a', '<u4', (4294967297,))]", "[('a', '|S4294967296', (4294967296,))]", "[('a', '<u8', (2147483648,))]",
        "[('a', '|S4294967296'), ('b', '|S1')]"}) {
    EXPECT_NE(refusal_of(descr).find("a field of a size that cannot be"), std::string::npos) << descr;
  }
  EXPECT_EQ(array_of("[('a', '|S4294967295'), ('', '|S1')]").dtype.item_bytes, std::uint64_t{1} << 32);
  EXPECT_EQ(array_of("[('a', '|S4'), ('', '|S1')]").dtype.fields.size(), 2u) << "it is no padding";

  std::string nested = "'<u4'";
  for (int i = 0; i < 16; ++i) nested = "[('a', " + nested + ")]";
  EXPECT_EQ(array_of(nested).dtype.item_bytes, 4u);
  EXPECT_NE(refusal_of("[('a', " + nested + ")]").find("fields of fields, too deep"), std::string::npos);
  EXPECT_NE(refusal_of("[('a', '<u4') ('b', '<u4')]").find("',' or ']' expected"), std::string::npos);

  std::string shape = "(";
  for (int i = 0; i < 64; ++i) shape += "1, ";
  EXPECT_EQ(array_of("[('a', '<u4', " + shape + "))]").dtype.item_bytes, 4u);
  EXPECT_NE(refusal_of("[('a', '<u4', " + shape + "1))]").find("more than 64 dimensions"), std::string::npos);
}

TEST(Npy, WhatAHeaderLacksIsNamed) {
  for (const auto& [text, missing] : {std::pair{"{'fortran_order': False, 'shape': (3,)}", "'descr' is missing"},
                                      {"{'descr': '<u4', 'fortran_order': False}", "'shape' is missing"},
                                      {"{'descr': '<u4', 'shape': (3,)}", "'fortran_order' is missing"},
                                      {"{'descr': '<u4', 'descr': '<u4'}", "is unknown or comes twice"},
                                      {"{'descr': '<u4', 'fortran_order': 0}", "True or False expected"},
                                      {"{'descr': '<u4'", "found its end"}}) {
    try {
      static_cast<void>(parse_npy_header(text, file));
      ADD_FAILURE() << text;
    } catch (const bad_input& refused) {
      EXPECT_NE(std::string(refused.what()).find(missing), std::string::npos) << refused.what();
    }
  }
}

TEST(Npy, LongHeadersHaveTheSecondVersion) {
  std::string descr = "[";
  for (int i = 0; descr.size() < 70'000; ++i) descr += "('field " + std::to_string(i) + "', '<u4'), ";
  descr += "]";
  const std::string bytes = make_npy_header(descr, {3});
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x02\x00", 8));
  EXPECT_EQ(bytes.size() % 64, 0u);
  std::size_t length = 0;
  for (std::size_t i = 12; i-- > 8;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  EXPECT_EQ(length, bytes.size() - 12);
  EXPECT_EQ(bytes.substr(12, 10 + descr.size()), "{'descr': " + descr);
  EXPECT_THROW(static_cast<void>(npy_header_extent(bytes, file)), bad_input) << "longer than what is read";
}

// Mutations: bytes flipped, erased, repeated, pieces of other headers spliced in, ends cut off.
class mutator {
 public:
  explicit mutator(std::uint64_t seed) : random_(seed) {}

  std::string operator()(std::string bytes) {
    const std::uint64_t count = 1 + below(4);
    for (std::uint64_t i = 0; i < count && !bytes.empty(); ++i) mutate(bytes);
    return bytes;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void mutate(std::string& bytes) {
    constexpr const char* pieces[] = {"'",
                                      "\"",
                                      "(",
                                      ")",
                                      "{",
                                      "}",
                                      ",",
                                      ":",
                                      "-",
                                      "0",
                                      "18446744073709551616",
                                      "'descr'",
                                      "'|O'",
                                      "[('a', '<u4')]",
                                      "[('', '|V4'), ('b', [('c', '<U3', (2,))])]",
                                      "'<M8[ns]'",
                                      "True",
                                      "'shape': (1, 2)",
                                      "\\",
                                      "L",
                                      "\n",
                                      "9999999999999999999999999"};
    const std::size_t at = below(bytes.size());
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(below(256)); return;
      case 1: bytes.erase(at, 1 + below(8)); return;
      case 2: bytes.insert(at, bytes.substr(below(bytes.size()), below(40))); return;
      case 3: bytes.insert(at, pieces[below(std::size(pieces))]); return;
      case 4: bytes.resize(at); return;
      default: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); return;
    }
  }

  std::mt19937_64 random_;
};

TEST(Npy, MutatedHeadersAreReadOrRefused) {
  const char* const scale = std::getenv("SPANSORT_TEST_SCALE");
  const int num_cases = scale != nullptr && std::string_view(scale) == "small" ? 5000 : 100000;
  const char* const given = std::getenv("SPANSORT_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  RecordProperty("seed", std::to_string(seed));
  SCOPED_TRACE("SPANSORT_TEST_SEED=" + std::to_string(seed));
  mutator mutate(seed);
  int num_refused = 0;
  for (int i = 0; i < num_cases; ++i) {
    const key_type type = types_of_numpy[static_cast<std::size_t>(i) % std::size(types_of_numpy)];
    std::string bytes = make_npy_header({type, std::endian::little, static_cast<std::uint64_t>(i)});
    const auto header = parse_or_refuse(mutate(std::move(bytes)));
    num_refused += header ? 0 : 1;
    EXPECT_TRUE(!header ||
                header->num_elements <= ~std::uint64_t{0} / std::max<std::uint64_t>(header->dtype.item_bytes, 1));
  }
  // Most mutations hurt; some fall on the padding and do not.
  EXPECT_GT(num_refused, num_cases / 4);
  EXPECT_LT(num_refused, num_cases);
}

TEST(Npy, RandomBytesAreRefused) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes("\x93NUMPY\x01\x00", 8);
    const std::size_t length = random() % 200;
    bytes += {static_cast<char>(length), 0};
    for (std::size_t j = 0; j < length; ++j) bytes += static_cast<char>(random());
    EXPECT_FALSE(parse_or_refuse(bytes).has_value());
  }
}

}  // namespace
}  // namespace spansort::files
