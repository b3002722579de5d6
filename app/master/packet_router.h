// Where a camera's packets go: as they came to the publisher (PacketCopies), and to the half of its ingest that decodes
// them (Decoding). Knows how far the camera has come by what left it: frames if it is decoded, else copies.
//
// Used by the camera's ingest thread: begin() each time that the source was opened, then video() and audio() in the
// order of reading, disconnect() when the connection has failed, close() at the end. A packet's time is PacketClock's;
// video() comes after PacketClock::arrived().
#pragma once

#include <cstdint>
#include <optional>

#include "app/master/camera_context.h"
#include "app/master/decoding.h"
#include "app/master/packet_clock.h"
#include "app/master/packet_copies.h"
#include "app/master/read_ahead.h"
#include "core/line_limit.h"

namespace campipe {

class PacketRouter {
 public:
  PacketRouter(CameraContext& camera, const RigPage& page, const IngestEvents& events, PacketClock& clock,
               Decoding& decoding);

  // Before the first packet, where a master before has passed some on. Of a live source nothing comes again. Of a
  // file: where it must go back to; nothing: to its beginning.
  void resume_live();
  std::optional<std::int64_t> resume_file();

  // `stream` stays until the next begin().
  void begin(const SourceStream& stream);
  void video(const AVPacket& packet);
  void audio(const AVPacket& packet, const ReadAhead::Times& times);
  void close();

  // How much has come of the source: frames, or the time of copies; nothing: none yet.
  [[nodiscard]] std::optional<std::int64_t> given() const;
  // Returns where the next round of a file begins on the timeline. `gave`: something came of this round. Has the
  // decoder emptied if it must be.
  [[nodiscard]] std::int64_t end_round(bool gave);

 private:
  CameraContext& camera_;
  PacketClock& clock_;
  Decoding& decoding_;
  const SourceStream* stream_ = nullptr;
  PacketCopies copies_;
  LineLimit sound_lines_{std::chrono::minutes(10)};
};

}  // namespace campipe
