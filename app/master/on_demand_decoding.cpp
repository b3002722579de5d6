#include "app/master/on_demand_decoding.h"

#include "app/master/ingest_refusal.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto retry_wait = std::chrono::seconds(3);
constexpr auto attach_wait = std::chrono::milliseconds(500);  // for a mosaic's reader; a file can wait

}  // namespace

OnDemandDecoding::OnDemandDecoding(const DecodingContext& camera, const RigPage& page, FrameProducer& frames)
    : camera_(camera), frames_(frames), demand_(camera.start.on_demand, page) {}

void OnDemandDecoding::take(const AVPacket& packet, const SourceStream& stream) {
  if (!camera_.shown && !demand_.is_there()) return frames_.end();
  if (again_at_ && Clock::now() < *again_at_) return;
  attempt([&] {
    if (!frames_.decodes()) {
      frames_.begin(stream);
      // A file may have few key frames; viewers come at any of its frames, a mosaic is there from the first on.
      if (camera_.shown && !camera_.start.live) frames_.wait_for_reader(attach_wait);
    }
    frames_.take(packet);
  });
}

void OnDemandDecoding::attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    if (ends_process(error)) throw;
    frames_.end();
    again_at_ = Clock::now() + retry_wait;
    if (const auto more = lines_.pass()) {
      spdlog::warn("{}: cannot be decoded for who watches, and tried again: {}{}", camera_.name(), error.what(), *more);
    }
  }
}

}  // namespace campipe
