// Recordings by the API: which are listed, to whom, and that no other file can be had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "tests/unit/api_schema.h"
#include "tests/unit/api_test_support.h"
#include "tests/unit/temporary_folder.h"

namespace {

// The disk with the index of this name does not answer as long as `answers` is not there.
struct SilentDisk {
  std::string index;
  std::shared_future<void> answers;
  std::promise<void> asked;
};
std::atomic<SilentDisk*> silent_disk = nullptr;

}  // namespace

// In place of the library's, for all of this program.
extern "C" int openat(int folder, const char* name, int flags, ...) {
  SilentDisk* silent = silent_disk;
  if (silent != nullptr && name == silent->index) {
    silent->asked.set_value();
    silent->answers.wait();
  }
  std::va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return static_cast<int>(::syscall(SYS_openat, folder, name, flags, mode));
}

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordingsTest : public ApiTest {
 protected:
  RecordingsTest() {
    write("dock.index.jsonl",
          begin("day1/a.mp4", "10:00") + end("day1/a.mp4", "10:00", "10:10") + begin("day1/b.mp4", "10:10") +
              end("day1/b.mp4", "10:10", "10:20") + begin("day2/c.mp4", "10:20") + begin("deleted.mp4", "09:00") +
              R"({"event": "deleted", "file": "deleted.mp4"})" + "\nnot JSON\n{\"event\": 1}\n[]\n" +
              end("../outside.mp4", "09:00", "09:10") + end("link.mp4", "09:00", "09:10") +
              end("/etc/passwd", "09:00", "09:10") + end("gone.mp4", "09:00", "09:10") + end("day1", "09:00", "09:10") +
              end("inner.link.mp4", "08:00", "08:10") + end("day.link/a.mp4", "08:00", "08:10"));
    write("gate.index.jsonl", end("g.mp4", "10:05", "10:06"));
    write("dock.small.index.jsonl", end("s.mkv", "10:07", "10:08"));
    for (const char* file : {"day1/a.mp4", "day1/b.mp4", "day2/c.mp4", "deleted.mp4", "g.mp4", "s.mkv", "other.mp4"}) {
      write(file, "video");
    }
    std::ofstream(outer_.path() / "outside.mp4") << "secret";
    std::filesystem::create_symlink(outer_.path() / "outside.mp4", folder_ / "link.mp4");
    std::filesystem::create_symlink("day1/a.mp4", folder_ / "inner.link.mp4");
    std::filesystem::create_symlink("day1", folder_ / "day.link");
    add("dock", "main");
    add("dock/small", "small");
    add("gate", "main");
  }

  void write(const std::string& name, const std::string& text) {
    const auto file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  static std::string utc(const std::string& time) { return "2026-11-21T" + time + ":00.000Z"; }
  static std::string begin(const std::string& file, const std::string& start) {
    return json{{"event", "begin"}, {"file", file}, {"start", utc(start)}, {"clock", "arrival"}}.dump() + "\n";
  }
  static std::string end(const std::string& file, const std::string& start, const std::string& stop) {
    return json{{"event", "end"},      {"file", file},       {"start", utc(start)},
                {"end", utc(stop)},    {"bytes", 5},         {"duration_s", 600.0},
                {"reason", "segment"}, {"clock", "arrival"}, {"written", utc(stop)}}
               .dump() +
           "\n";
  }
  void add(const std::string& name, const std::string& output) {
    ResolvedOutput config;
    config.name = name;
    config.camera = name.substr(0, name.find('/'));
    config.output = output;
    config.record = RecordConfig{(folder_ / "%Y.mp4").string()};
    api_.add(config);
  }

  std::vector<std::string> ids(const std::string& user, const std::map<std::string, std::string>& query = {}) {
    std::vector<std::string> all;
    const json answer = told(user, "recordings", query);
    for (const json& recording : answer["recordings"]) all.push_back(recording["id"]);
    return all;
  }
  HttpAnswer file(const std::string& user, const std::string& id,
                  const std::map<std::string, std::string>& query = {}) {
    HttpRequest request{"GET", "/recordings/files/" + id, query, "", "", {}, "", false};
    if (!user.empty()) request.identity = *access_.identity_of(user);
    if (!access_.required()) request.identity = Identity::visitor();
    return answer_of(request);
  }

  test::TemporaryFolder outer_;
  std::filesystem::path folder_ = outer_.path() / "recordings";
};

TEST_F(RecordingsTest, AreListedTheNewestFirst) {
  EXPECT_THAT(ids("ann"), ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4", "dock/small/s.mkv",
                                      "gate/main/g.mp4", "dock/main/day1/a.mp4"));
  const json listed = told("ann", "recordings")["recordings"];
  EXPECT_EQ(listed[0], (json{{"id", "dock/main/day2/c.mp4"},
                             {"camera", "dock"},
                             {"start_utc", utc("10:20")},
                             {"bytes", 5},
                             {"writing", true}}));
  EXPECT_EQ(listed[2]["output"], "small");
  EXPECT_EQ(listed[1]["duration_s"], 600);
  const test::SchemaCheck check(description());
  EXPECT_THAT(check(listed, json{{"type", "array"}, {"items", {{"$ref", "#/components/schemas/Recording"}}}}),
              IsEmpty());
}

