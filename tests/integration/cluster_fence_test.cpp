// What nodes of a cluster write outside themselves: files in one folder that they share, which have no gap where a
// camera moves, and pushes to one target, of which there is never more than one at a time.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <fstream>
#include <mutex>

#include "tests/integration/cluster_nodes.h"
#include "tests/integration/recording.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

// A push target: who sends datagrams to it, one after the other. Each connection of a push has a port of its own.
class PushTarget {
 public:
  PushTarget() : socket_(bind_any(SOCK_DGRAM)) {
    thread_ = std::jthread([this](const std::stop_token& over) { run(over); });
  }
  [[nodiscard]] std::string url() const { return "udp://127.0.0.1:" + std::to_string(port_of(socket_.get())); }
  // Ports, each time that another one sends.
  [[nodiscard]] std::vector<int> senders() const {
    const std::lock_guard lock(mutex_);
    return senders_;
  }
  [[nodiscard]] int datagrams() const { return datagrams_; }

 private:
  void run(const std::stop_token& over) {
    std::array<char, 65536> datagram{};
    pollfd entry{socket_.get(), POLLIN, 0};
    while (!over.stop_requested()) {
      if (::poll(&entry, 1, 50) <= 0) continue;
      sockaddr_in from{};
      socklen_t size = sizeof from;
      if (::recvfrom(socket_.get(), datagram.data(), datagram.size(), 0, reinterpret_cast<sockaddr*>(&from), &size) < 0)
        continue;
      ++datagrams_;
      const std::lock_guard lock(mutex_);
      if (senders_.empty() || senders_.back() != ntohs(from.sin_port)) senders_.push_back(ntohs(from.sin_port));
    }
  }

  UniqueFd socket_;
  mutable std::mutex mutex_;
  std::vector<int> senders_;
  std::atomic<int> datagrams_{0};
  std::jthread thread_;
};

class ClusterFence : public ClusterRig {
 protected:
  void start_two() {
    cameras_ = "  c0: {source: \"test://pattern?width=160&height=120&rate=10\", encode: {gop: 500ms}, push: [\"" +
               target_.url() + "\"], record: {path: \"" + shared_.path().string() +
               "/{camera}_%H-%M-%S.mp4\", segment_duration: 1s, delete_after: 1s}}\n";
    start("a");
    start("b");
    ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}) && !status().at("cameras").empty(); })) << logs();
    ASSERT_EQ(command({"move", "c0", "a"}).status, 0);
    ASSERT_TRUE(eventually([&] { return assigned_to("a").contains("c0") && recorded_by("a") > 0; })) << logs();
    const auto pushes = [&] { return nodes_.at("a")->log().find("c0: pushes to") != std::string::npos; };
    ASSERT_TRUE(eventually(pushes)) << logs();
    const int before = target_.datagrams();  // the other node may have sent some, and ended
    ASSERT_TRUE(eventually([&] { return target_.datagrams() >= before + 10; })) << logs();
  }
  void signal_all(const std::string& node, int number) {
    for (const pid_t pid : nodes_.at(node)->processes()) ::kill(pid, number);
  }
  // Of a node, in the folder that they share.
  std::vector<std::filesystem::path> files_of(const std::string& node) const {
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(shared_.path())) {
      const std::string name = file.path().filename().string();
      if (name.find("@" + node + "@") != std::string::npos && name.ends_with(".mp4")) files.push_back(file.path());
    }
    return files;
  }
  std::uintmax_t recorded_by(const std::string& node) const {
    std::uintmax_t sum = 0;
    for (const auto& file : files_of(node)) {
      std::error_code gone;
      const auto size = std::filesystem::file_size(file, gone);
      if (!gone) sum += size;
    }
    return sum;
  }
  // Waits until somebody else pushes than the one that does now.
  bool is_pushed_by_another(const std::function<void()>& act) {
    const auto before = target_.senders();
    act();
    return eventually([&] { return target_.senders().size() > before.size(); });
  }
  // Nobody who had stopped pushing did it again.
  void expect_one_at_a_time() const {
    const std::vector<int> senders = target_.senders();
    EXPECT_EQ(std::set<int>(senders.begin(), senders.end()).size(), senders.size())
        << testing::PrintToString(senders) << logs();
  }
  // Its index has its own files, and it has deleted some of them.
  void expect_own_files(const std::string& node) const {
    std::ifstream index(shared_.path() / ("c0@" + node + ".index.jsonl"));
    int deleted = 0;
    for (std::string line; std::getline(index, line);) {
      const json event = json::parse(line);
      if (event.at("event") == "recording") continue;  // of none: its limits
      EXPECT_THAT(event.at("file").get<std::string>(), HasSubstr("@" + node + "@1.0000"));
      if (event.at("event") == "deleted") ++deleted;
    }
    EXPECT_GT(deleted, 0) << node;
  }
  // Each file has all its frames, and begins before those before it end, or where its node's one before ended.
  void expect_no_gap() const {
    struct Film {
      std::string node;
      PatternCode first;
      PatternCode last;
    };
    std::vector<Film> films;
    for (const std::string node : {"a", "b"}) {
      for (const auto& file : files_of(node)) {
        const VideoFile video = read_video(file);
        EXPECT_EQ(check_pattern_recording(video, true), "") << file;
        ASSERT_FALSE(video.pictures.empty()) << file;
        films.push_back({node, video.pictures.front().code.value_or(PatternCode()),
                         video.pictures.back().code.value_or(PatternCode())});
      }
    }
    std::ranges::sort(films, {}, [](const Film& film) { return film.first.utc_us; });
    ASSERT_GT(films.size(), 3U);
    for (std::size_t i = 1; i < films.size(); ++i) {
      const bool goes_on =
          std::any_of(films.begin(), films.begin() + static_cast<std::ptrdiff_t>(i), [&](const Film& by) {
            const bool is_next = by.node == films[i].node && by.last.number + 1 == films[i].first.number;
            return is_next || by.last.utc_us >= films[i].first.utc_us;
          });
      EXPECT_TRUE(goes_on) << "before file " << i << " of " << films.size() << ", of " << films[i].node << logs();
    }
  }
  std::string logs() const {
    std::string all;
    for (const auto& [node, rig] : nodes_) all += "---- " + node + "\n" + rig->log();
    return all;
  }

  TemporaryFolder shared_;
  PushTarget target_;
};

