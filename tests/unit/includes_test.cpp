// The rules of the source tree that a compiler does not check:
//  - app → stages → {kernels, ipc} → core: who may include whom, downwards only, and no kind of stage another kind;
//  - in app/, the roles of processes meet in rooms that all share, and never include one another;
//  - the supervisor's rooms include one another downwards only; and of its port the interfaces, not what implements
//  them;
//  - who waits counts monotonic time: a clock that can be set is read in few places, for what people see;
//  - nothing that is kept in the repository speaks of the machine that it was written on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <ranges>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/paths.h"
#include "tests/unit/command_output.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

const fs::path source_dir = test::source_folder;

struct Folder {
  std::string_view name;
  std::vector<std::string_view> may_include;
};

// Tests may include anything, so they are not here; and nobody may include them.
const std::vector<Folder>& folders() {
  static const std::vector<Folder> all = {{"app", {"app", "stages", "kernels", "ipc", "core"}},
                                          {"stages", {"stages", "kernels", "ipc", "core"}},
                                          {"kernels", {"kernels", "core"}},
                                          {"ipc", {"ipc", "core"}},
                                          {"core", {"core"}}};
  return all;
}

// Of app/, whose own files (main.cpp) may include all of it. Each may include itself.
const std::vector<Folder>& rooms() {
  static const std::vector<Folder> all = {{"config", {}},
                                          {"control", {"config"}},
                                          {"rings", {"control", "config"}},
                                          {"costs", {"config"}},
                                          {"placement", {"costs", "control", "config"}},
                                          {"calibrate", {"costs", "placement", "control", "config"}},
                                          {"probe", {"placement", "control", "config"}},
                                          {"load", {"probe", "placement", "control", "config"}},
                                          {"supervisor", {"probe", "placement", "costs", "rings", "control", "config"}},
                                          {"source", {"rings", "control", "config"}},
                                          {"master", {"rings", "control", "config"}},
                                          {"worker", {"rings", "control", "config"}},
                                          {"publisher", {"rings", "control", "config"}},
                                          {"link", {"rings", "control", "config"}},
                                          {"cluster", {"placement", "control", "config"}},
                                          {"mpi", {"cluster", "placement", "config"}},
                                          {"commands", {"control", "config"}}};
  return all;
}

// "stages" of "stages/filters/blur.cpp".
std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

// "filters" of "stages/filters/blur.cpp"; empty for a file that lies in "stages" itself.
std::string_view second_part(std::string_view path) {
  const std::size_t from = path.find('/') + 1;
  const std::size_t to = path.find('/', from);
  return to == std::string_view::npos ? std::string_view() : path.substr(from, to - from);
}

const Folder* find_in(const std::vector<Folder>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Folder::name);
  return found == all.end() ? nullptr : &*found;
}
const Folder* find_folder(std::string_view name) { return find_in(folders(), name); }

// Both are of app/.
std::optional<std::string> check_rooms(std::string_view from, std::string_view to) {
  if (from.empty() || from == to) return std::nullopt;
  const Folder* const room = find_in(rooms(), from);
  if (room == nullptr) return "app/" + std::string(from) + " has no rule of whom it may include (includes_test.cpp)";
  if (std::ranges::find(room->may_include, to) != room->may_include.end()) return std::nullopt;
  return "app/" + std::string(from) + " must not include app/" + std::string(to);
}

// Of app/supervisor/, whose own files (the loop) may include all of it. Each may include itself; those that it includes
// stand above it.
const std::vector<Folder>& supervisor_rooms() {
  static const std::vector<Folder> all = {{"port", {}},
                                          {"rig", {}},
                                          {"processes", {"rig"}},
                                          {"life", {"processes", "rig"}},
                                          {"show", {"port", "processes", "rig"}},
                                          {"cluster", {"life", "port", "processes", "rig"}},
                                          {"moving", {"life", "port", "processes", "rig"}},
                                          {"faults", {"life", "moving", "port", "processes", "rig"}}};
  return all;
}

constexpr std::string_view supervisor_folder = "app/supervisor/";

