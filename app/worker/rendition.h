// One output of a camera in its worker: frames of the camera's frame ring → filters → encoder → packet ring. A
// camera's renditions are made one after another from the same frame, by the camera's thread.
//
// The encoder outlives frame rings, and formats too, as long as what the filters make of the frames is the same: so a
// camera that comes back, or changes its size before a `resize`, goes on in the same file. Else a new encoder with a
// packet ring of its own begins.
// After an error the frames are still taken and counted, so that nothing waits for this output and no other notices.
// Where the publisher takes no packets and the ring is full, `drop` drops up to the next key frame for which there is
// room; `block` makes the camera wait, for at most 30 s a packet.
// Where the GPU has no room, they are counted too, and it is tried again every second.
// An output that is encoded on demand has no encoder while nobody watches it; those who come to watch any get a key
// frame soon.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/config.h"
#include "app/rings/demand.h"
#include "app/rings/motion_meter.h"
#include "app/worker/frame_path.h"
#include "core/clock.h"
#include "core/profile.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "ipc/rig_page.h"
#include "stages/encoders/encoder.h"
#include "stages/sinks/snapshot.h"

namespace campipe {

// Lets at most so many frames a second through, by their times, evenly.
class RateLimit {
 public:
  explicit RateLimit(double rate) : interval_(rate > 0 ? static_cast<std::int64_t>(1e9 / rate) : 0) {}
  bool takes(std::int64_t pts);

 private:
  std::int64_t interval_;  // ns; 0: no limit
  std::optional<std::int64_t> due_;
};

// Made on any thread; used and destroyed by the camera's.
class Rendition {
 public:
  struct Start {
    OutputId output;
    ResolvedOutput config;
    DropPolicy drop_policy = DropPolicy::block;  // the camera's
    std::uint64_t epoch = 1;                     // of the first packet ring
    std::uint64_t base = 0;                      // packets of earlier epochs
    bool hardware_encoder = false;
    double encode_cores = 1;
    bool failed = false;  // in the life of an earlier worker: its frames are only counted
  };
  // What it is given by its camera. Called on the camera's thread.
  struct Events {
    std::function<void(OutputId output, const PacketRingMemory& ring, std::uint64_t epoch,
                       const StreamParameters& parameters)>
        on_packets;
    std::function<void(OutputId output, const std::string& reason)> on_failed;
    // This process cannot use its GPU any more and must end at once; not expected to return.
    std::function<void(const std::string& reason)> on_gpu_lost;
    std::function<void()> beat;
    std::function<bool()> abandoned;  // stop waiting for room: the process has to leave
  };
  // What is known of a frame ring's frames besides their format.
  struct Source {
    double frame_rate = 0;  // 0: unknown
    int rotation = 0;       // degrees clockwise by which they are turned before the filters
    friend bool operator==(const Source&, const Source&) = default;
  };
  // Of a camera: its renditions' work on a GPU is in order, so that they may share a lease (FrameRingReader::use_on).
  struct Place {
    Device gpu;
    SharedGpuStream stream;  // once the first of them has made it
  };

  Rendition(const Start& start, const RigPage& page, const Events& events, Place& place);

  // Filters and encoder for frames as they are expected, before the first one comes.
  void get_ready(const FrameFormat& expected, const Source& source);
  // Where it is encoded on demand, and nobody watches: gives up what that takes. Else process() does.
  void rest_if_unwatched() { is_wanted(); }
  void process(RingInUse& ring, FrameRingReader::Lease lease, const Source& source);
  // No further frame will come.
  void finish();

 private:
  bool is_wanted();
  std::optional<FrameRef> filter(RingInUse& ring, FrameRingReader::Lease& lease, const Source& source);
  void prepare(const FrameFormat& format, const Source& source);
  void make_path(int rotation);
  void make_encoder(const FrameFormat& input, bool on_gpu, const FrameFormat& output, double frame_rate);
  [[nodiscard]] bool encoder_goes_on(const FrameFormat& output, double frame_rate) const;
  void encode(const FrameRef& picture, const FrameTimes& times, std::uint64_t number);
  void look_at_audience(std::int64_t pts);
  void flush_encoder();
  void push(const PacketView& packet);
  void wait_for_room(const std::string& reason);
  void fail(const std::exception& error);
  void count(DropCause cause);

  Start start_;
  EncodeBlock& block_;
  const Audience& audience_;
  Events events_;
  Place& place_;
  ProfileName filter_range_;
  ProfileName encode_range_;
  RateLimit rate_;
  MotionMeter motion_;
  std::unique_ptr<SnapshotWriter> snapshot_;
  std::unique_ptr<FramePath> path_;
  int rotation_ = 0;                  // that path_ makes
  std::optional<FrameFormat> input_;  // that path_ and encoder_ are ready for
  Source source_;                     // likewise
  std::unique_ptr<Encoder> encoder_;
  FrameFormat encoder_input_;
  double encoder_rate_ = 0;
  std::unique_ptr<PacketRingWriter> packets_;
  std::uint64_t epoch_;
  std::uint64_t pushed_ = 0;  // packets in rings, of all epochs of this process
  std::uint64_t inside_ = 0;  // frames that the encoder has and whose packets have not come out
  std::int64_t encode_begin_ = 0;
  Demand demand_;
  std::uint32_t arrivals_;  // of viewers, who have been served
  std::int64_t last_key_pts_ = 0;
  bool need_key_ = false;  // a packet was lost: those up to the next key frame are useless
  bool failed_ = false;
  std::optional<Clock::time_point> try_again_;  // the GPU had no room
};

}  // namespace campipe
