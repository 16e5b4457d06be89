// SPDX-License-Identifier: Apache-2.0
// Formats of records as text, and what is refused with which words.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "record_case.hpp"
#include "spansort/errors.hpp"
#include "spansort/records.hpp"

namespace spansort::test {
namespace {

template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const invalid_argument& failure) {
    return failure.what();
  }
  return "nothing was thrown";
}

TEST(RecordFormat, ReadsFieldsOfAllKinds) {
  const std::vector<record_key> expected{
      {0, 10}, {10, 4, key_type::u32}, {4, 8, key_type::f64, true}, {20, 256, {}, true}, {7, 2, key_type::bf16}};
  EXPECT_EQ(parse_record_keys("0:10,10:4:u32,4:8:f64:r,20:256:r,7:2:bf16"), expected);
  EXPECT_EQ(parse_record_format(300, "0:10"), (record_format{300, {{0, 10}}}));
}

TEST(RecordFormat, TextOfRandomFormatsIsReadBack) {
  random_words random(seed_for(1));
  for (int i = 0; i < 500; ++i) {
    const record_format format = random_format(random);
    EXPECT_EQ(parse_record_format(format.record_bytes, to_string(format.keys)), format) << describe(format);
  }
}

struct wrong_keys {
  const char* text;
  const char* words;  ///< in the message
};

TEST(RecordFormat, RefusesWhatIsNoField) {
  const wrong_keys cases[] = {{"", "''"},
                              {"0", "size ''"},
                              {":4", "offset ''"},
                              {"0:", "incomplete"},
                              {"x:4", "offset 'x'"},
                              {"-1:4", "offset '-1'"},
                              {"0:4x", "size '4x'"},
                              {"0:99999999999", "size '99999999999'"},
                              {"0:4:u33", "u33"},
                              {"0:4:u32:x", "'x' after the type"},
                              {"0:4:u32:r:r", "'r:r' after the type"},
                              {"0:4:r:u32", "unknown key type 'r'"},
                              {"0:4:u32:", "incomplete"},
                              {"0:4,", "end with a comma"},
                              {",0:4", "''"},
                              {"0:4,,4:4", "''"},
                              {" 0:4", "offset ' 0'"}};
  for (const wrong_keys& wrong : cases) {
    const std::string message = refusal([&] { static_cast<void>(parse_record_keys(wrong.text)); });
    EXPECT_NE(message.find(wrong.words), std::string::npos) << wrong.text << ": " << message;
  }
}

TEST(RecordFormat, RefusesFieldsThatDoNotFit) {
  const wrong_keys cases[] = {{"0:101", "beyond the record of 100 bytes"},
                              {"91:10", "ends at byte 101"},
                              {"4294967295:4", "ends at byte 4294967299"},
                              {"0:0", "0 bytes"},
                              {"0:257", "1 to 256"},
                              {"0:4:u64", "u64 has 8 bytes, not 4"},
                              {"0:0:u8", "u8 has 1 bytes, not 0"}};
  for (const wrong_keys& wrong : cases) {
    const std::string message = refusal([&] { static_cast<void>(parse_record_format(100, wrong.text)); });
    EXPECT_NE(message.find(wrong.words), std::string::npos) << wrong.text << ": " << message;
  }
  EXPECT_NO_THROW(static_cast<void>(parse_record_format(100, "90:10,0:100,92:8:f64:r")));
}

TEST(RecordFormat, RefusesSizesAndCountsOutOfRange) {
  for (const std::uint64_t record_bytes : {std::uint64_t{0}, std::uint64_t{65537}, std::uint64_t{1} << 32}) {
    const std::string message = refusal([&] { static_cast<void>(parse_record_format(record_bytes, "0:1")); });
    EXPECT_NE(message.find("1 to 65536 expected"), std::string::npos) << message;
  }
  EXPECT_NO_THROW(static_cast<void>(parse_record_format(65536, "65535:1")));
  EXPECT_NE(refusal([] { check_record_format({100, {}}); }).find("at least one key"), std::string::npos);
  EXPECT_NO_THROW(check_record_format({100, std::vector<record_key>(16, {0, 1})}));
  EXPECT_NE(refusal([] {
              check_record_format({100, std::vector<record_key>(17, {0, 1})});
            }).find("at most 16"),
            std::string::npos);
}

}  // namespace
}  // namespace spansort::test
