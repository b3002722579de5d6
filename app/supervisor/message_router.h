// From the messages of the supervisor's processes to what becomes of them.
#pragma once

#include <vector>

#include "app/supervisor/cluster/cluster_control.h"
#include "app/supervisor/cluster/cluster_rig.h"
#include "app/supervisor/cluster/guest_stages.h"
#include "app/supervisor/cluster/link_exchange.h"
#include "app/supervisor/life/camera_lifecycle.h"
#include "app/supervisor/life/camera_roster.h"
#include "app/supervisor/life/config_changes.h"
#include "app/supervisor/life/message_checks.h"
#include "app/supervisor/life/ring_router.h"
#include "app/supervisor/moving/moves.h"

namespace campipe {

namespace messages {
struct AudioRing;
struct AudioRingDone;
struct DecodingLeft;
struct DecodingOver;
struct DecodingState;
struct EdgeDone;
struct EdgeFailed;
struct FileBegun;
struct FoundStream;
struct FrameRing;
struct FrameRingLost;
struct LinkListens;
struct NodeDone;
struct NotReady;
struct OpenedStream;
struct OutputDone;
struct OutputFailed;
struct PacketRing;
struct PacketRingDone;
struct PushChanged;
struct RecordFailed;
struct RecordPaused;
struct RecordResumed;
struct Request;
struct RingLost;
struct SourceOver;
struct SourceRing;
struct SourceRingDone;
struct SourceState;
}  // namespace messages

class MessageRouter {
 public:
  MessageRouter(RigState& rig, Processes& processes, CameraLifecycle& lifecycle, RingRouter& rings,
                CameraRoster& roster, ConfigChanges& config, Moves& moves, ClusterRig& cluster,
                ClusterControl& cluster_control, LinkExchange& exchange, GuestStages& guests)
      : rig_(rig),
        processes_(processes),
        lifecycle_(lifecycle),
        rings_(rings),
        roster_(roster),
        config_(config),
        moves_(moves),
        cluster_(cluster),
        cluster_control_(cluster_control),
        exchange_(exchange),
        guests_(guests) {}

  // Throws BadMessage, or what went wrong with it; the caller ends the process that sent it.
  void handle(ManagedProcess& by, Message& message);

 private:
  template <typename Id>
  void require_id(Id id, std::string_view kind) const;
  template <typename M>
  auto find(ManagedProcess& by, const M& read);
  template <typename M, typename... Descriptors>
  void receive(ManagedProcess& by, const Message& message, M& read, Descriptors&... fds);
  template <typename M, typename... Descriptors>
  void receive_of_guest(const ManagedProcess& by, const Message& message, const M& read, Descriptors&... fds);
  void on(const AboutEdge& about, const messages::FrameRing& ring, std::vector<UniqueFd>& fds);
  void on(const AboutOutput& about, const messages::PacketRing& ring, std::vector<UniqueFd>& fds);
  void on(const AboutOutput& about, const messages::AudioRing& ring, std::vector<UniqueFd>& fds);
  void on(const AboutNode& about, const messages::FrameRingLost& lost);
  void on(const AboutOutput& about, const messages::RingLost& lost);
  void on(const AboutOutput& about, const messages::PacketRingDone& done);
  void on(const AboutOutput& about, const messages::AudioRingDone& done);
  void on(const AboutCamera& about, const messages::SourceRing& ring, std::vector<UniqueFd>& fds);
  void on(const AboutCamera& about, const messages::SourceRingDone& done);
  void on(const AboutCamera& about, const messages::DecodingState& state);
  void on(const AboutCamera& about, const messages::DecodingOver& over);
  void on(const AboutCamera& about, const messages::DecodingLeft& left);
  void on(const AboutCamera& about, const messages::SourceState& source);
  void on(const AboutCamera& about, const messages::SourceOver& over);
  void on(const AboutCamera& about, const messages::FoundStream& found);
  void on(const AboutCamera& about, const messages::OpenedStream& opened);
  void on(const AboutNode& about, const messages::NodeDone& done);
  void on(const AboutNode& about, const messages::NotReady& not_ready);
  void on(const AboutEdge& about, const messages::EdgeFailed& failed);
  void on(const AboutEdge& about, const messages::EdgeDone& done);
  void on(const AboutEdge& about, const messages::LinkListens& listens);
  void on(const AboutOutput& about, const messages::OutputDone& done);
  void on(const AboutOutput& about, const messages::OutputFailed& failed);
  void on(const AboutOutput& about, const messages::FileBegun& file);
  void on(const AboutOutput& about, const messages::RecordFailed& failed);
  void on(const AboutOutput& about, const messages::RecordPaused& paused);
  void on(const AboutOutput& about, const messages::RecordResumed& resumed);
  void on(const AboutOutput& about, const messages::PushChanged& changed);
  void on_incomplete(const AboutCamera& about, const messages::SourceRing& ring);
  void on_incomplete(const AboutEdge& about, const messages::FrameRing& ring);
  void on_incomplete(const AboutOutput& about, const messages::PacketRing& ring);
  void on_incomplete(const AboutOutput& about, const messages::AudioRing& ring);
  void on_request(const ManagedProcess& by, messages::Request request);

  RigState& rig_;
  Processes& processes_;
  CameraLifecycle& lifecycle_;
  RingRouter& rings_;
  CameraRoster& roster_;
  ConfigChanges& config_;
  Moves& moves_;
  ClusterRig& cluster_;
  ClusterControl& cluster_control_;
  LinkExchange& exchange_;
  GuestStages& guests_;
};

}  // namespace campipe