// "rig" of "app/supervisor/rig/camera.h"; empty for the loop.
std::string_view supervisor_room(std::string_view path) {
  const std::string_view rest = path.substr(supervisor_folder.size());
  return rest.find('/') == std::string_view::npos ? std::string_view() : first_part(rest);
}

std::optional<std::string> check_supervisor(std::string_view file, std::string_view target) {
  if (!file.starts_with(supervisor_folder) || !target.starts_with(supervisor_folder)) return std::nullopt;
  const std::string_view from = supervisor_room(file);
  const std::string_view to = supervisor_room(target);
  if (from != "port" && target.starts_with("app/supervisor/port/real_")) {
    return "app/supervisor must not include what implements its port";
  }
  if (from.empty() || from == to) return std::nullopt;
  const std::string name = std::string(supervisor_folder) + std::string(from);
  const Folder* const room = find_in(supervisor_rooms(), from);
  if (room == nullptr) return name + " has no rule of whom it may include (includes_test.cpp)";
  if (std::ranges::find(room->may_include, to) != room->may_include.end()) return std::nullopt;
  return name + " must not include " + std::string(supervisor_folder) + std::string(to);
}

// What is wrong with `file` including `target` in quotes, both relative to the repository, or nothing.
std::optional<std::string> check_include(std::string_view file, std::string_view target) {
  const Folder& from = *find_folder(first_part(file));
  const std::string_view to = first_part(target);
  if (target.find('/') == std::string_view::npos || (find_folder(to) == nullptr && to != "tests")) {
    return "is not written from the root of the repository";
  }
  if (std::ranges::find(from.may_include, to) == from.may_include.end()) {
    return std::string(from.name) + " must not include " + std::string(to);
  }
  if (from.name == "stages" && to == "stages" && second_part(file) != second_part(target)) {
    return "stages of different kinds must not include one another";
  }
  if (from.name != "app" || to != "app") return std::nullopt;
  if (auto complaint = check_supervisor(file, target)) return complaint;
  return check_rooms(second_part(file), second_part(target));
}

// All that is wrong with the includes of a source, as lines that begin "file:line: ".
std::vector<std::string> check_includes(const std::string& file, std::istream& source) {
  // In angle brackets are the system's headers; ours would be found there too, and must not hide so.
  static const std::regex include(
      R"re(^\s*#\s*include\s*(?:"([^"]+)"|<((?:app|stages|kernels|ipc|core|tests)/[^>]+)>).*)re");
  std::vector<std::string> complaints;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    std::smatch match;
    if (!std::regex_match(line, match, include)) continue;
    const bool in_quotes = match[1].matched;
    const std::string target = in_quotes ? match[1] : match[2];
    const std::string where = file + ":" + std::to_string(number) + ": " + target + ": ";
    if (!in_quotes) complaints.push_back(where + "belongs in quotes");
    if (const auto complaint = check_include(file, target)) complaints.push_back(where + *complaint);
  }
  return complaints;
}

std::vector<std::string> check_text(const std::string& file, const std::string& text) {
  std::istringstream source(text);
  return check_includes(file, source);
}

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += line + '\n';
  return text;
}

using Check = std::vector<std::string> (*)(const std::string& file, std::istream& source);

// Of all sources.
std::vector<std::string> complaints_of(Check check) {
  std::vector<std::string> complaints;
  int files = 0;
  for (const Folder& folder : folders()) {
    const fs::path root = source_dir / folder.name;
    if (!fs::exists(root)) continue;  // a folder with nothing in it is not in a clone
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".cuh") continue;
      std::ifstream source(entry.path());
      EXPECT_TRUE(source) << entry.path();
      const std::string file = entry.path().lexically_relative(source_dir).generic_string();
      for (std::string& complaint : check(file, source)) complaints.push_back(std::move(complaint));
      ++files;
    }
  }
  EXPECT_GT(files, 10) << "too few sources in " << source_dir;
  return complaints;
}

