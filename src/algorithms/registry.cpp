// SPDX-License-Identifier: Apache-2.0
#include "algorithms/registry.hpp"

#include <array>
#include <string>

#include "spansort/errors.hpp"

namespace spansort::algorithms {
namespace {

constexpr std::array<entry, 4> entries{{
    {"auto", run_auto, auto_workspace},        // the fastest for this input and these devices
    {"single", run_single, single_workspace},  // one device's own sort
    {"rmg", run_rmg, rmg_workspace},           // radix partitioning over several devices, one all-to-all exchange
    {"out_of_core", run_out_of_core, out_of_core_workspace},  // in parts, data larger than the devices
}};

}  // namespace

const entry& find_algorithm(std::string_view name) {
  std::string known;
  for (const entry& e : entries) {
    if (e.name == name) return e;
    known += ' ';
    known += e.name;
  }
  throw invalid_argument("unknown algorithm '" + std::string(name) + "'; known:" + known);
}

}  // namespace spansort::algorithms
