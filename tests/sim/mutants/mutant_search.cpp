#include "tests/sim/mutants/mutant_search.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "core/unique_handle.h"
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
[[noreturn]] void search_here(int out, const std::string& mutant, std::uint64_t from, std::uint64_t seeds, bool trace) {
  choose_mutant(mutant);
  std::FILE* const lines = ::fdopen(out, "w");
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    std::fprintf(lines, "%llu\n", static_cast<unsigned long long>(seed));
    std::fflush(lines);
    limit_cpu();
    if (const auto failure = failure_of(seed, trace)) {
      std::fprintf(lines, "%s", failure->c_str());
      break;
    }
  }
  std::fclose(lines);
  ::_exit(0);
}

}  // namespace

std::optional<Found> search(const std::string& mutant, std::uint64_t from, std::uint64_t seeds, bool with_trace) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) search_here(out.release(), mutant, from, seeds, with_trace);
  out.reset();
  std::string text;
  std::array<char, 65536> buffer{};
  for (ssize_t size = 0; (size = ::read(in.get(), buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  int status = 0;
  ::waitpid(child, &status, 0);

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
  return found;
}

}  // namespace campipe::sim
