// What a synchronised group adds to its frames: two members, each a process of its own (this program started again)
// with the gate that a worker has, come to each set one after the other and sleep in between. Measured of each set:
// from when its last frame is there until both members are past the gate, of whom the first has to be woken.
//
// And the page as a barrier: as many processes as there are cores, up to 8, or so many as are named, arrive at one set
// after the other without a pause and look until it is decided. Measured of each set: from the last one's arrival until
// all have seen the decision.
//
//   group_bench [--quick] [MEMBERS]     prints one JSON object
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/control/messages/node_parts.h"
#include "app/control/messages/run_node.h"
#include "app/worker/group_gate.h"
#include "core/clock.h"
#include "core/error.h"
#include "ipc/counter_table.h"
#include "ipc/encode_block.h"

extern char** environ;

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr unsigned members = 2;       // of a group whose frames are timed
constexpr unsigned most_at_once = 8;  // at the barrier
constexpr unsigned most_sets = 4096;
constexpr unsigned warm_up = 20;  // sets
constexpr double rate = 100;
constexpr std::int64_t period = 10'000'000;  // ns, of a set
constexpr std::int64_t apart = 2'000'000;    // ns, between a set's frames
constexpr std::int64_t set_0 = 1'000'000;

// What the members write down, in memory that all processes map; ns, monotonic.
struct Times {
  std::array<std::array<std::atomic<std::int64_t>, most_sets>, GroupPage::max_members> there;
  std::array<std::array<std::atomic<std::int64_t>, most_sets>, GroupPage::max_members> past;
};

Times& times_in(const Mapping& mapping) { return *std::launder(reinterpret_cast<Times*>(mapping.bytes().data())); }

class Encoder final : public GroupGate::Stream {
 public:
  explicit Encoder(std::array<std::atomic<std::int64_t>, most_sets>& past) : past_(past) {}
  bool takes(const FrameRef& /*frame*/) const override { return true; }
  void encode(const FrameRef& /*frame*/, const FrameTimes& times, std::uint64_t /*number*/) override {
    past_.at(times.set - set_0).store(now_ns());
  }
  void drop(DropCause /*cause*/) override { throw Error("a frame was dropped"); }

 private:
  std::array<std::atomic<std::int64_t>, most_sets>& past_;
};

// One member. The members take turns at being the last.
int give_frames(unsigned place, int page, int shared, std::int64_t begin, unsigned sets) {
  const Mapping mapping(shared, Mapping::Access::read_write);
  Times& all = times_in(mapping);
  Encoder encoder(all.past.at(place));
  OutputEvents events;
  events.beat = [] {};
  events.abandoned = [] { return false; };
  messages::EncodedOutput output;
  output.config.name = "member " + std::to_string(place);
  output.config.group = GroupConfig{"group", rate, milliseconds(1000), milliseconds(1000), OnMissing::repeat};
  output.seat = messages::GroupSeat{place, true, std::nullopt};
  const auto block = std::make_unique<EncodeBlock>();
  GroupGate gate(output, GroupPage::open(UniqueFd(page)), *block, events, encoder);
  for (unsigned set = 0; set < sets; ++set) {
    const std::int64_t due = begin + set * period + (set % members == place ? 0 : apart);
    std::this_thread::sleep_until(Clock::time_point(nanoseconds(due)));
    FrameTimes times;
    times.set = set_0 + set;
    times.set_state = SetState::own;
    times.published = times.leased = times.filtered = now_ns();
    all.there.at(place).at(set).store(times.published);
    gate.take({}, times, set);
  }
  gate.finish();
  return block->counters.of(Counter::repeated) == 0 ? 0 : 1;
}

// On the place's core, as far as there are cores.
void pin(unsigned place) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (unsigned core = 0, nth = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || nth++ != place) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    ::sched_setaffinity(0, sizeof own, &own);
  }
}

// One process at the barrier.
int meet(unsigned place, int page, int shared, std::int64_t begin, unsigned sets) {
  pin(place);
  const Mapping mapping(shared, Mapping::Access::read_write);
  Times& all = times_in(mapping);
  GroupMember member(GroupPage::open(UniqueFd(page)), place);
  std::this_thread::sleep_until(Clock::time_point(nanoseconds(begin)));
  for (unsigned set = 0; set < sets; ++set) {
    all.there.at(place).at(set).store(now_ns());
    SetOutcome outcome = member.arrive(set_0 + set, 0, Deadline::max());
    while (outcome == SetOutcome::open) outcome = member.wait(Deadline::min());
    all.past.at(place).at(set).store(now_ns());
    member.forget_decided();
    if (outcome != SetOutcome::encode) return 1;
  }
  return 0;
}

