// SPDX-License-Identifier: Apache-2.0
// A kernel family says which sizes the kernels of a GPU have. Kernels are compiled with the sizes of a family, and a
// family serves every compute capability that has not been measured for itself. The table below says which one that is,
// and why.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace spansort::device::cuda {

/// A GPU's compute capability, or the one that code was compiled for.
struct compute_capability {
  unsigned major = 0;
  unsigned minor = 0;

  friend constexpr auto operator<=>(const compute_capability&, const compute_capability&) = default;
};

/// Sets of sizes that kernels are compiled with. A family is named after the GPUs that its sizes were found for.
enum class kernel_family : std::uint8_t { turing, ampere, hopper };

[[nodiscard]] constexpr std::string_view name(kernel_family family) noexcept {
  switch (family) {
    case kernel_family::turing: return "turing";
    case kernel_family::ampere: return "ampere";
    case kernel_family::hopper: break;
  }
  return "hopper";
}

/// Sizes together with where they come from: the GPU, the sweep and the figure, or that nobody has measured them.
template <class Policy>
struct tuned {
  Policy sizes;
  std::string_view provenance;

  friend constexpr bool operator==(const tuned&, const tuned&) = default;
};

/// The family for a compute capability and for those behind it up to the next entry.
struct capability_entry {
  compute_capability least;
  kernel_family family = kernel_family::hopper;
  unsigned most_shared_bytes = 0;  ///< shared memory that one block may have there (CUDA C++ Programming Guide)
  std::string_view provenance;
};

/// A new family is an enumerator, an entry here, and its sizes in each policy header of this folder; the compiler names
/// what is missing. kernel_families must list it too.
inline constexpr std::array<capability_entry, 7> capability_entries{{
    {{7, 5}, kernel_family::turing, 64U << 10, "computed from 64 KiB of shared memory, not measured"},
    {{8, 0}, kernel_family::ampere, 163U << 10, "carried over from 9.0, not measured"},
    {{8, 6}, kernel_family::ampere, 99U << 10, "carried over from 9.0, not measured"},
    {{8, 9}, kernel_family::ampere, 99U << 10, "carried over from 9.0, not measured"},
    {{9, 0}, kernel_family::hopper, 227U << 10, "measured on an H100 and an H200 with CUDA 13.0"},
    {{10, 0}, kernel_family::hopper, 227U << 10, "carried over from 9.0, not measured"},
    {{12, 0}, kernel_family::ampere, 99U << 10, "carried over from 9.0, not measured"},
}};

inline constexpr std::array kernel_families{kernel_family::turing, kernel_family::ampere, kernel_family::hopper};

/// Returns what the table says of a compute capability. Older ones than the first entry are not supported.
[[nodiscard]] constexpr const capability_entry& entry_of(compute_capability capability) noexcept {
  const capability_entry* found = capability_entries.data();
  for (const capability_entry& entry : capability_entries) {
    if (entry.least <= capability) found = &entry;
  }
  return *found;
}

[[nodiscard]] constexpr kernel_family family_of(compute_capability code) noexcept { return entry_of(code).family; }

/// Shared memory that a block of the family's kernels may take: the least of what its capabilities have. Intermediate
/// code runs on newer GPUs too, and these may have less: 12.0 has 99 KiB. A GPU that has less than the code that it
/// runs was compiled for is refused, see make_launch_site().
[[nodiscard]] constexpr unsigned most_shared_bytes(kernel_family family) noexcept {
  unsigned least = ~0U;
  for (const capability_entry& entry : capability_entries) {
    if (entry.family == family) least = std::min(least, entry.most_shared_bytes);
  }
  return least;
}
static_assert(most_shared_bytes(kernel_family::turing) == 64U << 10);
static_assert(most_shared_bytes(kernel_family::ampere) == 99U << 10);
static_assert(most_shared_bytes(kernel_family::hopper) == 227U << 10);

/// Returns what the code is compiled for, which only device code knows. The host's copy of a kernel is a stub that
/// needs no sizes; the host asks the loaded code instead (loaded_family()) and names a family wherever it needs one.
#ifdef __CUDA_ARCH__
inline constexpr kernel_family compiled_family = family_of({__CUDA_ARCH__ / 100, __CUDA_ARCH__ % 100 / 10});
#else
inline constexpr kernel_family compiled_family = kernel_family::hopper;
#endif

template <kernel_family Family>
using family_constant = std::integral_constant<kernel_family, Family>;

/// Calls f(family_constant<Family>()) for a family that is known only at run time.
template <class F>
decltype(auto) with_family(kernel_family family, F&& f) {
  switch (family) {
    case kernel_family::turing: return std::forward<F>(f)(family_constant<kernel_family::turing>());
    case kernel_family::ampere: return std::forward<F>(f)(family_constant<kernel_family::ampere>());
    case kernel_family::hopper: break;
  }
  return std::forward<F>(f)(family_constant<kernel_family::hopper>());
}

}  // namespace spansort::device::cuda
