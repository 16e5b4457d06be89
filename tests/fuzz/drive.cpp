// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: on every file of the folder that is named, then on mutations of them, as many
// as the second argument says. SPANSORT_TEST_SEED replays a run, SPANSORT_TEST_CASES sets another number of mutations.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Changes, takes out, puts in or repeats a few bytes.
std::string mutate(std::string input, std::mt19937_64& random) {
  for (std::uint64_t changes = 1 + random() % 6; changes != 0; --changes) {
    const std::size_t at = random() % (input.size() + 1);
    switch (random() % 4) {
      case 0: input.insert(at, 1, static_cast<char>(random())); break;
      case 1: input.erase(at, 1 + random() % 8); break;
      case 2: input.insert(at, input.substr(at / 2, random() % 16)); break;
      default:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random() % 8));
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::vector<std::string> seeds{""};
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    run(seeds.back());
  }
  const std::uint64_t seed = number_of("SPANSORT_TEST_SEED", std::random_device()());
  std::printf("SPANSORT_TEST_SEED=%llu, %zu seeds\n", static_cast<unsigned long long>(seed), seeds.size() - 1);
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = number_of("SPANSORT_TEST_CASES", std::strtoull(argv[2], nullptr, 10)); i != 0; --i) {
    run(mutate(seeds[random() % seeds.size()], random));
  }
  return 0;
}
