// Keeps the newest frame of a camera as a JPEG file: a look at it that needs no software. Writing is done on a thread
// of its own, so the camera never waits for a disk; a frame that comes while one is being written replaces the one
// that waits. The end waits for a second at most; a thread that waits for its disk longer is left behind.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/frame.h"

namespace campipe {

class SnapshotWriter {
 public:
  // On the writer's thread, when a frame cannot be written; again only after one could. That thread may outlive all
  // but what the handler itself holds.
  using FailureHandler = std::function<void(const std::string& reason)>;

  // `path`: complete, ending in .jpg. Folders that are missing are made. Whoever reads the file sees a whole frame,
  // the old one or the new one.
  SnapshotWriter(std::string path, std::chrono::nanoseconds every, FailureHandler on_failed);
  // A frame that waits is still written, unless the disk does not answer.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  // offer() would take a frame now: so frames on a GPU need to be fetched only then.
  [[nodiscard]] bool is_due() const { return Clock::now() >= due_; }
  // When it would, for a writer in another process that goes on.
  [[nodiscard]] Deadline due() const { return due_; }
  void go_on(Deadline due) { due_ = due; }
  // Copies the frame, which must lie in host memory, if it is due. One thread calls this, is_due() and go_on().
  void offer(const FrameView& frame);

 private:
  struct Work;  // the thread has a part in it

  std::chrono::nanoseconds every_;
  Deadline due_;
  std::shared_ptr<Work> work_;
};

}  // namespace campipe
