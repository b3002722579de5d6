// One camera in its worker, on a thread of its own: every frame of its frame rings goes to each of its renditions
// (app/worker/rendition.h), one after another, without a copy. What differs between CPU and GPU is behind FramePath.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/config/config.h"
#include "app/control/messages.h"
#include "app/rings/ring_queue.h"
#include "app/worker/rendition.h"
#include "ipc/frame_ring.h"
#include "ipc/packet_ring.h"
#include "ipc/rig_page.h"

namespace campipe {

class ThreadScope;

class CameraStage {
 public:
  // Called on the camera's thread.
  struct Events {
    std::function<void(OutputId output, const PacketRingMemory& ring, std::uint64_t epoch,
                       const StreamParameters& parameters)>
        on_packets;
    std::function<void(OutputId output, const std::string& reason)> on_failed;
    std::function<void()> on_done;
    // This process cannot use its GPU any more and must end at once; not expected to return.
    std::function<void(const std::string& reason)> on_gpu_lost;
  };
  struct Ring {
    std::shared_ptr<FrameRingMemory> memory;
    unsigned reader = 0;
    double frame_rate = 0;
    int rotation = 0;  // degrees clockwise by which its frames must be turned
  };

  // `asked`: its outputs are those of the camera that are encoded. `gpu`: the worker's.
  CameraStage(const messages::EncodeCamera& asked, const Device& gpu, const RigPage& page, const Events& events);
  ~CameraStage();

  // Main thread.
  void add(const Ring& ring) { rings_.add(ring); }
  // What came as a ring is none.
  void accuse_writer() { accuse(edge_.accusation, Accused::master); }
  // No further ring will come: finish those that are there, then the encoders.
  void finish() { rings_.finish(); }
  // Stop waiting for frames and for room: the process has to leave.
  void abandon() { rings_.abandon(); }
  // Drops the memory of rings that the camera's thread has done with: with a GPU that takes too long for that thread.
  void drop_used_rings();

 private:
  void make_renditions(const std::vector<messages::EncodedOutput>& outputs, const RigPage& page, const Events& events);
  void run();
  std::optional<Ring> next_ring();
  void drain(const Ring& ring);
  void process(RingInUse& ring, FrameRingReader::Lease lease, const Rendition::Source& source);

  std::string name_;  // the camera's
  struct Queue {
    DropPolicy policy;
    unsigned size;  // frames that may wait
  } queue_;
  NodeBlock& node_;
  EdgeReaderBlock& edge_;
  std::function<void()> on_done_;
  ThreadScope* scope_ = nullptr;
  CameraPlace place_;
  std::vector<std::unique_ptr<Rendition>> renditions_;

  RingQueue<Ring> rings_;
  std::mutex mutex_;  // of the next one
  std::vector<std::shared_ptr<FrameRingMemory>> used_rings_;
  std::jthread thread_;
};

}  // namespace campipe
