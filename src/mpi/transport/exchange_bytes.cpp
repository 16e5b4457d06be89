// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/exchange_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "mpi/transport/group_state.hpp"
#include "mpi/transport/message_stream.hpp"
#include "spansort/errors.hpp"

namespace spansort::transport {
namespace {

using base::checked_cast;

/// What a message's memory is to MPI: one block of bytes, or a list of blocks at absolute addresses.
class message_memory {
 public:
  template <typename Memory>
  explicit message_memory(const std::vector<memory_piece<Memory>>& pieces) {
    if (pieces.size() == 1) {
      address_ = const_cast<std::byte*>(pieces[0].memory);
      count_ = checked_cast<int>(pieces[0].size_bytes);
      return;
    }
    std::vector<int> sizes;
    std::vector<MPI_Aint> addresses(pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      sizes.push_back(checked_cast<int>(pieces[i].size_bytes));
      check_mpi(MPI_Get_address(pieces[i].memory, &addresses[i]), "MPI_Get_address");
    }
    check_mpi(
        MPI_Type_create_hindexed(checked_cast<int>(sizes.size()), sizes.data(), addresses.data(), MPI_BYTE, &list_),
        "MPI_Type_create_hindexed");
    check_mpi(MPI_Type_commit(&list_), "MPI_Type_commit");
    count_ = 1;
  }
  message_memory(std::byte* memory, std::uint64_t size_bytes)
      : address_(memory), count_(checked_cast<int>(size_bytes)) {}
  ~message_memory() {
    // Operations that still use it keep it alive.
    if (list_ != MPI_DATATYPE_NULL) MPI_Type_free(&list_);
  }
  message_memory(const message_memory&) = delete;
  message_memory& operator=(const message_memory&) = delete;

  [[nodiscard]] void* address() const noexcept { return address_; }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] MPI_Datatype type() const noexcept { return list_ == MPI_DATATYPE_NULL ? MPI_BYTE : list_; }

 private:
  void* address_ = MPI_BOTTOM;
  int count_ = 0;
  MPI_Datatype list_ = MPI_DATATYPE_NULL;
};

/// One direction of an exchange: up to `in_flight` messages, each at one of its stages.
template <typename Memory>
class traffic {
 public:
  static constexpr bool sends = std::is_const_v<Memory>;

  traffic(node_group& group, const exchange_limits& limits, const packed_memory& packed)
      : state_(group.internals()),
        limits_(limits),
        packed_(packed),
        schedule_(state_.node_rank, state_.num_nodes, sends, limits.message_bytes),
        flights_(limits.in_flight) {}
  /// Only after an exception are there requests left.
  ~traffic() {
    for (flight& one : flights_) {
      if (one.request == MPI_REQUEST_NULL) continue;
      if (!sends) MPI_Cancel(&one.request);
      MPI_Request_free(&one.request);
    }
  }
  traffic(const traffic&) = delete;
  traffic& operator=(const traffic&) = delete;

  [[nodiscard]] piece_stream<Memory>& with(unsigned peer) { return schedule_.with(peer); }
  /// Takes one step of every message in flight. Returns whether any went forward.
  bool step() {
    bool has_moved = false;
    for (unsigned i = 0; i < flights_.size(); ++i) has_moved |= step(i);
    return has_moved;
  }
  [[nodiscard]] bool is_done() const {
    return std::ranges::all_of(flights_, [](const flight& one) { return one.at == stage::none_left; });
  }
  [[nodiscard]] std::uint64_t moved_bytes() const noexcept { return moved_bytes_; }
  [[nodiscard]] std::uint64_t num_messages() const noexcept { return num_messages_; }

 private:
  enum class stage { idle, packing, moving, unpacking, none_left };
  struct flight {
    stage at = stage::idle;
    message<Memory> what;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  bool step(unsigned i) {
    flight& one = flights_[i];
    switch (one.at) {
      case stage::idle: return begin(i);
      case stage::packing:
        if (!packed_.copies->is_done(lane(i))) return false;
        post(i);
        return true;
      case stage::moving: return has_arrived(one) && finish(i);
      case stage::unpacking:
        if (!packed_.copies->is_done(lane(i))) return false;
        count(one);
        return true;
      case stage::none_left: return false;
    }
    return false;
  }

