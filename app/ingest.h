// One camera in the master: its source, its decoder and its frame ring, on a thread of their own.
//
// Frames are published in order, with times that strictly grow. A source that ends, fails or is told to stop closes
// the ring; the object stays, so that the ring can be looked after until the master leaves.
//
// A camera that was given a GPU to decode with keeps the packets that a decoder on the CPU would need to go on where
// the GPU's gives up, and goes on with that one and a ring of the next epoch: no picture is lost or comes twice.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app/config.h"
#include "app/plan.h"
#include "app/replay_window.h"
#include "core/profile.h"
#include "ipc/frame_ring.h"
#include "ipc/rig_page.h"
#include "stages/decoders/decoder.h"
#include "stages/sources/source.h"

namespace campipe {

class ThreadScope;

class Ingest {
 public:
  struct Start {
    unsigned camera = 0;  // its place in the rig page
    CameraConfig config;
    Placement placement;
    std::uint64_t epoch = 1;             // of the first ring
    std::uint64_t base = 0;              // frames published in earlier epochs
    std::optional<std::int64_t> resume;  // the pts of the newest frame of a master that died
    std::function<decltype(campipe::open_decoder)> open_decoder = campipe::open_decoder;
  };
  // Called on the camera's thread.
  struct Events {
    // A ring to read from, after all before it. `decoder`: for people, "h264" or "h264 (nvdec)".
    std::function<void(const FrameRingMemory& ring, const SourceStream& stream, const std::string& decoder)> on_ring;
    // This process's context on the GPU is lost, with the rings of all cameras there: must end the process at once.
    std::function<void(const std::string& reason)> on_gpu_lost;
    std::function<void(const std::string& failure)> on_over;  // empty: ended as it should
  };

  Ingest(const Start& start, const RigPage& page, const Events& events);
  ~Ingest();

  // Ends the source soon; frames that are decoded already are still handed over.
  void stop();
  // Looks after the ring of a source that is over. Any thread; does nothing before.
  void service();
  [[nodiscard]] bool over() const { return over_; }

 private:
  void run();
  void produce();
  void pin_to_cores() const;
  void open_decoder();
  void leave_gpu(const std::string& reason);
  void open_ring();
  void make_ring();
  void retire_ring();
  void renew_ring();
  void empty_decoder();
  void go_back_to_resume();
  bool read(AVPacket& packet);
  void prime(AVPacket& packet);
  bool wait_for_start();
  void pace(const AVPacket& packet);
  [[nodiscard]] std::chrono::nanoseconds stagger() const;
  bool decode(const AVPacket* packet);
  bool feed(const AVPacket* packet);
  bool go_on_without_gpu(const std::string& reason);
  bool publish(DecodedPicture& picture);
  bool wait_for_worker();
  void count_unpublished();
  bool at_end();
  void finish_loop();
  [[nodiscard]] std::int64_t time_of(std::int64_t timestamp) const;
  [[nodiscard]] bool given_up() const;

  // Written by a GPU, and replaced: its readers may still need it.
  struct RetiredRing {
    std::shared_ptr<FrameRingWriter> ring;
    Clock::time_point since;
  };

  Start start_;
  ProfileName packet_range_{start_.config.name, "ingest"};
  ProfileName publish_range_{start_.config.name, "publish"};
  const RigPage& page_;
  CameraBlock& block_;
  Events events_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<Decoder> decoder_;
  bool on_hardware_ = false;                 // decoder_ is a GPU's
  ReplayWindow window_;                      // used only then
  std::multiset<std::int64_t> seen_before_;  // pictures that will come again out of the decoder that took over
  std::int64_t packets_read_ = 0;
  bool primed_ = false;     // the decoder has the first packet already
  bool await_key_ = false;  // what comes before the next key frame cannot be decoded
  std::shared_ptr<FrameRingWriter> ring_;
  std::mutex retired_mutex_;
  std::vector<RetiredRing> retired_;
  ThreadScope* scope_ = nullptr;
  std::uint64_t epoch_ = 0;
  std::uint64_t published_ = 0;  // in this master's life
  std::int64_t last_pts_ = -1;   // of the newest frame
  std::int64_t last_duration_ = 0;
  std::int64_t loop_offset_ = 0;              // added to the source's times since it was last rewound
  std::optional<std::int64_t> skip_through_;  // frames up to here were published by a master before
  std::optional<std::pair<Clock::time_point, std::int64_t>> pace_anchor_;  // when which time was due
  std::int64_t arrival_ = 0;
  std::int64_t arrival_utc_ = 0;
  std::int64_t decode_cost_ = 0;
  std::atomic<std::int64_t> stop_at_{0};  // monotonic ns at which stop() was called; 0: not
  std::atomic<bool> over_{false};
  std::jthread thread_;
};

}  // namespace campipe
