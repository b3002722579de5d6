#include "app/costs/cost_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/ffmpeg.h"
#include "core/first_word.h"
#include "core/own_folders.h"
#include "core/printable.h"
#include "core/replace_file.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr off_t largest_file = 4 << 20;
constexpr std::size_t most_kept = 16;  // devices of other drivers, versions and machines; the oldest go

// The first line that begins so, from behind the colon.
std::string line_of(const fs::path& file, std::string_view beginning) {
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with(beginning) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

// Opened without following a link or waiting for a pipe, and looked at before anything is read.
std::string read_own_file(const fs::path& file) {
  const UniqueFd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!opened) throw system_error("cannot be opened", errno);
  struct stat info {};
  if (::fstat(opened.get(), &info) != 0) throw system_error("cannot be looked at", errno);
  if (!S_ISREG(info.st_mode)) throw Error("it is not a regular file");
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    throw Error(fmt::format("it belongs to another account (user id {})", info.st_uid));
  if ((info.st_mode & S_IWOTH) != 0) throw Error("every account may write to it");
  if (info.st_size > largest_file) throw Error("it is larger than 4 MiB");
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t size = ::read(opened.get(), text.data() + got, text.size() - got);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw system_error("cannot be read", errno);
    if (size == 0) break;
    got += static_cast<std::size_t>(size);
  }
  text.resize(got);
  return text;
}

std::string who(const CostKey& key) { return key.device == "cpu" ? "the CPU" : key.name; }

// What differs, of the same device.
std::string difference(const CostKey& was, const CostKey& is) {
  const auto told = [&](const char* what, const std::string& then, const std::string& now) {
    return fmt::format("{} was measured with {} {}, this is {}", who(is), what, printable(then), now);
  };
  if (was.version != is.version) return told("campipe", was.version, is.version);
  if (was.name != is.name) return told("another processor:", was.name, is.name);
  return told(is.device == "cpu" ? "the libraries" : "the driver", was.driver, is.driver);
}

}  // namespace

std::optional<fs::path> costs_file() {
  const auto folder = cache_folder();
  return folder ? std::optional(*folder / "costs.json") : std::nullopt;
}

CostCache read_costs(const fs::path& file) {
  std::string text;
  try {
    std::error_code error;
    if (fs::symlink_status(file, error).type() == fs::file_type::not_found) return {};
    text = read_own_file(file);
  } catch (const std::exception& error) {
    return {{}, fmt::format("{} is not believed: {}", file.string(), error.what())};
  }
  return parse_costs(text, file.string());
}

void write_costs(const fs::path& file, const std::vector<DeviceCosts>& measured) {
  make_own_folder(file.parent_path());
  std::vector<DeviceCosts> all = measured;
  std::vector<DeviceCosts> others = read_costs(file).devices;
  std::ranges::stable_sort(others, std::ranges::greater(), &DeviceCosts::measured);
  for (DeviceCosts& other : others) {
    const bool replaced = std::ranges::find(measured, other.key, &DeviceCosts::key) != measured.end();
    if (!replaced && all.size() < measured.size() + most_kept) all.push_back(std::move(other));
  }
  replace_file(file, costs_text(all));
}

std::variant<DeviceCosts, std::string> find_costs(const CostCache& cache, const CostKey& key) {
  const CostKey* near = nullptr;
  for (const DeviceCosts& costs : cache.devices) {
    if (costs.key == key) return costs;
    if (costs.key.device == key.device) near = &costs.key;
  }
  if (!cache.problem.empty()) return cache.problem;
  return near != nullptr ? difference(*near, key) : who(key) + " has not been measured";
}

CostKey cpu_key() {
  const fs::path facts = "/proc/cpuinfo";
  const std::string model = line_of(facts, "model name");
  const std::string name = fmt::format("{} (family {}, model {})", model.empty() ? "unknown" : model,
                                       line_of(facts, "cpu family"), line_of(facts, "model\t"));
  return {"cpu", printable(name), printable(fmt::format("FFmpeg {}", av_version_info())), CAMPIPE_VERSION};
}

CostKey gpu_key(const std::string& uuid, const std::string& name) {
  return {uuid, printable(name), printable(first_word_of("/sys/module/nvidia/version")), CAMPIPE_VERSION};
}

}  // namespace campipe
