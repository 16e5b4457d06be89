// SPDX-License-Identifier: Apache-2.0
// GPUs of different processes that reach each other by NCCL, so that what they exchange does not pass through the host.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "mpi/transport/exchange_bytes.hpp"
#include "mpi/transport/node_group.hpp"

namespace spansort::transport {

class nccl_link {
 public:
  virtual ~nccl_link() = default;
  nccl_link(const nccl_link&) = delete;
  nccl_link& operator=(const nccl_link&) = delete;

  /// Exchanges memory of the GPUs as exchange_bytes() does that of the host; parts of a pair of node ranks are cut
  /// alike on both sides. Work queued on other memory of these GPUs goes on. Grouped sends and receives; polls the
  /// group's failure watch while it waits.
  virtual exchanged_bytes move_parts(std::span<const outgoing_part> outgoing,
                                     std::span<const incoming_part> incoming) = 0;

 protected:
  nccl_link() = default;
};

/// A link, or why there is none.
struct nccl_connection {
  std::unique_ptr<nccl_link> link;
  std::string why_not;
};

/// Collective. A link on all node ranks, where each of them has one GPU, all different, and NCCL connects them within
/// two minutes; else none on any. `ordinal`: this node rank's GPU, -1 where it has none or several devices. The link
/// ends before the group. Throws cluster_failure.
[[nodiscard]] nccl_connection connect_gpus(node_group& group, int ordinal);

}  // namespace spansort::transport
