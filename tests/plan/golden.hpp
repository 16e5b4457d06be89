// SPDX-License-Identifier: Apache-2.0
// Golden files: tests/golden/<name>, compared byte by byte. SPANSORT_UPDATE_GOLDEN=1 writes them anew: read the diff.
#pragma once

#include <string>

namespace spansort::plan::test {

void expect_golden(const std::string& name, const std::string& text);

}  // namespace spansort::plan::test
