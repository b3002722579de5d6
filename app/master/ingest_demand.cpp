// Ingest's decoder where only viewers need frames: it is there while somebody watches an output that is encoded on
// demand, beside copies that go on whatever becomes of it. So it waits for nobody, and what fails here ends nothing
// else.
//
// It begins at a key frame, once the worker reads its ring. What has not been decoded is not counted.
#include "app/master/ingest.h"
#include "app/master/ingest_refusal.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto retry_decoding = std::chrono::seconds(3);

}  // namespace

void Ingest::decode_on_demand(const AVPacket& packet) {
  if (!demand_.is_there()) return end_decoding();
  if (decode_again_at_ && Clock::now() < *decode_again_at_) return;
  try_to_decode([&] {
    if (!decoder_) begin_decoding();
    decode_in_ring(packet);
  });
}

void Ingest::try_to_decode(const std::function<void()>& work) {
  if (start_.decode) return work();
  try {
    work();
  } catch (const std::exception& error) {
    if (ends_process(error)) throw;
    end_decoding();
    decode_again_at_ = Clock::now() + retry_decoding;
    if (const auto more = decode_lines_.pass()) {
      spdlog::warn("{}: cannot be decoded for who watches, and tried again: {}{}", start_.config.name, error.what(),
                   *more);
    }
  }
}

// Frames that are still in it were never counted. Viewers who come later find a ring of the next epoch.
void Ingest::end_decoding() {
  decoder_.reset();
  window_ = {};
  if (!ring_) return;
  retire_ring();
  ring_.reset();
}

// With another ring, whose reader has to come first.
bool Ingest::begin_again() {
  decoder_->flush();
  window_ = {};
  await_key_ = true;
  return true;
}

// At this packet, where what came before it could not be decoded, or nobody read it.
bool Ingest::may_begin(const AVPacket& packet) {
  if ((packet.flags & AV_PKT_FLAG_KEY) == 0) return false;
  return start_.decode || ring_->wait_for_reader(Clock::now(), [] { return true; });
}

}  // namespace campipe
