// SPDX-License-Identifier: Apache-2.0
// Quartiles without sorting next to sorting the same keys: spansort_bench_select. Same input, same process, runs in turn;
// the answers are compared with the sorted keys. A read of the keys on all threads shows what memory gives.
#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <spansort/spansort.hpp>
#include <thread>

#include "device/host/host_device.hpp"
#include "statistics/select.hpp"

namespace bench {
namespace {

namespace statistics = spansort::statistics;

struct settings {
  std::vector<std::string> types{"u32", "u64", "f64"};
  std::vector<std::string> distributions{"uniform", "zipf:1", "sorted", "zero"};
  std::vector<unsigned> log2_sizes{27};
  unsigned repeats = 5;
  unsigned num_chunks = 1;
  std::uint64_t seed = 1;
};

template <class F>
double elapsed_ms(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Reads all bytes, on all threads.
std::uint64_t sum_of_words(const std::vector<std::uint64_t>& words) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, words.size(), std::size_t{1} << 16), std::uint64_t{0},
      [&](const auto& range, std::uint64_t sum) {
        return std::accumulate(words.begin() + static_cast<std::ptrdiff_t>(range.begin()),
                               words.begin() + static_cast<std::ptrdiff_t>(range.end()), sum);
      },
      std::plus<>());
}

/// The keys, and what works on them.
class select_case {
 public:
  select_case(spansort::key_type type, std::uint64_t num_keys, unsigned num_chunks)
      : type_(type),
        num_keys_(num_keys),
        original_(num_keys * spansort::size_bytes(type) / 8),
        work_(original_.size()),
        device_(spansort::device::host::make_host_device({.num_threads = std::thread::hardware_concurrency()})),
        queue_(device_->make_queue()) {
    const auto* const bytes = reinterpret_cast<const char*>(original_.data());
    for (unsigned i = 0; i < num_chunks; ++i) {
      const std::uint64_t begin = num_keys / num_chunks * i;
      const std::uint64_t end = i + 1 == num_chunks ? num_keys : num_keys / num_chunks * (i + 1);
      chunks_.push_back({device_.get(), queue_.get(), bytes + begin * spansort::size_bytes(type), end - begin});
    }
  }

  void generate(const std::string& distribution, std::uint64_t seed) {
    spansort::generate({type_, original_.data(), num_keys_}, spansort::parse_distribution(distribution), seed);
  }
  [[nodiscard]] double read_ms() {
    return elapsed_ms([&] { sum_ += sum_of_words(original_); });
  }
  [[nodiscard]] double sort_ms() {
    work_ = original_;
    return elapsed_ms([&] { sorter_.sort(spansort::key_span{type_, work_.data(), num_keys_}); });
  }
  [[nodiscard]] double select_ms(statistics::select_report& report) {
    return elapsed_ms([&] { found_ = statistics::select_keys({type_}, chunks_, ranks(), &report); });
  }
  /// After both.
  [[nodiscard]] bool is_verified() const {
    const std::size_t width = spansort::size_bytes(type_);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      std::uint64_t expected = 0;
      std::memcpy(&expected, reinterpret_cast<const char*>(work_.data()) + ranks()[i] * width, width);
      if (found_[i] != expected) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> ranks() const { return {num_keys_ / 4, num_keys_ / 2, num_keys_ / 4 * 3}; }

  spansort::key_type type_;
  std::uint64_t num_keys_;
  std::vector<std::uint64_t> original_;
  std::vector<std::uint64_t> work_;
  std::vector<std::uint64_t> found_;
  std::uint64_t sum_ = 0;
  spansort::sorter sorter_;
  std::unique_ptr<spansort::device::device> device_;
  std::unique_ptr<spansort::device::queue> queue_;
  std::vector<statistics::key_chunk> chunks_;
};

int run(const settings& s) {
  bool all_verified = true;
  fmt::print("{:<5} {:<10} {:>11} {:>9} {:>10} {:>9} {:>7} {:>6} {:>10}\n", "type", "keys", "n", "sort ms", "select ms",
             "read ms", "ratio", "reads", "collected");
  for (const std::string& type : s.types) {
    for (const unsigned log2_size : s.log2_sizes) {
      const std::uint64_t n = std::uint64_t{1} << log2_size;
      select_case c(spansort::parse_key_type(type), n, s.num_chunks);
      for (const std::string& distribution : s.distributions) {
        c.generate(distribution, s.seed);
        statistics::select_report report;
        std::vector<double> sort_ms;
        std::vector<double> select_ms;
        std::vector<double> read_ms;
        bool verified = true;
        for (unsigned i = 0; i <= s.repeats; ++i) {  // the first warms up
          const double times[] = {c.sort_ms(), c.select_ms(report), c.read_ms()};
          verified = c.is_verified() && verified;
          if (i == 0) continue;
          sort_ms.push_back(times[0]);
          select_ms.push_back(times[1]);
          read_ms.push_back(times[2]);
        }
        fmt::print("{:<5} {:<10} {:>11} {:>9.1f} {:>10.1f} {:>9.1f} {:>7.2f} {:>6} {:>9.2f}%{}\n", type, distribution,
                   n, median(sort_ms), median(select_ms), median(read_ms), median(sort_ms) / median(select_ms),
                   report.num_reads, 100 * static_cast<double>(report.keys_collected) / static_cast<double>(n),
                   verified ? "" : "  WRONG RESULT");
        std::fflush(stdout);
        all_verified = all_verified && verified;
      }
    }
  }
  return all_verified ? 0 : 8;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::settings s;
  CLI::App app{"Times the three quartiles of keys, found without sorting, next to a sort of the same keys."};
  app.add_option("--types", s.types, "key types of 8 bits to 64")->delimiter(',');
  app.add_option("--distributions", s.distributions, "as spansort gen knows them")->delimiter(',');
  app.add_option("--log2-sizes", s.log2_sizes, "27")->delimiter(',');
  app.add_option("--repeats", s.repeats, "timed runs of each")->check(CLI::PositiveNumber);
  app.add_option("--chunks", s.num_chunks, "pieces that the keys are given in")->check(CLI::PositiveNumber);
  app.add_option("--seed", s.seed, "of the inputs");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench::run(s);
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort_bench_select: {}\n", e.what());
    return e.exit_status();
  }
}
