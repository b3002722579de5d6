#include "tests/sim/mutants/mutant_search.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <sstream>

#include "tests/sim/forked.h"
#include "tests/sim/mutants/mutant.h"

namespace campipe::sim {
namespace {

constexpr rlim_t longest_seed = 60;  // s of CPU: more is a loop without an end

void limit_cpu() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + longest_seed;
  ::setrlimit(RLIMIT_CPU, &limit);
}

// In the forked process. A line for each seed, and behind the last one what failed.
[[noreturn]] void search_here(int out, const Mutant& mutant, std::uint64_t from, std::uint64_t seeds, bool trace) {
  choose_mutant(mutant.name);
  std::FILE* const lines = ::fdopen(out, "w");
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    std::fprintf(lines, "%llu\n", static_cast<unsigned long long>(seed));
    std::fflush(lines);
    limit_cpu();
    if (const auto failure = failure_of(seed, mutant.of, trace)) {
      std::fprintf(lines, "%s", failure->c_str());
      break;
    }
  }
  std::fclose(lines);
  ::_exit(0);
}

}  // namespace

std::optional<Found> search(const Mutant& mutant, std::uint64_t from, std::uint64_t seeds, bool with_trace) {
  const auto [text, status] = run_forked([&](int out) { search_here(out, mutant, from, seeds, with_trace); });

  Found found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_seed = found.failure.empty() && line.find_first_not_of("0123456789") == std::string::npos;
    if (is_seed)
      found.seed = std::stoull(line);
    else
      found.failure += line + '\n';
  }
  if (!found.failure.empty()) {
    found.failure.pop_back();
  } else if (WIFSIGNALED(status)) {
    found.failure = WTERMSIG(status) == SIGXCPU ? "it does not end" : ::strsignal(WTERMSIG(status));
  } else if (status != 0) {
    found.failure = "the process ends";
  } else {
    return std::nullopt;
  }
  const Mutant none{"", "", {}, mutant.of, ""};
  if (!mutant.name.empty() && search(none, found.seed, 1, false))
    throw std::runtime_error("seed " + std::to_string(found.seed) + " fails without a mistake, too");
  return found;
}

}  // namespace campipe::sim
