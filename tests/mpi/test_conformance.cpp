// SPDX-License-Identifier: Apache-2.0
// The communicator and the transports between processes against the suites that all of them must pass.
#include <memory>
#include <string>

#include "cluster_case.hpp"
#include "device/host/host_device.hpp"
#include "mpi/transport/mpi_exchange.hpp"
#include "mpi/transport/mpi_handle.hpp"
#include "mpi/transport/nccl_exchange.hpp"
#include "sort/open_devices.hpp"
#include "support/communicator_conformance.hpp"
#include "support/exchange_conformance.hpp"
#include "transport/direct_exchange.hpp"
#include "transport/routed_exchange.hpp"

namespace spansort::test {
namespace {

using transport::make_node_group;
using transport::node_group;

using process_function = std::function<void(const exchange_process&)>;

/// `max_elements`: what one MPI operation moves at most.
communicator_world of_mpi(std::uint64_t max_elements) {
  return {"mpi_" + std::to_string(max_elements), [=](const std::function<void(transport::communicator&)>& f) {
            const auto group = make_node_group(MPI_COMM_WORLD, {.watch = {}, .max_elements = max_elements});
            f(*group);
          }};
}

INSTANTIATE_TEST_SUITE_P(over_mpi, communicator_conformance,
                         testing::Values(of_mpi(1), of_mpi(5), of_mpi(8), of_mpi(1000), of_mpi(std::uint64_t{1} << 28)),
                         testing::PrintToStringParamName());

/// These are the numbers of ranks that each node rank has.
enum class rank_spread : std::uint8_t { one, two, one_or_two };

std::vector<unsigned> first_ranks_of(unsigned num_nodes, rank_spread spread) {
  std::vector<unsigned> first_ranks{0};
  for (unsigned node = 0; node < num_nodes; ++node) {
    const unsigned more = spread == rank_spread::one || (spread == rank_spread::one_or_two && node % 2 == 0) ? 1 : 2;
    first_ranks.push_back(first_ranks.back() + more);
  }
  return first_ranks;
}

/// Host devices of this node rank.
std::vector<std::unique_ptr<device::device>> open_hosts(unsigned num_devices, bool shares_memory) {
  std::vector<std::unique_ptr<device::device>> devices;
  for (unsigned i = 0; i < num_devices; ++i) {
    devices.push_back(device::host::make_host_device({.num_threads = 1, .shares_memory = shares_memory}));
  }
  return devices;
}

std::vector<device::device*> pointers_to(const std::vector<std::unique_ptr<device::device>>& devices) {
  std::vector<device::device*> all;
  for (const auto& d : devices) all.push_back(d.get());
  return all;
}

/// Node ranks that exchange by messages of at most `message_bytes`; by way of slots where devices have memory of their
/// own.
exchange_world by_mpi(std::uint64_t message_bytes, rank_spread spread, bool shares_memory) {
  const std::string name = "mpi_" + std::to_string(message_bytes) + "_bytes_" +
                           std::to_string(static_cast<int>(spread)) + (shares_memory ? "_shared" : "_own");
  return {name, [=](const process_function& f) -> std::string {
            const auto group = make_node_group(MPI_COMM_WORLD);
            const std::vector<unsigned> first_ranks = first_ranks_of(group->num_nodes(), spread);
            const unsigned self = group->node_rank();
            const auto devices = open_hosts(first_ranks[self + 1] - first_ranks[self], shares_memory);
            transport::mpi_exchange messages(*group, {.limits = {.message_bytes = message_bytes, .on_progress = {}},
                                                      .first_ranks = first_ranks,
                                                      .staging_device = shares_memory ? nullptr : devices[0].get()});
            f({*group, pointers_to(devices), messages});
            return {};
          }};
}

/// Routes are those of sorts: what stays in the process goes directly, all else by NCCL if it can, which it cannot
/// here, and by MPI.
exchange_world as_in_sorts() {
  return {"direct_nccl_mpi", [](const process_function& f) -> std::string {
            const auto group = make_node_group(MPI_COMM_WORLD);
            const std::vector<unsigned> first_ranks = first_ranks_of(group->num_nodes(), rank_spread::two);
            const auto devices = open_hosts(2, true);
            const std::vector<device::device*> all = pointers_to(devices);
            transport::direct_exchange pushed({all.begin(), all.end()}, first_ranks[group->node_rank()]);
            const transport::nccl_connection none{nullptr, "asked for"};
            transport::nccl_exchange nccl(none, first_ranks);
            transport::mpi_exchange messages(*group, {.limits = {}, .first_ranks = first_ranks});
            transport::routed_exchange routed({&pushed, &nccl, &messages});
            f({*group, all, routed});
            return {};
          }};
}

/// A GPU a node rank, all different: SPANSORT_TEST_MPI_DEVICES=gpu:each.
exchange_world by_nccl() {
  return {"nccl", [](const process_function& f) -> std::string {
            const auto group = make_node_group(MPI_COMM_WORLD);
            const sorting::device_set named = sorting::resolve_devices(test_devices("host:1"));
            const auto link = transport::connect_gpus(*group, named.gpus.size() == 1 ? named.gpus.front() : -1);
            if (link.link == nullptr) return "no NCCL: " + link.why_not;
            const auto devices = sorting::open_devices(named, {});
            transport::nccl_exchange nccl(link, first_ranks_of(group->num_nodes(), rank_spread::one));
            f({*group, pointers_to(devices), nccl});
            return {};
          }};
}

INSTANTIATE_TEST_SUITE_P(over_mpi, exchange_conformance,
                         testing::Values(by_mpi(1 << 20, rank_spread::one, true),
                                         by_mpi(1000, rank_spread::one_or_two, true),
                                         by_mpi(10'000, rank_spread::one, false),
                                         by_mpi(100'000, rank_spread::two, false), as_in_sorts(), by_nccl()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace spansort::test
