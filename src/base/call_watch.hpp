// SPDX-License-Identifier: Apache-2.0
// A call that asks its caller whether it goes on, in loops that no queue of a device watches.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string_view>
#include <thread>

#include "base/for_blocks.hpp"
#include "spansort/abandon.hpp"
#include "spansort/options.hpp"

namespace spansort::base {

/// What a call_watch does where the caller wants no more.
enum class stop_rule : std::uint8_t {
  at_once,         ///< throws `cancelled`, or what the callback threw: nothing of the caller's is being overwritten
  when_abandoned,  ///< throws `abandoned` where the callback threw it, and goes on otherwise
  unasked          ///< does not ask: the callback has thrown already, which somebody else keeps
};

class call_watch {
 public:
  /// `user` outlives the watch, and may be empty; the thread that makes the watch is the one that asks.
  explicit call_watch(const progress_callback& user, std::string_view phase = "start", double fraction = 0,
                      stop_rule rule = stop_rule::at_once)
      : user_(user), phase_(phase), fraction_(fraction), rule_(rule) {}

  /// Asks, unless it did so a moment ago or another thread calls.
  void ask() const {
    constexpr std::chrono::milliseconds interval{100};
    if (!user_ || rule_ == stop_rule::unasked) return;
    // Other threads come by while this one writes what follows.
    if (std::this_thread::get_id() != owner_ || failure_ != nullptr) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + interval;
    ask_now();
  }

  /// Calls f(begin, count) for parts of [0, total) one after the other, each of which moves `element_bytes` an element,
  /// and asks in between.
  template <class F>
  void in_parts(std::uint64_t total, std::uint64_t element_bytes, const F& f) const {
    constexpr std::uint64_t most_elements = std::uint64_t{1} << 21;
    constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
    const std::uint64_t of_bytes = most_bytes / std::max<std::uint64_t>(element_bytes, 1);
    const std::uint64_t part = user_ ? std::clamp<std::uint64_t>(of_bytes, 1, most_elements) : total;
    for (std::uint64_t begin = 0; begin < total; begin += part) {
      f(begin, std::min(part, total - begin));
      ask();
    }
  }

  /// Throws what the callback threw when it was too late to stop.
  void raise_late() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  void ask_now() const {
    bool goes_on = true;
    try {
      goes_on = user_({phase_, fraction_});
    } catch (const abandoned&) {
      throw;
    } catch (...) {
      if (rule_ == stop_rule::at_once) throw;
      failure_ = std::current_exception();
    }
    if (!goes_on && rule_ == stop_rule::at_once) {
      throw cancelled("cancelled by the progress callback; the input is untouched");
    }
  }

  const progress_callback& user_;
  std::string_view phase_;
  double fraction_;
  stop_rule rule_;
  std::thread::id owner_ = std::this_thread::get_id();
  mutable std::chrono::steady_clock::time_point next_{};
  mutable std::exception_ptr failure_;
};

/// Runs for_blocks(), whose calling thread asks before, for others may take all blocks, and between its own; what
/// `watch` throws ends the loop.
template <class Body>
void for_blocks(std::uint64_t count, const call_watch& watch, const Body& body,
                std::uint64_t grain = most_block_elements) {
  watch.ask();
  for_blocks(
      count,
      [&](std::uint64_t begin, std::uint64_t end) {
        body(begin, end);
        watch.ask();
      },
      grain);
}

}  // namespace spansort::base
