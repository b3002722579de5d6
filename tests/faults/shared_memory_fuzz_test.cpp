// A process that was taken over writes what it likes into the memory that it shares. From outside, random words of one
// shared memory of a running rig are overwritten, thousands of times. Whoever has that memory may be restarted, and its
// cameras may be quarantined; the supervisor and everybody else live on, and other cameras' recordings are whole.
// CAMPIPE_FUZZ_SEED repeats a run: the seed is printed.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/big_endian.h"
#include "core/error.h"
#include "ipc/decode_blocks.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"
#include "ipc/shared_memory.h"
#include "ipc/source_blocks.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int pokes = 4'000;  // of each kind of memory
constexpr int pokes_at_once = 100;
// One after the other: a camera whose memory is damaged again and again is quarantined after a while, and then there is
// nothing left to poke at.
constexpr int most_rigs = 12;
const std::set<std::string> roles{"source", "master", "publisher", "worker 0", "worker 1"};

struct Target {
  std::string title;
  std::string memory;  // as its descriptor is called
  std::string holder;  // a process that has it, and no other of the kind
  std::set<std::string> owners;
  std::set<std::string> cameras;  // whose frames it is about
};
void PrintTo(const Target& target, std::ostream* out) { *out << target.title; }

// Camera a is on worker 0, b on worker 1; c is passed on as it comes. Each has a size of its own.
std::string fuzzed_rig(const std::filesystem::path& clip) {
  return "defaults:\n  drop_policy: drop\n  encode: {gop: 10, bitrate: 500k}\n  record: {path: \"{camera}.mp4\"}\n"
         "workers: {count: 2}\ncameras:\n"
         "  a: {source: \"test://pattern?width=320&height=240&rate=25\"}\n"
         "  b: {source: \"test://pattern?width=352&height=288&rate=25\"}\n"
         "  c:\n    source: " +
         clip.string() + "\n    pace: realtime\n    loop: true\n    encode: {codec: copy}\n";
}

// The newest descriptor of that name in the process, opened again. None while there is none, or it is being made: it is
// sealed last.
UniqueFd open_memory(pid_t pid, const std::string& name) {
  const std::filesystem::path folder = "/proc/" + std::to_string(pid) + "/fd";
  std::error_code error;
  int newest = -1;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string link = std::filesystem::read_symlink(entry.path(), error);
    if (link == "/memfd:campipe " + name + " (deleted)") newest = std::max(newest, std::stoi(entry.path().filename()));
  }
  if (newest < 0) return {};
  UniqueFd memory(::open((folder / std::to_string(newest)).c_str(), O_RDWR | O_CLOEXEC));
  const int seals = memory ? ::fcntl(memory.get(), F_GET_SEALS) : -1;
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return {};
  return memory;
}

constexpr std::size_t page_bytes = 4096;

// Where the first 64 KiB of a memory lie that anything was written to: most of a rig page is for cameras to come.
std::vector<std::size_t> used_pages(const UniqueFd& memory) {
  std::vector<std::size_t> used;
  off_t at = 0;
  while (used.size() < 16 && (at = ::lseek(memory.get(), at, SEEK_DATA)) >= 0) {
    used.push_back(static_cast<std::size_t>(at));
    at += static_cast<off_t>(page_bytes);
  }
  return used;
}

// As a process has them that was taken over.
RigPage pages_of(const RigRun& rig, const std::string& role, ProcessId process) {
  const pid_t pid = rig.pid_of(role);
  UniqueFd shared;
  UniqueFd own;
  const bool there = eventually([&] {
    shared = open_memory(pid, "rig");
    own = open_memory(pid, "rig process");
    return shared && own;
  });
  if (!there) throw Error(role + " has no pages");
  return RigPage::open(std::move(shared), std::move(own), process);
}

class Poker {
 public:
  Poker() {
    const char* given = std::getenv("CAMPIPE_FUZZ_SEED");  // NOLINT: no other thread sets it
    const auto seed = given != nullptr ? std::stoul(given) : 20261122UL;
    std::cout << "seed " << seed << '\n';
    random_.seed(seed);
  }

