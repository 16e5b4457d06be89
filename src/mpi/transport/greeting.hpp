// SPDX-License-Identifier: Apache-2.0
// This header says how the two ends of a connection prove to each other that they belong to one job: by hashes of fresh
// random numbers, keyed with the job's secret, which itself never travels over the connection. Three messages of known
// length, in this order:
//   challenge, of node rank 0: a fixed word and a nonce
//   hello, of the caller:      its node rank, a nonce, hash("hello", both nonces, node rank, place)
//   welcome, of node rank 0:   hash("welcome", the same)
// The place is the address and the port that were called. It is hashed too, so that whoever answers at another address
// cannot pass the messages on to node rank 0.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace spansort::transport {

using job_secret = std::array<unsigned char, 32>;
using greeting_nonce = std::array<unsigned char, 16>;
/// An IPv6 address, or an IPv4 one as such, and the port, as the network orders their bytes.
using meeting_place = std::array<unsigned char, 18>;
using challenge_message = std::array<unsigned char, 8 + 16>;
using hello_message = std::array<unsigned char, 4 + 16 + 32>;
using welcome_message = std::array<unsigned char, 32>;

[[nodiscard]] job_secret random_secret();
[[nodiscard]] greeting_nonce random_nonce();

/// Returns where node rank 0's end of a connection is, told by either end; nothing when the socket has no such end.
[[nodiscard]] std::optional<meeting_place> called_place(int callers_socket);
[[nodiscard]] std::optional<meeting_place> own_place(int accepted_socket);

[[nodiscard]] challenge_message make_challenge(const greeting_nonce& hosts);
/// Returns the nonce; nothing when the message is no challenge.
[[nodiscard]] std::optional<greeting_nonce> nonce_of(const challenge_message& challenge);

/// The facts that the proofs of one connection depend on.
struct greeting_facts {
  greeting_nonce hosts_nonce{};
  greeting_nonce callers_nonce{};
  unsigned node_rank = 0;  ///< the caller's
  meeting_place place{};
};

[[nodiscard]] hello_message make_hello(const job_secret& secret, const greeting_facts& facts);
[[nodiscard]] welcome_message make_welcome(const job_secret& secret, const greeting_facts& facts);
/// Returns all facts once the caller has proved that it knows the secret, else nothing.
[[nodiscard]] std::optional<greeting_facts> check_hello(const hello_message& hello, const job_secret& secret,
                                                        const greeting_nonce& hosts, const meeting_place& place);
[[nodiscard]] bool is_welcome(const welcome_message& welcome, const job_secret& secret, const greeting_facts& facts);

}  // namespace spansort::transport
