// SPDX-License-Identifier: Apache-2.0
// `verify` finds a result that is not what it should be, and withholds the output.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/test_hooks.hpp"
#include "files/io/npy.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"

namespace spansort {
namespace {

class verify_test : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_);
    generate_file(input_, key_type::u32, 5000, {}, 1);
    std::ofstream(output_) << "old";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string output() const {
    std::ostringstream content;
    content << std::ifstream(output_).rdbuf();
    return content.str();
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("spansort-verify-" + std::to_string(::getpid()));
  std::string input_ = folder_ / "in.npy";
  std::string output_ = folder_ / "out.npy";
};

TEST_F(verify_test, ACorruptResultIsWithheld) {
  const base::test_hooks_scope hooks({.corrupt_result = true});
  for (const bool unique : {false, true}) {
    for (const auto operation : {sort_file, argsort_file}) {
      try {
        operation(input_, output_, {.unique = unique, .verify = true}, {});
        FAIL() << "the corruption went unnoticed";
      } catch (const internal_error& failure) {
        EXPECT_EQ(failure.exit_status(), 8);
        EXPECT_NE(std::string(failure.what()).find("verification failed"), std::string::npos) << failure.what();
      }
      EXPECT_EQ(output(), "old");
    }
  }
}

TEST_F(verify_test, ACorruptRowIsWithheld) {
  std::ofstream matrix(input_, std::ios::binary);
  matrix << files::make_npy_header("'<u4'", {100, 50});
  for (std::uint32_t i = 0; i < 5000; ++i) matrix.write(reinterpret_cast<const char*>(&i), sizeof(i));
  matrix.close();
  for (const bool corrupts : {true, false}) {
    const base::test_hooks_scope hooks({.corrupt_result = corrupts});
    for (const int axis : {0, 1}) {
      for (const auto operation : {sort_file, argsort_file}) {
        const file_options file{.array = {.axis = axis}, .verify = true};
        if (corrupts) {
          EXPECT_THROW(operation(input_, output_, file, {}), internal_error);
          EXPECT_EQ(output(), "old");
        } else {
          EXPECT_TRUE(operation(input_, output_, file, {}).verified);
        }
      }
    }
  }
}

TEST_F(verify_test, AGoodResultPasses) {
  for (const auto operation : {sort_file, argsort_file}) {
    EXPECT_TRUE(operation(input_, output_, {.verify = true}, {}).verified);
    EXPECT_NE(output(), "old");
  }
}

}  // namespace
}  // namespace spansort
