#include "app/master/motion_follower.h"

#include <algorithm>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/master/camera_decoder.h"
#include "app/master/ingest_refusal.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::int64_t longest_delay = 2'000'000'000;  // ns, from a packet's arrival on
constexpr std::int64_t short_delay = 500'000'000;      // likewise

}  // namespace

MotionFollower::MotionFollower(const DecodingContext& camera, const RigPage& page)
    : camera_(camera), motion_(camera.start.copies, page, camera.start.process) {}

void MotionFollower::begin(const SourceStream& stream, bool others_decode) {
  if (motion_.empty()) return;
  behind_ = false;
  allowed_.reset();
  attempt([&] { motion_.begin(stream, others_decode ? nullptr : make_decoder(camera_, stream, {})); });
}

void MotionFollower::attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (ends_process(error)) throw;
    motion_.end();
    spdlog::warn("{}: motion is not detected: {}", camera_.name(), error.what());
  }
}

void MotionFollower::take(const AVPacket& packet, const PacketNote& note) {
  if (!motion_.decodes() || is_behind(packet, note)) return;
  const ThreadWait wait(WaitsFor::decoder);
  attempt([&] { motion_.decode(packet); });
}

void MotionFollower::look(const FrameRingMemory& ring, const DecodedFrame& frame) {
  if (motion_.decodes() || motion_.empty()) return;
  attempt([&] { motion_.look(ring, frame, frame.record.times.pts); });
}

// Packets of a live source lie there and wait, for longer and longer: some are left out, from this one to a key frame
// that has not lain there for long. Those that came while no master was there have waited from the first one on.
bool MotionFollower::is_behind(const AVPacket& packet, const PacketNote& note) {
  if (!camera_.start.live) return false;
  const std::int64_t delay = now_ns() - note.arrival;
  if (!allowed_) allowed_ = std::max<std::int64_t>(delay, 0) + longest_delay;
  if (delay < short_delay) allowed_ = longest_delay;
  if (behind_ && delay < short_delay && (packet.flags & AV_PKT_FLAG_KEY) != 0) behind_ = false;
  if (behind_ || delay <= *allowed_) return behind_;
  behind_ = true;
  attempt([this] { motion_.skip(); });
  if (const auto more = lines_.pass()) {
    spdlog::warn("{}: this machine is too slow to look for motion in each of its frames{}", camera_.name(), *more);
  }
  return true;
}

}  // namespace campipe
