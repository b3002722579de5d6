// What the supervisor believes of what its processes send: which values can be, and what becomes of those that wrote
// into a ring what cannot be. Who may send which message stands in app/control/messages.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/log.h"
#include "core/passwords.h"
#include "core/printable.h"
#include "ipc/ring_checks.h"
#include "stages/sources/source_end.h"

namespace campipe {
namespace {

constexpr double highest_rate = 10'000;  // frames a second
constexpr std::size_t longest_text = 1024;
constexpr std::size_t longest_path = 4096;
constexpr auto ring_opened = std::chrono::seconds(30);        // by then, also by a process that has just started
constexpr auto accusation_window = std::chrono::seconds(60);  // as BlamePolicy's

constexpr std::size_t longest_shown = 300;  // of a wrong message

void require(bool holds, const std::string& what) {
  if (!holds) throw BadMessage("it sent " + what);
}

void require_rate(double rate) {
  require(rate >= 0 && rate <= highest_rate, "a ring with a frame rate that cannot be");
}

void require_rotation(int degrees) {
  require(degrees >= 0 && degrees < 360 && degrees % 90 == 0, "a ring with a rotation that cannot be");
}

// Rings are numbered without gaps: a number that jumps would leave the successors none.
void require_next(std::uint64_t epoch, std::uint64_t newest) {
  require(epoch != 0 && epoch == newest + 1, "a ring that does not follow the newest one");
}

}  // namespace

// For the log, of a message that is none. Only its beginning, and of URLs no more than where they lead.
std::string Supervisor::shown(const Message& message) {
  std::string text = message.body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > longest_shown) text.replace(longest_shown, std::string::npos, "…");
  return printable(redact_urls(text));
}

// Null: nothing becomes of messages for it any more; one that has just been removed may still be on its way, and is
// right.
CameraState* Supervisor::camera_for(const Member& member, unsigned place) {
  require(place < cameras_.size(), fmt::format("something for camera {}, which there is not", place));
  CameraState& camera = cameras_[place];
  if (camera.state == CameraState::State::removed) return nullptr;
  const bool its_own = member.kind != Kind::worker || camera.worker == member.worker;
  require(its_own, "something for a camera of another worker");
  return takes_part(camera) ? &camera : nullptr;
}

void Supervisor::require_possible(const Member&, const CameraState& camera, const messages::FrameRing& ring) const {
  require(!camera.follows, "a frame ring for an output");
  require_next(ring.epoch, camera.frame_epoch);
  require_rate(ring.frame_rate);
  require_rotation(ring.rotation);
}

void Supervisor::require_possible(const Member& member, const CameraState& camera,
                                  const messages::PacketRing& ring) const {
  require(is_copy(camera.config.encode) == (member.kind == Kind::master), "packets that another process makes");
  require_next(ring.epoch, camera.packet_epoch);
  require(is_possible(ring.stream.format, false), "packets of a format that cannot be");
  require_rate(ring.stream.frame_rate);
  require_rotation(ring.stream.rotation);
}

void Supervisor::require_possible(const Member&, const CameraState& camera, const messages::AudioRing& ring) const {
  require_next(ring.epoch, camera.audio_epoch);
}

void Supervisor::require_possible(const Member&, const CameraState& camera, const messages::FoundStream& found) const {
  require(!camera.follows, "what a source sends for an output");
  require(is_possible(found.sends), "a source's stream that cannot be");
}

void Supervisor::require_possible(const Member&, const CameraState& camera, const messages::PushChanged& push) const {
  const bool known = camera.push.contains(push.url) || camera.push.size() < camera.config.push.size();
  require(known, "the state of more targets than there are");
}

void Supervisor::require_possible(const Member& member, const CameraState& camera, const messages::RingLost&) const {
  const auto& rings = member.kind == Kind::worker ? camera.rings_to_worker : camera.rings_to_publisher;
  const bool sent = rings.number > 0 && Clock::now() - rings.newest < ring_opened;
  require(sent, "that a ring is lost, though it was given none just now");
}

// A source ends when it is told to, fails, or has an end and is there. That it failed is believed: it is reported, and
// the rig's exit status shows it.
void Supervisor::require_possible(const Member&, const CameraState& camera, const messages::SourceOver& over) const {
  const bool asked = phase_ != Phase::running || camera.retiring || all_failed(camera, false);
  const bool ended = over.at_end && can_end(camera.config.source);
  require(!over.failure.empty() || asked || ended, "the end of " + camera.config.name + ", whose source has no end");
}

// A process that fails or is confused must not end cameras: it is believed only where nothing more can come.
void Supervisor::require_possible(const Member& member, const CameraState& camera, const messages::CameraDone&) const {
  if (!has_camera(member, camera)) return;
  const bool can_be = member.kind == Kind::worker ? camera.source_over : camera.packets_over || files_closed_;
  require(can_be, "that it is done with " + camera.config.name + ", which has not ended");
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
  if (message.type == messages::PutCamera::type) return;
  shorten_texts(message.body, message.type == messages::FileBegun::type ? longest_path : longest_text);
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
  if (member.kind != Kind::publisher || !camera.newest_packets || !camera.stream) return;
  const bool knows = std::ranges::any_of(
      camera.packets, [&](const CameraState::PacketRing& ring) { return ring.epoch == camera.packet_epoch; });
  if (!knows) camera.packets.push_back({camera.packet_epoch, *camera.stream, *camera.newest_packets});
}

// Like one that crashed in the camera's thread, so that a camera for which it comes again and again is set aside.
void Supervisor::end_accused(Member& member, CameraState& camera, const std::string& why) {
  if (!member.child || member.child->killed()) return;
  end(member, why);
  blame(member, camera, "its ring was damaged");
}

}  // namespace campipe
