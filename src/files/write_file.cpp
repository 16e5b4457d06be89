// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "files/io/atomic_file.hpp"
#include "spansort/files.hpp"

namespace spansort {

void write_file(const std::string& path, std::string_view contents, const temporary_file_callback& on_temporary) {
  files::atomic_file file(files::find_output(path), contents.size(), on_temporary);
  file.write(std::as_bytes(std::span(contents)));
  file.commit();
}

}  // namespace spansort
