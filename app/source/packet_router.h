// Where a camera's packets go: as they came to the publisher (PacketCopies), and to whoever decodes them
// (PacketOutlet). Both get the stream as its packets have it (FollowedStream).
//
// Used by the camera's ingest thread: begin() each time that the source was opened, then video() and audio() in the
// order of reading, disconnect() when the connection has failed, end() and close() at the end. A packet's time is
// PacketClock's; video() comes after PacketClock::arrived().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/source/camera_context.h"
#include "app/source/followed_stream.h"
#include "app/source/packet_clock.h"
#include "app/source/packet_copies.h"
#include "app/source/packet_outlet.h"
#include "app/source/read_ahead.h"
#include "core/line_limit.h"

namespace campipe {

class PacketRouter {
 public:
  PacketRouter(CameraContext& camera, const RigPage& page, const IngestEvents& events, PacketClock& clock);

  // Before the first packet, where a source before has passed some on. Of a live source nothing comes again. Of a
  // file: where it must go back to; nothing: to its beginning.
  void resume_live();
  std::optional<std::int64_t> resume_file();

  // `stream` stays until the next begin().
  void begin(const SourceStream& stream);
  void video(const AVPacket& packet);
  void audio(const AVPacket& packet, const ReadAhead::Times& times);
  // What the connection lacks, so that nothing comes of its packets; empty: nothing.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  // No packet follows for now, and frames continue at a key frame; or the connection has failed; or that was all.
  void empty() { outlet_.mark(RecordKind::empty); }
  void disconnect() { outlet_.mark(RecordKind::lost); }
  void end() { outlet_.mark(RecordKind::end); }
  void close();

  // Returns where the next round of a file begins on the timeline. `gave`: something came of this round.
  [[nodiscard]] std::int64_t end_round(bool gave);

 private:
  void follow_end_of_decoding();
  void follow_stream(const AVPacket& packet);
  void warn_of(FollowedStream::Fault fault);
  void copy(const AVPacket& packet, const PacketTimes& times);
  void await_key_frame(const AVPacket& packet, std::int64_t arrival);

  CameraContext& camera_;
  PacketClock& clock_;
  PacketOutlet outlet_;
  FollowedStream followed_;
  std::function<void(const KnownStream&)> on_changed_;
  PacketCopies copies_;
  LineLimit undecodable_lines_{std::chrono::minutes(10)};
  LineLimit cut_lines_{std::chrono::hours(24)};
  bool decoding_ended_ = false;
  bool has_key_frame_ = false;  // of this connection
  std::optional<std::int64_t> first_arrival_;
  std::string missing_;
  LineLimit sound_lines_{std::chrono::minutes(10)};
};

}  // namespace campipe
