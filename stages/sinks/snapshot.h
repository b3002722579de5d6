// Keeps the newest picture of a camera as a JPEG file: a look at it that needs no software. Writing is done on a thread
// of its own, so the camera never waits for a disk; a picture that comes while one is being written replaces the one
// that waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/frame.h"

namespace campipe {

class JpegEncoder;

class SnapshotWriter {
 public:
  // On the writer's thread, when a picture cannot be written; again only after one could.
  using FailureHandler = std::function<void(const std::string& reason)>;

  // `path`: complete, ending in .jpg. Folders that are missing are made. Whoever reads the file sees a whole picture,
  // the old one or the new one.
  SnapshotWriter(std::string path, std::chrono::nanoseconds every, FailureHandler on_failed);
  // A picture that waits is still written.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // offer() would take a picture now: so pictures on a GPU need to be fetched only then.
  [[nodiscard]] bool is_due() const { return Clock::now() >= due_; }
  // Copies the picture, which must lie in host memory, if it is due. One thread calls this and is_due().
  void offer(const FrameView& picture);

 private:
  // A picture with rows that follow one another.
  struct Picture {
    FrameFormat format;
    std::vector<std::uint8_t> pixels;
  };

  void run();
  void write(JpegEncoder& encoder, const Picture& picture);

  std::string path_;
  std::chrono::nanoseconds every_;
  FailureHandler on_failed_;
  Deadline due_;          // of the camera's thread
  bool failing_ = false;  // of the writer's

  std::mutex mutex_;
  std::condition_variable changed_;
  Picture waiting_;
  bool is_waiting_ = false;
  bool ending_ = false;
  std::jthread thread_;
};

}  // namespace campipe
