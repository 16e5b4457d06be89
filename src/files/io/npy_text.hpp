// SPDX-License-Identifier: Apache-2.0
// A cursor over the text of a .npy header, which is a literal of Python; every read is bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spansort::files {

/// A number of a shape as it is written.
struct npy_dimension {
  std::uint64_t count = 0;
  bool is_negative = false;
  bool is_huge = false;  ///< does not fit 64 bits
};

class npy_text {
 public:
  /// Both outlive the cursor; `file` is for messages.
  npy_text(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  [[nodiscard]] bool is_at_end() const noexcept { return at_ == text_.size(); }
  /// Returns what has been read since `begin`.
  [[nodiscard]] std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  void skip_blanks();
  [[nodiscard]] bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }
  /// Skips blanks, and `c` where it comes next; returns whether it did.
  bool skip_to(char c);
  /// Skips blanks, and `word` where it comes next; returns whether it did.
  bool skip_word(std::string_view word);
  void expect(char c);

  /// Reads a string literal without escapes.
  std::string_view read_string();
  /// Reads a tuple of numbers.
  std::vector<npy_dimension> read_tuple();

  /// Throws bad_input: the header is damaged here.
  [[noreturn]] void fail(const std::string& why) const;

 private:
  npy_dimension read_dimension();

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

}  // namespace spansort::files
