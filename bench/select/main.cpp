// SPDX-License-Identifier: Apache-2.0
// Quartiles without sorting next to sorting the same keys: spansort_bench_select. Same input, same process, runs in
// turn; the answers are compared with the sorted keys. A read of the keys on all threads, on GPUs half of a copy, shows
// what memory gives. Keys lie in host memory, or with --devices gpu:0,1 on GPUs, where they are sorted by
// a sort of shards.
#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <numeric>
#include <spansort/spansort.hpp>
#include <thread>

#include "algorithms/rank.hpp"
#include "device/host/host_device.hpp"
#include "sort/open_devices.hpp"
#include "statistics/select.hpp"
#include "statistics/take_sample.hpp"

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
  std::string devices = "cpu";
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
  virtual ~select_case() = default;
  virtual void generate(const std::string& distribution, std::uint64_t seed) = 0;
  [[nodiscard]] virtual double read_ms() = 0;
  [[nodiscard]] virtual double sort_ms() = 0;
  [[nodiscard]] virtual double select_ms(statistics::select_report& report) = 0;
  /// Compares the answers of sort_ms() and select_ms(), which have both been called before.
  [[nodiscard]] virtual bool is_verified() = 0;
};

std::vector<std::uint64_t> quartile_ranks(std::uint64_t num_keys) {
  return {num_keys / 4, num_keys / 2, num_keys / 4 * 3};
}

class host_case final : public select_case {
 public:
  host_case(spansort::key_type type, std::uint64_t num_keys, unsigned num_chunks)
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

  void generate(const std::string& distribution, std::uint64_t seed) override {
    spansort::generate({type_, original_.data(), num_keys_}, spansort::parse_distribution(distribution), seed);
  }
  [[nodiscard]] double read_ms() override {
    return elapsed_ms([&] { sum_ += sum_of_words(original_); });
  }
  [[nodiscard]] double sort_ms() override {
    work_ = original_;
    return elapsed_ms([&] { sorter_.sort(spansort::key_span{type_, work_.data(), num_keys_}); });
  }
  [[nodiscard]] double select_ms(statistics::select_report& report) override {
    return elapsed_ms([&] { found_ = statistics::select_keys({type_}, chunks_, quartile_ranks(num_keys_), &report); });
  }
  [[nodiscard]] bool is_verified() override {
    const std::size_t width = spansort::size_bytes(type_);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      std::uint64_t expected = 0;
      std::memcpy(&expected, reinterpret_cast<const char*>(work_.data()) + quartile_ranks(num_keys_)[i] * width, width);
      if (found_[i] != expected) return false;
    }
    return true;
  }

 private:
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

/// Equal parts on GPUs. Devices stay open: what is timed is the work.
class gpu_case final : public select_case {
 public:
  gpu_case(spansort::key_type type, std::uint64_t num_keys, const std::string& devices)
      : type_(type),
        width_(spansort::size_bytes(type)),
        keys_(num_keys * width_),
        ranks_(spansort::sorting::open_ranks(spansort::sorting::resolve_devices(devices), {})),
        sorter_({.devices = devices}) {
    const std::uint64_t each = num_keys / ranks_.size();
    num_keys_ = each * ranks_.size();
    for (spansort::algorithms::rank& r : ranks_) {
      original_.push_back(r.device->allocate(each * width_));
      work_.push_back(r.device->allocate(each * width_));
      chunks_.push_back({.device = r.device.get(),
                         .queue = r.queue.get(),
                         .keys = original_.back().data(),
                         .num_keys = each,
                         .kept = &kept_.emplace_back()});
      shards_.push_back({.keys = work_.back().data(), .num_keys = each});
    }
  }

