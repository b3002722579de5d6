#include "tests/sim/seeds.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/config/config.h"
#include "core/unique_handle.h"

namespace campipe::sim {
namespace {

constexpr const char* camera_rig = R"(
cameras:
  gate:
    source: "rtsp://192.0.2.1/gate"
    drop_policy: {}
    encode: {{codec: h264, gop: 1s}}
    record: {{path: "gate-%s.mp4"}}
workers: {{count: 1}}
)";

nlohmann::json to_json(const Outcome& outcome) {
  return {{"failure", outcome.failure ? nlohmann::json(*outcome.failure) : nlohmann::json()},
          {"trace", outcome.trace},
          {"reached", outcome.reached},
          {"virtual_s", outcome.virtual_s},
          {"cpu_s", outcome.cpu_s},
          {"turns", outcome.turns}};
}

Outcome from_json(const nlohmann::json& json) {
  Outcome outcome;
  if (!json.at("failure").is_null()) outcome.failure = json.at("failure").get<std::string>();
  json.at("trace").get_to(outcome.trace);
  json.at("reached").get_to(outcome.reached);
  json.at("virtual_s").get_to(outcome.virtual_s);
  json.at("cpu_s").get_to(outcome.cpu_s);
  json.at("turns").get_to(outcome.turns);
  return outcome;
}

void write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(fd, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<std::size_t>(written);
  }
}

std::string read_all(int fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

// In the forked process.
[[noreturn]] void run_apart(int out, std::uint64_t seed, const Course& course, const RigConfig& rig) {
  const auto finish = [&](const Outcome& outcome) {
    write_all(out, to_json(outcome).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    ::_exit(0);
  };
  Outcome failed;
  try {
    finish(run_rig(seed, course, rig, finish));
  } catch (const std::exception& error) {
    failed.failure = std::string("the supervisor could not be started: ") + error.what();
  }
  finish(failed);
  ::_exit(1);
}

}  // namespace

std::vector<RigConfig> simulated_rigs() {
  std::vector<RigConfig> rigs;
  for (const char* policy : {"drop", "block"}) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("campipe-sim-{}.yaml", ::getpid());
    std::ofstream(file) << fmt::format(fmt::runtime(camera_rig), policy);
    LoadedConfig loaded = load_config(file);
    std::filesystem::remove(file);
    for (const ConfigError& error : loaded.errors) throw std::runtime_error(format(error, "rig.yaml"));
    rigs.push_back(std::move(loaded.rig));
  }
  return rigs;
}

Outcome Seeds::run(std::uint64_t seed, const Course& course) const {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe");
  UniqueFd in(pipe[0]);
  UniqueFd out(pipe[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    in.reset();
    run_apart(out.get(), seed, course, rigs_[seed % rigs_.size()]);
  }
  out.reset();
  const std::string text = read_all(in.get());
  int status = 0;
  ::waitpid(pid, &status, 0);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_discarded()) return from_json(json);
  Outcome outcome;
  outcome.failure = WIFSIGNALED(status) ? fmt::format("the process died of signal {}", WTERMSIG(status))
                                        : fmt::format("the process ended with status {}", WEXITSTATUS(status));
  return outcome;
}

Outcome Seeds::run(std::uint64_t seed) {
  shrunk_ = course_of(seed, length_);
  Outcome outcome = run(seed, shrunk_);
  if (!outcome.failure) return outcome;
  for (bool fewer = true; fewer;) {
    fewer = false;
    for (std::size_t i = 0; i < shrunk_.faults.size(); ++i) {
      Course without = shrunk_;
      without.faults.erase(without.faults.begin() + static_cast<std::ptrdiff_t>(i));
      Outcome again = run(seed, without);
      if (!again.failure) continue;
      shrunk_ = std::move(without);
      outcome = std::move(again);
      fewer = true;
      break;
    }
  }
  return outcome;
}

std::string Seeds::describe(std::uint64_t seed, const Outcome& outcome, const Course& course) {
  std::string text;
  for (const std::string& line : outcome.trace) text += line + '\n';
  text += fmt::format("seed {} fails {}\n", seed, outcome.failure.value_or("not at all"));
  text += fmt::format("faults, of which each is needed ({}):\n", course.faults.size());
  for (const Fault& fault : course.faults) text += "  " + campipe::sim::describe(fault) + '\n';
  text += fmt::format("SIGTERM after {:.3f} s\n", std::chrono::duration<double>(course.ends).count());
  return text;
}

}  // namespace campipe::sim
