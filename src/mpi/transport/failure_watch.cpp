// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/failure_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <mutex>
#include <new>
#include <thread>

#include "mpi/transport/rendezvous.hpp"
#include "mpi/transport/watch_link.hpp"
#include "spansort/errors.hpp"

namespace spansort::transport {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t max_phase_bytes = 1000;
constexpr std::size_t max_reason_bytes = 3000;
constexpr char separator = '\n';

/// "node rank\nphase\nreason"; a phase has no line break.
std::string to_payload(const node_failure& failure) {
  return fmt::format("{}{}{}{}{}", failure.node_rank, separator, failure.phase, separator, failure.reason);
}

/// Nothing when the text is no failure.
std::optional<node_failure> failure_of(std::string_view payload) {
  const std::size_t first = payload.find(separator);
  const std::size_t second = first == payload.npos ? payload.npos : payload.find(separator, first + 1);
  if (second == payload.npos) return std::nullopt;
  node_failure failure;
  const std::string_view rank = payload.substr(0, first);
  const auto [end, code] = std::from_chars(rank.begin(), rank.end(), failure.node_rank);
  if (code != std::errc() || end != rank.end()) return std::nullopt;
  failure.phase = payload.substr(first + 1, second - first - 1);
  failure.reason = payload.substr(second + 1);
  return failure;
}

/// No signal handler of the program runs on a thread that is started while this lives.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

std::string node_failure::message() const {
  const std::string where = phase.empty() ? "" : fmt::format(" in phase '{}'", phase);
  return fmt::format("node rank {} failed{}: {}", node_rank, where, reason);
}

class failure_watch::impl {
 public:
  impl(unsigned node_rank, watch_options options) : node_rank_(node_rank), options_(std::move(options)) {
    options_.heartbeat = std::min(options_.heartbeat, options_.heartbeat_timeout / 4);
  }
  ~impl() { leave(); }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  void start(std::vector<node_link> links);
  void set_phase(std::string_view phase);
  void announce(std::string_view reason);
  void leave() noexcept;

  [[nodiscard]] bool has_failed() const noexcept { return has_failed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<node_failure> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  [[nodiscard]] std::string phase() const {
    const std::lock_guard lock(mutex_);
    return phase_;
  }

 private:
  /// The node rank at the other end of a connection, which is closed once the node rank has left.
  struct peer {
    node_link link;
    clock::time_point last_heard;
    std::string phase;
  };

  void serve();
  void end_connections(bool has_told) noexcept;
  void wake() noexcept;
  /// The functions below are called with the lock held.
  void wait_for_news(std::unique_lock<std::mutex>& lock);
  void listen_to(peer& other);
  void take(const frame& message, peer& other);
  void look_for_silence();
  void send_heartbeats();
  void fail(node_failure failure);
  void say_goodbye() noexcept;
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] clock::time_point next_deadline() const;

  const unsigned node_rank_;
  watch_options options_;
  mutable std::mutex mutex_;
  std::atomic<bool> has_failed_ = false;
  std::optional<node_failure> failure_;
  bool is_own_failure_ = false;  ///< without `failure_`, too, where memory for that was refused
  std::string phase_;
  std::vector<peer> peers_;
  clock::time_point last_look_;
  clock::time_point next_heartbeat_;
  bool is_leaving_ = false;
  socket_handle wake_;
  std::thread thread_;
};

void failure_watch::impl::start(std::vector<node_link> links) {
  if (links.empty()) return;
  const std::lock_guard lock(mutex_);
  wake_ = socket_handle(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.is_open()) throw io_error("failure watch: no file descriptor is left", errno);
  last_look_ = clock::now();
  next_heartbeat_ = last_look_;
  for (node_link& link : links) peers_.push_back({std::move(link), last_look_, ""});
  const signals_blocked while_starting;
  thread_ = std::thread([this] { serve(); });
}

void failure_watch::impl::serve() {
  std::unique_lock lock(mutex_);
  try {
    while (!is_done()) {
      wait_for_news(lock);
      look_for_silence();
      if (clock::now() >= next_heartbeat_) send_heartbeats();
    }
  } catch (const std::bad_alloc&) {
    // This node rank cannot watch any more. The others see its connections close.
    is_own_failure_ = true;
    if (!failure_) failure_ = node_failure{node_rank_, {}, "memory ended"};  // too short to need any
    has_failed_.store(true, std::memory_order_release);
  }
  // Once there is a failure it stays the same.
  const node_failure* const known = failure_ ? &*failure_ : nullptr;
  const bool is_news = known != nullptr && !is_own_failure_;
  const bool has_told = node_rank_ == 0 || !is_news;
  // No other thread uses the connections from here on.
  lock.unlock();
  end_connections(has_told);
  if (is_news && options_.on_failure) options_.on_failure(*known);
}

/// Ends connections. A node rank that has told the others something, a goodbye or the news of a failure, makes sure
/// that it has reached them before this process ends.
void failure_watch::impl::end_connections(bool has_told) noexcept {
  constexpr std::chrono::milliseconds limit{300};
  const clock::time_point deadline = clock::now() + limit;
  for (peer& other : peers_) other.link.connection.end_sending();
  for (peer& other : peers_) {
    if (has_told) other.link.connection.wait_for_end(deadline);
  }
}

/// A failure ends the watch. A clean end of node rank 0 waits for the others, which hear of failures through it.
bool failure_watch::impl::is_done() const {
  if (failure_ || is_own_failure_) return true;
  const auto has_left = [](const peer& other) { return !other.link.connection.is_open(); };
  return is_leaving_ && (node_rank_ != 0 || std::ranges::all_of(peers_, has_left));
}

clock::time_point failure_watch::impl::next_deadline() const {
  clock::time_point earliest = next_heartbeat_;
  for (const peer& other : peers_) {
    if (other.link.connection.is_open()) earliest = std::min(earliest, other.last_heard + options_.heartbeat_timeout);
  }
  return earliest;
}

void failure_watch::impl::wait_for_news(std::unique_lock<std::mutex>& lock) {
  std::vector<pollfd> wanted{{wake_.get(), POLLIN, 0}};
  for (const peer& other : peers_) {
    const watch_link& connection = other.link.connection;
    const short events = connection.has_unsent() ? POLLIN | POLLOUT : POLLIN;
    // poll() passes over descriptors of -1, which those who have left have.
    wanted.push_back({connection.fd(), events, 0});
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_deadline() - clock::now()).count();
  lock.unlock();
  ::poll(wanted.data(), wanted.size(), static_cast<int>(std::clamp<std::int64_t>(wait, 0, 60000)));
  lock.lock();
  std::uint64_t wakes = 0;
  static_cast<void>(::read(wake_.get(), &wakes, sizeof wakes) == 0);
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].link.connection.flush();
    if (wanted[i + 1].revents != 0 && !failure_) listen_to(peers_[i]);
  }
}

