// campipe-mpi: one rig on many machines, without etcd. Each rank says what its machine has, rank 0 decides which rank
// gets which cameras, MPI ends, and each rank becomes a campipe with its own part of the rig.
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/config/changes.h"
#include "app/config/config.h"
#include "app/config/exit_status.h"
#include "app/mpi/rank_plan.h"
#include "app/placement/devices.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/own_folders.h"
#include "core/replace_file.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr int internal_error = 1;
constexpr auto longest_probe = std::chrono::seconds(90);  // campipe --devices itself gives up after 60 s

struct Arguments {
  std::string config;
  std::string report;
  std::vector<std::string> passed_on;  // to each campipe, as they are
};

// It lies beside this program.
fs::path campipe_program() { return fs::read_symlink("/proc/self/exe").parent_path() / "campipe"; }

// What a program prints, at most so long. Throws Error.
std::string output_of(const fs::path& program, const std::vector<std::string>& arguments,
                      std::chrono::nanoseconds limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw system_error("pipe", errno);
  const UniqueFd from(ends[0]);
  UniqueFd into(ends[1]);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, into.get(), STDOUT_FILENO);
  std::string name = program.string();
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{name.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failure = ::posix_spawn(&child, name.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw system_error("cannot start " + name, failure);
  into.reset();
  std::string text;
  const Deadline deadline = Clock::now() + limit;
  for (ssize_t got = 1; got > 0;) {
    pollfd readable{from.get(), POLLIN, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) <= 0) {
      ::kill(child, SIGKILL);
      break;
    }
    std::array<char, 4096> part{};
    got = ::read(from.get(), part.data(), part.size());
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Error(name + " " + arguments.front() + " failed");
  return text;
}

// With its GPUs. To be called before MPI begins: not every network survives that a process has children.
Machine look_at_machine() {
  Machine machine = this_machine();
  machine.devices =
      devices_from_json(nlohmann::json::parse(output_of(campipe_program(), {"--devices", "--json"}, longest_probe)));
  return machine;
}

// Of a rank, on its machine: below the folder for this account's state, by the whole path of the rig's file.
fs::path rank_file(const std::string& config, unsigned rank) {
  const auto state = state_folder();
  if (!state) throw Error("there is no home for this account's state: set XDG_STATE_HOME");
  const fs::path whole = fs::absolute(config).lexically_normal();
  return *state / "mpi" / whole.parent_path().relative_path() /
         (whole.stem().string() + "." + rank_name(rank) + ".yaml");
}

void check_no_overlay(const fs::path& file) {
  const fs::path overlay = overlay_in_use(file);
  if (fs::exists(overlay)) {
    throw Error("changes that were made through the API are in " + overlay.string() +
                ": put them into the rig's file, and remove that one");
  }
}

struct World {
  int rank = 0;
  int size = 1;
  int local = 0;
  int on_machine = 1;
};

World look_at_world() {
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &world.local);
  MPI_Comm_size(machine, &world.on_machine);
  MPI_Comm_free(&machine);
  return world;
}

// Each rank's text, by rank, on all of them.
std::vector<std::string> gather(const std::string& mine, int size) {
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<std::size_t>(size));
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::vector<int> places;
  int total = 0;
  for (const int each : lengths) {
    places.push_back(total);
    total += each;
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Allgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
    texts.push_back(all.substr(static_cast<std::size_t>(places[rank]), static_cast<std::size_t>(lengths[rank])));
  }
  return texts;
}

// Rank 0's text, on all ranks.
std::string broadcast(std::string text) {
  unsigned long size = text.size();
  MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
  text.resize(size);
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

RankOffer offer_of(const World& world, const Machine& machine, const MachineCosts& costs, const std::string& config) {
  RankOffer offer;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) offer.host = host.data();
  offer.local = static_cast<unsigned>(world.local);
  offer.on_machine = static_cast<unsigned>(world.on_machine);
  offer.version = CAMPIPE_VERSION;
  offer.capacity = capacity_of_rank(machine, costs, offer.on_machine);
  try {
    const fs::path file = rank_file(config, static_cast<unsigned>(world.rank));
    make_own_folder(file.parent_path());
    check_no_overlay(file);
  } catch (const Error& error) {
    offer.problem = error.what();
  }
  return offer;
}

