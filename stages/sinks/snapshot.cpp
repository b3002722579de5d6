#include "stages/sinks/snapshot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/unique_handle.h"
#include "stages/sinks/jpeg.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

std::size_t size_of(const FrameFormat& format) {
  std::size_t size = 0;
  for (int plane = 0; plane < plane_count(format.pixels); ++plane) {
    const PlaneSize bytes = plane_size(format, plane);
    size += static_cast<std::size_t>(bytes.width) * static_cast<std::size_t>(bytes.height);
  }
  return size;
}

void copy_rows(const FrameView& from, std::vector<std::uint8_t>& pixels) {
  pixels.resize(size_of(from.format));
  std::uint8_t* to = pixels.data();
  for (int plane = 0; plane < plane_count(from.format.pixels); ++plane) {
    const PlaneSize bytes = plane_size(from.format, plane);
    const auto at = static_cast<std::size_t>(plane);
    for (int y = 0; y < bytes.height; ++y, to += bytes.width) {
      std::memcpy(to, from.data[at] + static_cast<std::ptrdiff_t>(y) * from.stride[at],
                  static_cast<std::size_t>(bytes.width));
    }
  }
}

FrameView view_of(const FrameFormat& format, const std::vector<std::uint8_t>& pixels) {
  FrameView view;
  view.format = format;
  const std::uint8_t* start = pixels.data();
  for (int plane = 0; plane < plane_count(format.pixels); ++plane) {
    const PlaneSize bytes = plane_size(format, plane);
    const auto at = static_cast<std::size_t>(plane);
    view.data[at] = start;
    view.stride[at] = bytes.width;
    start += static_cast<std::ptrdiff_t>(bytes.width) * bytes.height;
  }
  return view;
}

void write_all(const std::string& path, std::span<const std::uint8_t> bytes) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) throw system_error("cannot make " + path, errno);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw system_error("cannot write " + path, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// The name is always the same, so that a process that dies leaves no more than one such file behind.
std::string unfinished_name(const fs::path& path) {
  return path.parent_path() / ("." + path.filename().string() + ".part");
}

void replace_file(const std::string& path, std::span<const std::uint8_t> bytes) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw Error("cannot make the folder " + folder.string() + ": " + error.message());
  const std::string unfinished = unfinished_name(path);
  try {
    write_all(unfinished, bytes);
    if (std::rename(unfinished.c_str(), path.c_str()) != 0) throw system_error("cannot replace " + path, errno);
  } catch (...) {
    ::unlink(unfinished.c_str());  // it would only fill a full disk
    throw;
  }
}

}  // namespace

SnapshotWriter::SnapshotWriter(std::string path, std::chrono::nanoseconds every, FailureHandler on_failed)
    : path_(std::move(path)), every_(every), on_failed_(std::move(on_failed)), due_(Clock::now()) {
  thread_ = std::jthread([this] { run(); });
}

SnapshotWriter::~SnapshotWriter() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_one();
}

void SnapshotWriter::offer(const FrameView& picture) {
  if (!is_due()) return;
  const auto now = Clock::now();
  due_ = due_ + every_ > now ? due_ + every_ : now + every_;
  const std::lock_guard lock(mutex_);
  waiting_.format = picture.format;
  copy_rows(picture, waiting_.pixels);
  is_waiting_ = true;
  changed_.notify_one();
}

void SnapshotWriter::run() {
  JpegEncoder encoder;
  Picture picture;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_waiting_ || ending_; });
      if (!is_waiting_) return;
      std::swap(picture, waiting_);  // so the two buffers are used in turn
      is_waiting_ = false;
    }
    write(encoder, picture);
  }
}

void SnapshotWriter::write(JpegEncoder& encoder, const Picture& picture) {
  try {
    replace_file(path_, encoder.encode(view_of(picture.format, picture.pixels)));
    failing_ = false;
  } catch (const std::exception& error) {
    if (!std::exchange(failing_, true)) on_failed_(error.what());
  }
}

}  // namespace campipe
