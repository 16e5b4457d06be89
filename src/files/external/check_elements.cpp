// SPDX-License-Identifier: Apache-2.0
#include "files/external/check_elements.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/byte_buffer.hpp"

namespace spansort::external {
namespace {

std::vector<std::byte> copy_of(const std::byte* element, std::uint64_t element_bytes) {
  return {element, element + element_bytes};
}

}  // namespace

elements_check check_elements(element_source& source, std::uint64_t element_bytes, std::uint64_t chunk_elements,
                              const chunk_check& check_chunk) {
  SPANSORT_ASSERT(chunk_elements != 0);
  base::byte_buffer memory((chunk_elements + 1) * element_bytes);
  std::byte* const elements = memory.data() + element_bytes;  // before them: the last element of the chunk before
  elements_check found;
  for (bool is_end = false; !is_end;) {
    const std::uint64_t count = source.read(elements, chunk_elements);
    is_end = count < chunk_elements;
    if (count == 0) break;
    const check_result chunk = check_chunk(elements, count, found.whole.num_keys != 0);
    if (chunk.first_disorder && !found.whole.first_disorder) {
      const std::byte* const disordered = elements + *chunk.first_disorder * element_bytes;
      found.whole.first_disorder = found.whole.num_keys + *chunk.first_disorder;
      found.disordered = copy_of(disordered, element_bytes);
      found.left_neighbour = copy_of(disordered - element_bytes, element_bytes);
    }
    found.whole.num_keys += count;
    found.whole.num_duplicates += chunk.num_duplicates;
    found.whole.checksum = found.whole.checksum + chunk.checksum;
    found.whole.is_in_order = found.whole.is_in_order && chunk.is_in_order;
    std::memcpy(memory.data(), elements + (count - 1) * element_bytes, element_bytes);
  }
  return found;
}

chunk_check check_of(const element_order& order, bool unique) {
  return [&order, unique](const std::byte* elements, std::uint64_t count, bool has_left) {
    const std::byte* const left = has_left ? elements - order.element_bytes() : nullptr;
    const std::optional<std::uint64_t> disorder = order.first_disorder(left, elements, count, unique);
    // The disorder may be equal neighbours and nothing worse, where these count as disorder too.
    const bool is_in_order = !disorder || (unique && !order.first_disorder(left, elements, count, false));
    return check_result{.num_keys = count,
                        .num_duplicates = order.num_duplicates(left, elements, count),
                        .first_disorder = disorder,
                        .checksum = order.checksum(elements, count),
                        .is_in_order = is_in_order};
  };
}

}  // namespace spansort::external
