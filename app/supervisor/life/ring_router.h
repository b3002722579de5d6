// Rings on their way through the supervisor, from who made them to who reads them: a camera's packets from the source
// to its master, its frame rings from that, or from a node, to the node that reads them, an output's packet rings
// from the source or a worker to the publisher.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/supervisor/life/camera_lifecycle.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

namespace messages {
struct AudioRing;
struct FrameRing;
struct PacketRing;
struct SourceRing;
}  // namespace messages

class RingRouter {
 public:
  RingRouter(RigState& rig, Processes& processes, CameraLifecycle& lifecycle)
      : rig_(rig), processes_(processes), lifecycle_(lifecycle) {}

  // A ring that was made. Throws Error where it is none.
  void add(Camera& camera, const messages::SourceRing& ring, std::vector<UniqueFd>& fds);
  // `memory`: as open() returns it, which throws.
  void add(Camera& camera, CameraEdge& edge, const messages::FrameRing& ring, std::shared_ptr<FrameRingMemory> memory);
  static std::shared_ptr<FrameRingMemory> open(std::vector<UniqueFd>& fds);
  void add(Camera& camera, Output& output, const messages::PacketRing& ring, std::vector<UniqueFd>& fds);
  void add(Camera& camera, Output& output, const messages::AudioRing& ring, std::vector<UniqueFd>& fds);
  // It could not be taken, here or by its reader. Whoever writes it waits for a reader that never comes, so the camera
  // ends; the others have what they need.
  void lose(Camera& camera, const std::string& reason);
  // Likewise a ring of that edge; without a cell's edge only the cell has no frames.
  void lose(Camera& camera, CameraEdge& edge, const std::string& reason);

  // Gives a reader of the edge the newest frame ring, unless a dead predecessor's frames are still in it. One whose
  // writer has closed it or is gone gets no further frame, and no writer that would free a seat in it: the next ring is
  // offered.
  void offer(Camera& camera, CameraEdge& edge, EdgeReader& reader);
  // Likewise to a mosaic's node, of all its cells' edges.
  void offer_cells(const Camera& mosaic, const CameraNode& node);
  // Of an edge between the process of links and a worker, which is no camera's (guest_stages.h): a ring that was made,
  static void add(CameraEdge& edge, const messages::FrameRing& ring, std::shared_ptr<FrameRingMemory> memory);
  // and what offer() and settle() do for a camera's: its one reader is given the newest ring, where it `is_ready`.
  // False: that has to be replaced.
  [[nodiscard]] bool follow(CameraEdge& edge, ProcessId writer, bool is_ready);
  // All that its master has not finished, to one that knows the camera.
  void pass_on_packets(const Camera& camera);
  // All that the publisher has not finished.
  void pass_on_all(const Camera& camera, Output& output);
  // Once a dead worker's bits are gone from its ring, all that is neither encoded nor dropped died with it. To be
  // called several times a second.
  void settle();

 private:
  void offer(Camera& camera, CameraEdge& edge, std::span<EdgeReader> readers);
  bool is_ready_for_ring(const Camera& camera, const CameraEdge& edge, const EdgeReader& reader);
  void renew(const Camera& camera, CameraEdge& edge, const std::string& why);
  void send(const CameraEdge& edge, EdgeReader& reader);
  bool writer_lives(const CameraEdge& edge, ProcessId writer);
  void pass_on(const Camera& camera, const PacketRings<SourceRingStart>::Ring& ring);
  void pass_on(const Camera& camera, Output& output, const PacketRings<StreamParameters>::Ring& ring);
  void pass_on(const Camera& camera, Output& output, const PacketRings<AudioParameters>::Ring& ring);
  void settle(Camera& camera, CameraEdge& edge);
  void settle(Camera& camera, CameraEdge& edge, EdgeReader& reader);

  RigState& rig_;
  Processes& processes_;
  CameraLifecycle& lifecycle_;
};

}  // namespace campipe