TEST_F(ClusterFence, NodesShareAFolderAndATarget) {
  start_two();
  if (HasFatalFailure()) return;
  EXPECT_TRUE(is_pushed_by_another([&] { EXPECT_EQ(command({"move", "c0", "b"}).status, 0); })) << logs();
  EXPECT_TRUE(eventually([&] { return recorded_by("b") > 0; })) << logs();

  EXPECT_TRUE(is_pushed_by_another([&] { signal_all("b", SIGSTOP); })) << logs();
  EXPECT_TRUE(assigned_to("a").contains("c0"));
  // It believes that it pushes, until it looks at the clock; then it joins anew, and gets back what is wanted there.
  EXPECT_TRUE(is_pushed_by_another([&] { signal_all("b", SIGCONT); })) << logs();
  EXPECT_TRUE(assigned_to("b").contains("c0"));
  end("a");
  end("b");
  expect_one_at_a_time();
  expect_own_files("a");
  expect_own_files("b");
}

// Nobody is left who could tell the publisher to stop.
TEST_F(ClusterFence, APublisherStopsPushingByItself) {
  start_two();
  if (HasFatalFailure()) return;
  RigRun& a = *nodes_.at("a");
  const std::vector<pid_t> stopped{a.supervisor(), a.pid_of("cluster")};
  EXPECT_TRUE(is_pushed_by_another([&] {
    for (const pid_t pid : stopped) ::kill(pid, SIGSTOP);
  })) << logs();
  for (const pid_t pid : stopped) ::kill(pid, SIGCONT);
  EXPECT_TRUE(eventually([&] { return are_here({"a", "b"}); }));
  end("b");
  end("a");
  expect_one_at_a_time();
}

// Its next node is stopped when it gets the camera, and dies for the cluster; then it comes back and gets it, and has
// to give it up again. By their own times, frames of the whole time are in the files of one or the other.
TEST_F(ClusterFence, MovesLoseNothing) {
  cameras_ = "  c0: {source: \"test://pattern?width=160&height=120&rate=10\", encode: {gop: 500ms}, record: {path: \"" +
             shared_.path().string() + "/{camera}.mp4\"}}\n";
  start("a");  // plans
  ASSERT_TRUE(eventually([&] { return recorded_by("a") > 0; })) << logs();
  start("b");
  ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}); })) << logs();
  // Before it is taken for dead.
  Answer answer;
  for (int tries = 0; tries < 5; ++tries) {
    signal_all("b", SIGSTOP);
    answer = command({"move", "c0", "b"});
    if (answer.status == 0) break;
    signal_all("b", SIGCONT);
    ASSERT_TRUE(eventually([&] { return are_here({"a", "b"}); })) << logs();
  }
  ASSERT_EQ(answer.status, 0) << answer.errors;
  // It may be there for a moment only.
  const auto has_gone = [&] { return nodes_.at("a")->log().find("c0: goes to b from a") != std::string::npos; };
  EXPECT_TRUE(eventually(has_gone)) << logs();
  EXPECT_TRUE(eventually([&] { return assigned_to("a").contains("c0") && files_of("a").size() == 2; })) << logs();
  EXPECT_EQ(nodes_.at("a")->log().find("is not this node's any more"), std::string::npos) << "it has gone on";

  signal_all("b", SIGCONT);
  const auto ends = [&](const std::string& node) {
    const std::string log = nodes_.at(node)->log();
    int found = 0;
    for (auto at = log.find("c0: removed"); at != std::string::npos; at = log.find("c0: removed", at + 1)) ++found;
    return found;
  };
  EXPECT_TRUE(eventually([&] { return recorded_by("b") > 0 && ends("a") == 1; })) << logs();
  const int before = ends("b");
  ASSERT_EQ(command({"drain", "b"}).status, 0);
  EXPECT_TRUE(eventually([&] { return assigned_to("a").contains("c0") && ends("b") > before; })) << logs();
  end("b");
  end("a");
  expect_no_gap();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
