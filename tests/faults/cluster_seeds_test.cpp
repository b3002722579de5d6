// Three machines, each with a member of etcd and a rig that is a node, on one switch: they are killed, stopped and cut
// off by chance, one after the other, and every second of every camera has to be in some machine's recordings, but for
// the times that docs/cluster.md allows. Which frames there are is read from the frames themselves.
//
//   CAMPIPE_SEEDS=20 build/release/tests/cluster_seeds_test      so many runs, of 12 faults each; printed as a table
//   CAMPIPE_SEED=7 …                                             that one alone
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "core/clock.h"
#include "tests/integration/etcd_members.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_network.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using std::chrono::seconds;
using Utc = std::chrono::sys_time<std::chrono::microseconds>;

constexpr int machines = 3;
constexpr int cameras = 6;
constexpr auto lease = 5s;
// From the fault to the first recorded frame elsewhere.
constexpr auto without_leader = 2 * lease + 3s;  // etcd lost its leader with the machine
constexpr auto usual = lease + 3s;
// A planner whose watch the etcd of a stopped machine has finds out by its canary (docs/cluster.md, "What fails how").
constexpr auto by_canary = 16s;
// A file on a disk ends with its last whole group of pictures.
constexpr auto group_of_pictures = 1s;
// What a machine of two cores, on which other tests run, may take longer for anything.
constexpr auto slack = 4s;

Utc utc_now() { return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now()); }
double seconds_of(auto duration) { return std::chrono::duration<double>(duration).count(); }

std::string camera_name(int number) { return "c" + std::to_string(number); }
int home_of(int camera) { return camera % machines; }

enum class Fault { kill, stop, cut, drop_in, drop_out, kill_etcd, stop_etcd, no_quorum };
constexpr std::array all_faults{Fault::kill,     Fault::stop,      Fault::cut,       Fault::drop_in,
                                Fault::drop_out, Fault::kill_etcd, Fault::stop_etcd, Fault::no_quorum};
constexpr std::array names{"kill", "stop", "cut", "drop in", "drop out", "kill etcd", "stop etcd", "no quorum"};
const char* name_of(Fault fault) { return names.at(static_cast<std::size_t>(fault)); }
// Its rig does not record meanwhile. One that is cut off goes on, as its cameras are to (`on_partition: keep`).
bool stops_recording(Fault fault) { return fault == Fault::kill || fault == Fault::stop; }

struct Happened {
  Fault fault;
  int machine = 0;
  bool had_leader = false;
  Utc began;
  Utc mended;
  Utc settled;  // every camera was recorded by its node alone again

  [[nodiscard]] seconds allowed() const {
    const seconds until_moved = had_leader ? without_leader : usual;
    return std::max(until_moved, fault == Fault::stop ? by_canary : 0s) + group_of_pictures + slack;
  }
};

struct Span {
  Utc from;
  Utc to;
};

class Halls {
 public:
  explicit Halls(TestNetwork& network) : network_(network) {
    std::vector<std::string> words{"cluster", "certificates", "--folder", certificates_.path().string()};
    for (int i = 0; i < machines; ++i) words.push_back(node(i) + "=" + network_.address(i));
    const Answer made = ask(words);
    EXPECT_EQ(made.status, 0) << made.errors;
    etcd_.resize(machines);
    rigs_.resize(machines);
    for (int i = 0; i < machines; ++i) start_etcd(i);
    for (int i = 0; i < machines; ++i) start_rig(i);
    // Where they go back to whenever that machine is there.
    for (int i = 0; i < cameras; ++i) {
      EXPECT_TRUE(eventually([&] {
        return ask({"cluster", "move", camera_name(i), node(home_of(i)), "--config", "rig.yaml"}, yaml(0)).status == 0;
      })) << camera_name(i);
    }
  }
  // Ends each rig as an operator does, so that its last frames are in its files.
  void end() {
    for (const auto& rigs : rigs_) rigs.back()->signal(SIGTERM);
    for (const auto& rigs : rigs_) EXPECT_EQ(rigs.back()->wait(), 0) << rigs.back()->log();
  }

  static std::string node(int machine) { return "n" + std::to_string(machine); }

  void begin(Fault fault, int machine);
  void mend(Fault fault, int machine);

