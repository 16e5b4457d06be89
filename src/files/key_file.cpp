// SPDX-License-Identifier: Apache-2.0
// key_file: the keys of a file in memory, all of them or a share.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "files/io/key_reader.hpp"
#include "spansort/errors.hpp"
#include "spansort/files.hpp"

namespace spansort {

struct key_file::state {
  explicit state(files::loaded_keys loaded) : keys(std::move(loaded)), num_keys_in_file(keys.num_keys) {}
  state(files::loaded_keys loaded, std::uint64_t in_file) : keys(std::move(loaded)), num_keys_in_file(in_file) {}

  files::loaded_keys keys;
  std::uint64_t num_keys_in_file = 0;
};

namespace {

files::loaded_keys read_part_of(files::key_reader& reader, const std::string& path, const file_share& share) {
  if (share.index >= share.count) {
    throw invalid_argument(fmt::format("{}: share {} of {} cannot be read", path, share.index, share.count));
  }
  if (!reader.num_keys()) {
    throw invalid_argument(fmt::format("{}: only regular files are read in shares, no streams", path));
  }
  const std::uint64_t size = *reader.num_keys() / share.count;
  const std::uint64_t num_larger = *reader.num_keys() % share.count;
  return reader.read_part(share.index * size + std::min(share.index, num_larger),
                          size + (share.index < num_larger ? 1 : 0), {});
}

}  // namespace

key_file::key_file(const std::string& path, std::optional<key_type> type)
    : state_(std::make_unique<state>(files::key_reader::open_keys(path, type).read({}))) {}

key_file::key_file(const std::string& path, std::optional<key_type> type, const file_share& share) {
  files::key_reader reader = files::key_reader::open_keys(path, type);
  files::loaded_keys keys = read_part_of(reader, path, share);
  state_ = std::make_unique<state>(std::move(keys), *reader.num_keys());
}

key_file::~key_file() = default;
key_file::key_file(key_file&&) noexcept = default;
key_file& key_file::operator=(key_file&&) noexcept = default;

std::uint64_t key_file::num_keys_in_file() const noexcept { return state_->num_keys_in_file; }

const_key_span key_file::keys() const noexcept { return std::as_const(state_->keys).span(); }

}  // namespace spansort
