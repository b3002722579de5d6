// Where a camera's packets go: to the copies, to the search for motion in them, and to the decoder, which runs always,
// on demand, or never. Knows how far the camera has come by what left it: frames if it is decoded, else copies.
//
// Used by the camera's ingest thread: begin() each time that the source was opened, then video() and audio() in the
// order of reading, disconnect() when the connection has failed, close() at the end. A packet's time is PacketClock's;
// video() comes after PacketClock::arrived().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "app/master/camera_context.h"
#include "app/master/frame_producer.h"
#include "app/master/motion_follower.h"
#include "app/master/on_demand_decoding.h"
#include "app/master/packet_clock.h"
#include "app/master/packet_copies.h"
#include "app/master/read_ahead.h"
#include "core/line_limit.h"

namespace campipe {

class PacketRouter {
 public:
  PacketRouter(CameraContext& camera, const RigPage& page, const IngestEvents& events, PacketClock& clock,
               FrameRings& rings);

  // Before the first packet, where a master before has passed some on. Of a live source nothing comes again. Of a
  // file: where it must go back to; nothing: to its beginning.
  void resume_live();
  std::optional<std::int64_t> resume_file();

  // `stream` stays until the next begin().
  void begin(const SourceStream& stream);
  // See FrameProducer::wants_first_packet(): after begin(), the packet that video() gets first.
  [[nodiscard]] bool wants_first_packet() const { return frames_.wants_first_packet(); }
  void prime(const AVPacket& packet) { frames_.prime(packet); }
  void video(const AVPacket& packet);
  void audio(const AVPacket& packet, const ReadAhead::Times& times);
  // No packet follows; or none for now, and frames continue at a key frame.
  void drain();
  void empty();
  // Whatever failed: it may have left the decoder without a ring for its frames.
  void disconnect();
  void close();

  // How much has come of the source: frames, or the time of copies; nothing: none yet.
  [[nodiscard]] std::optional<std::int64_t> given() const;
  // Returns where the next round of a file begins on the timeline. `gave`: something came of this round. Empties the
  // decoder if it must be.
  [[nodiscard]] std::int64_t end_round(bool gave);

 private:
  void try_to_decode(const std::function<void()>& work);

  CameraContext& camera_;
  PacketClock& clock_;
  FrameRings& rings_;
  const SourceStream* stream_ = nullptr;
  MotionFollower motion_;
  PacketCopies copies_;
  FrameProducer frames_;
  OnDemandDecoding on_demand_;
  LineLimit sound_lines_{std::chrono::minutes(10)};
};

}  // namespace campipe
