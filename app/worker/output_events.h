// What a node in a worker reports, and asks, while it works; called on the node's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/packet.h"
#include "ipc/frame_ring.h"
#include "ipc/group_page.h"
#include "ipc/ids.h"
#include "ipc/packet_ring.h"

namespace campipe {

struct OutputEvents {
  std::function<void(OutputId output, const PacketRingMemory& ring, std::uint64_t epoch,
                     const StreamParameters& parameters)>
      on_packets;
  std::function<void(OutputId output, const std::string& reason)> on_failed;
  // A frame ring for further nodes; `rotation` is none: its frames have been turned.
  std::function<void(EdgeId edge, const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate)> on_ring;
  std::function<void(EdgeId edge, const std::string& reason)> on_edge_failed;
  // Nothing of an edge that was ended is left.
  std::function<void(EdgeId edge)> on_edge_done;
  // Keeps a ring that was replaced or has ended, and that a GPU filled, until its readers are done with it.
  std::function<void(std::shared_ptr<FrameRingWriter> ring)> keep;
  // This process cannot use its GPU any more and must end at once; not expected to return.
  std::function<void(const std::string& reason)> on_gpu_lost;
  // It takes part in a move, and cannot.
  std::function<void(const std::string& reason)> on_not_ready;
  // Of the group that an output is in; null: it could not be opened.
  std::function<std::shared_ptr<GroupPage>(OutputId output)> group_page;
  std::function<void()> beat;
  std::function<bool()> abandoned;  // stop waiting for room: the process has to leave
};

}  // namespace campipe