// Of nodes that are away, if they have shared the folder.
TEST_F(RecordingsTest, OfOtherNodesLieInAFolderThatTheyShare) {
  Recordings recordings;
  ResolvedOutput dock;
  dock.name = dock.camera = "dock";
  dock.output = "main";
  dock.node = "east";
  dock.record = RecordConfig{(folder_ / "%Y.mp4").string()};
  recordings.add(dock);
  write("dock@east.index.jsonl", end("e.mp4", "10:00", "10:10"));
  write("dock@west.index.jsonl", end("w.mp4", "10:20", "10:30"));
  for (const char* file : {"e.mp4", "w.mp4"}) write(file, "video");
  Recordings::Query query{[](const std::string&) { return true; }, "", "", 10, {"west", "east", "north", "../x"}};
  const auto all = recordings.list(query);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id + " " + all[0].node, "dock/main/w.mp4 west");
  EXPECT_EQ(all[1].id + " " + all[1].node, "dock/main/e.mp4 ");
  EXPECT_EQ(recordings.file("dock/main/w.mp4", {}, "west").name, "w.mp4");
  EXPECT_EQ(recordings.file("dock/main/w.mp4").name, "") << "it is not this node's";
  EXPECT_EQ(recordings.file("dock/main/w.mp4", {}, "west/../west").name, "");
  query.nodes.clear();
  EXPECT_EQ(recordings.list(query).size(), 1U);
}

