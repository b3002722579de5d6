// What the supervisor believes of what its processes say: who may send which message, and what becomes of those that
// wrote into a ring what cannot be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "app/stream_json.h"
#include "app/supervisor.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/ring_checks.h"

namespace campipe {
namespace {

enum Sender : unsigned { from_master = 1, from_worker = 2, from_publisher = 4 };

struct Right {
  std::string_view type;
  unsigned senders;
  std::size_t least_descriptors = 0;
  std::size_t most_descriptors = 0;
};

// Every message that the supervisor knows. All but `request` name a camera.
constexpr std::array rights{
    Right{"request", from_publisher},
    Right{"frame_ring", from_master, 1, 2},
    Right{"source_over", from_master},
    Right{"source_state", from_master},
    Right{"sent_stream", from_master},
    Right{"packet_ring", from_master | from_worker, 1, 1},
    Right{"audio_ring", from_master, 1, 1},
    Right{"camera_failed", from_worker},
    Right{"camera_done", from_worker | from_publisher},
    Right{"ring_lost", from_worker | from_publisher},
    Right{"packet_ring_done", from_publisher},
    Right{"audio_ring_done", from_publisher},
    Right{"file", from_publisher},
    Right{"record_failed", from_publisher},
    Right{"record_paused", from_publisher},
    Right{"record_resumed", from_publisher},
    Right{"push_state", from_publisher},
};

constexpr double highest_rate = 10'000;  // frames a second

void require(bool holds, const Message& message, const std::string& what) {
  if (!holds) throw Error(fmt::format("it sent '{}' {}", message.type, what));
}

void require_rate(const Message& message, const nlohmann::json& rate) {
  const auto value = rate.get<double>();
  require(value >= 0 && value <= highest_rate, message, "with a frame rate that cannot be");
}

void require_rotation(const Message& message, int degrees) {
  require(degrees >= 0 && degrees < 360 && degrees % 90 == 0, message, "with a rotation that cannot be");
}

}  // namespace

// Throws Error for what a process that works as it should never sends; the sender is then ended and restarted.
void Supervisor::require_right(const Member& member, const Message& message) const {
  const auto* right = std::ranges::find(rights, std::string_view(message.type), &Right::type);
  require(right != rights.end(), message, "which the supervisor does not know");
  const unsigned sender = member.kind == Kind::master   ? from_master
                          : member.kind == Kind::worker ? from_worker
                                                        : from_publisher;
  require((right->senders & sender) != 0, message, "which is not its business");
  const std::size_t descriptors = message.fds.size();
  // What was left out for want of descriptors here is not the sender's fault.
  require(message.incomplete || (descriptors >= right->least_descriptors && descriptors <= right->most_descriptors),
          message, fmt::format("with {} descriptors", descriptors));
  if (message.type == "request") return;
  const auto place = message.body.at("camera").get<std::size_t>();
  require(place < cameras_.size(), message, fmt::format("for camera {}, which there is not", place));
  require_camera(member, message, cameras_[place]);
}

// A message of a camera that has just been removed may still be on its way, and is right.
void Supervisor::require_camera(const Member& member, const Message& message, const CameraState& camera) const {
  if (!takes_part(camera)) return;
  const bool its_own = member.kind != Kind::worker || camera.worker == member.worker;
  require(its_own, message, "for a camera of another worker");
  if (message.type == "frame_ring") {
    require(!camera.follows, message, "for an output");
    require_rate(message, message.body.at("frame_rate"));
    require_rotation(message, message.body.at("rotation"));
  } else if (message.type == "sent_stream") {
    require(!camera.follows, message, "for an output");
    sent_from_json(message.body.at("sends"));
  } else if (message.type == "packet_ring") {
    const bool copies = is_copy(camera.config.encode);
    require(copies == (member.kind == Kind::master), message, "for packets that another process makes");
    const StreamParameters stream = stream_from_json(message.body.at("stream"));
    require(is_possible(stream.format, false), message, "with a format that cannot be");
    require_rate(message, stream.frame_rate);
    require_rotation(message, stream.rotation);
  } else if (message.type == "audio_ring") {
    audio_from_json(message.body.at("audio"));
  }
}

// Who shares a ring with a process that wrote there what cannot be has noted it.
void Supervisor::follow_accusations() {
  for (CameraState& camera : cameras_) {
    if (!takes_part(camera)) continue;
    if (camera.frames)
      camera.frames->observer.turn_out_strangers(camera.unsettled ? std::nullopt : camera.frames->reader);
    follow_accusation(camera, page_.master(camera.index).accusation, Accused::master);
    follow_accusation(camera, page_.worker(camera.index, camera.worker).accusation, Accused::worker);
    follow_accusation(camera, page_.publisher(camera.index).accusation, Accused::publisher);
  }
}

void Supervisor::follow_accusation(CameraState& camera, Accusation& accusation, Accused accuser) {
  if (accusation.load() == 0) return;
  const std::uint32_t accused = accusation.exchange(0) & ~static_cast<std::uint32_t>(accuser);
  const auto is_accused = [accused](Accused whom) { return (accused & static_cast<std::uint32_t>(whom)) != 0; };
  if (is_accused(Accused::master)) end_accused(master(), camera);
  if (is_accused(Accused::worker)) end_accused(worker(camera.worker), camera);
  if (!is_accused(Accused::publisher)) return;
  // It may have taken the ring for finished.
  const bool knows = std::ranges::any_of(
      camera.packets, [&](const CameraState::PacketRing& ring) { return ring.epoch == camera.packet_epoch; });
  if (!knows && camera.newest_packets) {
    camera.packets.push_back({camera.packet_epoch, camera.stream, *camera.newest_packets});
  }
  end_accused(publisher(), camera);
}

// Like one that crashed in the camera's thread, so that a camera for which it comes again and again is set aside.
void Supervisor::end_accused(Member& member, CameraState& camera) {
  if (!member.child) return;
  spdlog::error("{} wrote into a ring of {} what cannot be; it is restarted", role_of(member), camera.config.name);
  member.child->kill();
  blame(member, camera, "its ring was damaged");
}

}  // namespace campipe
