// SPDX-License-Identifier: Apache-2.0
// A plan as JSON, for `spansort plan --json` and the golden plans of the tests. The text is stable: keys in a fixed
// order, one bucket, transfer or local sort a line, so that a diff of two plans reads well.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

#include "plan/notation.hpp"
#include "plan/planner.hpp"

namespace spansort::plan {

namespace {

using json = nlohmann::ordered_json;

/// A value without objects inside stays on one line, as does an object whose members are such values.
bool is_one_line(const json& value) {
  const auto is_flat = [](const json& member) {
    return !member.is_structured() ||
           std::none_of(member.begin(), member.end(), [](const json& inner) { return inner.is_structured(); });
  };
  return !value.is_structured() || std::all_of(value.begin(), value.end(), is_flat);
}

void write(const json& value, std::size_t indent, std::string& out) {
  const bool one_line = is_one_line(value) && (value.is_object() || value.empty() || !value.front().is_structured());
  if (indent != 0 && one_line) {
    out += value.dump();
    return;
  }
  out += value.is_object() ? "{" : "[";
  for (auto it = value.begin(); it != value.end(); ++it) {
    out += it == value.begin() ? "\n" : ",\n";
    out.append(indent + 2, ' ');
    if (value.is_object()) out += json(it.key()).dump() + ": ";
    write(*it, indent + 2, out);
  }
  out += "\n";
  out.append(indent, ' ');
  out += value.is_object() ? "}" : "]";
}

json to_json(const parameters& p) {
  json out = {{"num_keys", p.num_keys},     {"num_ranks", p.num_ranks}, {"key_bits", p.key_bits},
              {"radix_bits", p.radix_bits}, {"epsilon", p.epsilon},     {"fuse_threshold", p.fuse_threshold}};
  if (p.second_bits != 0) out["second_bits"] = p.second_bits;
  if (p.refine_keys != 0) out["refine_keys"] = p.refine_keys;
  if (p.copied_keys != 0) out["copied_keys"] = p.copied_keys;
  if (!p.source_counts.empty()) out["source_counts"] = p.source_counts;
  if (!p.target_counts.empty()) out["target_counts"] = p.target_counts;
  return out;
}

json to_json(keys::bit_range bits) { return {{"begin", bits.begin}, {"end", bits.end}}; }

json to_json(const bucket& b, unsigned radix_bits) {
  return {{"prefix", bucket_name(b.prefix, radix_bits)},
          {"prefix_bits", b.prefix.bit_count},
          {"pass", b.pass},
          {"begin", b.begin},
          {"count", b.count},
          {"first_rank", b.first_rank},
          {"last_rank", b.last_rank},
          {"slice_counts", b.slice_counts}};
}

json to_json(const transfer& t) {
  return {{"source_rank", t.source_rank},
          {"source_offset", t.source_offset},
          {"destination_rank", t.destination_rank},
          {"destination_offset", t.destination_offset},
          {"count", t.count}};
}

json to_json(const local_sort& s) {
  return {{"rank", s.rank},
          {"offset", s.offset},
          {"count", s.count},
          {"bits", to_json(s.bits)},
          {"num_buckets", s.num_buckets}};
}

json to_json(const copied_sort& s) {
  return {{"rank", s.rank},          {"aside", s.aside},           {"count", s.count},
          {"bits", to_json(s.bits)}, {"first_kept", s.first_kept}, {"offset", s.offset},
          {"num_kept", s.num_kept}};
}

json passes_to_json(const sort_plan& plan) {
  json passes = json::array();
  for (const pass_view& view : plan.passes) {
    json buckets = json::array();
    for (const bucket& b : view.buckets) buckets.push_back(to_json(b, plan.params.radix_bits));
    passes.push_back({{"pass", view.pass}, {"bits", to_json(view.bits)}, {"buckets", std::move(buckets)}});
  }
  return passes;
}

json ranks_to_json(const sort_plan& plan) {
  json ranks = json::array();
  for (unsigned rank = 0; rank < plan.params.num_ranks; ++rank) {
    ranks.push_back({{"rank", rank},
                     {"chunk_begin", source_begin(plan.params, rank)},
                     {"chunk_count", source_count(plan.params, rank)},
                     {"begin", plan.rank_begins[rank]},
                     {"count", plan.rank_count(rank)}});
  }
  return ranks;
}

template <class T>
json list_to_json(const std::vector<T>& items) {
  json list = json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

}  // namespace

std::string to_json(const sort_plan& plan) {
  json whole = {{"parameters", to_json(plan.params)},
                {"epsilon_keys", epsilon_keys(plan.params)},
                {"num_spanning_buckets", plan.num_spanning_buckets},
                {"imbalance", plan.imbalance()},
                {"passes", passes_to_json(plan)},
                {"ranks", ranks_to_json(plan)},
                {"transfers", list_to_json(plan.transfers)},
                {"local_sorts", list_to_json(plan.local_sorts)}};
  if (plan.params.copied_keys != 0) {
    whole["copied_transfers"] = list_to_json(plan.copied_transfers);
    whole["copied_sorts"] = list_to_json(plan.copied_sorts);
  }
  std::string text;
  write(whole, 0, text);
  return text + "\n";
}

}  // namespace spansort::plan