TEST_F(RecordingsTest, AreChosenByCameraAndTime) {
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), ElementsAre("gate/main/g.mp4"));
  EXPECT_THAT(ids("ann", {{"limit", "2"}}), ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4"));
  EXPECT_THAT(ids("ann", {{"from", "2026-11-21T10:10:30Z"}}),
              ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4"));
  EXPECT_THAT(ids("ann", {{"to", "2026-11-21T10:05:30.5Z"}, {"from", "2026-11-21T10:00:00Z"}}),
              ElementsAre("gate/main/g.mp4", "dock/main/day1/a.mp4"));
  EXPECT_THAT(ids("ann", {{"to", "2028-02-29T10:00:00Z"}, {"limit", "1"}}), ElementsAre("dock/main/day2/c.mp4"));
  EXPECT_EQ(refusal("ann", "GET", "recordings", "", {{"from", "today"}}),
            "400 'from' must be a time in UTC, such as 2026-11-21T10:15:30Z");
  for (const std::string bad :
       {"2026-11-21", "2026-11-21T10:00:00", "2026-11-21T10:00:00+01:00", "2026-11-21T10:00:00.Z",
        "2026-11-21T10:00:00Zx", "2026-13-21T10:00:00Z", "2026-02-30T10:00:00Z", "2026-02-29T10:00:00Z",
        "2026-04-31T10:00:00Z", "2026-00-21T10:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T23:59:60Z",
        "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z"}) {
    EXPECT_THAT(refusal("ann", "GET", "recordings", "", {{"to", bad}}), HasSubstr("400 'to' must be a time")) << bad;
  }
  for (const std::string bad : {"0", "-1", "1001", "1e3", "", "x"}) {
    EXPECT_EQ(refusal("ann", "GET", "recordings", "", {{"limit", bad}}),
              "400 'limit' must be an integer from 1 to 1000");
  }
}

TEST_F(RecordingsTest, AreForThoseWhoMay) {
  EXPECT_THAT(ids("ben"),
              ElementsAre("dock/main/day2/c.mp4", "dock/main/day1/b.mp4", "dock/small/s.mkv", "dock/main/day1/a.mp4"));
  EXPECT_EQ(refusal("ben", "GET", "recordings", "", {{"camera", "gate"}}), "404 there is no camera 'gate'");
  EXPECT_EQ(refusal("cat", "GET", "recordings", "", {{"camera", "dock"}}), "403 user 'cat' may not see recordings");
  EXPECT_EQ(file("ben", "dock/main/day1/a.mp4").status, 200);
  EXPECT_EQ(file("ben", "gate/main/g.mp4").status, 404);
  EXPECT_EQ(file("cat", "dock/main/day1/a.mp4").status, 403);
  EXPECT_EQ(file("cat", "gate/main/g.mp4").status, 404);
}

TEST_F(RecordingsTest, OnlyWhatTheIndexNamesCanBeHad) {
  const HttpAnswer good = file("ann", "dock/main/day1/a.mp4");
  EXPECT_EQ(good.file.whole(), folder_ / "day1/a.mp4");
  EXPECT_EQ(good.type, "video/mp4");
  EXPECT_EQ(good.saved_as, "dock_a.mp4");
  EXPECT_EQ(file("ann", "dock/small/s.mkv").type, "video/x-matroska");
  EXPECT_EQ(file("ann", "dock/small/s.mkv").saved_as, "dock-small_s.mkv");
  EXPECT_EQ(file("ann", "dock/main/day1/a.mp4", {{"download", ""}}).file.whole(), good.file.whole());
  for (const std::string id : {"dock/main/other.mp4",
                               "dock/main/deleted.mp4",
                               "dock/main/gone.mp4",
                               "dock/main/link.mp4",
                               "dock/main/inner.link.mp4",
                               "dock/main/day.link/a.mp4",
                               "dock/main/../outside.mp4",
                               "dock/main//etc/passwd",
                               "dock/main/day1",
                               "dock/main/day1/../day1/a.mp4",
                               "dock/main/./day1/a.mp4",
                               "dock/main/dock.index.jsonl",
                               "dock/main/",
                               "dock/main",
                               "dock",
                               "",
                               "/",
                               "//",
                               "dock/small/day1/a.mp4",
                               "dock/nothing/day1/a.mp4",
                               "gate/main/day1/a.mp4",
                               "nobody/main/a.mp4",
                               "..",
                               "../a/b"}) {
    const HttpAnswer answer = file("ann", id);
    EXPECT_EQ(answer.status, 404) << id;
    EXPECT_EQ(answer.file.name, "") << id;
  }
}

// The user's own folder may be one.
TEST_F(RecordingsTest, AFolderThatIsALinkIsFollowedAndItsIndexIsNot) {
  std::filesystem::rename(folder_, outer_.path() / "disk");
  std::filesystem::create_symlink("disk", folder_);
  EXPECT_EQ(file("ann", "gate/main/g.mp4").status, 200);
  std::filesystem::rename(folder_ / "gate.index.jsonl", outer_.path() / "index");
  std::filesystem::create_symlink(outer_.path() / "index", folder_ / "gate.index.jsonl");
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), IsEmpty());
}

// File systems number their files alike: the second index has the first one's inode, and is no shorter.
TEST_F(RecordingsTest, OfAnotherDiskAreNotThoseOfTheOneBefore) {
  const auto mount_with = [&](const std::string& file) {
    if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) return ino_t{0};
    write("gate.index.jsonl", end(file, "10:05", "10:06"));
    write(file, "video");
    struct stat status {};
    return ::stat((folder_ / "gate.index.jsonl").c_str(), &status) == 0 ? status.st_ino : ino_t{0};
  };
  const std::map<std::string, std::string> of_gate{{"camera", "gate"}};
  EXPECT_THAT(ids("ann", of_gate), ElementsAre("gate/main/g.mp4"));
  const ino_t first = mount_with("1.mp4");
  if (first == 0) GTEST_SKIP() << "only root can make a disk";
  const std::unique_ptr<const char, void (*)(const char*)> mounted(folder_.c_str(), [](const char* folder) {
    while (::umount2(folder, MNT_DETACH) == 0) continue;
  });
  EXPECT_THAT(ids("ann", of_gate), ElementsAre("gate/main/1.mp4"));
  const ino_t second = mount_with("2.mp4");
  EXPECT_EQ(second, first) << "else this shows nothing";
  EXPECT_THAT(ids("ann", of_gate), ElementsAre("gate/main/2.mp4"));
}

