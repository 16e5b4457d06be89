// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, gone with it, and whole files as bytes.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace spansort::test {

class file_folder {
 public:
  file_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "spansort-files-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~file_folder() { std::filesystem::remove_all(path_); }
  file_folder(const file_folder&) = delete;
  file_folder& operator=(const file_folder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (path_ / name).string(); }

  std::string write(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

  [[nodiscard]] std::vector<std::byte> read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  [[nodiscard]] std::size_t num_files() const {
    const std::filesystem::directory_iterator begin(path_);
    return static_cast<std::size_t>(std::distance(begin, {}));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace spansort::test
