// SPDX-License-Identifier: Apache-2.0
// Communicators that need no MPI against the conformance suite.
#include "support/communicator_conformance.hpp"
#include "thread_group.hpp"
#include "transport/single_process.hpp"

namespace spansort::test {
namespace {

communicator_world one_process() {
  return {"single_process", [](const std::function<void(transport::communicator&)>& f) {
            transport::single_process group;
            f(group);
            f(transport::alone());
          }};
}

communicator_world threads(unsigned num_threads) {
  return {"threads_" + std::to_string(num_threads), [=](const std::function<void(transport::communicator&)>& f) {
            run_on_threads(num_threads, [&](thread_group& group) { f(group); });
          }};
}

INSTANTIATE_TEST_SUITE_P(without_mpi, communicator_conformance,
                         testing::Values(one_process(), threads(1), threads(2), threads(5)),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace spansort::test