  bool begin(unsigned i) {
    flight& one = flights_[i];
    std::optional<message<Memory>> next = schedule_.next();
    one.at = stage::none_left;
    if (!next) return false;
    one.what = std::move(*next);
    if constexpr (sends) {
      if (packed_.copies != nullptr) {
        start_copies(i);
        one.at = stage::packing;
        return true;
      }
    }
    post(i);
    return true;
  }

  void post(unsigned i) {
    flight& one = flights_[i];
    const bool is_packed = packed_.copies != nullptr;
    const message_memory memory =
        is_packed ? message_memory(slot(i), one.what.size_bytes) : message_memory(one.what.pieces);
    // Messages of a pair may start in another order than they were cut, when their copies take different times.
    constexpr std::uint64_t num_tags = 32768;
    const int tag = static_cast<int>(one.what.index % num_tags);
    const int peer = checked_cast<int>(one.what.peer);
    const int code =
        sends
            ? MPI_Isend(memory.address(), memory.count(), memory.type(), peer, tag, state_.communicator, &one.request)
            : MPI_Irecv(memory.address(), memory.count(), memory.type(), peer, tag, state_.communicator, &one.request);
    check_mpi(code, sends ? "MPI_Isend" : "MPI_Irecv");
    one.at = stage::moving;
  }

  bool has_arrived(flight& one) {
    int done = 0;
    MPI_Status status;
    const int code = MPI_Test(&one.request, &done, &status);
    int code_class = MPI_SUCCESS;
    MPI_Error_class(code, &code_class);
    if (code_class != MPI_ERR_TRUNCATE)
      check_mpi(code, sends ? "sending to a node rank" : "receiving from a node rank");
    if (done == 0 && code == MPI_SUCCESS) return false;
    if constexpr (!sends) check_size(one, status, code != MPI_SUCCESS);
    return true;
  }

  static void check_size(const flight& one, const MPI_Status& status, bool is_longer) {
    int size_bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &size_bytes);
    if (!is_longer && std::cmp_equal(size_bytes, one.what.size_bytes)) return;
    throw internal_error(fmt::format("exchange: message {} from node rank {} has {} bytes than the {} expected",
                                     one.what.index, one.what.peer, is_longer ? "more" : "fewer", one.what.size_bytes));
  }

  bool finish(unsigned i) {
    flight& one = flights_[i];
    if constexpr (!sends) {
      if (packed_.copies != nullptr) {
        start_copies(i);
        one.at = stage::unpacking;
        return true;
      }
    }
    count(one);
    return true;
  }

  void count(flight& one) {
    moved_bytes_ += one.what.size_bytes;
    ++num_messages_;
    one.at = stage::idle;
  }

  /// Starts the copies between the message's slot and the parts.
  void start_copies(unsigned i) {
    std::vector<copied_piece> copies;
    std::byte* in_slot = slot(i);
    for (const memory_piece<Memory>& piece : flights_[i].what.pieces) {
      if constexpr (sends) copies.push_back({in_slot, piece.memory, piece.size_bytes});
      if constexpr (!sends) copies.push_back({piece.memory, in_slot, piece.size_bytes});
      in_slot += piece.size_bytes;
    }
    packed_.copies->start(lane(i), copies);
  }

  [[nodiscard]] unsigned lane(unsigned i) const { return sends ? i : limits_.in_flight + i; }
  [[nodiscard]] std::byte* slot(unsigned i) const { return packed_.slots.data() + lane(i) * limits_.message_bytes; }

