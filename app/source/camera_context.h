// What all parts of a camera's ingest share that have to do with its source: how it was started, its counters in the
// rig page, and the signal to stop. Owned by Ingest, which outlives the parts. Those that decode share DecodingContext.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/rings/group_clock.h"
#include "app/rings/stop_signal.h"
#include "app/source/ingest_start.h"
#include "ipc/ids.h"
#include "stages/sources/source.h"

namespace campipe {

struct SourceBlock;

// The order to decode nothing any more: given by any thread, carried out by the camera's.
class DecodingEnd {
 public:
  void set(const std::vector<OutputId>& outputs) {
    const std::lock_guard lock(mutex_);
    outputs_ = outputs;
    is_set_ = true;
  }
  [[nodiscard]] bool is_set() const { return is_set_; }
  // Those that go on.
  [[nodiscard]] std::vector<OutputId> outputs() const {
    const std::lock_guard lock(mutex_);
    return outputs_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<OutputId> outputs_;
  std::atomic<bool> is_set_{false};
};

struct CameraContext {
  CameraContext(const IngestStart& with, SourceBlock& block)
      : start(with), source(block), group(with.group), live(is_live(with.config.source.url)), shown(with.shown) {}

  [[nodiscard]] const std::string& name() const { return start.config.name; }

  IngestStart start;
  SourceBlock& source;
  const std::shared_ptr<GroupClock> group;  // null: it is in none
  const bool live;                          // a camera: reconnected for ever. Otherwise a file or the test pattern
  std::atomic<bool> shown;                  // a mosaic needs its frames; set by any thread
  DecodingEnd decoding_end;
  StopSignal stop;
};

}  // namespace campipe
