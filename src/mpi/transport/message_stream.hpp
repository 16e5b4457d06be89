// SPDX-License-Identifier: Apache-2.0
// Cuts what one node rank sends, or receives, into messages and puts them in the order in which they start. No MPI
// here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace spansort::transport {

/// `Memory` is std::byte, or const std::byte for what is sent.
template <typename Memory>
struct memory_piece {
  Memory* memory = nullptr;
  std::uint64_t size_bytes = 0;
};

/// The bytes between this node rank and one peer, in pieces of memory, taken from the front.
template <typename Memory>
class piece_stream {
 public:
  void append(Memory* memory, std::uint64_t size_bytes) {
    if (size_bytes != 0) pieces_.push_back({memory, size_bytes});
  }
  [[nodiscard]] bool is_empty() const noexcept { return next_ == pieces_.size(); }

  /// Returns the bytes of the piece at the front; the stream is not empty.
  [[nodiscard]] std::uint64_t front_bytes() const { return pieces_[next_].size_bytes - offset_; }

  /// All or some of the piece at the front: at most front_bytes().
  memory_piece<Memory> take_from_front(std::uint64_t size_bytes) {
    const memory_piece<Memory> taken{pieces_[next_].memory + offset_, size_bytes};
    const bool is_all = size_bytes == front_bytes();
    offset_ = is_all ? 0 : offset_ + size_bytes;
    if (is_all) ++next_;
    return taken;
  }

  /// `most_bytes`, or what is left where that is less.
  [[nodiscard]] std::vector<memory_piece<Memory>> take(std::uint64_t most_bytes) {
    std::vector<memory_piece<Memory>> taken;
    while (most_bytes != 0 && !is_empty()) {
      taken.push_back(take_from_front(std::min(most_bytes, front_bytes())));
      most_bytes -= taken.back().size_bytes;
    }
    return taken;
  }

 private:
  std::vector<memory_piece<Memory>> pieces_;
  std::size_t next_ = 0;
  std::uint64_t offset_ = 0;
};

template <typename Memory>
struct message {
  unsigned peer = 0;
  std::uint64_t index = 0;  ///< among the messages of this pair of node ranks
  std::uint64_t size_bytes = 0;
  std::vector<memory_piece<Memory>> pieces;
};

/// All messages of a node rank in one direction: the first with each peer by its distance, then the second with each
/// ... Sender and receiver of a message have it at the same place of that order, by {index, distance}. So the first
/// message that is not complete anywhere has been started by both, and a limited number in flight can wait for each
/// other but not for ever.
template <typename Memory>
class message_schedule {
 public:
  /// `sends`: the distance is counted upwards from this node rank, else downwards.
  message_schedule(unsigned node_rank, unsigned num_nodes, bool sends, std::uint64_t message_bytes)
      : streams_(num_nodes),
        next_index_(num_nodes),
        node_rank_(node_rank),
        num_nodes_(num_nodes),
        sends_(sends),
        message_bytes_(message_bytes) {}

  [[nodiscard]] piece_stream<Memory>& with(unsigned peer) { return streams_[peer]; }

  [[nodiscard]] std::optional<message<Memory>> next() {
    for (unsigned looked = 0; looked < num_nodes_; ++looked) {
      distance_ = distance_ + 1 >= num_nodes_ ? 1 : distance_ + 1;
      const unsigned peer = (node_rank_ + (sends_ ? distance_ : num_nodes_ - distance_)) % num_nodes_;
      if (peer == node_rank_ || streams_[peer].is_empty()) continue;
      message<Memory> made{peer, next_index_[peer]++, 0, streams_[peer].take(message_bytes_)};
      for (const memory_piece<Memory>& piece : made.pieces) made.size_bytes += piece.size_bytes;
      return made;
    }
    return std::nullopt;
  }

 private:
  std::vector<piece_stream<Memory>> streams_;
  std::vector<std::uint64_t> next_index_;
  unsigned node_rank_;
  unsigned num_nodes_;
  bool sends_;
  std::uint64_t message_bytes_;
  unsigned distance_ = 0;
};

}  // namespace spansort::transport
