// What the supervisor believes of what its processes say: who may send which message, and what becomes of those that
// wrote into a ring what cannot be.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "app/control/stream_json.h"
#include "app/supervisor/supervisor.h"
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
constexpr std::size_t longest_text = 1024;
constexpr std::size_t longest_path = 4096;
constexpr auto ring_opened = std::chrono::seconds(30);        // by then, also by a process that has just started
constexpr auto accusation_window = std::chrono::seconds(60);  // as BlamePolicy's

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

// Rings are numbered without gaps: a number that jumps would leave the successors none.
void require_next(const Message& message, std::uint64_t newest) {
  const auto epoch = message.body.at("epoch").get<std::uint64_t>();
  require(epoch != 0 && epoch == newest + 1, message, "for a ring that does not follow the newest one");
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
  if (camera.state == CameraState::State::removed) return;
  const bool its_own = member.kind != Kind::worker || camera.worker == member.worker;
  require(its_own, message, "for a camera of another worker");
  if (!takes_part(camera)) return;
  if (message.type == "frame_ring") {
    require(!camera.follows, message, "for an output");
    require_next(message, camera.frame_epoch);
    require_rate(message, message.body.at("frame_rate"));
    require_rotation(message, message.body.at("rotation"));
  } else if (message.type == "sent_stream") {
    require(!camera.follows, message, "for an output");
    sent_from_json(message.body.at("sends"));
  } else if (message.type == "packet_ring") {
    const bool copies = is_copy(camera.config.encode);
    require(copies == (member.kind == Kind::master), message, "for packets that another process makes");
    require_next(message, camera.packet_epoch);
    const StreamParameters stream = stream_from_json(message.body.at("stream"));
    require(is_possible(stream.format, false), message, "with a format that cannot be");
    require_rate(message, stream.frame_rate);
    require_rotation(message, stream.rotation);
  } else if (message.type == "audio_ring") {
    require_next(message, camera.audio_epoch);
    audio_from_json(message.body.at("audio"));
  } else if (message.type == "push_state") {
    const auto url = message.body.at("url").get<std::string>();
    const bool known = camera.push.contains(url) || camera.push.size() < camera.config.push.size();
    require(known, message, "of more targets than there are");
  } else if (message.type == "ring_lost") {
    const auto& rings = member.kind == Kind::worker ? camera.rings_to_worker : camera.rings_to_publisher;
    const bool sent = rings.number > 0 && Clock::now() - rings.newest < ring_opened;
    require(sent, message, "though it was sent none just now");
  }
}

// What is kept of it, and passed on, has an end.
void Supervisor::shorten_texts(nlohmann::json& body, std::size_t most) {
  if (body.is_string()) {
    auto& text = body.get_ref<std::string&>();
    if (text.size() > most) text.resize(most);
  } else if (body.is_structured()) {
    for (nlohmann::json& part : body) shorten_texts(part, most);
  }
}

void Supervisor::shorten_texts(Message& message) {
  if (message.type == "request") return;
  shorten_texts(message.body, message.type == "file" ? longest_path : longest_text);
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
  for (const Accused whom : {Accused::master, Accused::worker, Accused::publisher}) {
    if ((accused & static_cast<std::uint32_t>(whom)) == 0) continue;
    follow_accusation(camera, process_of(camera, accuser), process_of(camera, whom));
  }
}

Supervisor::Member& Supervisor::process_of(const CameraState& camera, Accused role) {
  if (role == Accused::master) return master();
  return role == Accused::worker ? worker(camera.worker) : publisher();
}

// It is the accuser's word alone, which a process that was taken over may give as it likes: it is believed once. Who
// accuses the same process again so soon is ended instead, and so is who does it for a camera that was set aside. A
// process that does damage again and again has its camera set aside by either.
void Supervisor::follow_accusation(CameraState& camera, Member& accuser, Member& accused) {
  const bool failed = camera.state == CameraState::State::failed;
  if (!failed && (!has_camera(accuser, camera) || !has_camera(accused, camera))) return;
  if (!accused.child || accused.child->killed()) return;
  const auto now = Clock::now();
  const auto [last, first] = accused_at_.try_emplace({accuser.process, accused.process}, now);
  const bool again = !first && now - std::exchange(last->second, now) < accusation_window;
  if (!failed && !again) {
    offer_newest_packets(accused, camera);
    return end_accused(accused, camera,
                       fmt::format("wrote into a ring of {} what cannot be; it is restarted", camera.config.name));
  }
  end_accused(
      accuser, camera,
      fmt::format("accuses {} again, of a ring of {}; it is restarted itself", role_of(accused), camera.config.name));
}

// The publisher may have taken the ring for finished.
void Supervisor::offer_newest_packets(const Member& member, CameraState& camera) {
  if (member.kind != Kind::publisher || !camera.newest_packets) return;
  const bool knows = std::ranges::any_of(
      camera.packets, [&](const CameraState::PacketRing& ring) { return ring.epoch == camera.packet_epoch; });
  if (!knows) camera.packets.push_back({camera.packet_epoch, camera.stream, *camera.newest_packets});
}

// Like one that crashed in the camera's thread, so that a camera for which it comes again and again is set aside.
void Supervisor::end_accused(Member& member, CameraState& camera, const std::string& why) {
  if (!member.child || member.child->killed()) return;
  end(member, why);
  blame(member, camera, "its ring was damaged");
}

}  // namespace campipe
