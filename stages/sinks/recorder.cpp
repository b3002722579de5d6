#include "stages/sinks/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/unique_handle.h"
#include "stages/sinks/muxer.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

Container container_or_throw(const std::string& path) {
  const auto container = container_of(path);
  if (!container) throw Error(path + ": recordings end in .mp4 or .mkv");
  return *container;
}

void make_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw Error("cannot make the folder " + folder.string() + ": " + error.message());
}

// "a/b.mp4", then "a/b-1.mp4", …
std::string numbered(const std::string& path, int number) {
  if (number == 0) return path;
  const std::size_t ending = path.rfind('.');
  return path.substr(0, ending) + "-" + std::to_string(number) + path.substr(ending);
}

std::pair<UniqueFd, std::string> open_new(const std::string& path) {
  for (int number = 0;; ++number) {
    std::string name = numbered(path, number);
    UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd) return {std::move(fd), std::move(name)};
    if (errno != EEXIST) throw system_error("cannot make " + name, errno);
  }
}

UniqueFd open_existing(const std::string& path, std::uint64_t offset) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) throw system_error("cannot open " + path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is no file to go on in");
  if (static_cast<std::uint64_t>(status.st_size) < offset) {
    throw Error(path + ": is shorter than what was recorded into it, somebody else has changed it");
  }
  return fd;
}

class FileRecorder final : public Recorder {
 public:
  FileRecorder(std::string path, UniqueFd fd, const StreamParameters& parameters, const RecordPosition& position)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        muxer_(container_or_throw(path_), parameters, position),
        position_(position) {
    cut();
    if (position_.offset > 0) return;
    unwritten_ = muxer_.header();
    store();
  }

  const std::string& path() const override { return path_; }

  void write(const PacketView& packet) override {
    muxer_.write(packet);
    ++pending_.packets;
    pending_.offset += packet.data.size();
    pending_.last_dts = packet.dts;
  }

  std::uint64_t pending_bytes() const override { return pending_.offset; }

  // When the file system refuses, the bytes stay here, so that a later flush() can succeed.
  RecordPosition flush() override {
    const std::vector<std::uint8_t> fragment = muxer_.end_fragment();
    if (!fragment.empty()) ++pending_.fragments;
    unwritten_.insert(unwritten_.end(), fragment.begin(), fragment.end());
    if (unwritten_.empty()) return position_;
    store();
    position_.packets += pending_.packets;
    position_.fragments += pending_.fragments;
    position_.last_dts = pending_.last_dts;
    pending_ = {};
    return position_;
  }

 private:
  void store() {
    std::uint64_t offset = position_.offset;
    for (std::span<const std::uint8_t> rest = unwritten_; !rest.empty();) {
      const ssize_t written = ::pwrite(fd_.get(), rest.data(), rest.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail(written < 0 ? errno : EIO);
      rest = rest.subspan(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
    position_.offset = offset;
    unwritten_.clear();
  }

  [[noreturn]] void fail(int code) {
    // Leaves no half fragment behind; where even that fails, a successor cuts it off.
    static_cast<void>(::ftruncate(fd_.get(), static_cast<off_t>(position_.offset)) == 0);
    throw system_error("cannot write " + path_, code);
  }

  void cut() {
    if (::ftruncate(fd_.get(), static_cast<off_t>(position_.offset)) != 0)
      throw system_error("cannot cut " + path_, errno);
  }

  std::string path_;
  UniqueFd fd_;
  Muxer muxer_;
  RecordPosition position_;
  RecordPosition pending_;  // what the next flush adds; offset: bytes of packets
  std::vector<std::uint8_t> unwritten_;
};

}  // namespace

std::unique_ptr<Recorder> Recorder::create(const std::string& path, const StreamParameters& parameters) {
  container_or_throw(path);
  make_folder_of(path);
  auto [fd, name] = open_new(path);
  try {
    return std::make_unique<FileRecorder>(name, std::move(fd), parameters, RecordPosition{});
  } catch (...) {
    ::unlink(name.c_str());  // or a full disk would gather an empty file for every attempt
    throw;
  }
}

std::unique_ptr<Recorder> Recorder::resume(const std::string& path, const StreamParameters& parameters,
                                           const RecordPosition& position) {
  return std::make_unique<FileRecorder>(path, open_existing(path, position.offset), parameters, position);
}

bool can_record_to(std::string_view path) { return container_of(path).has_value(); }

}  // namespace campipe
