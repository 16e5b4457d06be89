// SPDX-License-Identifier: Apache-2.0
#include "mpi/transport/nccl_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#ifdef SPANSORT_HAS_NCCL
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>

#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "mpi/transport/finish_together.hpp"
#include "spansort/errors.hpp"
#endif

namespace spansort::transport {

#ifdef SPANSORT_HAS_NCCL
namespace {

constexpr std::chrono::microseconds poll_interval{50};
/// Thousands of GPUs connect in less.
constexpr std::chrono::minutes longest_connect{2};

/// The library's functions, loaded when they are first asked for: a machine without NCCL is none the worse.
struct nccl_functions {
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) receive = nullptr;
  decltype(&ncclGetErrorString) error_text = nullptr;
  std::string why_not;  ///< not loaded
};

template <class F>
void load(void* library, const char* name, F& function, std::string& why_not) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr) why_not = fmt::format("libnccl.so.2 has no {}", name);
}

const nccl_functions& nccl() {
  static const nccl_functions functions = [] {
    nccl_functions f;
    void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      f.why_not = ::dlerror();
      return f;
    }
    load(library, "ncclGetUniqueId", f.get_unique_id, f.why_not);
    load(library, "ncclCommInitRankConfig", f.init_rank, f.why_not);
    load(library, "ncclCommGetAsyncError", f.async_error, f.why_not);
    load(library, "ncclCommAbort", f.abort, f.why_not);
    load(library, "ncclGroupStart", f.group_start, f.why_not);
    load(library, "ncclGroupEnd", f.group_end, f.why_not);
    load(library, "ncclSend", f.send, f.why_not);
    load(library, "ncclRecv", f.receive, f.why_not);
    load(library, "ncclGetErrorString", f.error_text, f.why_not);
    return f;
  }();
  return functions;
}

void check_cuda(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw device_error(fmt::format("NCCL: {}: {}", call, cudaGetErrorString(status)));
}

/// The node rank's GPU is current for a scope.
class current_gpu {
 public:
  explicit current_gpu(int ordinal) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
  }
  ~current_gpu() { cudaSetDevice(before_); }
  current_gpu(const current_gpu&) = delete;
  current_gpu& operator=(const current_gpu&) = delete;

 private:
  int before_ = 0;
};

class gpu_link final : public nccl_link {
 public:
  gpu_link(node_group& group, int ordinal) : group_(group), ordinal_(ordinal) {}

