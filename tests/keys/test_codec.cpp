// SPDX-License-Identifier: Apache-2.0
// The encoding against comparators that know nothing of it: exhaustive where a type has 8 or 16 bits, random and
// special keys where it has more.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "keys/codec.hpp"
#include "keys/dispatch.hpp"
#include "support/environment.hpp"
#include "support/oracle.hpp"

namespace spansort {
namespace {

using keys::codec_of;
using keys::key_codec;
using keys::tie_rule;

constexpr key_type every_type[] = {key_type::u8,  key_type::i8,   key_type::u16, key_type::i16,
                                   key_type::u32, key_type::i32,  key_type::u64, key_type::i64,
                                   key_type::f16, key_type::bf16, key_type::f32, key_type::f64};

/// Every key where there are few, else edges of the type and random ones, some of them close neighbours.
template <class K>
std::vector<K> sample_keys(std::uint64_t seed) {
  std::vector<K> sample;
  if constexpr (sizeof(K) <= 2) {
    for (std::uint32_t x = 0; x <= std::numeric_limits<K>::max(); ++x) sample.push_back(static_cast<K>(x));
    return sample;
  }
  test::random_words random(seed);
  for (unsigned shift = 0; shift < sizeof(K) * 8; ++shift) {
    for (const std::uint64_t near : {0, 1, 2}) {
      const auto power = static_cast<K>(K{1} << shift);
      sample.push_back(static_cast<K>(power + near - 1));
      sample.push_back(static_cast<K>(K{0} - power + near - 1));
      sample.push_back(static_cast<K>(std::numeric_limits<K>::max() << shift));
    }
  }
  const std::uint64_t infinity = sizeof(K) == 4 ? 0x7f800000u : 0x7ff0000000000000u;
  const std::uint64_t sign = std::uint64_t{1} << (sizeof(K) * 8 - 1);
  for (const std::uint64_t near : {0, 1, 2, 3}) {
    for (const std::uint64_t s : {std::uint64_t{0}, sign}) sample.push_back(static_cast<K>(s + infinity + near - 1));
  }
  for (int i = 0; i < 3000; ++i) {
    const auto x = static_cast<K>(random());
    sample.push_back(x);
    sample.push_back(static_cast<K>(x + 1));
    sample.push_back(static_cast<K>(random() & random() & random()));
    sample.push_back(static_cast<K>((x & sign) | infinity | (random() >> 40)));  // NaNs
  }
  return sample;
}

class codec_test : public testing::TestWithParam<std::tuple<key_type, bool>> {
 protected:
  key_type type = std::get<0>(GetParam());
  bool descending = std::get<1>(GetParam());

