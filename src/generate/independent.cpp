// SPDX-License-Identifier: Apache-2.0
// Distributions in which every key is drawn by itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "generate/distributions.hpp"
#include "generate/portable_math.hpp"
#include "generate/zipf.hpp"

namespace spansort::generation {
namespace {

/// Top bits of a word as a key.
template <std::unsigned_integral K>
K top_bits(std::uint64_t word) noexcept {
  return static_cast<K>(word >> (64 - sizeof(K) * 8));
}

template <std::unsigned_integral K>
void fill_uniform(const fill_request<K>& request) {
  const random_stream words(request.seed, 0);
  if (!request.space.is_float()) {
    fill(request, [=](std::uint64_t i) { return top_bits<K>(words(i)); });
    return;
  }
  // As many bits as the significand holds: no rounding, so 1 is never reached.
  const unsigned bits = request.space.format.mantissa_bits + 1;
  const double unit = std::scalbn(1.0, -static_cast<int>(bits));
  fill(request, [=, space = request.space](std::uint64_t i) {
    return space.from_real(static_cast<double>(words(i) >> (64 - bits)) * unit);
  });
}

/// Standard normal numbers (Box and Muller 1958).
class normal_stream {
 public:
  explicit normal_stream(std::uint64_t seed) noexcept : radius_(seed, 0), angle_(seed, 1) {}
  [[nodiscard]] double operator()(std::uint64_t i) const noexcept {
    const double unit = 1 - to_unit(radius_(i));  // (0, 1]
    return std::sqrt(-2 * portable_log(unit)) * portable_cos_turns(to_unit(angle_(i)));
  }

 private:
  random_stream radius_;
  random_stream angle_;
};

template <std::unsigned_integral K>
void fill_normal(const fill_request<K>& request) {
  const normal_stream normal(request.seed);
  if (request.space.is_float()) {
    fill(request, [=, space = request.space](std::uint64_t i) { return space.from_real(normal(i)); });
    return;
  }
  // The range is 8 deviations wide: a number in [-4, 4) scaled to 64 bits, whose low 12 bits a double cannot fill.
  const random_stream low_bits(request.seed, 2);
  fill(request, [=, space = request.space](std::uint64_t i) {
    const double z = std::clamp(normal(i), -4.0, 0x1.fffffffffffffp+1);
    const auto scaled = static_cast<std::uint64_t>((z + 4) * 0x1p+49) << 12;
    return space.at(top_bits<K>(scaled | (low_bits(i) >> 52)));
  });
}

template <std::unsigned_integral K>
void fill_zipf(const fill_request<K>& request, double exponent) {
  const zipf_sampler ranks(request.seed, exponent, request.space.num_whole());
  fill(request, [=, space = request.space](std::uint64_t i) { return space.from_whole(ranks(i) - 1); });
}

template <std::unsigned_integral K>
void fill_entropy(const fill_request<K>& request, unsigned num_words) {
  std::vector<random_stream> draws;
  for (unsigned draw = 0; draw < num_words; ++draw) draws.emplace_back(request.seed, draw);
  fill(request, [words = std::span<const random_stream>(draws)](std::uint64_t i) {
    std::uint64_t word = ~std::uint64_t{0};
    for (const random_stream& draw : words) word &= draw(i);
    return top_bits<K>(word);
  });
}

template <std::unsigned_integral K>
void fill_last_digit(const fill_request<K>& request) {
  const random_stream words(request.seed, 0);
  fill(request,
       [=, codec = request.space.codec](std::uint64_t i) { return codec.decode(static_cast<K>(words(i) >> 56)); });
}

template <std::unsigned_integral K>
void fill_one_spanning(const fill_request<K>& request) {
  constexpr std::uint64_t one_tenth = ~std::uint64_t{0} / 10;
  const random_stream coin(request.seed, 0);
  const random_stream words(request.seed, 1);
  const key_space<K>& space = request.space;
  // The shared upper half comes from the middle of the range, so that floats stay finite whatever follows.
  const uint128 middle = space.count / 4 + to_range(random_stream(request.seed, 2)(0), space.count / 2);
  const auto low_half = static_cast<K>(base::low_mask(sizeof(K) * 4));
  const auto shared = static_cast<K>(static_cast<K>(space.first + static_cast<std::uint64_t>(middle)) & ~low_half);
  fill(request, [=](std::uint64_t i) {
    if (coin(i) < one_tenth) return space.any(words(i));
    return space.codec.decode(static_cast<K>(shared | (static_cast<K>(words(i)) & low_half)));
  });
}

/// Edges of a type: one of a fixed list of bit patterns, or one drawn among NaNs, denormals or everything.
template <std::unsigned_integral K>
class special_keys {
 public:
  special_keys(const key_space<K>& space, std::uint64_t seed) noexcept : choice_(seed, 0), bits_(seed, 1) {
    if (space.is_float()) {
      list_floats(space.format);
    } else {
      list_integers(space);
    }
  }

