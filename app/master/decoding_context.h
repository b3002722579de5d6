// What all parts that decode a camera share: how it was started, its counters in the rig page, and the signal to stop.
// Owned by Decoding, which outlives the parts.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "app/master/decoding_start.h"
#include "app/rings/group_clock.h"
#include "app/rings/stop_signal.h"

namespace campipe {

struct DecodeBlock;
struct EdgeWriterBlock;

// Thrown where decoding ends at once, since another master goes on with it (StopSignal::leave()). What is caught as an
// error is something else.
struct DecodingWasLeft {};

struct DecodingContext {
  DecodingContext(const DecodingStart& with, DecodeBlock& decode_block, EdgeWriterBlock& edge_block,
                  StopSignal& stop_signal)
      : start(with), decode(decode_block), edge(edge_block), shown(with.shown), shed(with.shed), stop(stop_signal) {}

  [[nodiscard]] const std::string& name() const { return start.name; }

  const DecodingStart start;
  DecodeBlock& decode;
  EdgeWriterBlock& edge;       // its frame rings
  std::atomic<bool> shown;     // a mosaic needs its frames; set by any thread
  std::atomic<ShedStep> shed;  // what it gives up; set by any thread
  StopSignal& stop;
};

}  // namespace campipe
