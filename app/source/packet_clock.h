// A camera's clock: when each of its packets arrived, and where the packet lies on the stream's timeline.
//
// There is one SourceClock for each camera. It observes each packet of the video in order of arrival, and maps decoded
// frames, copied packets and audio alike. What it said of a packet goes with that to the decoder (PacketNote,
// FrameClock).
//
// Corrections are counted in the rig page, and logged: each kind once for each connection.
//
// Used by the camera's ingest thread, for each packet: observe() (files: before it is paced) and arrived(), then
// note(), then the packet's consumers. All times in ns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "app/rings/media_clock.h"
#include "app/rings/packet_note.h"
#include "app/rings/source_times.h"
#include "app/source/camera_context.h"
#include "app/source/sound_clock.h"
#include "app/source/source_clock.h"
#include "app/source/source_connection.h"

namespace campipe {

class PacketClock {
 public:
  PacketClock(CameraContext& camera, SourceConnection& source);

  // Before the first packet. `copied`: where the copies of a source before have ended; -1: nowhere.
  void begin_live(std::int64_t copied);
  void begin_file() { clock_.begin(0, 0); }
  // A loop cannot return to its place: it starts again behind what a source before has passed on.
  void begin_loop_after(std::int64_t resume, std::int64_t copied);

  // The source was opened (again). A live one was closed, and the clock of the next connection may be another one.
  void connected() { logged_.clear(); }
  void disconnected() {
    clock_.reconnect();
    sound_.reconnect();
  }
  // A file begins again there.
  void next_round(std::int64_t at);

  // Live: looks at what waits to be read, which has arrived before it is read. The first packet that has to be waited
  // for shows how old that is.
  void preview();
  // Its time by the source, ns from the stream's start; none: it has no timestamp.
  [[nodiscard]] std::optional<std::int64_t> source_time(const AVPacket& packet) const;
  // What the packet that was read last says of the source's clock.
  void observe(const AVPacket& packet);
  // A file's first packet: so long ago its group began.
  void begin_in_group(std::chrono::nanoseconds age) { group_offset_ = age.count(); }
  // It is passed on: as read, or now, since it was held until its time.
  void arrived(bool as_read);
  // A file's packet is passed on so much later than its turn: whoever takes the packets before it did not keep up.
  void passed_late(std::chrono::nanoseconds by);
  // What is known of the packet, for whoever decodes it.
  PacketNote note(const AVPacket& packet);

  // The end of the packets of this round of a file, on the timeline: when the last one has been shown; none: not all
  // say when that is. When the last one has been decoded; none: there are no times at all.
  [[nodiscard]] std::optional<std::int64_t> packets_end() const { return round_.untimed ? std::nullopt : round_.end; }
  [[nodiscard]] std::optional<std::int64_t> decoding_end() const { return round_.decoding_end; }
  void count(Correction kind);

  // Where a packet of the audio lies; nothing: the video has not begun, or the packet has no time.
  std::optional<std::int64_t> sound_time(const AVPacket& packet, std::int64_t arrival);
  // Where timestamps lie: for copies.
  [[nodiscard]] const SourceClock& source_clock() const { return clock_; }

 private:
  struct Round {
    std::optional<std::int64_t> end;
    std::optional<std::int64_t> decoding_end;
    bool untimed = false;
  };
  void look_until(const std::function<bool(const ReadAhead::Entry&)>& condition);
  bool shows_age(const ReadAhead::Entry& entry);
  void note_lag(std::int64_t lag);
  void note_end(const AVPacket& packet);
  void measure_media_clock(const AVPacket& packet, PacketNote& note);
  [[nodiscard]] bool confirms_leap(std::int64_t to);
  void report(const std::optional<SourceClock::Corrected>& corrected);
  void report_sound(bool replaced);

  CameraContext& camera_;
  SourceConnection& source_;
  SourceClock clock_;
  SoundClock sound_;
  int tracks_realigned_ = 0;       // of those of the source, as sound_ knows
  MediaClock media_;               // of a live source
  std::int64_t group_offset_ = 0;  // ns: PacketNote::group_offset, of the newest packet with a time
  Round round_;
  std::set<std::string_view> logged_;  // of this connection
  std::int64_t arrival_ = 0;           // of the newest packet: monotonic,
  std::int64_t arrival_utc_ = 0;       // and UTC
};

}  // namespace campipe