// Lines that use a clock which can be set, but for utc_now() and the log's, and those that read any clock past
// core/clock.h, which a simulation replaces.
std::vector<std::string> check_clocks(const std::string& file, std::istream& source) {
  static const std::regex settable(
      R"(system_clock|CLOCK_REALTIME|\bgettimeofday|sem_timedwait|pthread_cond_timedwait|std::time\()");
  static const std::set<std::string> may{"core/clock.h", "core/clock.cpp", "core/log.h", "core/log.cpp"};
  static const std::regex read(
      R"(\b(steady|system|high_resolution)_clock::now|clock_gettime\(CLOCK_(MONOTONIC|REALTIME))");
  std::vector<std::string> complaints;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (!may.contains(file) && std::regex_search(line, settable))
      complaints.push_back(file + ":" + std::to_string(number) + ": goes by a clock that can be set: " + line);
    if (file != "core/clock.cpp" && std::regex_search(line, read))
      complaints.push_back(file + ":" + std::to_string(number) + ": reads a clock past core/clock.h: " + line);
  }
  return complaints;
}

TEST(IncludeRule, HoldsInTheSources) {
  const auto complaints = complaints_of(check_includes);
  EXPECT_THAT(complaints, IsEmpty()) << lines(complaints);
}

TEST(ClockRule, HoldsInTheSources) {
  const auto complaints = complaints_of(check_clocks);
  EXPECT_THAT(complaints, IsEmpty()) << lines(complaints);
  std::istringstream wait("a.wait_until(lock, std::chrono::system_clock::now() + 1s);\n");
  EXPECT_EQ(check_clocks("app/publisher/a.cpp", wait).size(), 2U);
  std::istringstream read("const auto begin = std::chrono::steady_clock::now();\n");
  EXPECT_EQ(check_clocks("app/publisher/a.cpp", read).size(), 1U);
}

TEST(IncludeRule, AllowsDownwardsAndOneself) {
  EXPECT_THAT(check_text("app/a.cpp", "#include \"stages/sinks/s.h\"\n#include \"ipc/i.h\"\n#include \"app/a.h\"\n"),
              IsEmpty());
  EXPECT_THAT(check_text("app/main.cpp", "#include \"app/master/m.h\"\n#include \"app/worker/w.h\"\n"), IsEmpty());
  EXPECT_THAT(check_text("app/master/m.cpp", "#include \"app/rings/r.h\"\n#include \"app/master/n.h\"\n"), IsEmpty());
  EXPECT_THAT(check_text("app/master/decoding.h", "#include \"app/rings/packet_note.h\"\n"), IsEmpty());
  EXPECT_THAT(check_text("app/supervisor/s.cpp", "#include \"app/supervisor/port/port.h\"\n"), IsEmpty());
  EXPECT_THAT(check_text("app/supervisor/port/p.h", "#include \"app/supervisor/port/real_port.h\"\n"), IsEmpty());
  EXPECT_THAT(check_text("stages/sinks/s.cpp", "#include \"stages/sinks/t.h\"\n#include \"kernels/k.h\"\n"), IsEmpty());
  EXPECT_THAT(check_text("kernels/k.cu", "#include \"core/c.h\"\n#include <vector>\n"), IsEmpty());
  EXPECT_THAT(check_text("core/c.cpp", "#include <opencv2/core/mat.hpp>\n// #include \"app/a.h\"\n"), IsEmpty());
}

// The header of a room begins with what the room owns and who may call it.
TEST(SupervisorRooms, SayWhatTheyOwn) {
  for (const Folder& room : supervisor_rooms()) {
    const std::string begin = "// The room `" + std::string(room.name) + "` ";
    std::vector<std::string> headers;
    for (const auto& entry : fs::directory_iterator(source_dir / supervisor_folder / room.name)) {
      std::ifstream file(entry.path());
      std::string line;
      if (std::getline(file, line) && line.starts_with(begin)) headers.push_back(entry.path().filename().string());
    }
    EXPECT_EQ(headers.size(), 1) << "app/supervisor/" << room.name << " has to have one header that begins " << begin;
  }
}

