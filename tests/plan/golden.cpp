// SPDX-License-Identifier: Apache-2.0
#include "golden.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace spansort::plan::test {

void expect_golden(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(__FILE__).parent_path().parent_path() / "golden" / name;
  const char* update = std::getenv("SPANSORT_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    std::ofstream file(path, std::ios::binary);
    file << text;
    ASSERT_TRUE(file.flush()) << "cannot write " << path;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "cannot read " << path << "; SPANSORT_UPDATE_GOLDEN=1 writes it";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << path << " differs; if that is meant, SPANSORT_UPDATE_GOLDEN=1 writes it anew";
}

}  // namespace spansort::plan::test
