#include "app/master/motion_follower.h"

#include <utility>

#include "app/control/thread_scope.h"
#include "app/master/camera_decoder.h"
#include "app/master/ingest_refusal.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::int64_t fresh = 5'000'000;              // ns; a packet that was waited for so long had not lain there
constexpr std::int64_t longest_hurry = 3'000'000'000;  // ns, without such a packet; what a stall held up takes less
constexpr std::int64_t longest_delay = 1'000'000'000;  // ns, of packets meanwhile

}  // namespace

MotionFollower::MotionFollower(const DecodingContext& camera, const RigPage& page)
    : camera_(camera), motion_(camera.start.copies, page) {}

void MotionFollower::begin(const SourceStream& stream, bool others_decode) {
  if (motion_.empty()) return;
  behind_ = false;
  fresh_at_.reset();
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

// Packets of a live source lie there and wait to be read, for longer and longer: some are left out, from this one to a
// key frame that comes when none waits any more.
bool MotionFollower::is_behind(const AVPacket& packet, const PacketNote& note) {
  if (!camera_.start.live) return false;
  if (!fresh_at_ || note.waited > fresh) fresh_at_ = note.arrival;
  const bool hurries = note.arrival - *fresh_at_ > longest_hurry;
  if (behind_ && !hurries && (packet.flags & AV_PKT_FLAG_KEY) != 0) behind_ = false;
  if (behind_ || !hurries || note.late <= longest_delay) return behind_;
  behind_ = true;
  attempt([this] { motion_.skip(); });
  if (const auto more = lines_.pass()) {
    spdlog::warn("{}: this machine is too slow to look for motion in each of its frames{}", camera_.name(), *more);
  }
  return true;
}

}  // namespace campipe
