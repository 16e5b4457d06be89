// SPDX-License-Identifier: Apache-2.0
// The hidden flag --test-world, by which tests of the command shrink the world of sorts of files larger than memory.
#pragma once

#include <memory>
#include <string>

namespace cli {

/// While it lives, sorts of files hold CHUNK elements at a time, spill BLOCK at a time and merge FANIN runs at a time.
class test_world_scope {
 public:
  /// `text` is "CHUNK,BLOCK,FANIN", or empty for the world as it is. Throws invalid_argument for anything else.
  explicit test_world_scope(const std::string& text);
  ~test_world_scope();
  test_world_scope(const test_world_scope&) = delete;
  test_world_scope& operator=(const test_world_scope&) = delete;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace cli
