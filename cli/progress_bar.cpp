// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/finish_line.hpp"
#include "cli/interrupts.hpp"
#include "cli/numbers.hpp"
#include "spansort/errors.hpp"

namespace cli {
namespace {

using seconds = std::chrono::duration<double>;

constexpr auto patience = std::chrono::milliseconds(150);
constexpr auto redraw_after = std::chrono::milliseconds(100);

/// Returns as many columns as a line may have without being broken.
std::size_t num_error_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) return size.ws_col - 1U;
  const char* const columns = std::getenv("COLUMNS");
  const unsigned long asked = columns == nullptr ? 0 : std::strtoul(columns, nullptr, 10);
  return asked > 1 && asked <= 1000 ? asked - 1 : 79;
}

/// A command that runs in the background leaves the terminal to others.
bool is_in_background() {
  const pid_t in_front = ::tcgetpgrp(STDERR_FILENO);  // -1 where this is not the terminal that controls the command
  return in_front > 0 && in_front != ::getpgrp();
}

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

/// Every character that is not plain ASCII may take any number of columns.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) result += c >= ' ' && c < 127 ? c : '?';
  return result;
}

std::string bar_of(double fraction, std::size_t width) {
  return fmt::format("[{:-<{}}]", std::string(static_cast<std::size_t>(fraction * static_cast<double>(width)), '#'),
                     width);
}

/// Returns the rate and what is left, as far as they can be told after so little.
std::string outlook(const progress_point& now, const progress_subject& subject) {
  if (now.fraction < 0.02 || now.elapsed_s < 0.5) return "";
  std::string text;
  if (subject.total_bytes != 0) {
    text = fmt::format("  {}B/s", si_text(now.fraction * static_cast<double>(subject.total_bytes) / now.elapsed_s));
  }
  const double left_s = now.elapsed_s * (1 - now.fraction) / now.fraction;
  return text +
         fmt::format("  {} left", left_s < 120 ? fmt::format("{:.0f} s", std::max(left_s, 1.0)) : seconds_text(left_s));
}

}  // namespace

progress_mode parse_progress(const std::string& text, const std::string& output) {
  if (text == "auto") return output == "-" && is_pipe(STDOUT_FILENO) ? progress_mode::never : progress_mode::automatic;
  if (text == "always") return progress_mode::always;
  if (text == "never") return progress_mode::never;
  throw spansort::invalid_argument(fmt::format("--progress: '{}' is unknown; auto, always or never expected", text));
}

bool is_wanted(progress_mode mode) {
  if (mode == progress_mode::automatic && ::isatty(STDERR_FILENO) == 0) return false;
  return mode != progress_mode::never;
}

progress_subject subject_of(const std::string& input) {
  return {.name = input, .total_bytes = find_file(input).size_bytes.value_or(0)};
}

std::string progress_line(const progress_point& now, const progress_subject& subject, std::size_t num_columns) {
  const double fraction = std::clamp(now.fraction, 0.0, 1.0);
  std::string line = fmt::format("{:3.0f} %  {:.1f} s  {}", fraction * 100, now.elapsed_s, plain(now.phase));
  const std::string more = outlook(now, subject);
  if (line.size() + more.size() <= num_columns) line += more;
  std::string name = plain(subject.name);
  // A name wants room before a bar of full length does.
  constexpr std::size_t wanted_name = 20;
  constexpr std::size_t shortest_name = 8;
  const std::size_t name_columns = name.empty() ? 0 : 2 + std::min(name.size(), wanted_name);
  for (const std::size_t width : {30U, 20U, 10U}) {
    const std::size_t reserved = width > 10 ? name_columns : 0;
    if (line.size() + width + 3 + reserved > num_columns) continue;
    line = bar_of(fraction, width) + " " + line;
    break;
  }
  if (!name.empty() && line.size() + 2 + std::min(name.size(), shortest_name) <= num_columns) {
    const std::size_t room = num_columns - line.size() - 2;
    if (name.size() > room) name = "..." + name.substr(name.size() - (room - 3));
    line += "  " + name;
  }
  return line.substr(0, num_columns);
}

progress_bar::progress_bar(progress_mode mode, progress_subject subject)
    : is_on_(is_wanted(mode)), subject_(std::move(subject)) {
  if (!is_on_) return;
  clean_up_on_signals();
  try {
    ticker_ = std::thread([this] { keep_drawing(); });
  } catch (const std::system_error&) {
    // The bar moves when work does where no thread could be had for it.
  }
}

progress_bar::~progress_bar() { remove(); }

void progress_bar::remove() {
  if (!is_on_) return;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  clear_progress_line();
  is_on_ = false;
}

spansort::progress_callback progress_bar::callback() {
  if (!is_on_) return {};
  return [this](const spansort::progress& now) {
    const std::lock_guard lock(mutex_);
    now_.phase = now.phase;
    now_.fraction = now.fraction;
    if (!ticker_.joinable()) draw();
    return true;
  };
}

void progress_bar::keep_drawing() {
  std::unique_lock lock(mutex_);
  ends_.wait_for(lock, patience, [this] { return has_ended_; });
  while (!has_ended_) {
    draw();
    ends_.wait_for(lock, redraw_after, [this] { return has_ended_; });
  }
}

void progress_bar::draw() {
  const auto elapsed = std::chrono::steady_clock::now() - begin_;
  if (elapsed < patience || is_in_background()) return;
  now_.elapsed_s = seconds(elapsed).count();
  draw_progress_line(progress_line(now_, subject_, num_error_columns()));
}

spansort::progress_callback progress_parts::callback() {
  if (!bar_) return {};
  return [this](const spansort::progress& now) {
    reached_ = std::max(reached_, begin_ + (end_ - begin_) * now.fraction);  // a question may take several calls
    return bar_({now.phase, reached_});
  };
}

void progress_parts::advance(double end) {
  begin_ = reached_;
  end_ = end;
}

void progress_parts::show(const std::string& phase) {
  if (bar_) static_cast<void>(bar_({phase, reached_}));
}

}  // namespace cli
