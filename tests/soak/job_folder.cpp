// SPDX-License-Identifier: Apache-2.0
#include "soak/job_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "support/oracle.hpp"

namespace spansort::soak {
namespace {

constexpr std::string_view old_contents = "what was there before";

std::span<const std::byte> old_bytes() { return std::as_bytes(std::span(old_contents)); }

/// A header of .npy takes a multiple of 64 bytes and says its own length.
std::span<const std::byte> behind_header(std::span<const std::byte> file) {
  if (file.size() < 10 || file[1] != std::byte{'N'}) return {};
  const std::size_t header = 10 + std::to_integer<std::size_t>(file[8]) + 256 * std::to_integer<std::size_t>(file[9]);
  return header <= file.size() ? file.subspan(header) : std::span<const std::byte>{};
}

}  // namespace

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot read " + path);
  return bytes;
}

void write_bytes(const std::string& path, std::span<const std::byte> contents) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(contents.data()), static_cast<std::streamsize>(contents.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

job_folder::job_folder(std::string path) : path_(std::move(path)) { std::filesystem::create_directory(temporary()); }

void job_folder::add_input(const std::string& name, std::span<const std::byte> contents) {
  write_bytes(path(name), contents);
  inputs_.push_back(name);
}

void job_folder::prepare() const {
  for (const expected_file& output : outputs_) {
    if (output.replaces) {
      write_bytes(path(output.name), old_bytes());
    } else {
      std::filesystem::remove(path(output.name));
    }
  }
}

std::string job_folder::diagnose_others(bool is_new, const std::string& also_allowed) const {
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    const std::string name = entry.path().filename();
    if (name == "t" || std::ranges::find(inputs_, name) != inputs_.end()) continue;
    if (!also_allowed.empty() && name.starts_with(also_allowed)) continue;
    const auto output = std::ranges::find(outputs_, name, &expected_file::name);
    if (output == outputs_.end() || (!is_new && !output->replaces)) return "left behind: " + name;
  }
  for (const auto& entry : std::filesystem::directory_iterator(temporary())) {
    return "left behind in the temporary folder: " + entry.path().filename().string();
  }
  return "";
}

std::string job_folder::diagnose_new(const std::string& also_allowed) const {
  for (const expected_file& output : outputs_) {
    if (!std::filesystem::exists(path(output.name))) return output.name + " is missing";
    const std::vector<std::byte> found = read_bytes(path(output.name));
    const std::span<const std::byte> body = output.has_header ? behind_header(found) : found;
    const std::string wrong = test::diagnose_bytes(output.name + ", byte", output.contents, body, 1);
    if (!wrong.empty()) return wrong;
  }
  return diagnose_others(true, also_allowed);
}

std::string job_folder::diagnose_old(const std::string& also_allowed) const {
  for (const expected_file& output : outputs_) {
    if (!output.replaces) continue;
    if (!std::filesystem::exists(path(output.name))) return output.name + " is gone";
    const std::string wrong =
        test::diagnose_bytes("old " + output.name + ", byte", old_bytes(), read_bytes(path(output.name)), 1);
    if (!wrong.empty()) return wrong;
  }
  return diagnose_others(false, also_allowed);
}

}  // namespace spansort::soak