  void generate(const std::string& distribution, std::uint64_t seed) override {
    spansort::generate({type_, keys_.data(), num_keys_}, spansort::parse_distribution(distribution), seed);
    copy([&](std::size_t i) { return std::pair{original_[i].data(), keys_.data() + i * part_bytes()}; });
  }
  [[nodiscard]] double read_ms() override {
    return elapsed_ms([&] { copy_to_work(); }) / 2;
  }
  [[nodiscard]] double sort_ms() override {
    copy_to_work();
    return elapsed_ms([&] { sorter_.sort({type_, shards_}); });
  }
  [[nodiscard]] double select_ms(statistics::select_report& report) override {
    return elapsed_ms([&] { found_ = statistics::select_keys({type_}, chunks_, quartile_ranks(num_keys_), &report); });
  }
  [[nodiscard]] bool is_verified() override {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const std::uint64_t byte = quartile_ranks(num_keys_)[i] * width_;
      std::uint64_t expected = 0;
      const auto* const from = static_cast<const char*>(work_[byte / part_bytes()].data()) + byte % part_bytes();
      spansort::device::queue& queue = *ranks_[byte / part_bytes()].queue;
      queue.copy(&expected, from, width_, "verify");
      queue.synchronize();
      if (found_[i] != expected) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t part_bytes() const { return num_keys_ / ranks_.size() * width_; }
  /// `ends(i)`: to and from of rank i.
  template <class F>
  void copy(const F& ends) {
    statistics::queued_work work(chunks_);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const auto [to, from] = ends(i);
      ranks_[i].queue->copy(to, from, part_bytes(), "copy");
    }
    work.finish();
  }
  void copy_to_work() {
    copy([&](std::size_t i) { return std::pair{work_[i].data(), original_[i].data()}; });
  }

  spansort::key_type type_;
  std::uint64_t width_;
  std::uint64_t num_keys_ = 0;
  std::vector<char> keys_;
  std::vector<spansort::algorithms::rank> ranks_;
  std::vector<spansort::device::buffer> original_;
  std::vector<spansort::device::buffer> work_;
  std::deque<spansort::device::buffer> kept_;  ///< by selections, as a session's workspace is
  std::vector<statistics::key_chunk> chunks_;
  std::vector<spansort::shard> shards_;
  std::vector<std::uint64_t> found_;
  spansort::resident_sorter sorter_;
};

std::unique_ptr<select_case> make_case(const settings& s, spansort::key_type type, std::uint64_t num_keys) {
  if (s.devices == "cpu") return std::make_unique<host_case>(type, num_keys, s.num_chunks);
  return std::make_unique<gpu_case>(type, num_keys, s.devices);
}

int run(const settings& s) {
  bool all_verified = true;
  fmt::print("{:<5} {:<10} {:>11} {:>9} {:>10} {:>9} {:>7} {:>6} {:>10}\n", "type", "keys", "n", "sort ms", "select ms",
             "read ms", "ratio", "reads", "collected");
  for (const std::string& type : s.types) {
    for (const unsigned log2_size : s.log2_sizes) {
      const std::uint64_t n = std::uint64_t{1} << log2_size;
      const std::unique_ptr<select_case> made = make_case(s, spansort::parse_key_type(type), n);
      select_case& c = *made;
      for (const std::string& distribution : s.distributions) {
        c.generate(distribution, s.seed);
        statistics::select_report report;
        std::vector<double> sort_ms;
        std::vector<double> select_ms;
        std::vector<double> read_ms;
        bool verified = true;
        for (unsigned i = 0; i <= s.repeats; ++i) {  // the first warms up
          const double times[] = {c.sort_ms(), c.select_ms(report)};
          verified = c.is_verified() && verified;
          const double time_of_read = c.read_ms();
          if (i == 0) continue;
          sort_ms.push_back(times[0]);
          select_ms.push_back(times[1]);
          read_ms.push_back(time_of_read);
        }
        fmt::print("{:<5} {:<10} {:>11} {:>9.2f} {:>10.3f} {:>9.3f} {:>7.2f} {:>6} {:>9.2f}%{}\n", type, distribution,
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
  app.add_option("--devices", s.devices, "cpu, or GPUs that the keys lie on: gpu:0,1");
  CLI11_PARSE(app, argc, argv);
  try {
    return bench::run(s);
  } catch (const spansort::error& e) {
    fmt::print(stderr, "spansort_bench_select: {}\n", e.what());
    return e.exit_status();
  }
}
