// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace cli {
namespace {

constexpr int bar_width = 30;
constexpr auto patience = std::chrono::milliseconds(500);

bool is_wanted(progress_mode mode) {
  return mode == progress_mode::always || (mode == progress_mode::automatic && ::isatty(STDERR_FILENO) != 0);
}

}  // namespace

progress_bar::progress_bar(progress_mode mode) : is_on_(is_wanted(mode)) {}

progress_bar::~progress_bar() {
  if (is_drawn_) std::fputs("\r\x1b[K", stderr);
}

spansort::progress_callback progress_bar::callback() {
  if (!is_on_) return {};
  return [this](const spansort::progress& now) {
    draw(now);
    return true;
  };
}

void progress_bar::draw(const spansort::progress& now) {
  const auto elapsed = std::chrono::steady_clock::now() - begin_;
  if (elapsed < patience) return;
  const double fraction = std::clamp(now.fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(fraction * bar_width);
  const std::string line = fmt::format("\r[{:-<{}}] {:3.0f} % {:6.1f} s  {}\x1b[K", std::string(filled, '#'), bar_width,
                                       fraction * 100, std::chrono::duration<double>(elapsed).count(), now.phase);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  is_drawn_ = true;
}

}  // namespace cli