  // Nothing: etcd has none, or does not answer.
  [[nodiscard]] std::optional<int> leader() const;
  // Each camera is recorded at its home, and nowhere else.
  [[nodiscard]] bool is_settled() const;
  // Of each camera, when what all files of it have was taken; in order.
  [[nodiscard]] std::vector<Utc> taken(int camera) const;
  [[nodiscard]] std::string log(int machine) const {
    std::string text;
    for (const auto& rig : rigs_.at(static_cast<std::size_t>(machine))) text += rig->log();
    return text;
  }

 private:
  void start_etcd(int machine);
  void start_rig(int machine);
  [[nodiscard]] std::string yaml(int machine) const;
  [[nodiscard]] std::string file(const std::string& name) const { return (certificates_.path() / name).string(); }
  [[nodiscard]] RigRun& rig(int machine) const { return *rigs_.at(static_cast<std::size_t>(machine)).back(); }
  void signal_rig(int machine, int number) const {
    for (const pid_t pid : rig(machine).processes()) ::kill(pid, number);
  }
  [[nodiscard]] std::string url(int machine) const { return "https://" + network_.address(machine) + ":2379"; }

  TestNetwork& network_;
  TemporaryFolder certificates_;
  TemporaryFolder data_;
  std::vector<std::unique_ptr<Program>> etcd_;
  std::vector<std::vector<std::unique_ptr<RigRun>>> rigs_;  // of each machine, the newest last
};

void Halls::start_etcd(int machine) {
  std::string cluster;
  for (int i = 0; i < machines; ++i)
    cluster += (i > 0 ? "," : "") + node(i) + "=http://" + network_.address(i) + ":2380";
  const std::string data = (data_.path() / node(machine)).string();
  const std::string peer = "http://" + network_.address(machine) + ":2380";
  std::vector<std::string> words = network_.runner(machine);
  const std::vector<std::string> etcd{"etcd",
                                      "--name",
                                      node(machine),
                                      "--data-dir",
                                      data,
                                      "--logger",
                                      "zap",
                                      "--log-outputs",
                                      data + ".log",
                                      "--listen-client-urls",
                                      url(machine),
                                      "--advertise-client-urls",
                                      url(machine),
                                      "--listen-peer-urls",
                                      peer,
                                      "--initial-advertise-peer-urls",
                                      peer,
                                      "--initial-cluster",
                                      cluster,
                                      "--client-cert-auth",
                                      "--trusted-ca-file",
                                      file("ca.pem"),
                                      "--cert-file",
                                      file(node(machine) + ".pem"),
                                      "--key-file",
                                      file(node(machine) + ".key")};
  words.insert(words.end(), etcd.begin(), etcd.end());
  etcd_.at(static_cast<std::size_t>(machine)) = std::make_unique<Program>(words);
}

std::string Halls::yaml(int machine) const {
  std::string yaml =
      "http_address: off\nrtsp_address: off\nworkers: {count: 1}\ndefaults: {encode: {gop: 1s}}\ncameras:\n";
  for (int i = 0; i < cameras; ++i) {
    yaml += "  " + camera_name(i) + ": {source: \"test://pattern?width=160&height=120&rate=5\", record: {path: \"" +
            camera_name(i) + "_%H-%M-%S.mp4\"}}\n";
  }
  yaml += "cluster:\n  name: halls\n  node: " + node(machine) + "\n  address: '" + network_.address(machine) +
          ":8443'\n  tls: {ca: " + file("ca.pem") + ", certificate: " + file(node(machine) + ".pem") +
          ", key: " + file(node(machine) + ".key") + "}\n  etcd: [";
  // Its own machine's first, as people write it.
  for (int i = 0; i < machines; ++i) yaml += (i > 0 ? ", '" : "'") + url((machine + i) % machines) + "'";
  return yaml + "]\n";
}

void Halls::start_rig(int machine) {
  RigOptions options;
  options.report = false;
  options.network = network_.name(machine);
  rigs_.at(static_cast<std::size_t>(machine)).push_back(std::make_unique<RigRun>(yaml(machine), options));
}

