// SPDX-License-Identifier: Apache-2.0
#include "cli/foreign_formats.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "spansort/errors.hpp"

namespace cli {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t head_bytes = 4096;

// These advices say how to go on instead. `{}` of an advice is the file.
constexpr const char* take_array =
    "save one of its arrays as .npy: python3 -c \"import numpy as np; a = np.load('FILE'); np.save('x.npy', "
    "a[a.files[0]])\"";
constexpr const char* take_column =
    "save the column as .npy: python3 -c \"import numpy as np, pandas as pd; np.save('x.npy', "
    "pd.read_parquet('FILE')['COLUMN'].to_numpy())\"";
constexpr const char* take_feather =
    "save the column as .npy: python3 -c \"import numpy as np, pandas as pd; np.save('x.npy', "
    "pd.read_feather('FILE')['COLUMN'].to_numpy())\"";
constexpr const char* take_dataset =
    "save the dataset as .npy: python3 -c \"import numpy as np, h5py; np.save('x.npy', "
    "h5py.File('FILE')['DATASET'][:])\"";
constexpr const char* save_as_npy = "save its numbers as .npy or as raw keys first";
constexpr const char* parse_text =
    "GNU sort -g sorts lines of numbers; as .npy they are sorted here: python3 -c \"import numpy as np; "
    "np.save('x.npy', np.loadtxt('FILE'))\"";

struct foreign_format {
  std::string_view magic;
  const char* name;
  const char* advice;
};

constexpr std::array foreign_formats{
    foreign_format{"PK\x03\x04"sv, "a zip archive", "unpack it first: unzip FILE"},
    foreign_format{"PK\x05\x06"sv, "an empty zip archive", save_as_npy},
    foreign_format{"PAR1"sv, "a Parquet file", take_column},
    foreign_format{"ARROW1"sv, "an Arrow (Feather) file", take_feather},
    foreign_format{"FEA1"sv, "a Feather file", take_feather},
    foreign_format{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", take_dataset},
    foreign_format{"\x1f\x8b\x08"sv, "compressed by gzip", "unpack it on the way: zcat FILE | spansort ... -"},
    foreign_format{"\x28\xb5\x2f\xfd"sv, "compressed by zstd", "unpack it on the way: zstdcat FILE | spansort ... -"},
    foreign_format{"\xfd\x37zXZ\x00"sv, "compressed by xz", "unpack it on the way: xzcat FILE | spansort ... -"},
    foreign_format{"\x04\x22\x4d\x18"sv, "compressed by lz4", "unpack it on the way: lz4cat FILE | spansort ... -"},
    foreign_format{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "unpack it first: 7z x FILE"},
    foreign_format{"SQLite format 3\0"sv, "an SQLite database", save_as_npy},
    foreign_format{"MATLAB 5.0 MAT-file"sv, "a MATLAB file", save_as_npy},
};
constexpr foreign_format bzip2{"BZh"sv, "compressed by bzip2", "unpack it on the way: bzcat FILE | spansort ... -"};
constexpr foreign_format numpy_archive{""sv, "an archive of NumPy arrays (.npz)", take_array};
constexpr foreign_format plain_text{""sv, "text", parse_text};

bool is_bzip2(std::string_view head) {
  return head.starts_with("BZh") && head.size() >= 10 && head[3] >= '1' && head[3] <= '9' &&
         (head.substr(4, 6) == "1AY&SY" || head.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"sv);
}

/// An archive's first entry names a .npy file, as all of NumPy's do.
bool is_numpy_archive(std::string_view head) {
  constexpr std::size_t name_begin = 30;
  if (!head.starts_with("PK\x03\x04") || head.size() < name_begin) return false;
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(head[26])) +
                      (static_cast<std::size_t>(static_cast<unsigned char>(head[27])) << 8);
  return head.substr(name_begin, length).ends_with(".npy");
}

bool is_printable(unsigned char c) { return (c >= ' ' && c < 127) || c == '\t' || c == '\n' || c == '\r'; }

/// Returns the bytes of the UTF-8 character that `rest` begins with, 0 where it begins with none. One that the end of
/// `rest` cuts is taken for one.
std::size_t utf8_bytes(std::string_view rest) {
  const auto lead = static_cast<unsigned char>(rest[0]);
  if (lead < 128) return is_printable(lead) ? 1 : 0;
  const std::size_t length = lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 ? 4 : 0;
  if (length == 0 || lead > 0xf4) return 0;
  const std::string_view more = rest.substr(1, length - 1);
  const bool is_whole =
      std::ranges::all_of(more, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
  return is_whole ? std::min(length, rest.size()) : 0;
}

/// Lines of text. So few bytes that keys may look so by chance are text only where they are numbers.
bool is_text(std::string_view head) {
  constexpr std::size_t few_bytes = 32;
  if (head.size() < 4 || head.find('\n') == std::string_view::npos) return false;
  if (head.size() < few_bytes) {
    return head.find_first_not_of("0123456789+-.eE,; \t\r\n") == std::string_view::npos &&
           head.find_first_of("0123456789") != std::string_view::npos;
  }
  while (!head.empty()) {
    const std::size_t length = utf8_bytes(head);
    if (length == 0) return false;
    head.remove_prefix(length);
  }
  return true;
}

const foreign_format* format_of(std::string_view head, const raw_policy& policy) {
  if (is_numpy_archive(head)) return &numpy_archive;
  if (is_bzip2(head)) return &bzip2;
  for (const foreign_format& format : foreign_formats) {
    if (head.starts_with(format.magic)) return &format;
  }
  return !policy.may_be_text && is_text(head) ? &plain_text : nullptr;
}

/// Returns a pipe's first bytes, which stay in it.
std::string peek_pipe(int fd) {
  std::array<int, 2> copy{};
  if (::pipe2(copy.data(), O_CLOEXEC) != 0) return "";
  std::string head(head_bytes, '\0');
  const ssize_t copied = ::tee(fd, copy[1], head.size(), 0);
  const ssize_t num_read = copied > 0 ? ::read(copy[0], head.data(), static_cast<std::size_t>(copied)) : 0;
  ::close(copy[0]);
  ::close(copy[1]);
  head.resize(num_read > 0 ? static_cast<std::size_t>(num_read) : 0);
  return head;
}

/// Returns the next bytes of an open file without moving it on; "" where that is impossible.
std::string peek(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return "";
  if (S_ISFIFO(status.st_mode)) return peek_pipe(fd);
  std::string head(head_bytes, '\0');
  ssize_t num_read = 0;
  if (S_ISREG(status.st_mode)) num_read = ::pread(fd, head.data(), head.size(), ::lseek(fd, 0, SEEK_CUR));
  if (S_ISSOCK(status.st_mode)) num_read = ::recv(fd, head.data(), head.size(), MSG_PEEK);
  head.resize(num_read > 0 ? static_cast<std::size_t>(num_read) : 0);
  return head;
}

std::string head_of(const std::string& path) {
  if (path == "-") return peek(STDIN_FILENO);
  struct stat status {};
  // A FIFO is left alone: the program that writes into it would end if it were opened and closed again.
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string head = peek(fd);
  ::close(fd);
  return head;
}

std::string with_file(std::string advice, const std::string& path) {
  const std::size_t at = advice.find("FILE");
  const bool is_plain =
      path != "-" && std::ranges::all_of(path, [](unsigned char c) {
        return std::isalnum(c) != 0 || "._-/+,"sv.find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (at != std::string::npos && is_plain) advice.replace(at, 4, path);
  return advice;
}

struct promise {
  std::string_view ending;
  const char* format;
  bool is_text = false;
};

constexpr std::array promises{promise{".npz", "an archive of NumPy arrays"},
                              promise{".parquet", "Parquet"},
                              promise{".pq", "Parquet"},
                              promise{".arrow", "Arrow"},
                              promise{".feather", "Feather"},
                              promise{".ipc", "Arrow"},
                              promise{".orc", "ORC"},
                              promise{".h5", "HDF5"},
                              promise{".hdf5", "HDF5"},
                              promise{".hdf", "HDF5"},
                              promise{".gz", "gzip"},
                              promise{".zst", "zstd"},
                              promise{".xz", "xz"},
                              promise{".bz2", "bzip2"},
                              promise{".lz4", "lz4"},
                              promise{".zip", "zip"},
                              promise{".7z", "7z"},
                              promise{".tar", "tar"},
                              promise{".tgz", "tar and gzip"},
                              promise{".pkl", "pickle"},
                              promise{".mat", "MATLAB"},
                              promise{".xlsx", "Excel"},
                              promise{".db", "a database"},
                              promise{".sqlite", "SQLite"},
                              promise{".csv", "text", true},
                              promise{".tsv", "text", true},
                              promise{".txt", "text", true},
                              promise{".json", "JSON", true},
                              promise{".jsonl", "JSON", true}};

}  // namespace

void require_raw_input(const std::string& path, const raw_policy& policy) {
  if (policy.is_insisted || path.ends_with(".npy")) return;
  const foreign_format* const found = format_of(head_of(path), policy);
  if (found == nullptr) return;
  throw spansort::bad_input(fmt::format(
      "{}: is {} by its first bytes, not raw keys and no .npy file; {}. If the bytes are keys all the same: --raw",
      path == "-" ? "standard input" : path, found->name, with_file(found->advice, path)));
}

void require_honest_name(const char* flag, const std::string& path, const raw_policy& policy) {
  if (policy.is_insisted) return;
  std::string lower = path;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.ends_with(".npy") && !path.ends_with(".npy")) {
    throw spansort::invalid_argument(
        fmt::format("{}: '{}': write the ending .npy in small letters; any other is written raw", flag, path));
  }
  for (const promise& made : promises) {
    if (!lower.ends_with(made.ending) || (made.is_text && policy.may_be_text)) continue;
    throw spansort::invalid_argument(
        fmt::format("{}: '{}' promises {}, which is not written here: name it .npy for NumPy, or .bin for raw keys. If "
                    "raw keys are to have that name: --raw",
                    flag, path, made.format));
  }
}

}  // namespace cli