  // Half of the words lie where the words are that everything hangs on. `used`: see used_pages(). `spared`: words that
  // stay.
  void poke(const Mapping& memory, const std::vector<std::size_t>& used, const std::set<std::size_t>& spared) {
    const bool at_head = random_() % 2 == 0;
    const std::size_t page = at_head ? 0 : used.at(random_() % used.size());
    const std::size_t size = std::min(memory.bytes().size() - page, at_head ? std::size_t{1024} : page_bytes);
    const std::uint64_t value = word();
    const std::size_t width = random_() % 2 == 0 ? 4 : 8;
    const std::size_t at = page + random_() % (size / width) * width;
    const auto next = spared.lower_bound(at / 4 * 4);
    if (next != spared.end() && *next < at + width) return;
    std::memcpy(memory.bytes().data() + at, &value, width);
  }

 private:
  std::uint64_t word() {
    constexpr std::array<std::uint64_t, 8> special{
        0, 1, 2, ~0ULL, 1ULL << 63, ~0ULL >> 1, 0x8000'0000'8000'0000ULL, 0x0000'0001'0000'0040ULL};
    const auto choice = random_() % 12;
    if (choice < special.size()) return special.at(choice);
    return choice < 10 ? random_() % 4096 : std::uint64_t{random_()} << 32 | random_();
  }

  std::mt19937 random_;
};

// An MP4 file that is written in fragments has a whole one: a `moof` box, and the `mdat` behind it to its end.
bool holds_frames(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
  bool in_fragment = false;
  for (std::size_t at = 0; at + 8 <= bytes.size();) {
    const auto size = static_cast<std::size_t>(get_big_endian(&bytes[at], 4));
    const std::string type(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 4,
                           bytes.begin() + static_cast<std::ptrdiff_t>(at) + 8);
    if (size < 8 || size > bytes.size() - at) return false;
    if (in_fragment && type == "mdat") return true;
    in_fragment = type == "moof";
    at += size;
  }
  return false;
}

std::map<std::string, pid_t> processes_of(const RigRun& rig) {
  std::map<std::string, pid_t> found;
  for (const std::string& role : roles) found[role] = rig.pid_of(role);
  return found;
}

// Where a process notes in its page who damaged a ring. Its word is believed once, which other tests look at.
std::set<std::size_t> accusations_in(const RigPage& pages, ProcessId process) {
  std::set<std::size_t> places;
  const auto page = reinterpret_cast<std::uintptr_t>(&pages.process(process)) / page_bytes * page_bytes;
  const auto add = [&](const auto& block) {
    places.insert(reinterpret_cast<std::uintptr_t>(&block.accusation) - page);
  };
  for (unsigned i = 0; i < 8; ++i) {  // the rig has fewer
    if (process == source_process) add(pages.source(CameraId(i))), add(pages.copy(OutputId(i)));
    if (process == master_process)
      add(pages.decode(CameraId(i), master_process)), add(pages.edge_writer(EdgeId(i), master_process));
    if (process == publisher_process) add(pages.publish(OutputId(i)));
    if (process >= worker_process(0))
      add(pages.edge_reader(EdgeId(i), process)), add(pages.encode(OutputId(i), process));
  }
  return places;
}

class Poked : public testing::TestWithParam<Target> {
 protected:
  // Pokes until that was enough, or nobody has such a memory any more: its cameras were quarantined.
  int poke(RigRun& rig, int most) {
    int done = 0;
    const std::set<std::size_t> spared = spared_words(rig);
    while (done < most) {
      UniqueFd memory;
      std::vector<std::size_t> used;  // empty as long as it has only been made
      const bool there = eventually([&] {
        const auto holder = rig.find(GetParam().holder);
        if (holder) memory = open_memory(*holder, GetParam().memory);
        if (memory) used = used_pages(memory);
        return !used.empty() || !rig.running() || rig.log().find("quarantined") != std::string::npos;
      });
      if (!there || used.empty() || !rig.running()) return done;
      const Mapping mapping(memory.get(), Mapping::Access::read_write);
      for (int i = 0; i < pokes_at_once; ++i) poker_.poke(mapping, used, spared);
      done += pokes_at_once;
      std::this_thread::sleep_for(milliseconds(2));  // so that they meet it in different states
    }
    return done;
  }

