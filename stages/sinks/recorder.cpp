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
#include "stages/sinks/file_duration.h"
#include "stages/sinks/muxer.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

RecordFileError file_error(const std::string& what, int code) {
  return RecordFileError(system_error(what, code).what());
}

Container container_or_throw(const std::string& path) {
  const auto container = container_of(path);
  if (!container) throw Error(path + ": recordings end in .mp4 or .mkv");
  return *container;
}

void make_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw RecordFileError("cannot make the folder " + folder.string() + ": " + error.message());
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
    UniqueFd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd) return {std::move(fd), std::move(name)};
    if (errno != EEXIST) throw file_error("cannot make " + name, errno);
  }
}

UniqueFd open_existing(const std::string& path, std::uint64_t offset, int flags = 0) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0666));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) throw system_error("cannot open " + path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is no file to go on in");
  if (static_cast<std::uint64_t>(status.st_size) < offset) {
    throw Error(path + ": is shorter than what was recorded into it, somebody else has changed it");
  }
  return fd;
}

// Where the file has room for it: only its header is written, in its place.
void store_duration(const UniqueFd& fd, const std::string& path, std::int64_t duration) {
  constexpr std::size_t longest_header = 1 << 16;
  std::vector<std::uint8_t> head(longest_header);
  const ssize_t read = ::pread(fd.get(), head.data(), head.size(), 0);
  if (read < 0) throw file_error("cannot read " + path, errno);
  head.resize(static_cast<std::size_t>(read));
  const auto patch = duration_patch(container_or_throw(path), head, duration);
  if (!patch) return;
  const ssize_t written =
      ::pwrite(fd.get(), patch->bytes.data(), patch->bytes.size(), static_cast<off_t>(patch->offset));
  if (written != static_cast<ssize_t>(patch->bytes.size()))
    throw file_error("cannot write " + path, written < 0 ? errno : EIO);
}

// Lives as long as somebody writes into the file or has it put on the disk.
struct OpenFile {
  std::string path;
  UniqueFd fd;
};

void sync_folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) throw file_error("cannot put the folder " + folder + " on the disk", errno);
}

class FileRecorder final : public Recorder {
 public:
  FileRecorder(const std::string& path, UniqueFd fd, const StreamParameters& parameters,
               const std::optional<AudioParameters>& audio, const RecordPosition& position, const RecordStart& start)
      : file_(std::make_shared<const OpenFile>(OpenFile{path, std::move(fd)})),
        muxer_(container_or_throw(path), parameters, audio, position, start),
        position_(position) {
    cut();
    if (position_.offset > 0) return;
    unwritten_ = muxer_.header();
    store();
  }

  const std::string& path() const override { return file_->path; }

  void write(const PacketView& packet) override {
    muxer_.write(packet);
    ++pending_.packets;
    pending_.offset += packet.data.size();
    pending_.last_dts = packet.dts;
  }

  void write_audio(const PacketView& packet) override {
    muxer_.write_audio(packet);
    pending_.offset += packet.data.size();
  }

  std::uint64_t pending_bytes() const override { return pending_.offset; }

  // When the file system refuses, the bytes stay here, so that a later flush() can succeed.
  RecordPosition flush(std::optional<std::int64_t> next_dts, std::optional<std::int64_t> file_end) override {
    if (!is_in_place()) {
      throw RecordFileError(path() + ": is gone; somebody has deleted or moved it, or removed its disk");
    }
    const std::vector<std::uint8_t> fragment = muxer_.end_fragment(next_dts, file_end);
    if (!fragment.empty()) ++pending_.fragments;
    unwritten_.insert(unwritten_.end(), fragment.begin(), fragment.end());
    if (unwritten_.empty()) return position_;
    store();
    position_.packets += pending_.packets;
    position_.fragments += pending_.fragments;
    if (pending_.packets > 0) position_.last_dts = pending_.last_dts;
    pending_ = {};
    return position_;
  }

  void finish(std::int64_t duration) override { store_duration(file_->fd, path(), duration); }

  void discard() override {
    if (is_in_place() && ::unlink(path().c_str()) != 0) throw file_error("cannot delete " + path(), errno);
  }

  std::function<void()> sync() const override {
    return [file = file_] {
      if (::fdatasync(file->fd.get()) != 0) throw file_error("cannot put " + file->path + " on the disk", errno);
      sync_folder_of(file->path);
    };
  }

 private:
  // Whoever deletes or moves a file, or takes its disk away, leaves a descriptor into which one can write for ever.
  bool is_in_place() const {
    struct stat here {};
    struct stat there {};
    return ::fstat(file_->fd.get(), &here) == 0 && ::stat(path().c_str(), &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
  }

  void store() {
    std::uint64_t offset = position_.offset;
    for (std::span<const std::uint8_t> rest = unwritten_; !rest.empty();) {
      const ssize_t written = ::pwrite(file_->fd.get(), rest.data(), rest.size(), static_cast<off_t>(offset));
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
    static_cast<void>(::ftruncate(file_->fd.get(), static_cast<off_t>(position_.offset)) == 0);
    throw file_error("cannot write " + path(), code);
  }

  void cut() {
    if (::ftruncate(file_->fd.get(), static_cast<off_t>(position_.offset)) != 0)
      throw file_error("cannot cut " + path(), errno);
  }

  std::shared_ptr<const OpenFile> file_;
  Muxer muxer_;
  RecordPosition position_;
  RecordPosition pending_;  // what the next flush adds; offset: bytes of packets
  std::vector<std::uint8_t> unwritten_;
};

}  // namespace

std::unique_ptr<Recorder> Recorder::create(const std::string& path, const StreamParameters& parameters,
                                           const std::optional<AudioParameters>& audio, const RecordStart& start) {
  container_or_throw(path);
  make_folder_of(path);
  auto [fd, name] = open_new(path);
  try {
    return std::make_unique<FileRecorder>(name, std::move(fd), parameters, audio, RecordPosition{}, start);
  } catch (...) {
    ::unlink(name.c_str());  // or a full disk would gather an empty file for every attempt
    throw;
  }
}

std::unique_ptr<Recorder> Recorder::resume(const std::string& path, const StreamParameters& parameters,
                                           const RecordPosition& position, const std::optional<AudioParameters>& audio,
                                           const RecordStart& start) {
  const bool begins = position.offset == 0;
  if (begins) make_folder_of(path);
  UniqueFd fd = open_existing(path, position.offset, begins ? O_CREAT : 0);
  return std::make_unique<FileRecorder>(path, std::move(fd), parameters, audio, position, start);
}

std::string unused_name(const std::string& path) {
  for (int number = 0;; ++number) {
    struct stat status {};
    std::string name = numbered(path, number);
    if (::lstat(name.c_str(), &status) != 0) return name;
  }
}

void write_duration(const std::string& path, std::int64_t duration) {
  store_duration(open_existing(path, 0), path, duration);
}

void remove_recording(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    throw file_error("cannot replace " + path, errno);
}

bool can_record_audio(std::string_view path, const AudioParameters& audio) {
  const auto container = container_of(path);
  return container && can_hold(*container, audio);
}

bool can_record_to(std::string_view path) { return container_of(path).has_value(); }

}  // namespace campipe
