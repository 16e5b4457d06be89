// SPDX-License-Identifier: Apache-2.0
// The order in which a rank sends what it has for the ranks of its process.
#pragma once

#include <span>
#include <vector>

#include "plan/transfers/transfer.hpp"
#include "transport/exchange.hpp"

namespace spansort::transport {

/// The transfers of one source that move anything, those to different receivers taking turns, so that all links are
/// busy all the time: the first to every receiver, then the second to every receiver, and so on. Where there is
/// an even number of receivers, each turn begins one receiver further, so that two streams that take transfers
/// alternately send to all of them in two turns. At any place of the order no two sources have the same receiver while
/// all have transfers for all. All receivers are among `endpoints`.
[[nodiscard]] std::vector<plan::transfer> in_turns(std::span<const plan::transfer> transfers, const endpoint& source,
                                                   std::span<const endpoint> endpoints);

}  // namespace spansort::transport