TEST_F(RecordingsTest, WhatIsAddedToTheIndexIsSeen) {
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), ElementsAre("gate/main/g.mp4"));
  write("h.mp4", "video");
  std::ofstream(folder_ / "gate.index.jsonl", std::ios::app) << end("h.mp4", "11:00", "11:01");
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), ElementsAre("gate/main/h.mp4", "gate/main/g.mp4"));
  std::filesystem::remove(folder_ / "gate.index.jsonl");
  EXPECT_THAT(ids("ann", {{"camera", "gate"}}), IsEmpty());
}

class SilentDiskTest : public RecordingsTest {
 protected:
  SilentDiskTest() { silent_disk = &disk_; }
  ~SilentDiskTest() override { silent_disk = nullptr; }
  // At the latest when the result goes out of scope, which a thread waits for.
  [[nodiscard]] auto answering() {
    return std::shared_ptr<void>(nullptr, [this](void*) { answer_now(); });
  }
  void answer_now() {
    if (!std::exchange(answered_, true)) answer_.set_value();
  }
  static Recordings::Query of(const std::string& camera) {
    return {[camera](const std::string& name) { return name == camera; }, "", "", 100};
  }
  static void add(Recordings& recordings, const std::filesystem::path& folder, const std::string& name) {
    ResolvedOutput config;
    config.name = config.camera = name;
    config.record = RecordConfig{(folder / "%Y.mp4").string()};
    recordings.add(config);
  }

  bool answered_ = false;
  std::promise<void> answer_;
  SilentDisk disk_{"gate.index.jsonl", answer_.get_future().share(), {}};
};

TEST_F(SilentDiskTest, HoldsUpOnlyWhatLiesThere) {
  Recordings recordings(std::chrono::milliseconds(300));
  for (const char* name : {"dock", "gate"}) add(recordings, folder_, name);
  std::string about;
  auto first = std::async(std::launch::async, [&] {
    return recordings.list(of("gate"), [&](const std::string& camera) { about = camera; });
  });
  const auto in_the_end = answering();
  disk_.asked.get_future().wait();
  EXPECT_EQ(about, "gate");
  const auto nobody = [](const std::string&) {};
  EXPECT_EQ(recordings.list(of("dock"), nobody).size(), 3);
  EXPECT_EQ(recordings.file("dock/main/day1/a.mp4", nobody).name, "day1/a.mp4");
  const auto begin = Clock::now();
  EXPECT_THROW(recordings.list(of("gate"), nobody), DiskSilent);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(290));
  const auto again = Clock::now();
  constexpr int times = 100;
  for (int i = 0; i < times; ++i) EXPECT_THROW(recordings.file("gate/main/g.mp4", nobody), DiskSilent);
  EXPECT_LT(Clock::now() - again, times * std::chrono::milliseconds(290))
      << "nobody waits for what is known not to answer";
  answer_now();
  EXPECT_EQ(first.get().size(), 1);
  silent_disk = nullptr;
  EXPECT_EQ(recordings.list(of("gate"), nobody).size(), 1);
}

// All that the thread uses is its own.
TEST_F(SilentDiskTest, MayAnswerWhenTheServersAreGone) {
  auto rig = std::make_unique<RigView>([](const messages::Request&) {});
  rig->set_status({{"cameras", {{"gate", camera_status("b.mp4")}}}});
  auto api = std::make_unique<Api>(*rig, access_, [] { return json::array(); });
  ResolvedOutput config;
  config.name = config.camera = "gate";
  config.record = RecordConfig{(folder_ / "%Y.mp4").string()};
  api->add(config);
  HttpRequest request{"GET", "/api/v1/recordings", {}, "", "", *access_.identity_of("ann"), "", false};
  HttpAnswer answer;
  for (const auto& route : api->routes()) {
    if (route.prefix == "/api/v1/") answer = route.handle(request);
  }
  ASSERT_TRUE(answer.on_disk);
  auto later = std::async(std::launch::async, [work = answer.on_disk] {
    DiskNote note;
    return work(note).status;
  });
  const auto in_the_end = answering();
  disk_.asked.get_future().wait();
  api.reset();
  rig.reset();
  answer_now();
  EXPECT_EQ(later.get(), 200);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
