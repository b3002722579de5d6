// What all parts of a camera's ingest share that have to do with its source: how it was started, its counters in the
// rig page, and the signal to stop. Owned by Ingest, which outlives the parts. Those that decode share DecodingContext.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "app/rings/group_clock.h"
#include "app/rings/stop_signal.h"
#include "app/source/ingest_start.h"
#include "ipc/rig_page.h"
#include "stages/sources/source.h"

namespace campipe {

struct CameraContext {
  CameraContext(const IngestStart& with, const RigPage& page)
      : start(with),
        source(page.source(with.camera)),
        group(with.group),
        live(is_live(with.config.source.url)),
        shown(with.shown) {}

  [[nodiscard]] const std::string& name() const { return start.config.name; }

  IngestStart start;
  SourceBlock& source;
  const std::shared_ptr<GroupClock> group;  // null: it is in none
  const bool live;                          // a camera: reconnected for ever. Otherwise a file or the test pattern
  std::atomic<bool> shown;                  // a mosaic needs its frames; set by any thread
  StopSignal stop;
};

}  // namespace campipe