  node_group::state& state_;
  const exchange_limits& limits_;
  const packed_memory& packed_;
  message_schedule<Memory> schedule_;
  std::vector<flight> flights_;
  std::uint64_t moved_bytes_ = 0;
  std::uint64_t num_messages_ = 0;
};

/// What stays on this node rank: by the packer all at once, else a little at a time, so that messages move on in
/// between.
class own_copies {
 public:
  own_copies(piece_stream<const std::byte>& from, piece_stream<std::byte>& to, packer* copies, unsigned lane)
      : copies_(copies), lane_(lane) {
    while (!from.is_empty() && !to.is_empty()) {
      const std::uint64_t size_bytes = std::min(from.front_bytes(), to.front_bytes());
      pieces_.push_back({to.take_from_front(size_bytes).memory, from.take_from_front(size_bytes).memory, size_bytes});
      kept_bytes_ += size_bytes;
    }
    if (!from.is_empty() || !to.is_empty()) {
      throw internal_error(fmt::format("exchange: what a node rank keeps has {} bytes than the room for it ({} fit)",
                                       from.is_empty() ? "fewer" : "more", kept_bytes_));
    }
    if (copies_ != nullptr && !pieces_.empty()) copies_->start(lane_, pieces_);
  }

  [[nodiscard]] std::uint64_t kept_bytes() const noexcept { return kept_bytes_; }
  [[nodiscard]] bool is_done() const noexcept { return next_ == pieces_.size(); }

  bool step() {
    if (is_done()) return false;
    if (copies_ != nullptr) {
      if (!copies_->is_done(lane_)) return false;
      next_ = pieces_.size();
      return true;
    }
    constexpr std::uint64_t most_bytes = 1 << 20;
    for (std::uint64_t copied_bytes = 0; copied_bytes < most_bytes && !is_done();) {
      copied_piece& piece = pieces_[next_];
      const std::uint64_t size_bytes = std::min(piece.size_bytes, most_bytes);
      std::memcpy(piece.to, piece.from, size_bytes);
      piece = {piece.to + size_bytes, piece.from + size_bytes, piece.size_bytes - size_bytes};
      copied_bytes += size_bytes;
      if (piece.size_bytes == 0) ++next_;
    }
    return true;
  }

 private:
  packer* copies_;
  unsigned lane_;
  std::vector<copied_piece> pieces_;
  std::size_t next_ = 0;
  std::uint64_t kept_bytes_ = 0;
};

void check_limits(const exchange_limits& limits, const packed_memory& packed) {
  SPANSORT_ASSERT(limits.message_bytes >= 1 && std::cmp_less(limits.message_bytes, std::numeric_limits<int>::max()));
  SPANSORT_ASSERT(limits.in_flight >= 1);
  SPANSORT_ASSERT(packed.copies == nullptr || packed.slots.size() / 2 / limits.in_flight >= limits.message_bytes);
}

}  // namespace

exchanged_bytes exchange_bytes(node_group& group, std::span<const outgoing_part> outgoing,
                               std::span<const incoming_part> incoming, const exchange_limits& limits,
                               const packed_memory& packed) {
  check_limits(limits, packed);
  traffic<const std::byte> sends(group, limits, packed);
  traffic<std::byte> receives(group, limits, packed);
  for (const outgoing_part& part : outgoing) {
    SPANSORT_ASSERT(part.peer < group.num_nodes());
    sends.with(part.peer).append(part.memory, part.size_bytes);
  }
  for (const incoming_part& part : incoming) {
    SPANSORT_ASSERT(part.peer < group.num_nodes());
    receives.with(part.peer).append(part.memory, part.size_bytes);
  }
  const unsigned self = group.node_rank();
  own_copies kept(sends.with(self), receives.with(self), packed.copies, 2 * limits.in_flight);
  backoff waiting;
  while (!receives.is_done() || !sends.is_done() || !kept.is_done()) {
    const bool received = receives.step();
    const bool sent = sends.step();
    const bool copied = kept.step();
    group.check();
    if (!received && !sent && !copied) {
      waiting.pause();
      continue;
    }
    waiting.reset();
    if (limits.on_progress) limits.on_progress(sends.moved_bytes() + receives.moved_bytes());
  }
  return {sends.moved_bytes(), receives.moved_bytes(), kept.kept_bytes(), sends.num_messages()};
}

}  // namespace spansort::transport
