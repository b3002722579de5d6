// The supervisor reaches the machine through its port only (app/supervisor/port), so that a simulation can replace the
// machine. This test finds code that bypasses the port: system calls, files, threads, random numbers, and functions of
// campipe that use them. It compares words, so it finds mistakes, and not what somebody hides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Forbidden {
  const char* what;
  std::regex pattern;
};

// "one two": "one|two".
std::string any_of_words(const std::string& words) {
  std::istringstream all(words);
  std::string pattern;
  for (std::string word; all >> word;) pattern += (pattern.empty() ? "" : "|") + word;
  return "(" + pattern + ")";
}

Forbidden headers(const char* what, const std::string& names) {
  return {what, std::regex(R"(#\s*include\s*<)" + any_of_words(names) + ">")};
}

// Of functions that are no members of anything.
Forbidden calls(const char* what, const std::string& names) {
  return {what, std::regex(R"((^|[^\w.>:]|campipe::))" + any_of_words(names) + R"(\s*\()")};
}

Forbidden names(const char* what, const std::string& all) {
  return {what, std::regex(R"(\b)" + any_of_words(all) + R"(\b)")};
}

// What the test looks for. Of the system's headers, <sys/types.h> has names of types only; of random numbers, a
// generator with a seed is arithmetic.
const std::vector<Forbidden>& forbidden() {
  static const std::vector<Forbidden> all = {
      headers("a header of the system",
              R"(sys/(?!types\.h)\w+\.h systemd/.* linux/.* (unistd|fcntl|poll|spawn|sched|dirent|netdb|pthread)\.h
                 (dlfcn|termios)\.h c(signal|time|stdlib|errno) (signal|time|stdlib|errno)\.h)"),
      headers(
          "a header of files or threads",
          "fstream iostream thread stop_token mutex shared_mutex condition_variable future semaphore latch barrier"),
      {"a function of C", std::regex(R"((^|[^\w>)])::\s*[a-z_]\w*\s*\()")},
      calls("a system call",
            R"(getpid getppid getpgid gettid getuid geteuid getgid getegid getrusage getpriority sysconf syscall
               [gs]etrlimit prlimit getenv secure_getenv setenv unsetenv putenv isatty ioctl pipe2 socketpair sendmsg
               recvmsg sendto recvfrom fcntl prctl sigaction sigprocmask pthread_\w+ signalfd eventfd timerfd_\w+
               epoll_\w+ ppoll waitpid waitid wait4 posix_spawn\w* execve? vfork pidfd_\w+ mmap munmap memfd_create
               fopen popen mkostemp mkdtemp nanosleep usleep gethostname uname sysinfo statvfs sched_\w+)"),
      {"a file of the kernel", std::regex(R"("/(proc|sys|dev|run|tmp)\b)")},
      names("a file", R"([io]?fstream FILE std::rename std::remove std::tmpnam std::fopen std::getenv std::system)"),
      names("a file or a folder",
            R"(filesystem::(absolute|canonical|weakly_canonical|relative|proximate|current_path|temp_directory_path)
               filesystem::(exists|status|symlink_status|is_\w+|file_size|space|last_write_time|permissions|rename)
               filesystem::(remove\w*|copy\w*|create_\w+|resize_file|\w*directory_iterator))"),
      names("a thread", "std::thread std::jthread std::async sleep_for sleep_until"),
      names("a random number", "random_device"),
      calls("a random number",
            R"(random_bytes random_hex random_token getrandom randombytes\w* RAND_\w+ s?rand [dlm]?rand48
               crypto_\w+_keygen crypto_(box|kx|sign)_keypair)"),
      names("what the port is for",
            R"(Real[A-Z]\w+ StartedProcess ForkServer BackgroundQueue BackgroundWriter DescriptorReserve DeviceProbe)"),
      calls("what the port is for",
            R"(starts_processes any_thread_runs read_thread_times cpu_seconds_of read_idle_times find_gpu_files
               mps_problem load_costs load_machine_costs read_costs cpu_key gpu_key costs_file state_folder
               runtime_folder cache_folder make_own_folder replace_file text_of_file init_logging pretended_gpus
               this_machine read_machine_limits probe_devices check_links load_config_apart)"),
  };
  return all;
}

// Without its comment, if it has one that no string contains.
std::string code_of(const std::string& line) {
  bool in_string = false;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      in_string = !in_string;
    else if (!in_string && line[i] == '/' && line[i + 1] == '/')
      return line.substr(0, i);
  }
  return line;
}

