// Decodes a camera that only viewers or mosaics need frames of: while an output that is encoded on demand has viewers,
// or a mosaic shows the camera, beside copies that continue whatever becomes of it. What fails here ends only the
// decoding, and is tried again some seconds later. Used by the camera's decoding thread.
#pragma once

#include <functional>
#include <optional>

#include "app/master/decoding_context.h"
#include "app/master/frame_producer.h"
#include "app/rings/demand.h"
#include "core/line_limit.h"

namespace campipe {

class OnDemandDecoding {
 public:
  OnDemandDecoding(const DecodingContext& camera, const RigPage& page, FrameProducer& frames);

  // Decodes the packet if someone needs it; there are a decoder and a ring only meanwhile. `stream`: of the source.
  void take(const AVPacket& packet, const SourceStream& stream);
  // Work of the decoder, of which only the loss of the GPU's context leaves.
  void attempt(const std::function<void()>& work);

 private:
  const DecodingContext& camera_;
  FrameProducer& frames_;
  Demand demand_;
  std::optional<Clock::time_point> again_at_;  // it has failed
  LineLimit lines_{std::chrono::minutes(1)};
};

}  // namespace campipe
