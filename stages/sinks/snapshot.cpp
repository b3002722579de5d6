#include "stages/sinks/snapshot.h"

#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/files_below.h"
#include "core/log.h"
#include "stages/sinks/jpeg.h"

namespace campipe {
namespace {

constexpr auto last_patience = std::chrono::seconds(1);  // with a disk, since the camera's thread waits meanwhile

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

struct SnapshotWriter::Work {
  // A frame with rows that follow one another.
  struct Frame {
    FrameFormat format;
    std::vector<std::uint8_t> pixels;
  };

  Work(std::string to, FailureHandler handler) : path(std::move(to)), on_failed(std::move(handler)) {}
  void run();
  void write(JpegEncoder& encoder, const Frame& frame);

  const std::string path;
  const FailureHandler on_failed;
  bool failing = false;  // of the thread
  std::mutex mutex;
  std::condition_variable changed;
  Frame waiting;
  bool is_waiting = false;
  std::optional<Clock::time_point> since;  // that a frame is being written
  bool ending = false;
  bool over = false;
};

void SnapshotWriter::Work::run() {
  JpegEncoder encoder;
  Frame frame;
  std::unique_lock lock(mutex);
  for (;;) {
    since.reset();
    changed.wait(lock, [this] { return is_waiting || ending; });
    if (!is_waiting) break;
    std::swap(frame, waiting);  // so the two buffers are used in turn
    is_waiting = false;
    since = Clock::now();
    lock.unlock();
    write(encoder, frame);
    lock.lock();
  }
  over = true;
  changed.notify_all();
}

void SnapshotWriter::Work::write(JpegEncoder& encoder, const Frame& frame) {
  try {
    replace_file(in_own_folder(path), encoder.encode(view_of(frame.format, frame.pixels)));
    failing = false;
  } catch (const std::exception& error) {
    if (!std::exchange(failing, true)) on_failed(error.what());
  }
}

SnapshotWriter::SnapshotWriter(std::string path, std::chrono::nanoseconds every, FailureHandler on_failed)
    : every_(every), due_(Clock::now()), work_(std::make_shared<Work>(std::move(path), std::move(on_failed))) {
  std::thread([work = work_] { work->run(); }).detach();
}

SnapshotWriter::~SnapshotWriter() {
  std::unique_lock lock(work_->mutex);
  work_->ending = true;
  work_->changed.notify_all();
  const bool hangs = work_->since && Clock::now() - *work_->since > last_patience;
  const auto wait = hangs ? Clock::duration(0) : last_patience;
  if (work_->changed.wait_for(lock, wait, [this] { return work_->over; })) return;
  spdlog::error("{}: its disk does not answer; the last snapshot may be missing there", work_->path);
}

void SnapshotWriter::offer(const FrameView& frame) {
  if (!is_due()) return;
  const auto now = Clock::now();
  due_ = due_ + every_ > now ? due_ + every_ : now + every_;
  const std::lock_guard lock(work_->mutex);
  work_->waiting.format = frame.format;
  copy_rows(frame, work_->waiting.pixels);
  work_->is_waiting = true;
  work_->changed.notify_all();
}

}  // namespace campipe
