// SPDX-License-Identifier: Apache-2.0
#include "cli/png.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "cli/png/module.hpp"
#include "spansort/errors.hpp"
#include "spansort/version.hpp"

namespace cli {
namespace {

[[noreturn]] void throw_no_png(std::string_view reason) {
  throw spansort::invalid_argument(fmt::format(
      "--plot: cannot draw PNG: {}; name a .svg instead, which rsvg-convert, Inkscape and browsers turn into "
      "PNG, or install libcairo2 (libcairo2-dev to build spansort)",
      reason));
}

/// Returns the module's path, which is beside the command where it is built and where it is installed.
std::filesystem::path module_path() {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) throw_no_png(fmt::format("/proc/self/exe cannot be read: {}", failure.message()));
  return (self.parent_path() / SPANSORT_MODULE_DIRECTORY / png_module_file).lexically_normal();
}

/// Stays loaded until the program ends.
png_draw_function* load_png_module() {
  const std::filesystem::path path = module_path();
  if (!std::filesystem::exists(path)) throw_no_png(fmt::format("this build has no {}", path.native()));
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw_no_png(::dlerror());
  const auto* const version = static_cast<const char*>(::dlsym(module, png_version_symbol));
  void* const draw = ::dlsym(module, png_draw_symbol);
  if (version == nullptr || draw == nullptr || std::string_view(version) != SPANSORT_VERSION) {
    throw_no_png(fmt::format("{} is of another version", path.native()));
  }
  return reinterpret_cast<png_draw_function*>(draw);
}

}  // namespace

void require_png() { static_cast<void>(load_png_module()); }

std::string to_png(const drawing& picture) {
  std::string bytes;
  const char* const failure = load_png_module()(picture, bytes);
  if (failure != nullptr) throw spansort::internal_error(fmt::format("--plot: cairo cannot draw: {}", failure));
  return bytes;
}

}  // namespace cli
