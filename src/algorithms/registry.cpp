// SPDX-License-Identifier: Apache-2.0
#include "algorithms/registry.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/local_sorts.hpp"
#include "base/names.hpp"

namespace spansort::algorithms {

// Each is described in its driver's file.
extern const entry auto_algorithm, single_algorithm, rmg_algorithm, out_of_core_algorithm, p2p_merge_algorithm,
    het_merge_algorithm;

namespace {

std::vector<const entry*> make_list() {
  std::vector<const entry*> all{&auto_algorithm,        &single_algorithm,    &rmg_algorithm,
                                &out_of_core_algorithm, &p2p_merge_algorithm, &het_merge_algorithm};
  for (const entry& e : local_sort_algorithms()) all.push_back(&e);
  return all;
}

std::vector<const entry*>& list() {
  static std::vector<const entry*> all = make_list();
  return all;
}

void require_suited(const entry& asked_for, const problem& sort) {
  if ((!sort.is_resident() || asked_for.is.takes_resident) &&
      (sort.others == nullptr || asked_for.is.takes_other_processes)) {
    return;
  }
  throw invalid_argument(fmt::format("algorithm {} sorts what is in the caller's host memory", asked_for.name));
}

}  // namespace

const std::vector<const entry*>& all_algorithms() { return list(); }

const entry& find_algorithm(std::string_view name) {
  return *list()[base::find_name(list(), name, "algorithm", [](const entry* e) { return e->name; })];
}

added_algorithm::added_algorithm(const entry& algorithm) { list().push_back(&algorithm); }
added_algorithm::~added_algorithm() { list().pop_back(); }

choice choose(const entry& asked_for, const std::vector<rank>& ranks, const sort_settings& options,
              const problem& sort) {
  require_suited(asked_for, sort);
  if (asked_for.choose != nullptr) return asked_for.choose(ranks, options, sort);
  return {.algorithm = &asked_for, .workspace = asked_for.workspace(ranks, options, sort)};
}

}  // namespace spansort::algorithms
