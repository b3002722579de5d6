// What all parts of one camera's ingest share: how it was started, its counters in the rig page, and the signal to
// stop. Owned by Ingest, which outlives the parts.
#pragma once

#include <string>

#include "app/master/ingest_start.h"
#include "app/master/stop_signal.h"
#include "ipc/rig_page.h"
#include "stages/sources/source.h"

namespace campipe {

struct CameraContext {
  CameraContext(const IngestStart& with, const RigPage& page)
      : start(with), block(page.master(with.camera)), live(is_live(with.config.source.url)) {}

  [[nodiscard]] const std::string& name() const { return start.config.name; }

  IngestStart start;
  MasterBlock& block;
  const bool live;  // a camera: reconnected for ever. Otherwise a file or the test pattern
  StopSignal stop;
};

}  // namespace campipe
