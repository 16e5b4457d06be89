// SPDX-License-Identifier: Apache-2.0
#include "cli/reference/choices.hpp"

#include <array>

#include "spansort/generate.hpp"
#include "spansort/options.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"
#ifdef SPANSORT_HAS_MPI
#include "spansort/mpi.hpp"
#endif

namespace cli {
namespace {

using names = std::vector<std::string>;

/// Names of the enumerators up to the last one, which count from zero.
template <class Enum>
names names_up_to(Enum last) {
  names found;
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) found.emplace_back(name(static_cast<Enum>(i)));
  return found;
}

template <class Named>
names names_in(const std::vector<Named>& all) {
  names found;
  for (const Named& each : all) found.emplace_back(name(each));
  return found;
}

names distribution_names() {
  names found;
  for (const spansort::distribution& each : spansort::all_distributions()) {
    found.push_back(spansort::to_string(each));
  }
  return found;
}

names algorithm_names(program_kind program) {
#ifdef SPANSORT_HAS_MPI
  if (program == program_kind::cluster) return names_in(spansort::mpi::list_algorithms());
#endif
  static_cast<void>(program);
  return names_in(spansort::list_algorithms());
}

names exchange_names() {
#ifdef SPANSORT_HAS_MPI
  return names_up_to(spansort::mpi::exchange_method::host);
#else
  return {};
#endif
}

names device_names(program_kind program) {
  // The devices `auto` are over MPI each node rank's share of its machine, and lists of many devices are rare.
  if (program == program_kind::cluster) return {"auto", "cpu", "gpu:0"};
  return {"auto", "cpu", "host:2", "host:4", "gpu", "gpu:0", "gpu:0,1"};
}

completion choices(names found) { return {completion_kind::choices, std::move(found)}; }

/// Values that are names. Those of flags that other verbs have too are the same everywhere.
completion named_values(std::string_view flag, program_kind program) {
  if (flag == "type") return choices(names_up_to(spansort::key_type::f64));
  if (flag == "devices") return choices(device_names(program));
  if (flag == "algorithm") return choices(algorithm_names(program));
  if (flag == "index") return choices({"i64", "u64", "i32", "u32"});
  if (flag == "distribution") return choices(distribution_names());
  if (flag == "method") return choices(names_up_to(spansort::quantile_method::tukey));
  if (flag == "nan") return choices(names_up_to(spansort::nan_policy::error));
  if (flag == "scale") return choices({"auto", "linear", "log", "symlog"});
  if (flag == "progress") return choices({"auto", "always", "never"});
  if (flag == "exchange") return choices(exchange_names());
  return {};
}

constexpr std::array file_placeholders{"FILE", "OUT", "IN", "DATA", "KEYS", "MORE", "ORDER", "PAYLOAD"};

}  // namespace

std::string_view name(completion_kind kind) noexcept {
  constexpr std::array<std::string_view, 4> kind_names{"nothing", "choices", "files", "folders"};
  return kind_names[static_cast<std::size_t>(kind)];
}

completion completion_of(const CLI::Option& option, program_kind program) {
  if (option.get_expected_max() == 0) return {};
  const std::string flag = option.get_lnames().empty() ? std::string() : option.get_lnames().front();
  const completion named = named_values(flag, program);
  if (named.kind != completion_kind::nothing) return named;
  const std::string placeholder = option.get_positional() ? option.get_name(true) : option.get_type_name();
  if (placeholder == "DIR") return {completion_kind::folders};
  for (const std::string_view each : file_placeholders) {
    if (placeholder == each) return {completion_kind::files};
  }
  return {};
}

}  // namespace cli
