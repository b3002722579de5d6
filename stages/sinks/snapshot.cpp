#include "stages/sinks/snapshot.h"

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "core/files_below.h"
#include "stages/sinks/jpeg.h"

namespace campipe {
namespace {

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

void replace_file(const PathBelow& path, std::span<const std::uint8_t> bytes) {
  if (!make_folders_of(path)) throw file_error("cannot make the folder " + path.folder.string(), errno);
  ReplacingFile file(path, "." + path.name.string() + ".part");
  file.write(bytes);
  file.replace();
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
    replace_file(in_own_folder(path_), encoder.encode(view_of(picture.format, picture.pixels)));
    failing_ = false;
  } catch (const std::exception& error) {
    if (!std::exchange(failing_, true)) on_failed_(error.what());
  }
}

}  // namespace campipe