void Halls::begin(Fault fault, int machine) {
  const auto at = static_cast<std::size_t>(machine);
  switch (fault) {
    case Fault::kill:  // its power
      signal_rig(machine, SIGKILL);
      etcd_.at(at).reset();
      return;
    case Fault::stop:
      signal_rig(machine, SIGSTOP);
      etcd_.at(at)->signal(SIGSTOP);
      return;
    case Fault::cut:
      return network_.cut(machine);
    case Fault::drop_in:
      return network_.drop(machine, TestNetwork::Direction::in);
    case Fault::drop_out:
      return network_.drop(machine, TestNetwork::Direction::out);
    case Fault::kill_etcd:
      etcd_.at(at).reset();
      return;
    case Fault::stop_etcd:
      etcd_.at(at)->signal(SIGSTOP);
      return;
    case Fault::no_quorum:
      etcd_.at(at).reset();
      etcd_.at((at + 1) % machines).reset();
      return;
  }
}

void Halls::mend(Fault fault, int machine) {
  const auto at = static_cast<std::size_t>(machine);
  switch (fault) {
    case Fault::kill:
      start_etcd(machine);
      start_rig(machine);
      return;
    case Fault::stop:
      etcd_.at(at)->signal(SIGCONT);
      signal_rig(machine, SIGCONT);
      return;
    case Fault::cut:
    case Fault::drop_in:
    case Fault::drop_out:
      return network_.mend(machine);
    case Fault::kill_etcd:
      return start_etcd(machine);
    case Fault::stop_etcd:
      etcd_.at(at)->signal(SIGCONT);
      return;
    case Fault::no_quorum:
      start_etcd(machine);
      start_etcd((machine + 1) % machines);
      return;
  }
}

std::optional<int> Halls::leader() const {
  for (int i = 0; i < machines; ++i) {
    EtcdHttp http({file("ca.pem"), file("n0.pem"), file("n0.key")});
    const HttpOutcome answer = http.post(url(i) + "/v3/maintenance/status", "{}", Clock::now() + 2s, true);
    if (answer.kind != HttpOutcome::Kind::answered || answer.status != 200) continue;
    const auto status = nlohmann::json::parse(answer.body);
    if (status.value("leader", "") == status["header"].value("member_id", "-")) return i;
  }
  return std::nullopt;
}

// A file that its rig closed does not grow, nor one of a rig that is gone.
bool Halls::is_settled() const {
  using Sizes = std::map<std::pair<std::string, int>, std::uintmax_t>;  // by camera and machine
  const auto sizes = [&] {
    Sizes all;
    for (int machine = 0; machine < machines; ++machine) {
      for (const auto& entry : std::filesystem::directory_iterator(rig(machine).folder())) {
        const std::string found = entry.path().filename().string();
        if (found.ends_with(".mp4")) all[{found.substr(0, found.find('_')), machine}] += entry.file_size();
      }
    }
    return all;
  };
  const Sizes before = sizes();
  std::set<std::pair<std::string, int>> homes;
  for (int i = 0; i < cameras; ++i) homes.emplace(camera_name(i), home_of(i));
  std::set<std::pair<std::string, int>> recorders;
  // As long as a group of pictures and more, so that each one that records is seen.
  eventually(
      [&] {
        for (const auto& [of, size] : sizes()) {
          const auto then = before.find(of);
          if (then == before.end() || size > then->second) recorders.insert(of);
        }
        return false;
      },
      3s);
  return recorders == homes;
}

std::vector<Utc> Halls::taken(int camera) const {
  std::vector<Utc> times;
  for (const auto& rigs : rigs_) {
    for (const auto& rig : rigs) {
      for (const auto& entry : std::filesystem::directory_iterator(rig->folder())) {
        const std::string found = entry.path().filename().string();
        if (!found.starts_with(camera_name(camera) + "_") || !found.ends_with(".mp4") || entry.file_size() == 0)
          continue;
        for (const ShownPicture& picture : read_video(entry.path()).pictures) {
          if (picture.code) times.push_back(Utc(std::chrono::microseconds(picture.code->utc_us)));
        }
      }
    }
  }
  std::ranges::sort(times);
  return times;
}

// Longer than half a second without a frame.
std::vector<Span> gaps_of(const std::vector<Utc>& taken) {
  std::vector<Span> gaps;
  for (std::size_t i = 1; i < taken.size(); ++i) {
    if (taken[i] - taken[i - 1] > 500ms) gaps.push_back({taken[i - 1], taken[i]});
  }
  return gaps;
}

