// What a synchronised group adds to its frames: two members, each a process of its own (this program started again)
// with the gate that a worker has, come to each set one after the other and sleep in between. Measured of each set:
// from when its last frame is there until both members are past the gate, of whom the first has to be woken.
//
//   group_bench [--quick]     prints one JSON object
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

#include "app/worker/group_gate.h"
#include "core/clock.h"
#include "core/error.h"

extern char** environ;

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr unsigned members = 2;
constexpr unsigned most_sets = 4096;
constexpr unsigned warm_up = 20;  // sets
constexpr double rate = 100;
constexpr std::int64_t period = 10'000'000;  // ns, of a set
constexpr std::int64_t apart = 2'000'000;    // ns, between a set's frames
constexpr std::int64_t set_0 = 1'000'000;

// What the members write down, in memory that all processes map; ns, monotonic.
struct Times {
  std::array<std::array<std::atomic<std::int64_t>, most_sets>, members> there;
  std::array<std::array<std::atomic<std::int64_t>, most_sets>, members> past;
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

class MemberProcess {
 public:
  MemberProcess(unsigned place, const GroupPage& page, int shared, std::int64_t begin, unsigned sets) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    // dup2 on itself takes the close-on-exec flag away.
    for (const int fd : {page.fd(), shared}) ::posix_spawn_file_actions_adddup2(&actions, fd, fd);
    std::array<std::string, 7> words{"group_bench",          "--member",
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

std::vector<std::int64_t> added(unsigned sets) {
  const auto page = GroupPage::create({OnMissing::repeat, seconds(1)});
  for (unsigned place = 0; place < members; ++place) page->add(place);
  const UniqueFd shared = create_shared_memory("group bench", sizeof(Times));
  const Mapping mapping(shared.get(), Mapping::Access::read_write);
  const std::int64_t begin = now_ns() + 200'000'000;
  {
    std::vector<std::unique_ptr<MemberProcess>> all;
    for (unsigned place = 0; place < members; ++place) {
      all.push_back(std::make_unique<MemberProcess>(place, *page, shared.get(), begin, sets));
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
    for (unsigned place = 0; place < members; ++place) {
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

int measure(bool quick) {
  const int runs = quick ? 3 : 7;
  std::array<std::vector<double>, 3> figures;
  constexpr std::array<double, 3> quantiles{0.5, 0.95, 0.99};
  for (int run = 0; run < runs; ++run) {
    const auto values = added(quick ? 300 : 1000);
    for (std::size_t i = 0; i < quantiles.size(); ++i) figures.at(i).push_back(quantile(values, quantiles.at(i)));
  }
  // The middle one of each figure: other programs on the machine disturb some runs.
  for (auto& of : figures) std::ranges::sort(of);
  const auto middle = static_cast<std::size_t>(runs / 2);
  std::cout << nlohmann::json{{"set_p50_us", figures[0].at(middle)},
                              {"set_p95_us", figures[1].at(middle)},
                              {"set_p99_us", figures[2].at(middle)}}
                   .dump(2)
            << std::endl;
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 6 && arguments[0] == "--member") {
      return campipe::give_frames(static_cast<unsigned>(std::stoul(arguments[1])), std::stoi(arguments[2]),
                                  std::stoi(arguments[3]), std::stoll(arguments[4]),
                                  static_cast<unsigned>(std::stoul(arguments[5])));
    }
    if (arguments.empty() || arguments == std::vector<std::string>{"--quick"}) {
      return campipe::measure(!arguments.empty());
    }
    std::cerr << "usage: group_bench [--quick]\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "group_bench: " << error.what() << '\n';
    return 1;
  }
}