// The table has no arrow that no file needs, and each room stands behind those that it includes: there is no circle.
TEST(SupervisorRooms, FormFewLevels) {
  std::set<std::pair<std::string, std::string>> included;
  static const std::regex include(R"re(^#include "(app/supervisor/[^"]+)")re");
  for (const auto& entry : fs::recursive_directory_iterator(source_dir / supervisor_folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string from(supervisor_room(entry.path().lexically_relative(source_dir).generic_string()));
    std::ifstream file(entry.path());
    std::smatch match;
    for (std::string line; std::getline(file, line);) {
      if (std::regex_search(line, match, include)) included.emplace(from, supervisor_room(match[1].str()));
    }
  }
  std::map<std::string_view, int> levels;
  int arrows = 0;
  for (const Folder& room : supervisor_rooms()) {
    int level = 1;
    for (const std::string_view below : room.may_include) {
      ASSERT_TRUE(levels.contains(below)) << room.name << " includes " << below << ", which stands behind it";
      EXPECT_TRUE(included.contains({std::string(room.name), std::string(below)})) << room.name << " -> " << below;
      level = std::max(level, levels[below] + 1);
      ++arrows;
    }
    levels[room.name] = level;
  }
  EXPECT_LE(arrows, 20);
  EXPECT_LE(std::ranges::max(levels | std::views::values), 6) << "and the loop is one more";
}

struct BadInclude {
  const char* name;
  const char* file;
  const char* text;
  const char* complaint;
  friend std::ostream& operator<<(std::ostream& out, const BadInclude& of) { return out << of.name; }
};

class IncludeRuleBreach : public testing::TestWithParam<BadInclude> {};

TEST_P(IncludeRuleBreach, IsFound) {
  const auto complaints = check_text(GetParam().file, std::string("// a comment\n") + GetParam().text);
  ASSERT_EQ(complaints.size(), 1) << lines(complaints);
  EXPECT_THAT(complaints[0], HasSubstr(GetParam().complaint));
  EXPECT_THAT(complaints[0], HasSubstr(std::string(GetParam().file) + ":2: "));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, IncludeRuleBreach,
    testing::Values(
        BadInclude{"Upwards", "core/c.h", "#include \"ipc/i.h\"\n", "core must not include ipc"},
        BadInclude{"FromStageToApp", "stages/sinks/s.h", "  #  include\"app/a.h\" // why\n",
                   "stages must not include app"},
        BadInclude{"Sideways", "kernels/k.cu", "#include \"ipc/i.h\"\n", "kernels must not include ipc"},
        BadInclude{"SidewaysBack", "ipc/i.cpp", "#include \"kernels/k.h\"\n", "ipc must not include kernels"},
        BadInclude{"StageToStage", "stages/sinks/s.cpp", "#include \"stages/filters/f.h\"\n", "different kinds"},
        BadInclude{"RoleToRole", "app/supervisor/s.cpp", "#include \"app/publisher/server/p.h\"\n",
                   "app/supervisor must not include app/publisher"},
        BadInclude{"PortToSupervisor", "app/supervisor/port/real_port.cpp",
                   "#include \"app/supervisor/processes/process.h\"\n",
                   "app/supervisor/port must not include app/supervisor/processes"},
        BadInclude{"RoomUpwards", "app/supervisor/life/l.cpp", "#include \"app/supervisor/moving/m.h\"\n",
                   "app/supervisor/life must not include app/supervisor/moving"},
        BadInclude{"RoomToLoop", "app/supervisor/rig/r.cpp", "#include \"app/supervisor/supervisor.h\"\n",
                   "app/supervisor/rig must not include app/supervisor/"},
        BadInclude{"SupervisorsRoomWithoutRule", "app/supervisor/attic/a.h", "#include \"app/supervisor/rig/r.h\"\n",
                   "has no rule"},
        BadInclude{"SupervisorToMachine", "app/supervisor/s.cpp", "#include \"app/supervisor/port/real_port.h\"\n",
                   "must not include what implements its port"},
        BadInclude{"RoomToRole", "app/control/c.h", "#include \"app/master/m.h\"\n",
                   "app/control must not include app/master"},
        BadInclude{"RoomToMain", "app/rings/r.h", "#include \"app/a.h\"\n", "app/rings must not include app/"},
        BadInclude{"RoomWithoutRule", "app/attic/a.h", "#include \"app/config/c.h\"\n", "has no rule"},
        BadInclude{"DecoderToConnection", "app/master/frame_clock.cpp", "#include \"app/source/packet_clock.h\"\n",
                   "app/master must not include app/source"},
        BadInclude{"Tests", "app/a.cpp", "#include \"tests/unit/t.h\"\n", "app must not include tests"},
        BadInclude{"Neighbour", "core/c.cpp", "#include \"c.h\"\n", "from the root"},
        BadInclude{"Relative", "core/c.cpp", "#include \"../app/a.h\"\n", "from the root"},
        BadInclude{"AngleBrackets", "app/a.cpp", "#include <core/c.h>\n", "belongs in quotes"}),
    [](const auto& of) { return of.param.name; });

// The files that git keeps; empty where there is no git or no repository (a source archive).
std::vector<std::string> tracked_files() {
  std::vector<std::string> files;
  std::istringstream names(test::output_of("git -C '" + source_dir.string() + "' ls-files -z 2>/dev/null"));
  for (std::string name; std::getline(names, name, '\0');) files.push_back(name);
  return files;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Types of the namespace that headers define whole, by name. One name for two types is undefined in a program that has
// both, and no linker says so.
std::map<std::string, std::set<std::string>> types_by_header(const std::vector<std::string>& files) {
  static const std::regex definition(R"re(\n(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{\n]*)? \{)re");
  std::map<std::string, std::set<std::string>> headers;
  for (const std::string& file : files) {
    const bool is_header = file.ends_with(".h") && !file.starts_with("tests/");
    if (!is_header || !fs::is_regular_file(source_dir / file)) continue;
    const std::string text = read_file(source_dir / file);
    if (text.find("\nnamespace campipe {") == std::string::npos) continue;
    for (std::sregex_iterator found(text.begin(), text.end(), definition), end; found != end; ++found) {
      headers[(*found)[1]].insert(file);
    }
  }
  return headers;
}

TEST(TrackedFiles, GiveEachTypeANameOfItsOwn) {
  const auto files = tracked_files();
  if (files.empty()) GTEST_SKIP() << "not a git repository";
  const auto types = types_by_header(files);
  EXPECT_GT(types.size(), 200U);
  for (const auto& [name, headers] : types) EXPECT_THAT(headers, testing::SizeIs(1)) << name;
}

// Put together here, so that this file does not hold them.
std::vector<std::string> paths_of_machines() {
  const std::string slash = "/";
  return {slash + "work" + slash, slash + "home" + slash, std::string("bash") + "_jobs"};
}

std::vector<std::string> machine_paths_in(const std::string& text) {
  std::vector<std::string> found;
  const bool is_binary = text.find('\0') != std::string::npos;
  for (const std::string& path : paths_of_machines()) {
    if (!is_binary && text.find(path) != std::string::npos) found.push_back(path);
  }
  return found;
}

TEST(TrackedFiles, NameNoPathOfAMachine) {
  const auto files = tracked_files();
  if (files.empty()) GTEST_SKIP() << "not a git repository";
  for (const std::string& file : files) {
    if (!fs::is_regular_file(fs::symlink_status(source_dir / file))) continue;
    EXPECT_THAT(machine_paths_in(read_file(source_dir / file)), IsEmpty()) << file;
  }
}

TEST(TrackedFiles, CheckSeesPathsInTextOnly) {
  const std::string bad = "see " + paths_of_machines()[0] + "notes";
  EXPECT_THAT(machine_paths_in(bad), testing::ElementsAre(paths_of_machines()[0]));
  EXPECT_THAT(machine_paths_in("net" + paths_of_machines()[0].substr(1)), IsEmpty());
  EXPECT_THAT(machine_paths_in(bad + '\0'), IsEmpty());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
