// SPDX-License-Identifier: Apache-2.0
#include "files/shown_progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

constexpr std::chrono::milliseconds shown_after{100};

}  // namespace

void tell(const progress_callback& user, std::string_view phase, double fraction, std::string_view what_is_left) {
  if (user({phase, fraction})) return;
  throw cancelled(fmt::format("cancelled (phase: {}){}", phase, what_is_left));
}

void shown_progress::begin(std::string_view phase, double begin, double end, std::uint64_t total) {
  owner_ = std::this_thread::get_id();
  phase_ = phase;
  begin_ = begin;
  end_ = end;
  total_ = total;
  done_ = 0;
  is_new_ = true;
  if (begin == 0) highest_ = 0;
}

void shown_progress::reach(std::uint64_t done, std::uint64_t total) {
  if (!user_) return;
  const auto now = std::chrono::steady_clock::now();
  if (!is_new_ && now - last_ < shown_after) return;
  is_new_ = false;
  last_ = now;
  const double part = total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  highest_ = std::max(highest_, begin_ + (end_ - begin_) * part);
  tell(user_, phase_, highest_, what_is_left_);
}

void shown_progress::add(std::uint64_t count) {
  if (!user_) return;
  const std::uint64_t done = done_.fetch_add(count, std::memory_order_relaxed) + count;
  if (std::this_thread::get_id() == owner_) reach(done, total_);
}

transfer_progress shown_progress::transfer() {
  if (!user_) return {};
  return [this](std::uint64_t done_bytes, std::uint64_t total_bytes) { reach(done_bytes, total_bytes); };
}

}  // namespace spansort::files