bool explains(const Happened& fault, const Span& gap) {
  return stops_recording(fault.fault) && gap.from >= fault.began - group_of_pictures - slack &&
         gap.to <= fault.began + fault.allowed();
}

int number_in_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Returns the longest gap, seconds.
double run_seed(unsigned seed, int faults) {
  SCOPED_TRACE("CAMPIPE_SEED=" + std::to_string(seed));
  TestNetwork network(machines);
  EXPECT_EQ(network.missing(), "");
  Halls halls(network);
  const auto logs = [&] { return halls.log(0) + "\n\n" + halls.log(1) + "\n\n" + halls.log(2); };
  EXPECT_TRUE(eventually([&] { return halls.is_settled(); }, 90s)) << logs();
  const Utc began = utc_now();
  std::mt19937 random(seed);
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::vector<Happened> happened;
  for (int i = 0; i < faults && !testing::Test::HasFailure(); ++i) {
    const Fault fault = all_faults.at(static_cast<std::size_t>(draw(all_faults.size())));
    const int machine = draw(machines);
    const auto lasts = 2s + std::chrono::milliseconds(draw(14'000));
    Happened one{fault, machine, halls.leader() == machine, utc_now(), {}, {}};
    halls.begin(fault, machine);
    std::this_thread::sleep_for(lasts);  // it is the fault that has this length
    one.mended = utc_now();
    halls.mend(fault, machine);
    EXPECT_TRUE(eventually([&] { return halls.is_settled(); }, 90s))
        << name_of(fault) << " of " << machine << " for " << seconds_of(lasts) << " s\n"
        << logs();
    one.settled = utc_now();
    std::cout << "seed " << seed << ": " << name_of(fault) << " " << machine << (one.had_leader ? " (leads etcd)" : "")
              << ", " << seconds_of(lasts) << " s; settled after " << seconds_of(one.settled - one.mended) << " s\n";
    happened.push_back(one);
  }
  const Utc ended = utc_now();
  halls.end();
  double longest = 0;
  for (int camera = 0; camera < cameras; ++camera) {
    std::vector<Utc> taken = halls.taken(camera);
    std::erase_if(taken, [&](Utc time) { return time < began || time > ended; });
    taken.insert(taken.begin(), began);
    taken.push_back(ended);
    for (const Span& gap : gaps_of(taken)) {
      const double length = seconds_of(gap.to - gap.from);
      longest = std::max(longest, length);
      const auto cause = std::ranges::find_if(happened, [&](const Happened& one) { return explains(one, gap); });
      std::cout << "seed " << seed << ": " << camera_name(camera) << " has nothing for " << length << " s"
                << (cause == happened.end() ? "" : std::string(", of ") + name_of(cause->fault)) << '\n';
      if (cause != happened.end()) continue;
      std::string all;
      for (const Happened& one : happened) {
        all += std::string(name_of(one.fault)) + " " + std::to_string(one.machine) + ": " +
               std::to_string(seconds_of(one.began - began)) + " to " + std::to_string(seconds_of(one.mended - began)) +
               ", settled " + std::to_string(seconds_of(one.settled - began)) + "\n";
      }
      ADD_FAILURE() << camera_name(camera) << " has nothing from " << seconds_of(gap.from - began) << " to "
                    << seconds_of(gap.to - began) << "\n"
                    << all << logs();
    }
  }
  return longest;
}

TEST(ClusterSeeds, EverySecondOfEveryCameraIsInSomeMachinesRecordings) {
  if (const std::string missing = EtcdMembers::missing(); !missing.empty()) GTEST_SKIP() << missing;
  if (const std::string missing = TestNetwork(1).missing(); !missing.empty()) GTEST_SKIP() << missing;
  if (const int seed = number_in_environment("CAMPIPE_SEED", 0); seed > 0) {
    run_seed(static_cast<unsigned>(seed), 12);
    return;
  }
  const int seeds = number_in_environment("CAMPIPE_SEEDS", 0);
  for (int seed = 1; seed <= seeds && !HasFailure(); ++seed) run_seed(static_cast<unsigned>(seed), 12);
  if (seeds == 0) run_seed(8, 3);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
