// SPDX-License-Identifier: Apache-2.0
// verify() must throw for every kind of corruption. Each mutation is applied to many plans; one that leaves a plan
// valid in effect (there is nothing to corrupt) says so and is not counted, but must have done its work often enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "plan/planner.hpp"
#include "random_input.hpp"
#include "simulation.hpp"
#include "spansort/errors.hpp"
#include "support/environment.hpp"

namespace spansort::plan::test {
namespace {

struct mutation {
  std::string name;
  std::function<bool(sort_plan&, generator&)> corrupt;  ///< false: nothing to corrupt here
};

template <class T>
T& any_of(std::vector<T>& items, generator& random) {
  return items[pick(random, 0, items.size() - 1)];
}

std::vector<mutation> mutations_of_transfers() {
  return {
      {"drop a transfer",
       [](sort_plan& p, generator& r) {
         p.transfers.erase(p.transfers.begin() + static_cast<std::ptrdiff_t>(pick(r, 0, p.transfers.size() - 1)));
         return true;
       }},
      {"duplicate a transfer",
       [](sort_plan& p, generator& r) {
         const auto at = p.transfers.begin() + static_cast<std::ptrdiff_t>(pick(r, 0, p.transfers.size() - 1));
         const transfer copy = *at;
         p.transfers.insert(at, copy);
         return true;
       }},
      {"shift a source offset",
       [](sort_plan& p, generator& r) { return any_of(p.transfers, r).source_offset += 1, true; }},
      {"shift a destination offset",
       [](sort_plan& p, generator& r) { return any_of(p.transfers, r).destination_offset += 1, true; }},
      {"wrap a destination offset",
       [](sort_plan& p, generator& r) { return any_of(p.transfers, r).destination_offset -= 1'000'000'000, true; }},
      {"change a destination rank",
       [](sort_plan& p, generator& r) { return any_of(p.transfers, r).destination_rank += 1, true; }},
      {"change a source rank",
       [](sort_plan& p, generator& r) { return any_of(p.transfers, r).source_rank += 1, true; }},
      {"lengthen a transfer", [](sort_plan& p, generator& r) { return any_of(p.transfers, r).count += 1, true; }},
      {"empty a transfer", [](sort_plan& p, generator& r) { return any_of(p.transfers, r).count = 0, true; }},
      {"swap the order of two transfers",
       [](sort_plan& p, generator&) {
         if (p.transfers.size() < 2) return false;
         std::swap(p.transfers.front(), p.transfers.back());
         return true;
       }},
      {"swap two destinations of equal length",  // every key still arrives once, some in the wrong place
       [](sort_plan& p, generator&) {
         for (transfer& a : p.transfers) {
           for (transfer& b : p.transfers) {
             if (&a == &b || a.count != b.count) continue;
             std::swap(a.destination_rank, b.destination_rank);
             std::swap(a.destination_offset, b.destination_offset);
             return true;
           }
         }
         return false;
       }},
  };
}

std::vector<mutation> mutations_of_local_sorts() {
  return {
      {"drop a local sort",
       [](sort_plan& p, generator& r) {
         p.local_sorts.erase(p.local_sorts.begin() + static_cast<std::ptrdiff_t>(pick(r, 0, p.local_sorts.size() - 1)));
         return true;
       }},
      {"sort one bit too few",
       [](sort_plan& p, generator& r) {
         local_sort& sort = any_of(p.local_sorts, r);
         return !sort.bits.empty() && (sort.bits.end -= 1, true);
       }},
      {"leave out the lowest bit",
       [](sort_plan& p, generator& r) {
         local_sort& sort = any_of(p.local_sorts, r);
         return !sort.bits.empty() && (sort.bits.begin = 1, true);
       }},
      {"sort on more bits than keys have",
       [](sort_plan& p, generator& r) { return any_of(p.local_sorts, r).bits.end = p.params.key_bits + 1, true; }},
      {"sort one key too few", [](sort_plan& p, generator& r) { return any_of(p.local_sorts, r).count -= 1, true; }},
      {"sort on another rank", [](sort_plan& p, generator& r) { return any_of(p.local_sorts, r).rank += 1, true; }},
      {"shift a local sort", [](sort_plan& p, generator& r) { return any_of(p.local_sorts, r).offset += 1, true; }},
      {"miscount buckets", [](sort_plan& p, generator& r) { return any_of(p.local_sorts, r).num_buckets += 1, true; }},
  };
}

std::vector<mutation> mutations_of_passes() {
  return {
      {"drop a pass", [](sort_plan& p, generator&) { return p.passes.pop_back(), true; }},
      {"drop a bucket", [](sort_plan& p, generator&) { return p.passes.back().buckets.pop_back(), true; }},
      {"lose a key of a slice",
       [](sort_plan& p, generator& r) {
         bucket& b = any_of(p.passes.back().buckets, r);
         return *std::max_element(b.slice_counts.begin(), b.slice_counts.end()) -= 1, true;
       }},
      {"move a key to another bucket",
       [](sort_plan& p, generator&) {
         auto& buckets = p.passes.back().buckets;
         if (buckets.size() < 2) return false;
         buckets[0].count += 1;
         buckets[1].count -= 1;
         buckets[1].begin += 1;
         return true;
       }},
      {"change a prefix",
       [](sort_plan& p, generator& r) { return any_of(p.passes.back().buckets, r).prefix.bit_count += 1, true; }},
      {"repeat a prefix",
       [](sort_plan& p, generator&) {
         auto& buckets = p.passes.back().buckets;
         if (buckets.size() < 2) return false;
         buckets[1].prefix = buckets[0].prefix;
         return true;
       }},
      {"examine other bits", [](sort_plan& p, generator&) { return p.passes.back().bits.begin += 1, true; }},
      {"change an owner",
       [](sort_plan& p, generator& r) {
         bucket& b = any_of(p.passes.back().buckets, r);
         b.first_rank += 1;
         b.last_rank += 1;
         return true;
       }},
      {"let a bucket span that has an owner",
       [](sort_plan& p, generator&) {
         bucket& b = p.passes.back().buckets.front();
         if (b.spans() || p.params.num_ranks == 1) return false;
         b.last_rank += 1;
         return true;
       }},
      {"miscount spanning buckets", [](sort_plan& p, generator&) { return p.num_spanning_buckets += 1, true; }},
      {"move a bound between ranks",
       [](sort_plan& p, generator&) { return p.params.num_ranks > 1 && (p.rank_begins[1] += 1, true); }},
      {"end a rank late", [](sort_plan& p, generator&) { return p.rank_begins.back() += 1, true; }},
      {"lose a rank", [](sort_plan& p, generator&) { return p.rank_begins.pop_back(), true; }},
      {"claim another number of keys", [](sort_plan& p, generator&) { return p.params.num_keys += 1, true; }},
      {"claim other sizes of chunks",
       [](sort_plan& p, generator&) {
         if (p.params.source_counts.size() < 2 || p.params.source_counts.front() == 0) return false;
         p.params.source_counts.front() -= 1;
         p.params.source_counts.back() += 1;
         return true;
       }},
      {"claim other sizes of parts",
       [](sort_plan& p, generator&) {
         if (p.params.target_counts.size() < 2 || p.params.target_counts.front() == 0 || p.params.epsilon != 0) {
           return false;
         }
         p.params.target_counts.front() -= 1;
         p.params.target_counts.back() += 1;
         return true;
       }},
      {"give sizes to fewer ranks",
       [](sort_plan& p, generator&) {
         return p.params.target_counts.size() > 1 && (p.params.target_counts.pop_back(), true);
       }},
  };
}

std::vector<mutation> mutations_of_copies() {
  // Plans in which nothing is copied are left as they are.
  const auto of_sorts = [](auto corrupt) {
    return [corrupt](sort_plan& p, generator& r) {
      return !p.copied_sorts.empty() && (corrupt(p, any_of(p.copied_sorts, r)), true);
    };
  };
  const auto of_transfers = [](auto corrupt) {
    return [corrupt](sort_plan& p, generator& r) {
      return !p.copied_transfers.empty() && (corrupt(any_of(p.copied_transfers, r)), true);
    };
  };
  return {
      {"drop a sort", of_sorts([](sort_plan& p, copied_sort&) { p.copied_sorts.pop_back(); })},
      {"sort twice", of_sorts([](sort_plan& p, const copied_sort& s) { p.copied_sorts.push_back(copied_sort(s)); })},
      {"sort on another rank", of_sorts([](sort_plan&, copied_sort& s) { s.rank += 1; })},
      {"sort at another place", of_sorts([](sort_plan&, copied_sort& s) { s.aside += 1; })},
      {"sort one key too few", of_sorts([](sort_plan&, copied_sort& s) { s.count -= 1; })},
      {"sort one bit too few", of_sorts([](sort_plan&, copied_sort& s) { s.bits.end -= 1; })},
      {"keep other keys", of_sorts([](sort_plan&, copied_sort& s) { s.first_kept += 1; })},
      {"keep them at another place", of_sorts([](sort_plan&, copied_sort& s) { s.offset += 1; })},
      {"keep one key too few", of_sorts([](sort_plan&, copied_sort& s) { s.num_kept -= 1; })},
      {"copy from another rank", of_transfers([](transfer& t) { t.source_rank += 1; })},
      {"copy to another rank", of_transfers([](transfer& t) { t.destination_rank += 1; })},
      {"copy other keys", of_transfers([](transfer& t) { t.source_offset += 1; })},
      {"copy to another place", of_transfers([](transfer& t) { t.destination_offset += 1; })},
      {"copy one key too few", of_transfers([](transfer& t) { t.count -= 1; })},
      {"allow no copies", of_sorts([](sort_plan& p, copied_sort&) { p.params.copied_keys = 0; })},
  };
}

enum class small_buckets { refined, copied };

void expect_all_are_found(const std::vector<mutation>& mutations, small_buckets spanning = small_buckets::refined) {
  std::vector<unsigned> num_corrupted(mutations.size());
  for_each_seed(300, [&](generator& random) {
    parameters params = random_parameters(random, 500);
    params.num_keys += 1;
    give_random_sizes(random, params);
    if (spanning == small_buckets::copied) params.copied_keys = params.num_keys;
    simulation machine(params, random_keys(random, params));
    const sort_plan valid = machine.make_plan();
    ASSERT_NO_THROW(verify(valid));
    for (std::size_t i = 0; i < mutations.size(); ++i) {
      sort_plan corrupted = valid;
      if (!mutations[i].corrupt(corrupted, random)) continue;
      ++num_corrupted[i];
      EXPECT_THROW(verify(corrupted), internal_error) << mutations[i].name << "\n" << to_json(valid);
    }
  });
  if (std::getenv("SPANSORT_TEST_SEED") != nullptr) return;  // one plan is not many
  const unsigned often = spansort::test::is_small_scale() ? 10 : 50;
  for (std::size_t i = 0; i < mutations.size(); ++i) EXPECT_GE(num_corrupted[i], often) << mutations[i].name;
}

TEST(Mutations, OfTransfersAreFound) { expect_all_are_found(mutations_of_transfers()); }
TEST(Mutations, OfLocalSortsAreFound) { expect_all_are_found(mutations_of_local_sorts()); }
TEST(Mutations, OfPassesAreFound) { expect_all_are_found(mutations_of_passes()); }
TEST(Mutations, OfCopiesAreFound) { expect_all_are_found(mutations_of_copies(), small_buckets::copied); }

}  // namespace
}  // namespace spansort::plan::test
