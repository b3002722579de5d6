// Decodes a camera: packets in, with what is known of each (PacketNote); frames out, in the camera's rings, and what is
// found in packets that are passed on as they came. The source's process has the connection.
//
// Of the source it knows only what comes through begin(), take() and the ends below. What the source has to know of it
// goes back through the packet ring: which packets have been taken, and what was found in frames (PacketIntake).
//
// The parts, each with its own state:
//   FrameProducer      decodes, always or on demand (OnDemandDecoding), with the times of FrameClock, into
//     FrameRings         the rings that the worker reads
//   MotionFollower     motion in packets that are copied
//
// Used by the camera's decoding thread, but for renew() and service(): begin() each time that the source was opened,
// take() for each packet of the video in the order of reading, disconnect() when the connection has failed, close() at
// the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "app/master/decoding_context.h"
#include "app/master/frame_clock.h"
#include "app/master/frame_producer.h"
#include "app/master/frame_rings.h"
#include "app/master/motion_follower.h"
#include "app/master/on_demand_decoding.h"
#include "app/rings/packet_note.h"

namespace campipe {

class Decoding {
 public:
  Decoding(const DecodingStart& start, const RigPage& page, StopSignal& stop, FrameRings::OnRing on_ring);

  // See FrameClock.
  void read_by_another() { clock_.read_by_another(); }
  // For a process that has decoded before.
  [[nodiscard]] bool resumes() const { return camera_.start.resume.has_value(); }
  [[nodiscard]] bool knows_of(std::int64_t packet) const { return clock_.knows_of(packet); }

  void begin(std::shared_ptr<const SourceStream> stream);
  // See FrameProducer::wants_first_packet(): after begin(), the packet that take() gets first.
  [[nodiscard]] bool wants_first_packet() const { return frames_.wants_first_packet(); }
  void prime(const AVPacket& packet) { frames_.prime(packet); }
  void take(const AVPacket& packet, const PacketNote& note);
  // No packet follows; or none for now, and frames continue at a key frame.
  void drain();
  void empty();
  // A file begins again. True: the decoder goes on; else it was emptied. Throws Error where nothing has come of the
  // file for some rounds.
  [[nodiscard]] bool goes_on_in_next_round();
  // Whatever failed: it may have left the decoder without a ring for its frames.
  void disconnect();
  void close();

  // Frames that have been published, and those that were left out since other cameras need the time.
  [[nodiscard]] std::uint64_t given() const { return rings_.published() + frames_.left_out(); }
  // Nothing is decoded, likewise.
  [[nodiscard]] bool is_off() const { return frames_.is_off(); }
  // There is a decoder: of what is decoded on demand there need not be one.
  [[nodiscard]] bool decodes() const { return frames_.decodes(); }
  // `shown`: called with AVPacket::pos of the packet of each frame that came out of the decoder, when the frame has
  // been published or is left out for good.
  void on_shown(std::function<void(std::int64_t packet)> shown) { frames_.on_shown(std::move(shown)); }
  // What was found in the newest frame, for each output that is a copy and has filters, with its place among the
  // copies.
  template <typename Call>
  void each_found(const Call& call) const {
    for (unsigned place = 0; place < camera_.start.copies.size(); ++place) {
      const CopyTarget& copy = camera_.start.copies[place];
      if (!copy.filters.empty()) call(place, motion_.metadata(copy.output));
    }
  }
  // A packet that a death before has cost, if its frame was not published or counted.
  void count_lost(std::int64_t packet);

  // Its rings: see FrameRings. Waits serve their readers meanwhile.
  bool wait_for_first_reader(Deadline deadline) { return rings_.wait_for_first_reader(deadline); }
  void serve() { rings_.serve(); }
  [[nodiscard]] EdgeId edge() const { return camera_.start.edge; }
  // Any thread. Whether a mosaic needs its frames; what it gives up for others; and as FrameRings'.
  void show(bool shown) { camera_.shown = shown; }
  void shed(ShedStep step) { camera_.shed = step; }
  void renew(const std::optional<RingMemory>& memory) { rings_.renew(memory); }
  void service(bool over) { rings_.service(over); }

 private:
  void try_to_decode(const std::function<void()>& work);

  // Of a file that loops.
  struct Rounds {
    std::optional<std::uint64_t> given;  // by those so far
    int empty = 0;                       // in a row
  };

  DecodingContext camera_;
  std::shared_ptr<const SourceStream> stream_;
  Rounds rounds_;
  FrameRings rings_;
  FrameClock clock_;
  MotionFollower motion_;
  FrameProducer frames_;
  OnDemandDecoding on_demand_;
};

}  // namespace campipe