// The files of all ranks, by rank; empty: it has no cameras. Throws Error.
std::vector<std::string> plan_files(const std::vector<std::string>& texts, const Machine& machine,
                                    const MachineCosts& costs, const std::string& config) {
  std::vector<RankOffer> offers;
  for (const std::string& text : texts) {
    const RankOffer& offer = offers.emplace_back(read_rank_offer(text));
    const std::string who = rank_name(static_cast<unsigned>(offers.size()) - 1) + " on " + offer.host;
    if (!offer.problem.empty()) throw Error(who + ": " + offer.problem);
    if (offer.version != CAMPIPE_VERSION)
      throw Error(who + " is of version " + offer.version + ", rank 0 of " CAMPIPE_VERSION);
  }
  check_no_overlay(config);
  const LoadedConfig loaded = load_config(config);
  std::string mistakes;
  for (const ConfigError& error : loaded.errors) mistakes += (mistakes.empty() ? "" : "\n") + format(error, config);
  if (!mistakes.empty()) throw Error(mistakes);
  if (loaded.rig.cluster) throw Error(config + ": cluster: its nodes find each other by etcd: start campipe on each");
  std::uint64_t digest = 0;
  const YamlResult read = read_yaml_file(config, &digest);
  const auto* const rig = std::get_if<YamlNode>(&read);
  if (rig == nullptr || digest != loaded.digest) throw Error(config + " was changed just now: try again");
  const RankPlan plan = plan_ranks(loaded, offers, machine, costs);
  const std::string text = describe(plan, offers, *rig);
  const bool is_refused = loaded.rig.admission == Admission::refuse &&
                          std::ranges::any_of(loaded.rig.cameras, [&](const CameraConfig& camera) {
                            return camera.enabled && plan.nowhere.contains(camera.name);
                          });
  if (is_refused) throw Error("admission: refuse: not all cameras have a rank with room\n" + text);
  std::vector<std::string> files;
  for (const RankPart& part : plan.parts) files.push_back(part.cameras.empty() ? "" : rank_rig(*rig, part));
  std::cout << text << std::flush;
  return files;
}

// Rank 0's answer to all: each rank's file, or that there is none.
std::string plan_text(const std::vector<std::string>& offers, const Machine& machine, const MachineCosts& costs,
                      const std::string& config) try {
  return nlohmann::json(plan_files(offers, machine, costs, config)).dump();
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return "null";
}

// Becomes campipe. Returns only where that fails.
int become_campipe(const Arguments& arguments, const fs::path& file, unsigned rank) {
  const fs::path program = campipe_program();
  std::vector<std::string> words{program.string(), "--config", file.string()};
  words.insert(words.end(), arguments.passed_on.begin(), arguments.passed_on.end());
  if (!arguments.report.empty()) words.insert(words.end(), {"--report", with_rank(arguments.report, rank)});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // What MPI has left open is no business of campipe's.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(program.c_str(), argv.data());
  throw system_error("cannot start " + program.string(), errno);
}

int run(const Arguments& arguments) {
  const Machine machine = look_at_machine();
  const MachineCosts costs = load_machine_costs(machine.devices);
  MPI_Init(nullptr, nullptr);
  const World world = look_at_world();
  const auto rank = static_cast<unsigned>(world.rank);
  const std::vector<std::string> offers =
      gather(write_rank_offer(offer_of(world, machine, costs, arguments.config)), world.size);
  const std::string text =
      broadcast(world.rank == 0 ? plan_text(offers, machine, costs, arguments.config) : std::string());
  MPI_Finalize();
  const auto files = nlohmann::json::parse(text);
  if (files.is_null()) return usage_error;
  const auto own = files.at(rank).get<std::string>();
  if (own.empty()) return 0;
  const fs::path file = rank_file(arguments.config, rank);
  replace_file(file, own);
  return become_campipe(arguments, file, rank);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"campipe-mpi, started by mpirun or srun, runs a rig's cameras on all ranks (docs/cluster.md).",
               "campipe-mpi"};
  Arguments arguments;
  app.add_option("--config", arguments.config, "the rig's configuration, read by rank 0")
      ->required()
      ->type_name("FILE");
  app.add_option("--report", arguments.report, "as campipe's; each rank's file has its name: report.rank0.json")
      ->type_name("FILE.json");
  for (const char* const option : {"--duration", "--log-level", "--log-format"}) {
    app.add_option_function<std::string>(
        option,
        [&arguments, option](const std::string& value) {
          arguments.passed_on.insert(arguments.passed_on.end(), {option, value});
        },
        "as campipe's");
  }
  app.set_version_flag("--version", std::string("campipe-mpi ") + CAMPIPE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }
  init_logging("campipe-mpi", "warning");
  return run(arguments);
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  try {
    return campipe::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "campipe-mpi: " << error.what() << '\n';
    return campipe::internal_error;
  }
}
