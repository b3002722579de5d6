#include "app/master/decoding.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

constexpr int most_empty_rounds = 2;               // what a decoder kept of a round comes out in the next one
constexpr auto opening = std::chrono::seconds(1);  // of live video is read to learn what it is, and comes at once then
constexpr std::int64_t stall = 500'000'000;        // ns, of a live source; what comes behind it may come at once

}  // namespace

Decoding::Decoding(const DecodingStart& start, const RigPage& page, StopSignal& stop, FrameRings::OnRing on_ring)
    : camera_(start, page.decode(start.camera, start.process), page.edge_writer(start.edge, start.process), stop),
      rings_(camera_, std::move(on_ring)),
      clock_(camera_),
      motion_(camera_, page),
      frames_(camera_, clock_, rings_,
              [this](const FrameRingMemory& ring, const DecodedFrame& frame) {
                if (!frames_.on_hardware()) motion_.look(ring, frame);
              }),
      on_demand_(camera_, page, frames_) {}

// The CPU cannot look at frames in a GPU's memory.
void Decoding::begin(std::shared_ptr<const SourceStream> next) {
  const auto before = std::exchange(stream_, std::move(next));  // stays while the parts refer to it
  const SourceStream& stream = *stream_;
  clock_.connected(stream);
  if (camera_.start.decode) {
    frames_.begin(stream);
  } else {
    frames_.end();  // who comes is decoded for anew: what was there has been drained, and takes nothing any more
  }
  motion_.begin(stream, camera_.start.decode && !frames_.on_hardware());
  rings_.expect_burst(camera_.start.live ? opening : std::chrono::nanoseconds(0));
}

void Decoding::take(const AVPacket& packet, const PacketNote& note) {
  if (note.waited > stall) rings_.expect_burst();
  if (resumes() && !clock_.began())
    rings_.expect_burst(std::chrono::nanoseconds(std::max<std::int64_t>(now_ns() - note.arrival, 0)));
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) frames_.know_corrupt(packet.pos);
  clock_.note(note);
  motion_.take(packet, note);
  if (camera_.start.decode) return frames_.take(packet);
  on_demand_.take(packet, *stream_);
}

void Decoding::try_to_decode(const std::function<void()>& work) {
  if (camera_.start.decode) return work();
  on_demand_.attempt(work);
}

void Decoding::drain() {
  try_to_decode([this] { frames_.drain(); });
}

void Decoding::empty() {
  try_to_decode([this] { frames_.empty(); });
}

bool Decoding::goes_on_in_next_round() {
  const std::uint64_t now = given();
  rounds_.empty = std::exchange(rounds_.given, now) == now ? rounds_.empty + 1 : 0;
  if (rounds_.empty == most_empty_rounds) {
    throw Error(now + camera_.start.base == 0
                    ? "no frame could be decoded"
                    : "its file gives nothing any more: it was cut short or overwritten meanwhile");
  }
  if (frames_.may_begin_again()) return true;
  empty();
  return false;
}

void Decoding::count_lost(std::int64_t packet) {
  if (camera_.start.decode && !clock_.knows_of(packet)) rings_.count_unpublished(DropCause::master_lost, packet);
}

void Decoding::disconnect() {
  frames_.close();
  if (!camera_.start.decode) frames_.end();
}

void Decoding::close() {
  rings_.close();
  frames_.close();
  motion_.end();
}

}  // namespace campipe