  static std::set<std::size_t> spared_words(const RigRun& rig) {
    const std::string& role = GetParam().holder;
    if (GetParam().memory != "rig process") return {};
    const ProcessId process = role == "source"      ? source_process
                              : role == "master"    ? master_process
                              : role == "publisher" ? publisher_process
                                                    : worker_process(0);
    return accusations_in(pages_of(rig, role, process), process);
  }

  static void expect_only_owners_died(const RigRun& rig, const std::map<std::string, pid_t>& before) {
    const std::string log = rig.log();
    for (const auto& [role, pid] : before) {
      if (GetParam().owners.contains(role)) continue;
      EXPECT_EQ(rig.find(role).value_or(-1), pid) << role << " is another one\n" << log;
      EXPECT_EQ(log.find(role + " died"), std::string::npos) << log;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
      EXPECT_EQ(log.find(fmt::format("died (signal {} ", signal)), std::string::npos) << log;
    }
  }

  int poke_one_rig(const std::filesystem::path& folder, int most) {
    RigRun rig(fuzzed_rig(folder / "clip.mp4"));
    RigWaits waits(rig);
    for (const char* file : {"a.mp4", "b.mp4", "c.mp4"}) EXPECT_TRUE(rig.wait_for_growth(file, 3000)) << rig.log();
    const auto before = processes_of(rig);
    const int done = poke(rig, most);
    EXPECT_GE(done, pokes_at_once);
    EXPECT_TRUE(rig.running()) << rig.log();
    for (const std::string camera : {"a", "b", "c"}) {
      if (GetParam().cameras.contains(camera)) continue;
      EXPECT_TRUE(rig.wait_for_growth(camera + ".mp4", rig.size(camera + ".mp4"))) << camera << '\n' << rig.log();
    }
    expect_only_owners_died(rig, before);
    rig.signal(SIGINT);
    const int status = rig.wait();
    EXPECT_TRUE(status == 0 || status == 3) << status << '\n' << rig.log();
    expect_own_frames(rig, waits);
    return done;
  }

  // All of b's, but for those that the rig, without a CPU, was late for.
  static void expect_own_frames(const RigRun& rig, RigWaits& waits) {
    const std::map<std::string, int> widths{{"a", 320}, {"b", 352}, {"c", 192}};
    for (const auto& entry : std::filesystem::directory_iterator(rig.folder())) {
      if (entry.path().extension() != ".mp4" || entry.path().stem() == "clip") continue;
      const std::string camera = entry.path().stem().string().substr(0, 1);
      SCOPED_TRACE(entry.path());
      // How far each file is stands in this page, and a successor goes on there: the files are as good as that note.
      if (GetParam().title == "PublishersPage") continue;
      // What says which file was begun, and how far it is, is among what was overwritten: nobody deletes one without
      // frames.
      if (GetParam().cameras.contains(camera) && !holds_frames(entry.path())) continue;
      const VideoFile video = read_video(entry.path());
      EXPECT_EQ(video.width, widths.at(camera));
      if (GetParam().cameras.contains(camera)) continue;
      if (camera == "c") {
        EXPECT_EQ(video.complaints, 0) << video.text;  // its clip begins again and again
      } else {
        const bool lossless = !GetParam().owners.contains("source");
        const nlohmann::json own = rig.camera(camera);
        EXPECT_EQ(check_pattern_recording(video, lossless && !was_late(own)), "");
        EXPECT_EQ(lossless ? check_late_only(own, 25, waits) : "", "") << rig.log();
      }
    }
  }

 private:
  Poker poker_;
};

TEST_P(Poked, HarmsNobodyElse) {
  const TemporaryFolder folder;
  make_clip(folder.path(), {.name = "clip.mp4", .width = 192, .height = 160, .frames = 50, .gop = 10});
  int done = 0;
  int rigs = 0;
  for (; done < pokes && rigs < most_rigs && !HasFailure(); ++rigs) done += poke_one_rig(folder.path(), pokes - done);
  std::cout << done << " words, " << rigs << " rigs\n";
  EXPECT_GE(done, pokes);
}

