// Paths of recordings and snapshots: what they may contain, which file they mean, and whether it could be written.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iomanip>
#include <locale>
#include <map>
#include <set>
#include <sstream>

#include "app/config/paths.h"
#include "app/config/stream_config.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view camera_field = "{camera}";
constexpr std::string_view output_field = "{output}";
constexpr std::string_view longest_camera = "0123456789012345678901234567890123456789012345678901234567890123";
constexpr std::size_t longest_node = 64;
// strftime fields that give text without '/' and mean the same in every locale but for names of days and months.
constexpr std::string_view time_fields = "YymdejHIMSpsaAbBuVGzZFT%";
// Any moment at which no two fields read alike: 2009-08-27 14:35:56 UTC.
constexpr std::int64_t sample_time = 1'251'383'756;

std::optional<std::string> check_braces(std::string_view path, std::string_view others) {
  for (auto begin = path.find_first_of("{}"); begin != std::string_view::npos; begin = path.find_first_of("{}")) {
    path.remove_prefix(begin);
    const std::string_view field = path.starts_with(camera_field) ? camera_field : output_field;
    if (!path.starts_with(field)) {
      const std::string got(path.substr(0, path.find('}') == std::string_view::npos ? 1 : path.find('}') + 1));
      return "unknown field " + in_quotes(got) + ", expected {camera}" + std::string(others);
    }
    path.remove_prefix(field.size());
  }
  return std::nullopt;
}

std::optional<std::string> check_time_fields(std::string_view path) {
  for (std::size_t at = path.find('%'); at != std::string_view::npos; at = path.find('%', at + 2)) {
    const bool known = at + 1 < path.size() && time_fields.find(path[at + 1]) != std::string_view::npos;
    if (!known) {
      return "unknown time field " + in_quotes(path.substr(at, 2)) +
             ", expected one such as %Y, %m, %d, %H, %M or %S " + "(%% for a percent sign)";
    }
  }
  return std::nullopt;
}

// What is recorded lies below the folder in which its index lies: the one before the first time field.
std::optional<std::string> check_way_back(const std::string& path) {
  const fs::path changing = path.substr(std::min(path.find('%'), path.size()));
  if (std::find(changing.begin(), changing.end(), fs::path("..")) == changing.end()) return std::nullopt;
  return "'..' behind a time field, expected folders that lead down from there";
}

fs::path absolute(const std::string& path) { return fs::absolute(path).lexically_normal(); }

// `added`: bytes that its name gets beyond those of the pattern.
bool is_too_long(const std::string& pattern, std::size_t added = 0) {
  constexpr std::size_t longest_name = 255;
  constexpr std::size_t longest_path = 4095;
  const std::string longest(longest_camera);
  const fs::path path = absolute(expand_record_path(pattern, longest, longest, sample_time));
  const bool name =
      std::any_of(path.begin(), path.end(), [](const fs::path& p) { return p.native().size() > longest_name; });
  return name || path.filename().native().size() + added > longest_name || path.native().size() + added > longest_path;
}

std::optional<std::string> check_lengths(const std::string& pattern) {
  if (!is_too_long(pattern)) return std::nullopt;
  return "a file name may have 255 bytes, and a path 4095; this one has more, with the longest camera name filled in";
}

// `added`: what a cluster adds, of `bytes` at most.
std::optional<std::string> check_cluster_lengths(const std::string& pattern, const std::string& added,
                                                 std::size_t bytes) {
  if (!is_too_long(pattern, bytes)) return std::nullopt;
  return "a file name may have 255 bytes, and a path 4095; this one has more in a cluster, which adds " + added +
         ", with the longest names of camera and node filled in";
}

// File systems of the kernel where access() promises what creating a file cannot hold.
bool takes_no_files(const fs::path& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) return false;
  constexpr std::array<long, 8> kinds{PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
                                      SECURITYFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,      DEVPTS_SUPER_MAGIC};
  return std::find(kinds.begin(), kinds.end(), static_cast<long>(info.f_type)) != kinds.end();
}

struct FolderProblem {
  fs::path folder;
  std::string reason;
  bool passes = true;
};

