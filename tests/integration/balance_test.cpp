// A camera goes over by itself from a worker that is late to one that has room, by the real program: two workers with a
// core of each one's own. How long a frame takes is the failpoint's to say, so that each machine has the same to do.
// Other cases are in tests/unit/balance_policy_test.cpp and tests/sim/overload_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/control/core_times.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// That this process, and what it starts, may use.
std::vector<unsigned> cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<unsigned> found;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) found.push_back(core);
  return found;
}

bool use(const std::vector<unsigned>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned core : cores) CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

// Nobody else needs them: a worker can have room only then.
bool are_idle(const std::vector<unsigned>& cores, double enough = 0.8) {
  const CoreTimes before = read_idle_times();
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(1));  // which is what is measured
  const CoreTimes after = read_idle_times();
  const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
  return std::ranges::all_of(cores, [&](unsigned core) { return after.at(core) - before.at(core) > enough * passed; });
}

// Whether somebody else has used a core since then, beside the third that a camera takes there that has moved: what
// needs room there may not have had it.
class IdleWatch {
 public:
  explicit IdleWatch(unsigned core) : thread_([this, core](const std::stop_token& stop) { run(core, stop); }) {}
  [[nodiscard]] bool was_busy() const { return busy_ > 2; }

 private:
  void run(unsigned core, const std::stop_token& stop) {
    while (!stop.stop_requested()) busy_ += are_idle({core}, 0.55) ? 0 : 1;
  }

  std::atomic<int> busy_{0};  // seconds
  std::jthread thread_;       // last: it uses the others
};

// Of 10 frames a second; a and b are on worker 0, c is on worker 1 and has little to do.
class Balancing : public testing::Test {
 protected:
  void SetUp() override {
    if (all_.size() < 2) GTEST_SKIP() << "there is one core, which both workers would share";
    const std::vector<unsigned> two{all_[0], all_[1]};
    if (!eventually([&] { return are_idle(two); }, std::chrono::seconds(20)))
      GTEST_SKIP() << "other programs use the cores, so that no worker can have room";
    ASSERT_TRUE(use(two));
    watch_.emplace(all_[1]);
  }
  void TearDown() override { EXPECT_TRUE(use(all_)); }

  void start(const std::string& balance, const std::string& failpoints) {
    config_ = "http_address: \"127.0.0.1:" + std::to_string(port_) + "\"\nrtsp_address: off\nworkers: {count: 2}\n" +
              "defaults:\n  gpu: cpu\n  drop_policy: drop\n  encode: {codec: h264, gop: 1s, bitrate: 500k}\n"
              "  source: \"test://pattern?width=160&height=120&rate=10\"\ncameras:\n  a: {}\n  c: {}\n  b: {}\n";
    rig_.emplace(config_ + "balance: " + balance + "\n", RigOptions{.failpoints = failpoints});
    ASSERT_TRUE(eventually([&] { return answers(); })) << rig_->log();
  }
  [[nodiscard]] bool answers() const {
    try {
      const TcpClient client(static_cast<std::uint16_t>(port_));
      return std::filesystem::exists(token_file());
    } catch (const std::exception&) {  // it has only just begun
      return false;
    }
  }
  [[nodiscard]] std::filesystem::path token_file() const { return rig_->file("state/token-" + std::to_string(port_)); }
  void reload_with(const std::string& balance) {
    std::ofstream(rig_->file("rig.yaml")) << config_ << "balance: " << balance << '\n';
    rig_->signal(SIGHUP);
  }
  [[nodiscard]] json status_of(const std::string& camera) const {
    const std::string token = read_text(token_file());
    const Reply reply = ask(static_cast<std::uint16_t>(port_), "GET /api/v1/cameras/" + camera,
                            "Authorization: Bearer " + token + "\r\n");
    return json::parse(reply.body, nullptr, false);
  }
  struct Frames {
    std::uint64_t came = 0;
    std::uint64_t lost = 0;
  };
  // Of a and b together.
  [[nodiscard]] Frames frames() const {
    Frames sum;
    for (const char* name : {"a", "b"}) {
      const json status = status_of(name);
      if (!status.contains("frames")) return {};
      sum.came += status.at("frames").value("decoded", std::uint64_t{0});
      sum.lost += status.at("frames").at("dropped").value("queue_full", std::uint64_t{0});
    }
    return sum;
  }
  [[nodiscard]] bool loses(std::uint64_t frames_more) const {
    const std::uint64_t before = frames().lost;
    return eventually([&] { return frames().lost >= before + frames_more; });
  }
  // All of a hundred frames are encoded, at some time from now on.
  [[nodiscard]] bool keeps_up() const {
    Frames begin = frames();
    return eventually([&] {
      const Frames now = frames();
      if (now.lost != begin.lost) begin = now;
      return now.came >= begin.came + 100;
    });
  }
  [[nodiscard]] bool logs(const std::string& text) const {
    return eventually([&] { return rig_->log().find(text) != std::string::npos; });
  }
  // What must come where worker 1 has room did not come.
  void give_up() const {
    if (watch_->was_busy()) GTEST_SKIP() << "other programs have used the cores, so that no worker had room";
    FAIL() << rig_->log();
  }
  void end() {
    rig_->signal(SIGINT);
    ASSERT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
    for (const char* name : {"a", "b", "c"}) EXPECT_EQ(rig_->camera(name).at("worker_restarts"), 0) << name;
  }
  [[nodiscard]] unsigned moves() const {
    unsigned sum = 0;
    for (const char* name : {"a", "b", "c"}) sum += rig_->camera(name).at("moves").get<unsigned>();
    return sum;
  }

  std::vector<unsigned> all_ = cores();
  int port_ = free_port();
  std::string config_;
  std::optional<RigRun> rig_;
  std::optional<IdleWatch> watch_;  // of worker 1's core
};

// From their 20th frame on, they need 1.1 of one core.
constexpr auto shift = "stage.frame@a:20+=burn80,stage.frame@b:20+=burn30";

TEST_F(Balancing, AShiftOfLoadDropsFramesWithoutItAndNoneWithIt) {
  start("off", shift);
  ASSERT_TRUE(loses(30)) << rig_->log();
  EXPECT_THAT(rig_->log(), Not(HasSubstr("is to go over")));
  reload_with("auto");
  if (!logs("b: is on worker 1 from frame")) return give_up();
  EXPECT_THAT(rig_->log(), HasSubstr("b: its work is to go over from worker 0 to worker 1: worker 0 is late ("));
  ASSERT_TRUE(keeps_up()) << rig_->log();
  ASSERT_TRUE(eventually([&] { return status_of("b").contains("moved"); }));
  const json moved = status_of("b").at("moved");
  EXPECT_EQ(moved.at("from"), 0);
  EXPECT_EQ(moved.at("to"), 1);
  EXPECT_THAT(moved.at("reason").get<std::string>(), HasSubstr("worker 0 is late ("));
  end();
  EXPECT_EQ(moves(), 1U) << rig_->log();
  EXPECT_EQ(rig_->camera("c").at("frames").at("dropped").value("queue_full", 0), 0) << rig_->log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
