// SPDX-License-Identifier: Apache-2.0
#include "files/io/npy_text.hpp"

#include <fmt/format.h>

#include <charconv>

#include "files/io/text.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

// More dimensions than NumPy has ever allowed.
constexpr std::size_t max_dimensions = 64;

}  // namespace

void npy_text::skip_blanks() {
  while (is_next(' ') || is_next('\t') || is_next('\n') || is_next('\r')) ++at_;
}

bool npy_text::skip_to(char c) {
  skip_blanks();
  if (!is_next(c)) return false;
  ++at_;
  return true;
}

bool npy_text::skip_word(std::string_view word) {
  skip_blanks();
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

void npy_text::expect(char c) {
  if (!skip_to(c)) fail(fmt::format("'{}' expected", c));
}

std::string_view npy_text::read_string() {
  skip_blanks();
  if (!is_next('\'') && !is_next('"')) fail("a quoted word expected");
  const char quote = text_[at_];
  const std::size_t end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos) fail("closing quote missing");
  const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
  if (word.find('\\') != std::string_view::npos) fail("backslash in a quoted word");
  at_ = end + 1;
  return word;
}

std::vector<npy_dimension> npy_text::read_tuple() {
  std::vector<npy_dimension> shape;
  expect('(');
  bool has_comma = false;
  while (!skip_to(')')) {
    if (shape.size() == max_dimensions) fail("more than 64 dimensions");
    if (!shape.empty() && !has_comma) fail("',' or ')' expected in 'shape'");
    shape.push_back(read_dimension());
    has_comma = skip_to(',');
  }
  if (shape.size() == 1 && !has_comma) fail("'shape' is a number, a tuple is expected");
  return shape;
}

npy_dimension npy_text::read_dimension() {
  skip_blanks();
  npy_dimension result;
  result.is_negative = skip_to('-');
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  const std::string_view digits = text_.substr(begin, at_ - begin);
  if (digits.empty()) fail("a number expected in 'shape'");
  if (digits.size() > 1 && digits[0] == '0') fail("a number in 'shape' starts with 0");
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), result.count);
  result.is_huge = parsed.ec == std::errc::result_out_of_range;
  if (is_next('L')) ++at_;  // Python 2 wrote long integers so
  return result;
}

void npy_text::fail(const std::string& why) const {
  throw bad_input(fmt::format("{}: .npy header is damaged: {}, found {} at byte {}", file_, why,
                              at_ < text_.size() ? quoted(text_.substr(at_)) : "its end", at_));
}

}  // namespace spansort::files