// Why no file could be made in `folder`, once the folders that are missing are made; creates nothing.
std::optional<FolderProblem> check_folder(fs::path folder) {
  struct stat info {};
  // A link to nowhere is there, but no folder can be made in its place: stat fails where lstat does not.
  while (::stat(folder.c_str(), &info) != 0) {
    const int code = errno;
    const bool missing = code == ENOENT && ::lstat(folder.c_str(), &info) != 0;
    if (!missing && code != ENOTDIR)
      return FolderProblem{folder, std::string("cannot be used: ") + std::strerror(code)};
    folder = folder.parent_path();
  }
  if (!S_ISDIR(info.st_mode)) return FolderProblem{folder, "is not a folder"};
  if (takes_no_files(folder)) return FolderProblem{folder, "is of a file system that takes no files", false};
  const bool writable = ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  if (!writable) return FolderProblem{folder, std::string("cannot be written: ") + std::strerror(errno)};
  return std::nullopt;
}

// Names the folder, unless a part of it may come from the environment.
std::string describe(const FolderProblem& problem, const YamlNode& path) {
  const std::string folder = path.variables.empty() ? in_quotes(problem.folder.native()) : "of " + shown(path);
  return "the folder " + folder + " " + problem.reason;
}

std::string who(const FileTarget& target) {
  return (target.output == "main" ? "" : "output '" + target.output + "' of ") + "camera '" + target.camera + "'";
}

std::string same_file(const FileTarget& target, const FileTarget& other) {
  const std::string_view field = target.camera == other.camera ? output_field : camera_field;
  return who(target) + " " + std::string(target.what) + " to the same file as " + who(other) +
         (target.node == other.node ? ", use " + std::string(field) + " in the path" : "");
}

}  // namespace

std::optional<std::string> check_record_path(const std::string& path) {
  if (auto problem = check_braces(path, ", {output} or a time field such as %Y")) return problem;
  if (auto problem = check_time_fields(path)) return problem;
  if (auto problem = check_way_back(path)) return problem;
  return check_lengths(path);
}

std::optional<std::string> check_cluster_record_path(const std::string& path) {
  constexpr std::size_t longest_fence = 40;  // two numbers of 64 bits, and the point
  return check_cluster_lengths(path, "@NODE@FENCE", 2 + longest_node + longest_fence);
}

std::optional<std::string> check_cluster_snapshot_path(const std::string& path) {
  return check_cluster_lengths(path, "@NODE", 1 + longest_node);
}

std::string with_node(const std::string& path, const std::string& node) {
  if (node.empty()) return path;
  const std::size_t ending = fs::path(path).extension().native().size();
  return std::string(path).insert(path.size() - ending, "@" + node);
}

std::optional<std::string> check_snapshot_path(const std::string& path) {
  if (auto problem = check_braces(path, " or {output}")) return problem;
  if (path.find('%') != std::string::npos) return "a snapshot is one file: no time fields, and no '%'";
  return check_lengths(path);
}

bool tells_seconds(const std::string& path) {
  return expand_record_path(path, "c", "o", sample_time) != expand_record_path(path, "c", "o", sample_time + 1);
}

std::string expand_record_path(const std::string& path, const std::string& camera, const std::string& output,
                               std::int64_t utc_seconds) {
  std::string pattern = path;
  // Good names of cameras and outputs contain neither '{' nor '%'; one that was refused may be a field itself.
  const auto fill_in = [&pattern](std::string_view field, const std::string& value) {
    for (auto at = pattern.find(field); at != std::string::npos; at = pattern.find(field, at + value.size())) {
      pattern.replace(at, field.size(), value);
    }
  };
  fill_in(camera_field, camera);
  fill_in(output_field, output);
  const std::time_t seconds = utc_seconds;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::put_time(&local, pattern.c_str());
  return out.str();
}

bool check_can_be_written(const std::string& path, const YamlNode& node, Report& report) {
  const fs::path folder = absolute(path).parent_path();
  const auto looked = report.ask_disk([folder] { return check_folder(folder); });
  const auto problem = looked.value_or(FolderProblem{folder, Report::does_not_answer});
  if (!problem) return true;
  if (problem->passes) {
    report.not_now(node, describe(*problem, node));
  } else {
    report.at(node, describe(*problem, node));
  }
  return problem->passes;
}

void check_files(const std::vector<FileTarget>& targets, Report& report) {
  std::map<fs::path, const FileTarget*> files;
  std::set<const YamlNode*> reported;  // a path in `defaults` is every camera's, and wrong only once
  for (const FileTarget& target : targets) {
    const std::string path = expand_record_path(target.path, target.camera, target.output, sample_time);
    const auto [other, is_new] = files.try_emplace(absolute(path), &target);
    if (reported.count(target.node) > 0) continue;
    if (!is_new) {
      reported.insert(target.node);
      report.at(*target.node, same_file(target, *other->second));
    } else if (!check_can_be_written(path, *target.node, report)) {
      reported.insert(target.node);
    }
  }
}

}  // namespace campipe
