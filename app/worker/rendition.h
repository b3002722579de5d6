// One output of a camera in its worker: frames of the camera's frame ring → filters → encoder → packet ring. A
// camera's renditions are made one after another from the same frame, by the camera's thread.
//
//   Rendition           decides for each frame; waits for the GPU's room, and for viewers
//     OutputFilters     the filters, and the turn before them
//     EncodedStream     the encoder and what it was opened for
//       KeyFrameRequests  of new viewers
//       PacketOutput      packet rings and what is dropped where the publisher does not keep up
//
// A camera that comes back, or changes its size before a `resize`, goes on in the same file (EncodedStream::goes_on).
// Else a new encoder with a packet ring of its own begins.
// After an error the frames are still taken and counted, so that nothing waits for this output and no other notices.
// Where the GPU has no room, they are counted too, and it is tried again every second.
// An output that is encoded on demand has no encoder while it has no viewers; new viewers of any output get a key
// frame soon.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages.h"
#include "app/rings/demand.h"
#include "app/rings/motion_meter.h"
#include "app/worker/encoded_stream.h"
#include "app/worker/output_events.h"
#include "app/worker/output_filters.h"
#include "app/worker/rate_limit.h"
#include "core/clock.h"
#include "core/profile.h"
#include "ipc/frame_ring.h"
#include "ipc/rig_page.h"
#include "stages/sinks/snapshot.h"

namespace campipe {

// Made on any thread; used and destroyed by the camera's.
class Rendition {
 public:
  // What is known of a frame ring's frames besides their format.
  struct Source {
    double frame_rate = 0;  // 0: unknown
    int rotation = 0;       // degrees clockwise by which they are turned before the filters
    friend bool operator==(const Source&, const Source&) = default;
  };

  // One that failed in the life of an earlier worker only counts its frames.
  Rendition(const messages::EncodedOutput& output, const RigPage& page, const OutputEvents& events, CameraPlace& place);
  Rendition(const Rendition&) = delete;  // its parts refer to it
  Rendition& operator=(const Rendition&) = delete;
  ~Rendition() = default;

  // Filters and encoder for frames as they are expected, before the first one comes.
  void get_ready(const FrameFormat& expected, const Source& source);
  // Where it is encoded on demand, and has no viewers: gives up what that takes. Else process() does.
  void rest_if_unwatched() { is_wanted(); }
  void process(RingInUse& ring, FrameRingReader::Lease lease, const Source& source);
  // No further frame will come.
  void finish();

 private:
  struct Ready {
    FrameFormat input;
    Source source;
    friend bool operator==(const Ready&, const Ready&) = default;
  };

  bool is_wanted();
  std::optional<FrameRef> filter(RingInUse& ring, FrameRingReader::Lease& lease, const Source& source);
  void prepare(const FrameFormat& format, const Source& source);
  void make_encoder(const Ready& wanted, bool on_gpu, const FrameFormat& output, double frame_rate);
  void wait_for_room(const std::string& reason);
  void fail(const std::exception& error);
  void count(DropCause cause);

  messages::EncodedOutput output_;
  EncodeBlock& block_;
  OutputEvents events_;
  ProfileName filter_range_;
  RateLimit rate_;
  MotionMeter motion_;
  std::unique_ptr<SnapshotWriter> snapshot_;
  OutputFilters filters_;
  EncodedStream stream_;
  std::optional<Ready> ready_;  // that filters_ and stream_ are
  Demand demand_;
  bool failed_;
  std::optional<Clock::time_point> try_again_;  // the GPU had no room
};

}  // namespace campipe
