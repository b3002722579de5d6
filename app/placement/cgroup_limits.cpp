// A process is in one cgroup of each hierarchy, and what limits any of its parents limits it, too. Where these lie:
// /proc/self/cgroup has the paths, /proc/self/mountinfo where each hierarchy is mounted, and from which of its paths on
// (in a container often the container's own).
#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "app/placement/machine_limits.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t no_v1_limit = 1ULL << 60;  // v1 writes "none" as the largest multiple of a page
constexpr std::size_t deepest = 64;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream input(text);
  for (std::string part; std::getline(input, part, at);) parts.push_back(part);
  return parts;
}

// The words of the first line.
std::vector<std::string> words_of(const fs::path& file) {
  std::ifstream input(file);
  std::string line;
  std::getline(input, line);
  std::erase(line, '\r');
  return split(line, ' ');
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <typename T>
void lower(std::optional<T>& limit, T to) {
  if (!limit || to < *limit) limit = to;
}

struct Hierarchy {
  std::string controllers;  // of v1: "cpu,cpuacct"; empty: v2
  std::string path;         // of this process
};

struct Mount {
  std::string root;  // the path of the hierarchy that is mounted
  std::string point;
  bool v2 = false;
  std::string options;
};

std::vector<Hierarchy> own_cgroups(const fs::path& root) {
  std::vector<Hierarchy> all;
  std::ifstream input(root / "proc/self/cgroup");
  for (std::string line; std::getline(input, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    all.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return all;
}

// "36 35 0:28 /docker/1f… /sys/fs/cgroup/memory rw … - cgroup cgroup rw,memory"
std::vector<Mount> cgroup_mounts(const fs::path& root) {
  std::vector<Mount> all;
  std::ifstream input(root / "proc/self/mountinfo");
  for (std::string line; std::getline(input, line);) {
    const auto words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    const auto behind = words.end() - dash;
    if (words.size() < 5 || behind < 4) continue;
    const std::string& type = *(dash + 1);
    if (type == "cgroup" || type == "cgroup2") all.push_back({words[3], words[4], type == "cgroup2", *(dash + 3)});
  }
  return all;
}

bool has_word(const std::string& list, std::string_view word) {
  return std::ranges::any_of(split(list, ','), [&](const std::string& one) { return one == word; });
}

const Mount* mount_of(const std::vector<Mount>& mounts, const Hierarchy& cgroup, std::string_view controller) {
  const bool v2 = cgroup.controllers.empty();
  if (!v2 && !has_word(cgroup.controllers, controller)) return nullptr;
  const auto found = std::ranges::find_if(
      mounts, [&](const Mount& mount) { return mount.v2 == v2 && (v2 || has_word(mount.options, controller)); });
  return found == mounts.end() ? nullptr : &*found;
}

// The cgroup's folder and those of its parents that can be seen here.
std::vector<fs::path> folders_of(const fs::path& root, const Mount& mount, const std::string& path) {
  std::string below = path;
  if (mount.root != "/" && below.starts_with(mount.root)) below = below.substr(mount.root.size());
  const fs::path top = root / fs::path(mount.point).relative_path();
  fs::path folder = (top / fs::path(below).relative_path()).lexically_normal();
  std::error_code error;
  // Of another namespace: then what is mounted is all that there is to see.
  if (below.find("..") != std::string::npos || !fs::is_directory(folder, error)) folder = top;
  std::vector<fs::path> all;
  while (all.size() < deepest) {
    all.push_back(folder);
    if (folder == top || folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return all;
}

std::optional<std::int64_t> only_number_in(const fs::path& file) {
  const auto words = words_of(file);
  return words.empty() ? std::nullopt : number_of(words.front());
}

void add_cores(const fs::path& folder, bool v2, CgroupLimits& limits) {
  std::optional<std::int64_t> quota;
  std::optional<std::int64_t> period;
  if (v2) {
    const auto words = words_of(folder / "cpu.max");  // "max 100000"
    if (words.size() >= 2) quota = number_of(words[0]), period = number_of(words[1]);
  } else {
    quota = only_number_in(folder / "cpu.cfs_quota_us");  // -1: none
    period = only_number_in(folder / "cpu.cfs_period_us");
  }
  if (quota.value_or(0) > 0 && period.value_or(0) > 0)
    lower(limits.cores, static_cast<double>(*quota) / static_cast<double>(*period));
}

void add_memory(const fs::path& folder, bool v2, CgroupLimits& limits) {
  const auto bytes = only_number_in(folder / (v2 ? "memory.max" : "memory.limit_in_bytes"));  // "max"
  if (bytes.value_or(0) > 0 && static_cast<std::uint64_t>(*bytes) < no_v1_limit)
    lower(limits.memory, static_cast<std::uint64_t>(*bytes));
}

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  const std::vector<Mount> mounts = cgroup_mounts(root);
  for (const Hierarchy& cgroup : own_cgroups(root)) {
    const bool v2 = cgroup.controllers.empty();
    if (const Mount* mount = mount_of(mounts, cgroup, "cpu")) {
      for (const fs::path& folder : folders_of(root, *mount, cgroup.path)) add_cores(folder, v2, limits);
    }
    if (const Mount* mount = mount_of(mounts, cgroup, "memory")) {
      for (const fs::path& folder : folders_of(root, *mount, cgroup.path)) add_memory(folder, v2, limits);
    }
  }
  return limits;
}

}  // namespace campipe
