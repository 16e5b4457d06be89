// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/device_arrays.hpp"

#include "device/cuda/handles.hpp"

namespace bench {
namespace {

namespace cuda = spansort::device::cuda;

constexpr unsigned num_blocks = 1024;
constexpr unsigned threads_per_block = 256;

__device__ std::uint64_t thread_index() { return blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; }
__device__ std::uint64_t num_threads() { return gridDim.x * std::uint64_t{blockDim.x}; }

/// The output function of SplitMix64 over its own sequence.
__device__ std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = (seed * 0xd1342543de82ef95u + index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

template <class K>
__device__ K top_bits(std::uint64_t word) {
  return static_cast<K>(word >> (64 - 8 * sizeof(K)));
}

template <class K>
__device__ K entropy_key(const fill_request& request, std::uint64_t place) {
  if (request.words == 0) return 0;
  std::uint64_t word = ~std::uint64_t{0};
  for (unsigned w = 0; w < request.words; ++w) word &= random_word(request.seed, place * 64 + w);
  return top_bits<K>(word);
}

/// A draw from the cell of the range that belongs to `place` of `count`.
template <class K>
__device__ K key_of_cell(std::uint64_t seed, std::uint64_t place, std::uint64_t count) {
  const std::uint64_t cell_size = ~std::uint64_t{0} / count;
  return top_bits<K>(place * cell_size + random_word(seed, place) % cell_size);
}

/// 2^(bits of K * u) for a uniform u of [0, 1), rounded down.
template <class K>
__device__ K log_uniform_key(std::uint64_t word) {
  const double uniform = static_cast<double>(word >> 11) * 0x1p-53;
  return static_cast<K>(exp2(uniform * 8 * sizeof(K)) - 1);
}

template <class K>
__device__ K bits_of(double x) {
  if constexpr (sizeof(K) == 8) {
    return static_cast<K>(__double_as_longlong(x));
  } else {
    return static_cast<K>(__float_as_uint(static_cast<float>(x)));
  }
}

template <class K>
__device__ double unit_float(std::uint64_t word) {
  return sizeof(K) == 8 ? static_cast<double>(word >> 11) * 0x1p-53 : static_cast<double>(word >> 40) * 0x1p-24;
}

/// Draws from the standard normal distribution by the method of Box and Muller.
__device__ double normal_float(std::uint64_t word, std::uint64_t other) {
  return sqrt(-2 * log((static_cast<double>(word >> 11) + 1) * 0x1p-53)) * cospi(2 * unit_float<std::uint64_t>(other));
}

template <class K>
__device__ K key_at(const fill_request& request, std::uint64_t i, std::uint64_t num_keys) {
  const std::uint64_t word = random_word(request.seed + 1, i);
  switch (request.kind) {
    case device_input::entropy: return entropy_key<K>(request, request.first_place + i);
    case device_input::sorted: return key_of_cell<K>(request.seed, i, num_keys);
    case device_input::reversed: return key_of_cell<K>(request.seed, num_keys - 1 - i, num_keys);
    case device_input::nearly_sorted:
      return word % 100 == 0 ? top_bits<K>(random_word(request.seed + 2, i))
                             : key_of_cell<K>(request.seed, i, num_keys);
    case device_input::few_values: return top_bits<K>(random_word(request.seed + 3, word % request.words));
    case device_input::log_uniform: return log_uniform_key<K>(word);
    case device_input::low_bits: return static_cast<K>(word >> (64 - request.words));
    case device_input::unit: return bits_of<K>(unit_float<K>(word));
    case device_input::unit_or_zero:
      return bits_of<K>(word % 1000 == 0 ? (word / 1000 % 2 == 0 ? -0.0 : 0.0) : unit_float<K>(word));
    case device_input::normal: return bits_of<K>(normal_float(word, random_word(request.seed + 2, i)));
    case device_input::log_normal: return bits_of<K>(exp(normal_float(word, random_word(request.seed + 2, i))));
  }
  return 0;
}

/// Takes NaNs, infinities and zeros out of random bits.
template <class K>
__device__ K make_finite(K bits) {
  constexpr unsigned mantissa_bits = sizeof(K) == 4 ? 23 : 52;
  constexpr K magnitude = static_cast<K>(~K{0}) >> 1;
  constexpr K exponent = magnitude >> mantissa_bits << mantissa_bits;
  if ((bits & exponent) == exponent) bits ^= K{1} << mantissa_bits;
  return (bits & magnitude) == 0 ? bits | 1 : bits;
}

template <class K>
__global__ void fill_kernel(K* keys, std::uint64_t num_keys, fill_request request) {
  for (std::uint64_t i = thread_index(); i < num_keys; i += num_threads()) {
    const K key = key_at<K>(request, i, num_keys);
    keys[i] = request.finite_floats ? make_finite(key) : key;
  }
}

template <class V>
__global__ void fill_places_kernel(V* values, std::uint64_t count, std::uint64_t first) {
  for (std::uint64_t i = thread_index(); i < count; i += num_threads()) values[i] = static_cast<V>(first + i);
}

__global__ void count_differences_kernel(const std::uint32_t* a, const std::uint32_t* b, std::uint64_t num_words,
                                         unsigned long long* differences) {
  for (std::uint64_t i = thread_index(); i < num_words; i += num_threads()) {
    if (a[i] != b[i]) atomicAdd(differences, 1ULL);
  }
}

/// Adds neighbours out of order to sums[0], and hashes to sums[1]. Values may be null.
template <class K>
__global__ void summarize_kernel(const K* keys, const K* values, std::uint64_t count, unsigned long long* sums) {
  unsigned long long num_descents = 0;
  unsigned long long checksum = 0;
  for (std::uint64_t i = thread_index(); i < count; i += num_threads()) {
    if (i != 0) {
      const bool equal_keys_descend = values != nullptr && keys[i - 1] == keys[i] && values[i - 1] > values[i];
      if (keys[i - 1] > keys[i] || equal_keys_descend) ++num_descents;
    }
    const std::uint64_t hash = random_word(1, keys[i]);
    checksum += values == nullptr ? hash : random_word(hash, values[i]);
  }
  if (num_descents != 0) atomicAdd(&sums[0], num_descents);
  atomicAdd(&sums[1], checksum);
}

struct sums {
  unsigned long long values[2] = {};
};

/// Runs `launch(device sums)` from zeros and waits for what it leaves.
template <class Launch>
sums run_and_wait(cudaStream_t stream, const Launch& launch) {
  const cuda::device_memory memory = cuda::allocate_device_memory(sizeof(sums));
  cuda::check(cudaMemsetAsync(memory.get(), 0, sizeof(sums), stream), "cudaMemsetAsync");
  launch(static_cast<unsigned long long*>(memory.get()));
  cuda::check(cudaGetLastError(), "kernel of the benchmark");
  sums found;
  cuda::check(cudaMemcpyAsync(&found, memory.get(), sizeof(found), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return found;
}

}  // namespace

void fill_device(cudaStream_t stream, void* keys, unsigned key_bytes, std::uint64_t num_keys,
                 const fill_request& request) {
  if (num_keys == 0) return;
  if (key_bytes == 4) {
    fill_kernel<<<num_blocks, threads_per_block, 0, stream>>>(static_cast<std::uint32_t*>(keys), num_keys, request);
  } else {
    fill_kernel<<<num_blocks, threads_per_block, 0, stream>>>(static_cast<std::uint64_t*>(keys), num_keys, request);
  }
  cuda::check(cudaGetLastError(), "fill_kernel");
}

void fill_places(cudaStream_t stream, void* values, unsigned value_bytes, std::uint64_t count,
                 std::uint64_t first_place) {
  if (value_bytes == 4) {
    fill_places_kernel<<<num_blocks, threads_per_block, 0, stream>>>(static_cast<std::uint32_t*>(values), count,
                                                                     first_place);
  } else {
    fill_places_kernel<<<num_blocks, threads_per_block, 0, stream>>>(static_cast<std::uint64_t*>(values), count,
                                                                     first_place);
  }
  cuda::check(cudaGetLastError(), "fill_places_kernel");
}

std::uint64_t count_differences(cudaStream_t stream, const void* a, const void* b, std::uint64_t size_bytes) {
  const auto launch = [&](unsigned long long* into) {
    count_differences_kernel<<<num_blocks, threads_per_block, 0, stream>>>(
        static_cast<const std::uint32_t*>(a), static_cast<const std::uint32_t*>(b), size_bytes / 4, into);
  };
  return run_and_wait(stream, launch).values[0];
}

namespace {

template <class K>
key_summary summary_of(cudaStream_t stream, const device_records& records) {
  const K* const keys = static_cast<const K*>(records.keys);
  const K* const values = static_cast<const K*>(records.values);
  const std::uint64_t count = records.num_records;
  const sums found = run_and_wait(stream, [&](unsigned long long* into) {
    summarize_kernel<<<num_blocks, threads_per_block, 0, stream>>>(keys, values, count, into);
  });
  K ends[2];
  cuda::check(cudaMemcpy(&ends[0], keys, sizeof(K), cudaMemcpyDeviceToHost), "cudaMemcpy");
  cuda::check(cudaMemcpy(&ends[1], keys + count - 1, sizeof(K), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return {found.values[0] == 0, found.values[1], ends[0], ends[1]};
}

}  // namespace

key_summary summarize(cudaStream_t stream, const device_records& records) {
  if (records.num_records == 0) return {};
  return records.key_bytes == 4 ? summary_of<std::uint32_t>(stream, records)
                                : summary_of<std::uint64_t>(stream, records);
}

}  // namespace bench