void failure_watch::impl::listen_to(peer& other) {
  std::vector<frame> frames;
  const bool is_connected = other.link.connection.receive(frames);
  other.last_heard = clock::now();
  for (const frame& message : frames) take(message, other);
  if (is_connected || !other.link.connection.is_open() || failure_) return;
  // Node rank 0 closes the connection when it has the goodbye.
  if (is_leaving_ && node_rank_ != 0) return;
  fail({other.link.node_rank, other.phase, "it ended without a word (its connection is closed)"});
}

void failure_watch::impl::take(const frame& message, peer& other) {
  if (message.kind == frame_kind::heartbeat) other.phase = message.payload;
  if (message.kind == frame_kind::goodbye) other.link.connection.close();
  if (message.kind != frame_kind::failure || failure_) return;
  if (std::optional<node_failure> failure = failure_of(message.payload)) fail(std::move(*failure));
}

void failure_watch::impl::look_for_silence() {
  const clock::time_point now = clock::now();
  // This node rank was stopped itself, or had no time: what the others sent meanwhile may still be on its way.
  const bool was_away = now - last_look_ > options_.heartbeat + options_.heartbeat_timeout / 2;
  last_look_ = now;
  for (peer& other : peers_) {
    if (was_away) other.last_heard = now;
    if (failure_ || !other.link.connection.is_open() || now - other.last_heard < options_.heartbeat_timeout) continue;
    fail({other.link.node_rank, other.phase,
          fmt::format("nothing was heard of it for {} s",
                      static_cast<double>(options_.heartbeat_timeout.count()) / 1000)});
  }
}

void failure_watch::impl::send_heartbeats() {
  for (peer& other : peers_) other.link.connection.send(frame_kind::heartbeat, phase_);
  next_heartbeat_ = clock::now() + options_.heartbeat;
}

/// The others are told before this process can act on it and end.
void failure_watch::impl::fail(node_failure failure) {
  const std::string payload = to_payload(failure);
  const bool tells = node_rank_ == 0 || is_own_failure_;
  for (peer& other : peers_) {
    if (tells) other.link.connection.send(frame_kind::failure, payload);
  }
  failure_ = std::move(failure);
  has_failed_.store(true, std::memory_order_release);
}

void failure_watch::impl::set_phase(std::string_view phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase.substr(0, max_phase_bytes);
  std::ranges::replace(phase_, separator, ' ');
  if (!failure_ && !is_leaving_) send_heartbeats();
}

void failure_watch::impl::announce(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (failure_ || is_leaving_) return;
  is_own_failure_ = true;
  // The others see the connection close without a goodbye where memory ends below.
  wake();
  fail({node_rank_, phase_, std::string(reason.substr(0, max_reason_bytes))});
}

void failure_watch::impl::wake() noexcept {
  const std::uint64_t one = 1;
  if (wake_.is_open()) static_cast<void>(::write(wake_.get(), &one, sizeof one) == 0);
}

/// Tells all others that this rank ends well. They see the connection close where there is no memory for that.
void failure_watch::impl::say_goodbye() noexcept {
  try {
    for (peer& other : peers_) other.link.connection.send(frame_kind::goodbye, "");
  } catch (const std::bad_alloc&) {
    is_own_failure_ = true;
  }
}

void failure_watch::impl::leave() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!is_leaving_ && !failure_ && !is_own_failure_ && node_rank_ != 0) say_goodbye();
    is_leaving_ = true;
    wake();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  peers_.clear();
}

failure_watch::failure_watch(unsigned node_rank, watch_options options)
    : impl_(std::make_unique<impl>(node_rank, std::move(options))) {}
failure_watch::~failure_watch() = default;

void failure_watch::start(std::vector<node_link> links) { impl_->start(std::move(links)); }
std::optional<node_failure> failure_watch::failure() const { return impl_->failure(); }
void failure_watch::set_phase(std::string_view phase) { impl_->set_phase(phase); }
std::string failure_watch::phase() const { return impl_->phase(); }
void failure_watch::leave() noexcept { impl_->leave(); }

void failure_watch::check() const {
  if (!impl_->has_failed()) return;
  const std::optional<node_failure> known = impl_->failure();
  throw cluster_failure(known->message(), static_cast<int>(known->node_rank), known->phase);
}

void failure_watch::announce_failure(std::string_view reason) noexcept {
  try {
    impl_->announce(reason);
  } catch (const std::exception&) {
    // No memory for the message: the others see the connection close.
  }
}

}  // namespace spansort::transport
