// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/greeting.hpp"

#include <netinet/in.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "spansort/errors.hpp"

namespace spansort::transport {
namespace {

/// The number counts versions of these messages.
constexpr std::string_view challenge_word = "spnsort1";
constexpr std::size_t word_bytes = challenge_word.size();

static_assert(crypto_auth_KEYBYTES == std::tuple_size_v<job_secret>);
static_assert(crypto_auth_BYTES == std::tuple_size_v<welcome_message>);

void prepare_sodium() {
  if (::sodium_init() < 0) throw io_error("failure watch: libsodium cannot be used", 0);
}

template <typename Bytes>
Bytes random_bytes() {
  prepare_sodium();
  Bytes bytes;
  ::randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

/// Writes parts one behind the other.
class byte_writer {
 public:
  explicit byte_writer(std::span<unsigned char> target) : rest_(target) {}
  template <typename Part>
  byte_writer& operator<<(const Part& part) {
    std::copy(std::begin(part), std::end(part), rest_.begin());
    rest_ = rest_.subspan(std::size(part));
    return *this;
  }

 private:
  std::span<unsigned char> rest_;
};

/// Node ranks travel with their lowest byte first.
std::array<unsigned char, 4> bytes_of(unsigned node_rank) {
  std::array<unsigned char, 4> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(node_rank >> (8 * i));
  return bytes;
}

using hashed_bytes = std::array<unsigned char, word_bytes + 16 + 16 + 4 + std::tuple_size_v<meeting_place>>;

/// The word says which direction a hash is for, so that none can be sent back to where it came from.
hashed_bytes bytes_to_hash(std::string_view word, const greeting_facts& facts) {
  hashed_bytes bytes;
  byte_writer(bytes) << word << facts.hosts_nonce << facts.callers_nonce << bytes_of(facts.node_rank) << facts.place;
  return bytes;
}

constexpr std::string_view hello_word = "hello   ";
constexpr std::string_view welcome_word = "welcome ";
static_assert(hello_word.size() == word_bytes && welcome_word.size() == word_bytes);

welcome_message keyed_hash(std::string_view word, const job_secret& secret, const greeting_facts& facts) {
  prepare_sodium();
  const hashed_bytes bytes = bytes_to_hash(word, facts);
  welcome_message hash;
  ::crypto_auth(hash.data(), bytes.data(), bytes.size(), secret.data());
  return hash;
}

/// Takes as long whatever the bytes are.
bool is_keyed_hash(const unsigned char* hash, std::string_view word, const job_secret& secret,
                   const greeting_facts& facts) {
  prepare_sodium();
  const hashed_bytes bytes = bytes_to_hash(word, facts);
  return ::crypto_auth_verify(hash, bytes.data(), bytes.size(), secret.data()) == 0;
}

std::optional<meeting_place> place_of(const sockaddr_storage& storage) {
  meeting_place place{};
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  switch (storage.ss_family) {
    case AF_INET6:
      std::memcpy(&v6, &storage, sizeof v6);
      byte_writer(place) << v6.sin6_addr.s6_addr << std::span(reinterpret_cast<const unsigned char*>(&v6.sin6_port), 2);
      return place;
    case AF_INET:
      // A socket for IPv6 shows it as ::ffff:1.2.3.4.
      std::memcpy(&v4, &storage, sizeof v4);
      place[10] = place[11] = 0xff;
      byte_writer(std::span(place).subspan(12)) << std::span(reinterpret_cast<const unsigned char*>(&v4.sin_addr), 4)
                                                << std::span(reinterpret_cast<const unsigned char*>(&v4.sin_port), 2);
      return place;
    default: return std::nullopt;
  }
}

template <typename GetName>
std::optional<meeting_place> named_place(int fd, GetName&& get_name) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (get_name(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  return place_of(storage);
}

}  // namespace

job_secret random_secret() { return random_bytes<job_secret>(); }
greeting_nonce random_nonce() { return random_bytes<greeting_nonce>(); }

std::optional<meeting_place> called_place(int callers_socket) { return named_place(callers_socket, ::getpeername); }
std::optional<meeting_place> own_place(int accepted_socket) { return named_place(accepted_socket, ::getsockname); }

challenge_message make_challenge(const greeting_nonce& hosts) {
  challenge_message message;
  byte_writer(message) << challenge_word << hosts;
  return message;
}

std::optional<greeting_nonce> nonce_of(const challenge_message& challenge) {
  if (!std::equal(challenge_word.begin(), challenge_word.end(), challenge.begin())) return std::nullopt;
  greeting_nonce nonce;
  std::copy_n(challenge.begin() + word_bytes, nonce.size(), nonce.begin());
  return nonce;
}

hello_message make_hello(const job_secret& secret, const greeting_facts& facts) {
  hello_message message;
  byte_writer(message) << bytes_of(facts.node_rank) << facts.callers_nonce << keyed_hash(hello_word, secret, facts);
  return message;
}

welcome_message make_welcome(const job_secret& secret, const greeting_facts& facts) {
  return keyed_hash(welcome_word, secret, facts);
}

std::optional<greeting_facts> check_hello(const hello_message& hello, const job_secret& secret,
                                          const greeting_nonce& hosts, const meeting_place& place) {
  greeting_facts facts{.hosts_nonce = hosts, .callers_nonce = {}, .node_rank = 0, .place = place};
  for (std::size_t i = 0; i < 4; ++i) facts.node_rank |= static_cast<unsigned>(hello[i]) << (8 * i);
  std::copy_n(hello.begin() + 4, facts.callers_nonce.size(), facts.callers_nonce.begin());
  if (!is_keyed_hash(hello.data() + 4 + facts.callers_nonce.size(), hello_word, secret, facts)) return std::nullopt;
  return facts;
}

bool is_welcome(const welcome_message& welcome, const job_secret& secret, const greeting_facts& facts) {
  return is_keyed_hash(welcome.data(), welcome_word, secret, facts);
}

}  // namespace spansort::transport