class MemberProcess {
 public:
  MemberProcess(const std::string& role, unsigned place, const GroupPage& page, int shared, std::int64_t begin,
                unsigned sets) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    // dup2 on itself takes the close-on-exec flag away.
    for (const int fd : {page.fd(), shared}) ::posix_spawn_file_actions_adddup2(&actions, fd, fd);
    std::array<std::string, 7> words{"group_bench",          role,
                                     std::to_string(place),  std::to_string(page.fd()),
                                     std::to_string(shared), std::to_string(begin),
                                     std::to_string(sets)};
    std::array<char*, 8> argv{};
    for (std::size_t i = 0; i < words.size(); ++i) argv.at(i) = words.at(i).data();
    const int code = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw system_error("cannot start a member", code);
  }
  MemberProcess(const MemberProcess&) = delete;
  MemberProcess& operator=(const MemberProcess&) = delete;
  ~MemberProcess() { finish(); }

  bool finish() {
    if (pid_ < 0) return true;
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status == 0;
  }

 private:
  pid_t pid_ = -1;
};

// Of sorted values, in us.
double quantile(const std::vector<std::int64_t>& sorted, double q) {
  return static_cast<double>(sorted.at(static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1)))) / 1000.0;
}

// `role`: what the processes do, "--member" or "--meet". From the last one's coming until all are past: of each set.
std::vector<std::int64_t> times_of(const std::string& role, unsigned count, unsigned sets) {
  const auto page = GroupPage::create({OnMissing::repeat, seconds(1)});
  for (unsigned place = 0; place < count; ++place) page->add(place);
  const UniqueFd shared = create_shared_memory("group bench", sizeof(Times));
  const Mapping mapping(shared.get(), Mapping::Access::read_write);
  const std::int64_t begin = now_ns() + 200'000'000;
  {
    std::vector<std::unique_ptr<MemberProcess>> all;
    for (unsigned place = 0; place < count; ++place) {
      all.push_back(std::make_unique<MemberProcess>(role, place, *page, shared.get(), begin, sets));
    }
    for (const auto& one : all) {
      if (!one->finish()) throw Error("a member failed, or repeated a frame");
    }
  }
  const Times& times = times_in(mapping);
  std::vector<std::int64_t> values;
  for (unsigned set = warm_up; set < sets; ++set) {
    std::int64_t last = 0;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t through = 0;
    for (unsigned place = 0; place < count; ++place) {
      last = std::max(last, times.there.at(place).at(set).load());
      through = std::max(through, times.past.at(place).at(set).load());
      first = std::min(first, times.past.at(place).at(set).load());
    }
    if (first < last) throw Error("a member did not wait");
    values.push_back(through - last);
  }
  std::ranges::sort(values);
  return values;
}

// The middle one of `runs` runs, of each figure: other programs on the machine disturb some. In us.
std::array<double, 3> figures_of(const std::string& role, unsigned count, unsigned sets, int runs) {
  constexpr std::array<double, 3> quantiles{0.5, 0.95, 0.99};
  std::array<std::vector<double>, 3> found;
  for (int run = 0; run < runs; ++run) {
    const auto values = times_of(role, count, sets);
    for (std::size_t i = 0; i < quantiles.size(); ++i) found.at(i).push_back(quantile(values, quantiles.at(i)));
  }
  std::array<double, 3> figures{};
  for (std::size_t i = 0; i < quantiles.size(); ++i) {
    std::ranges::sort(found.at(i));
    figures.at(i) = found.at(i).at(static_cast<std::size_t>(runs / 2));
  }
  return figures;
}

int measure(bool quick, unsigned at_once) {
  const int runs = quick ? 3 : 7;
  const auto frames = figures_of("--member", members, quick ? 300 : 1000, runs);
  const auto barrier = figures_of("--meet", at_once, most_sets, runs);
  std::cout << nlohmann::json{{"set_p50_us", frames[0]},      {"set_p95_us", frames[1]},
                              {"set_p99_us", frames[2]},      {"barrier_processes", at_once},
                              {"barrier_p50_us", barrier[0]}, {"barrier_p95_us", barrier[1]}}
                   .dump(2)
            << std::endl;
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 6 && (arguments[0] == "--member" || arguments[0] == "--meet")) {
      const auto work = arguments[0] == "--meet" ? campipe::meet : campipe::give_frames;
      return work(static_cast<unsigned>(std::stoul(arguments[1])), std::stoi(arguments[2]), std::stoi(arguments[3]),
                  std::stoll(arguments[4]), static_cast<unsigned>(std::stoul(arguments[5])));
    }
    const bool quick = std::erase(arguments, "--quick") > 0;
    unsigned at_once = std::clamp(std::thread::hardware_concurrency(), 2U, campipe::most_at_once);
    if (arguments.size() == 1) at_once = static_cast<unsigned>(std::stoul(arguments[0]));
    if (arguments.size() <= 1 && at_once >= 2 && at_once <= campipe::GroupPage::max_members) {
      return campipe::measure(quick, at_once);
    }
    std::cerr << "usage: group_bench [--quick] [MEMBERS]\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "group_bench: " << error.what() << '\n';
    return 1;
  }
}
