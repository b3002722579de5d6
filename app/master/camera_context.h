// What all parts of one camera's ingest share: how it was started, its counters in the rig page, and the signal to
// stop. Owned by Ingest, which outlives the parts.
#pragma once

#include <atomic>
#include <string>

#include "app/master/group_clock.h"
#include "app/master/ingest_start.h"
#include "app/master/stop_signal.h"
#include "ipc/rig_page.h"
#include "stages/sources/source.h"

namespace campipe {

struct CameraContext {
  CameraContext(const IngestStart& with, const RigPage& page)
      : start(with),
        source(page.source(with.camera)),
        edge(page.edge_writer(with.edge, master_process)),
        group(with.group),
        live(is_live(with.config.source.url)),
        shown(with.shown),
        shed(with.shed) {}

  [[nodiscard]] const std::string& name() const { return start.config.name; }

  IngestStart start;
  SourceBlock& source;
  EdgeWriterBlock& edge;                    // its frame rings
  const std::shared_ptr<GroupClock> group;  // null: it is in none
  const bool live;                          // a camera: reconnected for ever. Otherwise a file or the test pattern
  std::atomic<bool> shown;                  // a mosaic needs its frames; set by any thread
  std::atomic<ShedStep> shed;               // what it gives up; set by any thread
  StopSignal stop;
};

}  // namespace campipe
