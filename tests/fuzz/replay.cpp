// Runs one of the fuzz targets without a fuzzer: on its seeds, on each of their beginnings, and on mutations of them
// that are the same in every run.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/temporary_folder.h"

namespace {

namespace fs = std::filesystem;

constexpr int mutations = 3000;
constexpr std::size_t most_beginnings = 100;  // of one seed
constexpr std::size_t longest = 8192;

std::vector<std::string> read_seeds(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> seeds;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())];
    for (std::size_t steps = 1 + below(4); steps > 0; --steps) change(input);
    if (input.size() > longest) input.resize(longest);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  // Bytes that mean something to one parser or another, or any.
  char byte() {
    using namespace std::string_view_literals;
    constexpr std::string_view meant = "\0\t\n\r \"#%&'*+,-./0189:;=?@[\\]_{}\x7f\x80\xc3\xff"sv;
    return below(2) == 0 ? meant[below(meant.size())] : static_cast<char>(below(256));
  }

  void change(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(input.size() - at, 16) + 1);
    const std::string& other = seeds_[below(seeds_.size())];
    const std::size_t from = below(other.size());
    switch (below(6)) {
      case 0:
        if (at < input.size()) input[at] = byte();
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 2:
        input.insert(at, 1 + below(3), byte());
        break;
      case 3:
        input.erase(at, length);
        break;
      case 4:
        input.insert(at, input.substr(at, length));
        break;
      default:
        input.insert(at, other.substr(from, below(64)));
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937 random_{20261121};  // NOLINT(cert-msc51-cpp): the same in every run
};

// Of a copy without room to spare, so that the sanitizers see who reads too far.
void run(campipe::fuzz::Target& target, const std::string& input) {
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  try {
    target(bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thrown: %s\n", error.what());
    std::abort();
  }
}

// What was run last is left for whoever looks into a failure.
void try_input(campipe::fuzz::Target& target, const std::string& input, const fs::path& left) {
  campipe::test::replace_file(left, input);
  run(target, input);
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc == 4 ? campipe::fuzz::targets.find(argv[1]) : campipe::fuzz::targets.end();
  if (found == campipe::fuzz::targets.end()) {
    std::fprintf(stderr, "usage: %s NAME CORPUS-FOLDER FILE-FOR-THE-INPUT; names are\n", argv[0]);
    for (const auto& [name, ignored] : campipe::fuzz::targets) std::fprintf(stderr, "  %s\n", name.data());
    return 2;
  }
  campipe::fuzz::Target& target = *found->second;
  const std::vector<std::string> seeds = read_seeds(argv[2]);
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no seeds\n", argv[2]);
    return 1;
  }
  const fs::path left = argv[3];
  for (const std::string& seed : seeds) {
    try_input(target, seed, left);
    const std::size_t step = seed.size() / most_beginnings + 1;
    for (std::size_t size = 0; size < seed.size(); size += step) try_input(target, seed.substr(0, size), left);
  }
  Mutator mutator(seeds);
  for (int i = 0; i < mutations; ++i) try_input(target, mutator.next(), left);
  fs::remove(left);
  return 0;
}