  template <class F>
  void with_codec(tie_rule ties, F&& f) {
    const key_codec codec{type, descending, ties};
    keys::with_width(codec.width_bytes(),
                     [&]<class K>() { f(codec.of<K>(), sample_keys<K>(test::seed_for(sizeof(K)))); });
  }
};

TEST_P(codec_test, EncodedOrderIsTheOrderOfKeysAlone) {
  with_codec(tie_rule::by_bits, [&]<class K>(const codec_of<K>& codec, std::vector<K> sample) {
    std::sort(sample.begin(), sample.end(), [&](K a, K b) { return codec.encode(a) < codec.encode(b); });
    for (std::size_t i = 1; i < sample.size(); ++i) {
      const bool distinct = sample[i - 1] != sample[i];
      ASSERT_EQ(test::precedes_in_bits(type, descending, &sample[i - 1], &sample[i]), distinct)
          << std::hex << +sample[i - 1] << " then " << +sample[i];
      ASSERT_FALSE(test::precedes_in_bits(type, descending, &sample[i], &sample[i - 1]));
    }
  });
}

TEST_P(codec_test, FoldedOrderIsTheOrderInValue) {
  with_codec(tie_rule::by_input_order, [&]<class K>(const codec_of<K>& codec, std::vector<K> sample) {
    std::sort(sample.begin(), sample.end(), [&](K a, K b) { return codec.encode(a) < codec.encode(b); });
    for (std::size_t i = 1; i < sample.size(); ++i) {
      const bool rises = codec.encode(sample[i - 1]) < codec.encode(sample[i]);
      ASSERT_EQ(test::precedes_in_value(type, descending, &sample[i - 1], &sample[i]), rises)
          << std::hex << +sample[i - 1] << " then " << +sample[i];
      ASSERT_FALSE(test::precedes_in_value(type, descending, &sample[i], &sample[i - 1]));
    }
  });
}

TEST_P(codec_test, RandomPairsCompareLikeTheirEncodings) {
  with_codec(tie_rule::by_bits, [&]<class K>(const codec_of<K>& codec, const std::vector<K>& sample) {
    test::random_words random(test::seed_for(11));
    for (int i = 0; i < 200'000; ++i) {
      const K a = sample[random.below(sample.size())];
      const K b = sample[random.below(sample.size())];
      ASSERT_EQ(codec.encode(a) < codec.encode(b), test::precedes_in_bits(type, descending, &a, &b))
          << std::hex << +a << " and " << +b;
    }
  });
}

TEST_P(codec_test, DecodeUndoesEncode) {
  for (const tie_rule ties : {tie_rule::by_bits, tie_rule::by_input_order}) {
    with_codec(ties, [&]<class K>(const codec_of<K>& codec, const std::vector<K>& sample) {
      for (const K x : sample) {
        ASSERT_EQ(codec.decode(codec.encode_bits(x)), x) << std::hex << +x;
        ASSERT_EQ(codec.encode_bits(codec.decode(x)), x) << std::hex << +x;
      }
    });
  }
}

TEST_P(codec_test, FoldingChangesNegativeZeroAndNanOnly) {
  with_codec(tie_rule::by_input_order, [&]<class K>(const codec_of<K>& codec, const std::vector<K>& sample) {
    if (!keys::is_float(type)) {
      EXPECT_FALSE(codec.folds_ties);
      return;
    }
    std::set<K> nan_images;
    for (const K x : sample) {
      const K magnitude = static_cast<K>(x & codec.magnitude_mask);
      if (magnitude > codec.infinity) {
        nan_images.insert(codec.encode(x));
      } else {
        ASSERT_EQ(codec.fold(x), magnitude == 0 ? K{0} : x) << std::hex << +x;
      }
    }
    ASSERT_EQ(nan_images.size(), 1u);
    for (const K x : sample) ASSERT_LE(codec.encode(x), *nan_images.begin()) << std::hex << +x;
  });
}

TEST_P(codec_test, IsIdentityExactlyForAscendingUnsigned) {
  const bool is_unsigned = !keys::is_float(type) && !keys::is_signed_integer(type);
  for (const tie_rule ties : {tie_rule::by_bits, tie_rule::by_input_order}) {
    with_codec(ties, [&]<class K>(const codec_of<K>& codec, const std::vector<K>& sample) {
      EXPECT_EQ(codec.is_identity(), is_unsigned && !descending);
      const bool unchanged = std::all_of(sample.begin(), sample.end(), [&](K x) { return codec.encode(x) == x; });
      EXPECT_EQ(codec.is_identity(), unchanged);
    });
  }
}

TEST_P(codec_test, ThatOfEncodedKeysIsTheIdentityOfTheirWidth) {
  with_codec(tie_rule::by_bits, [&]<class K>(const codec_of<K>&, const std::vector<K>&) {
    const key_codec encoded = key_codec::of_encoded(sizeof(K));
    EXPECT_EQ(encoded.width_bytes(), sizeof(K));
    EXPECT_TRUE(encoded.of<K>().is_identity());
  });
}

TEST_P(codec_test, IsBijectiveUnlessTiesOfFloatsAreFolded) {
  EXPECT_TRUE((key_codec{type, descending, tie_rule::by_bits}.is_bijective()));
  EXPECT_EQ((key_codec{type, descending, tie_rule::by_input_order}.is_bijective()), !keys::is_float(type));
  if (size_bytes(type) > 2) return;
  for (const tie_rule ties : {tie_rule::by_bits, tie_rule::by_input_order}) {
    with_codec(ties, [&]<class K>(const codec_of<K>& codec, const std::vector<K>& sample) {
      std::vector<bool> hit(sample.size());
      for (const K x : sample) hit[codec.encode(x)] = true;
      const bool onto = std::all_of(hit.begin(), hit.end(), [](bool h) { return h; });
      EXPECT_EQ(onto, (key_codec{type, descending, ties}.is_bijective()));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, codec_test, testing::Combine(testing::ValuesIn(every_type), testing::Bool()),
                         [](const auto& param) {
                           return std::string(name(std::get<0>(param.param))) +
                                  (std::get<1>(param.param) ? "_descending" : "_ascending");
                         });

/// The sequence promised in types.hpp, spelled out.
TEST(CodecOrder, FloatTiesAreOrderedAsPromised) {
  const std::vector<std::uint32_t> ascending{0xff800000, 0xff7fffff, 0xbf800000, 0x80000001, 0x80000000,
                                             0x00000000, 0x00000001, 0x3f800000, 0x7f800000,  // ... +inf
                                             0x7f800001, 0x7fc00000, 0x7fffffff,              // NaN, payload rising
                                             0xffffffff, 0xffc00000, 0xff800001};             // NaN, payload falling
  std::vector<std::uint32_t> descending(ascending.rbegin() + 6, ascending.rend());
  descending.insert(descending.end(), ascending.rbegin(), ascending.rbegin() + 6);
  const auto up = key_codec{key_type::f32, false}.of<std::uint32_t>();
  const auto down = key_codec{key_type::f32, true}.of<std::uint32_t>();
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    EXPECT_LT(up.encode(ascending[i - 1]), up.encode(ascending[i])) << i;
    EXPECT_LT(down.encode(descending[i - 1]), down.encode(descending[i])) << i;
  }
}

TEST(CodecOrder, DenormalsAreNotFlushed) {
  const auto codec = key_codec{key_type::f64, false, tie_rule::by_input_order}.of<std::uint64_t>();
  const std::uint64_t tiny = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::denorm_min());
  EXPECT_LT(codec.encode(0), codec.encode(tiny));
  EXPECT_LT(codec.encode(tiny | 0x8000000000000000u), codec.encode(0));
}

}  // namespace
}  // namespace spansort
