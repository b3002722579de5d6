// Whether a process that works as it should can send this, as far as the supervisor knows. Who may send which message
// at all stands in app/control/messages. Each throws BadMessage; the sender is then ended and restarted.
#pragma once

#include "app/control/message_dispatch.h"
#include "app/supervisor/processes/process.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

namespace messages {
struct AudioRing;
struct DecodingLeft;
struct DecodingOver;
struct EdgeDone;
struct FoundStream;
struct FrameRing;
struct FrameRingLost;
struct LinkListens;
struct NodeDone;
struct OpenedStream;
struct OutputDone;
struct PacketRing;
struct PushChanged;
struct RingLost;
struct SourceOver;
struct SourceRing;
}  // namespace messages

// What a message is about, and who sent it.
struct AboutCamera {
  const RigState& rig;
  ManagedProcess& by;
  Camera& camera;
};
struct AboutNode {
  const RigState& rig;
  ManagedProcess& by;
  Camera& camera;
  CameraNode& node;
};
struct AboutEdge {
  const RigState& rig;
  ManagedProcess& by;
  Camera& camera;
  CameraEdge& edge;
};
struct AboutOutput {
  const RigState& rig;
  ManagedProcess& by;
  Camera& camera;
  Output& output;
};

template <typename About, typename M>
void require_possible(const About&, const M&) {}
void require_possible(const AboutEdge& about, const messages::FrameRing& ring);
// Checks the ring alone: the caller has checked that the sender writes the edge.
void require_possible(const CameraEdge& edge, const messages::FrameRing& ring);
void require_possible(const AboutEdge& about, const messages::EdgeDone& done);
void require_possible(const AboutEdge& about, const messages::LinkListens& listens);
void require_possible(const AboutCamera& about, const messages::SourceRing& ring);
void require_possible(const AboutCamera& about, const messages::DecodingOver& over);
void require_possible(const AboutCamera& about, const messages::DecodingLeft& left);
void require_possible(const AboutCamera& about, const messages::FoundStream& found);
void require_possible(const AboutCamera& about, const messages::OpenedStream& opened);
void require_possible(const AboutCamera& about, const messages::SourceOver& over);
void require_possible(const AboutNode& about, const messages::FrameRingLost& lost);
void require_possible(const AboutNode& about, const messages::NodeDone& done);
void require_possible(const AboutOutput& about, const messages::PacketRing& ring);
void require_possible(const AboutOutput& about, const messages::AudioRing& ring);
void require_possible(const AboutOutput& about, const messages::PushChanged& push);
void require_possible(const AboutOutput& about, const messages::RingLost& lost);
void require_possible(const AboutOutput& about, const messages::OutputDone& done);

// Of a worker, the nodes of others, what those make and the edges that those write, are none of its business; of a
// master, the cameras of others.
void require_own(const AboutCamera& about);
void require_own(const AboutNode& about);
void require_own(const AboutEdge& about);
void require_own(const AboutOutput& about);

// What is kept of a message, and passed on, has an end: texts are cut.
void shorten_texts(Message& message);

}  // namespace campipe