  /// Apart from the constructor: when it fails, what has begun is ended by the destructor.
  void begin_to_connect(const ncclUniqueId& id) {
    const current_gpu here(ordinal_);
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    // A node rank that fails meanwhile must not leave the others waiting inside the library.
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(nccl().init_rank(&communicator_, static_cast<int>(group_.num_nodes()), id,
                           static_cast<int>(group_.node_rank()), &config),
          "ncclCommInitRankConfig");
  }
  [[nodiscard]] bool is_connected() const { return !is_in_progress("ncclCommInitRankConfig"); }
  ~gpu_link() override {
    // All that was queued is done, or will never be: nothing is lost, and nobody is waited for.
    if (communicator_ != nullptr) nccl().abort(communicator_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  exchanged_bytes move_parts(std::span<const outgoing_part> outgoing,
                             std::span<const incoming_part> incoming) override {
    const current_gpu here(ordinal_);
    exchanged_bytes moved;
    ncclResult_t failure = nccl().group_start();
    const auto note = [&](ncclResult_t result) {
      if (failure == ncclSuccess && result != ncclInProgress) failure = result;
    };
    for (const outgoing_part& part : outgoing) {
      if (part.size_bytes == 0) continue;
      note(nccl().send(part.memory, part.size_bytes, ncclUint8, static_cast<int>(part.peer), communicator_, stream_));
      moved.sent += part.size_bytes;
      ++moved.num_messages;
    }
    for (const incoming_part& part : incoming) {
      if (part.size_bytes == 0) continue;
      note(
          nccl().receive(part.memory, part.size_bytes, ncclUint8, static_cast<int>(part.peer), communicator_, stream_));
      moved.received += part.size_bytes;
    }
    // The group is this thread's, and ends whatever failed in it.
    const ncclResult_t ended = nccl().group_end();
    check(failure, "ncclSend or ncclRecv");
    wait(ended, "ncclGroupEnd");
    cudaError_t state = cudaStreamQuery(stream_);
    while (state == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // "not ready" is not left to the caller
      group_.check();
      std::this_thread::sleep_for(poll_interval);
      state = cudaStreamQuery(stream_);
    }
    check_cuda(state, "exchange");
    wait(ncclSuccess, "exchange");
    return moved;
  }

 private:
  /// Throws unless a call succeeded or is in progress, as calls inside a group say of a communicator that does not
  /// block.
  void check(ncclResult_t result, const char* call) const {
    if (result == ncclSuccess || result == ncclInProgress) return;
    throw device_error(fmt::format("NCCL: {}: {}", call, nccl().error_text(result)));
  }
  [[nodiscard]] bool is_in_progress(const char* call) const {
    ncclResult_t state = ncclSuccess;
    check(nccl().async_error(communicator_, &state), call);
    check(state, call);
    return state != ncclSuccess;
  }
  void wait(ncclResult_t result, const char* call) const {
    check(result, call);
    while (is_in_progress(call)) {
      group_.check();
      std::this_thread::sleep_for(poll_interval);
    }
  }

  node_group& group_;
  int ordinal_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t communicator_ = nullptr;
};

/// Returns what identifies a GPU among all machines' ones; "" and a reason where a node rank cannot take part.
std::string identity_of(int ordinal, std::string& why_not) {
  if (ordinal < 0) why_not = "its device is not one GPU";
  if (why_not.empty()) why_not = nccl().why_not;
  cudaDeviceProp properties{};
  if (why_not.empty() && cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess)
    why_not = "its GPU cannot be asked";
  if (!why_not.empty()) return {};
  return {properties.uuid.bytes, sizeof(properties.uuid.bytes)};
}

}  // namespace

nccl_connection connect_gpus(node_group& group, int ordinal) {
  std::string why_not;
  const std::vector<std::string> identities = group.all_gather_strings(identity_of(ordinal, why_not));
  const std::vector<std::string> reasons = group.all_gather_strings(why_not);
  if (group.num_nodes() == 1) return {nullptr, "one node rank"};
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (!reasons[i].empty()) return {nullptr, fmt::format("node rank {}: {}", i, reasons[i])};
  }
  for (std::size_t i = 0; i < identities.size(); ++i) {
    const auto same = std::ranges::find(identities, identities[i]) - identities.begin();
    if (static_cast<std::size_t>(same) != i) {
      return {nullptr, fmt::format("node ranks {} and {} have the same GPU", same, i)};
    }
  }
  ncclUniqueId id{};
  if (group.node_rank() == 0 && nccl().get_unique_id(&id) != ncclSuccess) why_not = "ncclGetUniqueId failed";
  std::array<std::uint64_t, sizeof(id) / sizeof(std::uint64_t) + 1> words{};
  std::memcpy(words.data(), &id, sizeof(id));
  words.back() = why_not.empty() ? 0 : 1;
  group.broadcast(words, 0);
  if (words.back() != 0) return {nullptr, "node rank 0: ncclGetUniqueId failed"};
  std::memcpy(&id, words.data(), sizeof(id));
  auto link = std::make_unique<gpu_link>(group, ordinal);
  bool has_begun = false;
  const auto is_connected = [&] {
    if (!has_begun) link->begin_to_connect(id);
    has_begun = true;
    return link->is_connected();
  };
  std::string failure = finish_together(group, is_connected, longest_connect);
  if (!failure.empty()) return {nullptr, std::move(failure)};
  return {std::move(link), {}};
}

#else

nccl_connection connect_gpus(node_group&, int) { return {nullptr, "this build has no NCCL"}; }

#endif

}  // namespace spansort::transport