  [[nodiscard]] K operator()(std::uint64_t i) const noexcept {
    const std::uint64_t choice = to_range(choice_(i), num_fixed_ + num_drawn_);
    if (choice < num_fixed_) return fixed_[choice];
    const K random = top_bits<K>(bits_(i));
    switch (choice - num_fixed_) {
      case 0:
      case 1: return static_cast<K>(random | infinity_);                  // infinities and NaNs
      case 2: return static_cast<K>(random & (sign_ | mantissa_));        // zeros and denormals
      case 3: return static_cast<K>((random & (sign_ | 7)) | infinity_);  // small payloads: NaNs that repeat
      default: return random;
    }
  }

 private:
  void add(std::uint64_t bits) noexcept { fixed_[num_fixed_++] = static_cast<K>(bits); }

  void list_floats(keys::float_format format) noexcept {
    mantissa_ = static_cast<K>(base::low_mask(format.mantissa_bits));
    infinity_ = static_cast<K>(base::low_mask(format.exponent_bits) << format.mantissa_bits);
    sign_ = static_cast<K>(K{1} << (sizeof(K) * 8 - 1));
    num_drawn_ = 6;
    const std::uint64_t quiet = std::uint64_t{1} << (format.mantissa_bits - 1);
    const std::uint64_t one = base::low_mask(format.exponent_bits - 1) << format.mantissa_bits;
    const std::uint64_t smallest_normal = std::uint64_t{1} << format.mantissa_bits;
    for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{sign_}}) {
      add(sign);              // zero
      add(sign | 1);          // smallest denormal
      add(sign | mantissa_);  // largest denormal
      add(sign | smallest_normal);
      add(sign | one);
      add(sign | (infinity_ - 1u));  // largest finite
      add(sign | infinity_);
      add(sign | infinity_ | 1);  // signalling NaN
      add(sign | infinity_ | quiet);
      add(sign | infinity_ | mantissa_);
    }
  }

  void list_integers(const key_space<K>& space) noexcept {
    const std::uint64_t last = base::low_mask(sizeof(K) * 8);
    for (const std::uint64_t position :
         {std::uint64_t{0}, std::uint64_t{1}, last / 2, last / 2 + 1, last / 2 + 2, last - 1, last}) {
      add(space.at(position));
    }
    add(0);
    add(1);
    add(last);  // -1 where the type is signed
    num_drawn_ = 0;
  }

  random_stream choice_;
  random_stream bits_;
  std::array<K, 24> fixed_{};
  std::uint64_t num_fixed_ = 0;
  std::uint64_t num_drawn_ = 0;
  K mantissa_ = 0;
  K infinity_ = 0;
  K sign_ = 0;
};

}  // namespace

template <std::unsigned_integral K>
void fill_independent(const fill_request<K>& request, const distribution& d) {
  switch (d.kind) {
    case distribution_kind::normal: return fill_normal(request);
    case distribution_kind::zero: return fill(request, [](std::uint64_t) { return K{0}; });
    case distribution_kind::zipf: return fill_zipf(request, d.parameter);
    case distribution_kind::entropy: return fill_entropy(request, static_cast<unsigned>(d.parameter));
    case distribution_kind::last_digit_only: return fill_last_digit(request);
    case distribution_kind::one_spanning: return fill_one_spanning(request);
    case distribution_kind::special_floats: return fill(request, special_keys<K>(request.space, request.seed));
    default: return fill_uniform(request);
  }
}

template void fill_independent(const fill_request<std::uint8_t>&, const distribution&);
template void fill_independent(const fill_request<std::uint16_t>&, const distribution&);
template void fill_independent(const fill_request<std::uint32_t>&, const distribution&);
template void fill_independent(const fill_request<std::uint64_t>&, const distribution&);

}  // namespace spansort::generation
