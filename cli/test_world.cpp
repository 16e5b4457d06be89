// SPDX-License-Identifier: Apache-2.0
// The one file of the command that sees a header of the library that is not installed.
#include "cli/test_world.hpp"

#include "base/test_hooks.hpp"
#include "cli/numbers.hpp"
#include "spansort/errors.hpp"

namespace cli {

struct test_world_scope::state {
  spansort::base::test_hooks_scope hooks;
};

test_world_scope::test_world_scope(const std::string& text) {
  if (text.empty()) return;
  const std::size_t first = text.find(',');
  const std::size_t last = text.rfind(',');
  if (first == last) throw spansort::invalid_argument("--test-world: CHUNK,BLOCK,FANIN expected");
  spansort::base::test_hooks hooks;
  hooks.file_chunk_elements = parse_whole_number("--test-world", text.substr(0, first));
  hooks.file_block_elements = parse_whole_number("--test-world", text.substr(first + 1, last - first - 1));
  hooks.file_fan_in = static_cast<unsigned>(parse_whole_number("--test-world", text.substr(last + 1)));
  state_.reset(new state{spansort::base::test_hooks_scope(hooks)});
}

test_world_scope::~test_world_scope() = default;

}  // namespace cli
