// Ingest's search for motion in what is copied. It holds up no copy for long, and ends none: what fails here is told,
// and tried again when the source is opened again.
#include "app/control/thread_scope.h"
#include "app/master/ingest.h"
#include "app/master/ingest_refusal.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::int64_t fresh = 5'000'000;              // ns; a packet that was waited for so long had not lain there
constexpr std::int64_t longest_hurry = 3'000'000'000;  // ns, without such a packet; what a stall held up takes less
constexpr std::int64_t longest_delay = 1'000'000'000;  // ns, of packets meanwhile

}  // namespace

// A decoder of its own where nobody decodes, or a GPU does, whose frames the CPU cannot look at. Packets that cannot be
// decoded are still copied.
void Ingest::begin_motion() {
  if (motion_.empty()) return;
  motion_behind_ = false;
  fresh_at_.reset();
  try_motion([this] {
    std::unique_ptr<Decoder> decoder;
    const bool decoded = start_.decode && !on_hardware_;
    if (!decoded) decoder = make_decoder({start_.config.decode_threads, {}});
    motion_.begin(source_->stream(), std::move(decoder));
  });
}

void Ingest::try_motion(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (ends_process(error)) throw;
    motion_.end();
    spdlog::warn("{}: nobody looks for motion: {}", start_.config.name, error.what());
  }
}

// Behind its way to the publisher, which it shall not delay: it has the score of the frame before.
void Ingest::look_for_motion(const AVPacket& packet) {
  if (!motion_.decodes() || motion_is_behind(packet)) return;
  const ThreadWait wait(WaitsFor::decoder);
  try_motion([&] { motion_.decode(packet); });
}

// At what the camera's own decoder shows.
void Ingest::look_for_motion(const DecodedPicture& picture) {
  if (on_hardware_ || motion_.decodes() || motion_.empty()) return;
  try_motion([&] { motion_.look(ring_->memory(), picture, picture.record.times.pts); });
}

// Packets of a live source lie there and wait to be read, for longer and longer: some are left out, from this one to a
// key frame that comes when none waits any more.
bool Ingest::motion_is_behind(const AVPacket& packet) {
  if (!live_) return false;
  if (!fresh_at_ || ahead_.times().waited > fresh) fresh_at_ = arrival_;
  const bool hurries = arrival_ - *fresh_at_ > longest_hurry;
  if (motion_behind_ && !hurries && (packet.flags & AV_PKT_FLAG_KEY) != 0) motion_behind_ = false;
  if (motion_behind_ || !hurries || clock_.late() <= longest_delay) return motion_behind_;
  motion_behind_ = true;
  try_motion([this] { motion_.skip(); });
  if (const auto more = motion_lines_.pass()) {
    spdlog::warn("{}: this machine is too slow to look for motion in each of its frames{}", start_.config.name, *more);
  }
  return true;
}

}  // namespace campipe
