// One camera in its worker: frame rings → filters → encoder → packet rings, on a thread of its own. What differs
// between CPU and GPU is behind FramePath.
//
// The encoder outlives frame rings: when the master dies, the ring of the next epoch goes on with it. Only when the
// pictures' format changes does a new encoder with a packet ring of its own begin.
// After an error the camera's frames are still taken and counted, so that nothing waits for this camera. Where the GPU
// has no room, they are counted too, and it is tried again every second.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/config.h"
#include "app/frame_path.h"
#include "core/profile.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "ipc/rig_page.h"
#include "stages/encoders/encoder.h"

namespace campipe {

class ThreadScope;

class CameraStage {
 public:
  struct Start {
    unsigned camera = 0;
    CameraConfig config;
    std::uint64_t epoch = 1;  // of the first packet ring
    std::uint64_t base = 0;   // packets of earlier epochs
    Device gpu;               // the worker's
    bool hardware_encoder = false;
    double encode_cores = 1;
  };
  // Called on the camera's thread.
  struct Events {
    std::function<void(const PacketRingMemory& ring, std::uint64_t epoch, const StreamParameters& parameters)>
        on_packets;
    std::function<void(const std::string& reason)> on_failed;
    std::function<void()> on_done;
    // This process cannot use its GPU any more and must end at once; not expected to return.
    std::function<void(const std::string& reason)> on_gpu_lost;
  };
  struct Ring {
    std::shared_ptr<FrameRingMemory> memory;
    unsigned reader = 0;
    double frame_rate = 0;
  };

  CameraStage(const Start& start, const RigPage& page, const Events& events);
  ~CameraStage();

  // Main thread.
  void add(const Ring& ring);
  // No further ring will come: finish those that are there, then the encoder.
  void finish();
  // Stop waiting for frames and for room: the process has to leave.
  void abandon();
  // Drops the memory of rings that the camera's thread has done with: with a GPU that takes too long for that thread.
  void drop_used_rings();

 private:
  void run();
  std::optional<Ring> next_ring();
  void drain(const Ring& ring);
  void process(RingInUse& ring, FrameRingReader::Lease& lease, double frame_rate);
  std::optional<FrameRef> filter(RingInUse& ring, FrameRingReader::Lease& lease, double frame_rate);
  void get_ready(const Ring& ring);
  void prepare(const FrameFormat& format, double frame_rate);
  void make_encoder(const FrameFormat& format, double frame_rate);
  void encode(const FrameRef& picture, const FrameTimes& times, std::uint64_t number);
  void flush_encoder();
  void push(const PacketView& packet);
  void wait_for_room(const std::string& reason);
  void fail(const std::exception& error);
  void count(DropCause cause);

  Start start_;
  CameraBlock& block_;
  Events events_;
  ProfileName filter_range_;
  ProfileName encode_range_;
  ThreadScope* scope_ = nullptr;
  std::unique_ptr<FramePath> path_;
  std::optional<FrameFormat> input_;  // that path_ and encoder_ are ready for
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<PacketRingWriter> packets_;
  std::uint64_t epoch_;
  std::uint64_t pushed_ = 0;  // packets in rings, of all epochs of this process
  std::uint64_t inside_ = 0;  // pictures that the encoder has and whose packets have not come out
  std::int64_t encode_begin_ = 0;
  bool need_key_ = false;  // a packet was lost: those up to the next key frame are useless
  bool failed_ = false;
  std::optional<Clock::time_point> try_again_;  // the GPU had no room

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Ring> rings_;
  std::vector<std::shared_ptr<FrameRingMemory>> used_rings_;
  bool finishing_ = false;
  std::atomic<bool> abandoned_{false};
  std::jthread thread_;
};

}  // namespace campipe