INSTANTIATE_TEST_SUITE_P(
    In, Poked,
    testing::Values(Target{"FrameRing", "frame ring", "worker 0", {"master", "worker 0"}, {"a"}},
                    Target{"PacketRing", "packet ring", "worker 0", {"worker 0", "publisher"}, {"a"}},
                    Target{"MastersPage", "rig process", "master", {"master"}, {"a", "b", "c"}},
                    Target{"PublishersPage", "rig process", "publisher", {"publisher"}, {"a", "b", "c"}}),
    [](const auto& of) { return of.param.title; });

// Whoever says that another process did damage is believed once, for whichever output, and not for ever; for a camera
// that has failed it is not believed at all.
TEST(Accusation, IsBelievedOnceAndThenEndsTheAccuser) {
  const TemporaryFolder folder;
  const std::filesystem::path no_video = folder.path() / "no-video.mp4";
  std::ofstream(no_video) << "not a video";
  RigRun rig(
      "workers: {count: 1}\ncameras:\n"
      "  a:\n    source: \"test://pattern?width=160&height=120&rate=25\"\n    record: {path: a.mp4}\n"
      "    outputs:\n      small: {encode: {codec: h264}, record: {path: small.mp4}}\n"
      "  b: {source: " +
      no_video.string() + ", encode: {codec: h264}}\n");
  const std::vector<std::string> files{"a.mp4", "small.mp4"};
  for (const std::string& file : files) ASSERT_TRUE(rig.wait_for_growth(file, 3000)) << rig.log();
  ASSERT_TRUE(eventually([&] { return rig.log().find("error [supervisor] b: ") != std::string::npos; })) << rig.log();
  const pid_t worker = rig.pid_of("worker 0");
  const pid_t source = rig.pid_of("source");
  pid_t publisher = rig.pid_of("publisher");
  const RigPage pages = pages_of(rig, "publisher", publisher_process);
  accuse(pages.publish(OutputId(1)).accusation, Accused::worker);
  const pid_t successor = rig.successor_of("worker 0", worker);
  EXPECT_NE(rig.log().find("wrote into a ring of a/small what cannot be"), std::string::npos) << rig.log();
  EXPECT_EQ(rig.pid_of("publisher"), publisher);
  for (const std::string& file : files) ASSERT_TRUE(rig.wait_for_growth(file, rig.size(file))) << rig.log();
  accuse(pages.publish(OutputId(0)).accusation, Accused::worker);
  publisher = rig.successor_of("publisher", publisher);
  for (const std::string& file : files) ASSERT_TRUE(rig.wait_for_growth(file, rig.size(file))) << rig.log();
  accuse(pages.publish(OutputId(2)).accusation, Accused::source);
  rig.successor_of("publisher", publisher);
  for (const std::string& file : files) ASSERT_TRUE(rig.wait_for_growth(file, rig.size(file))) << rig.log();
  EXPECT_EQ(rig.pid_of("worker 0"), successor) << rig.log();
  EXPECT_EQ(rig.pid_of("source"), source) << rig.log();
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 3) << "b has failed\n" << rig.log();
}

// What the supervisor writes nobody else can, whatever descriptor of it he has.
TEST(SharedPage, IsTheSupervisorsToWrite) {
  RigRun rig("cameras:\n  a: {source: \"test://pattern?width=320&height=240&rate=25\", record: {path: a.mp4}}\n");
  ASSERT_TRUE(rig.wait_for_growth("a.mp4", 3000)) << rig.log();
  for (const char* role : {"source", "master", "worker 0", "publisher"}) {
    const UniqueFd page = open_memory(rig.pid_of(role), "rig");
    ASSERT_TRUE(page) << role;
    EXPECT_THROW(Mapping(page.get(), Mapping::Access::read_write), Error) << role;
    EXPECT_NO_THROW(Mapping(page.get(), Mapping::Access::read)) << role;
  }
  rig.signal(SIGINT);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