// What bypasses the port in a source, as lines "file:line: what: code".
std::vector<std::string> bypasses_in(const std::string& file, std::istream& source) {
  std::vector<std::string> found;
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    const std::string code = code_of(line);
    for (const Forbidden& each : forbidden()) {
      if (std::regex_search(code, each.pattern))
        found.push_back(file + ":" + std::to_string(number) + ": " + each.what + ": " + line);
    }
  }
  return found;
}

std::vector<std::string> bypasses_in(const std::string& text) {
  std::istringstream source(text);
  return bypasses_in("a.cpp", source);
}

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += line + '\n';
  return text;
}

TEST(PortRule, HoldsInTheSupervisor) {
  const fs::path folder = fs::path(test::source_folder) / "app/supervisor";
  std::vector<std::string> found;
  int files = 0;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->path() == folder / "port") entry.disable_recursion_pending();
    if (!entry->is_regular_file()) continue;
    std::ifstream source(entry->path());
    EXPECT_TRUE(source) << entry->path();
    for (std::string& line : bypasses_in(entry->path().lexically_relative(folder), source)) found.push_back(line);
    ++files;
  }
  EXPECT_GT(files, 100) << "too few sources in " << folder;
  EXPECT_THAT(found, IsEmpty()) << lines(found);
}

TEST(PortRule, FindsEachOfThese) {
  for (const char* line : {
           "#include <unistd.h>",
           "#include <sys/wait.h>",
           "#include <csignal>",
           "#include <fstream>",
           "#include <thread>",
           "  ::poll(waits.data(), waits.size(), 100);",
           "  if (::kill(pid, 0) == 0) return;",
           "  return status == 0 && ::isatty(2) == 1;",
           "  const pid_t own = getpid();",
           "  std::ifstream rollup(name);",
           "  const auto path = \"/proc/\" + std::to_string(pid);",
           "  if (std::filesystem::exists(file)) return;",
           "  const auto file = std::filesystem::absolute(options.config);",
           "  if (std::getenv(\"HOME\") == nullptr) return;",
           "  std::thread([] {}).detach();",
           "  std::this_thread::sleep_for(delay);",
           "  std::minstd_rand random(std::random_device{}());",
           "  const std::string token = random_hex(16);",
           "  crypto_box_keypair(public_key.data(), secret_key.data());",
           "  const CoreTimes idle = read_idle_times();",
           "  if (any_thread_runs(process.child->pid())) return;",
           "  const CoreTimes idle = campipe::read_idle_times();",
           "  StartedProcess process({\"worker\", \"0\"}, 2);",
           "  const RealPort port(signals, forks);",
           "  init_logging(\"supervisor\", level);",
       }) {
    EXPECT_THAT(bypasses_in(std::string("int a = 0;  // fine\n") + line),
                AllOf(Not(IsEmpty()), Each(HasSubstr("a.cpp:2: "))))
        << line;
  }
}

TEST(PortRule, AllowsThePortAndWhatOnlyLooksLikeASystemCall) {
  EXPECT_THAT(bypasses_in("#include <sys/types.h>\n"
                          "#include <filesystem>\n"
                          "#include \"app/supervisor/port/port.h\"\n"
                          "  const pid_t own = port_.own_pid();\n"
                          "  load.idle = port_.read_idle_times();\n"
                          "  if (process.child->any_thread_runs()) process.child->kill();\n"
                          "  seed = port.random_bytes(4);\n"
                          "  std::minstd_rand random(seed);\n"
                          "  static std::shared_ptr<FrameRingMemory> open(std::vector<UniqueFd>& fds);\n"
                          "  PacketRingMemory::open(std::move(fds[0]));\n"
                          "void RingRouter::send(const CameraEdge& edge) { std::ranges::find(edges, edge); }\n"
                          "  file = std::filesystem::path(folder) / \"rig.yaml\";\n"
                          "  text = \"see https://example.org\";  // std::thread, /proc/stat and ::poll() wait\n"),
              IsEmpty());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
