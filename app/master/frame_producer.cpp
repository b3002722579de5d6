#include "app/master/frame_producer.h"

#include <utility>

#include "app/master/ingest_refusal.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_causes.h"
#include "stages/decoders/clean_start.h"

namespace campipe {
namespace {

using std::chrono::seconds;

constexpr auto change_deadline = seconds(1);    // for the worker to begin with a ring that is to be replaced already
constexpr auto reattach_deadline = seconds(5);  // for the worker to begin with a ring that replaces another

}  // namespace

FrameProducer::FrameProducer(DecodingContext& camera, FrameClock& clock, FrameRings& rings, OnFrame on_frame)
    : camera_(camera),
      clock_(clock),
      rings_(rings),
      on_frame_(std::move(on_frame)),
      packet_range_(camera.name(), "ingest"),
      decoder_(camera),
      corrupt_(camera.decode.counters),
      sets_(camera) {}

void FrameProducer::begin(const SourceStream& stream) {
  const bool was_on_hardware = on_hardware();
  decoder_.close();
  window_.clear();
  seen_before_.clear();
  primed_ = false;
  begins_clean_.reset();
  beginning_.begin();
  sets_.lock_anew();
  decoder_.open(stream);
  // A GPU's decoder shows what it guesses; so does FFmpeg's of H.265, where frames refer to some that never came.
  const bool guesses = on_hardware() || (stream.codec != nullptr && stream.codec->codec_id == AV_CODEC_ID_HEVC);
  await_key_ = !camera_.start.decode || (camera_.start.live && guesses);
  if (rings_.suits(stream) && was_on_hardware == on_hardware()) return decoder_->write_to(rings_.current());
  replace_ring();
}

// The hardware's decoder is made for the first packet, which takes tenths of a second, more where many cameras start at
// once: too long for a source whose clock runs already.
bool FrameProducer::wants_first_packet() const { return on_hardware() && camera_.start.decode && !camera_.start.live; }

void FrameProducer::prime(const AVPacket& packet) {
  window_.add(packet);
  const auto refusal = refusal_of([&] { decoder_.send(&packet, utc_now_ns()); });
  primed_ = !refusal;
  if (primed_) return;
  decoder_.leave_gpu(*refusal);
  window_ = {};
  replace_ring();
}

// Where the GPU has no room for a ring, the camera does without the GPU.
void FrameProducer::open_ring() {
  const auto refusal = refusal_of([this] { rings_.open(decoder_); });
  if (!refusal) return;
  decoder_.leave_gpu(*refusal);
  rings_.open(decoder_);
}

void FrameProducer::replace_ring() {
  rings_.retire();
  open_ring();
}

// Before the sequence wraps, after some months, or since frames are to come in other memory: readers end with this ring
// and go on with the next, for which they are waited for.
void FrameProducer::renew_ring() {
  empty();
  replace_ring();
  if (camera_.start.decode) rings_.wait_for_reader(reattach_deadline);
  await_key_ = !camera_.start.decode;
}

void FrameProducer::take(const AVPacket& packet) {
  if (!begins_clean_) {
    const AVCodecParameters* codec = decoder_.stream().codec;
    begins_clean_ = codec != nullptr && (packet.flags & AV_PKT_FLAG_KEY) != 0 && is_clean_start(*codec, packet);
  }
  if (is_shed(packet)) return leave_out(packet.pos);
  if ((packet.flags & AV_PKT_FLAG_KEY) != 0 && rings_.renewal_is_due()) renew_ring();
  decode(&packet);
}

// At the last step nothing is decoded, until a key frame comes after it. What came counts by its packets.
bool FrameProducer::is_shed(const AVPacket& packet) {
  const bool over = camera_.shed != ShedStep::off && (!shed_ || (packet.flags & AV_PKT_FLAG_KEY) != 0);
  if (over) return shed_ = false;
  if (std::exchange(shed_, true)) return true;
  empty();
  await_key_ = true;
  return true;
}

void FrameProducer::leave_out(std::int64_t packet) {
  rings_.count_unpublished(DropCause::shed, packet);
  ++left_out_;
}

// At those before, of some frames one is published.
bool FrameProducer::is_shed() { return frames_++ % kept_one_of(camera_.shed) != 0; }

void FrameProducer::drain() {
  if (decodes()) decode(nullptr);
}

void FrameProducer::empty() {
  if (!decodes() || await_key_) return;
  decode(nullptr);
  decoder_->flush();
  beginning_.begin();
  window_.clear();
}

void FrameProducer::end() {
  decoder_.close();
  window_ = {};
  rings_.remove();
}

// False: asked to stop, and the time to hand over what is left is over.
bool FrameProducer::decode(const AVPacket* packet) {
  failpoint("ingest.packet", camera_.name());
  if (!on_hardware()) return feed(packet);
  if (packet != nullptr && !primed_) window_.add(*packet);
  bool alive = false;
  const auto refusal = refusal_of([&] { alive = feed(packet); });
  if (!refusal) return alive;
  return fall_back_to_cpu(*refusal) && (packet != nullptr || feed(nullptr));
}

bool FrameProducer::feed(const AVPacket* packet) {
  if (await_key_ && packet != nullptr && !may_begin(*packet)) return true;
  await_key_ = false;
  const ProfileRange range(packet_range_, rings_.next_number());
  std::int64_t begin = now_ns();
  if (packet != nullptr) beginning_.give(*packet);
  if (!std::exchange(primed_, false) && !decoder_.send(packet, clock_.newest().arrival_utc)) {
    spdlog::debug("{}: a packet could not be decoded", camera_.name());
    if (packet != nullptr && !clock_.repeats()) count_corrupt(packet->pos);
  }
  for (;;) {
    DecodedFrame frame;
    const Decoder::Receive received = decoder_.receive(frame);
    decode_cost_ += now_ns() - begin;
    if (received == Decoder::Receive::none) return true;
    if (received == Decoder::Receive::changed) {
      change_size();
      if (!camera_.start.decode) return begin_again();
    } else if (!hand_over(frame, received)) {
      return false;
    }
    begin = now_ns();
  }
}

// A stream whose size changes with every frame must not make rings faster than the worker can take them: before a ring
// is replaced its reader has come, and is done with the one before. A worker that is away is not waited for.
void FrameProducer::change_size() {
  const FrameFormat& size = decoder_->needs().expected;
  if (const auto more = size_lines_.pass()) {
    spdlog::info("{}: its frames are {}x{} now{}", camera_.name(), size.width, size.height, *more);
  }
  if (camera_.start.decode) rings_.wait_for_reader(change_deadline);
  replace_ring();
}

bool FrameProducer::hand_over(DecodedFrame& frame, Decoder::Receive received) {
  const bool goes_on = hand_over_or_drop(frame, received);
  on_shown_(frame.packet);
  return goes_on;
}

bool FrameProducer::hand_over_or_drop(DecodedFrame& frame, Decoder::Receive received) {
  count_beginning(frame);
  window_.seen(frame.packet);
  if (const auto before = seen_before_.find(frame.packet); before != seen_before_.end()) {
    seen_before_.erase(before);
    return true;
  }
  if (clock_.comes_again(frame)) {
    decode_cost_ = 0;
    return true;
  }
  if (frame.corrupt) count_corrupt(frame.packet);
  if (received == Decoder::Receive::no_slot) {
    rings_.count_unpublished(DropCause::queue_full, frame.packet);
    return true;
  }
  if (frame.corrupt && camera_.start.on_corrupt == OnCorrupt::skip) {
    rings_.count_unpublished(DropCause::corrupt, frame.packet);
    return true;
  }
  return publish(frame);
}

// What lies before the first frame of all, or of a file that begins again, is no loss: the stream begins there.
void FrameProducer::count_beginning(const DecodedFrame& first) {
  const auto without_frame = beginning_.frame(first.packet, first.pts);
  const bool goes_on = rings_.published() > 0 || camera_.start.resume;
  if (!camera_.start.decode || camera_.start.loops || !goes_on) return;
  for (const auto& [packet, pts] : without_frame) {
    if (seen_before_.contains(packet) || clock_.has_passed(packet, pts)) continue;
    rings_.count_unpublished(DropCause::master_lost, packet);
  }
}

bool FrameProducer::publish(DecodedFrame& frame) {
  camera_.stop.beat();
  FrameTimes& times = frame.record.times;
  clock_.set_times(frame, times);
  on_frame_(rings_.current()->memory(), frame);
  times.arrival = clock_.newest().arrival;
  sets_.enter(times, clock_.newest());
  times.decode_cost = decode_cost_;
  camera_.decode.decode.record(decode_cost_);
  decode_cost_ = 0;
  if (frame.converted) camera_.decode.counters.add(Counter::converted);
  if (is_shed()) {
    leave_out(frame.packet);
    return true;
  }
  if (!rings_.wait_for_room()) {
    rings_.count_unpublished(rings_.without_reader(), frame.packet);
    return !camera_.stop.given_up();
  }
  rings_.publish(frame);
  return true;
}

// The decoder gave up: another begins where no frame is missed, and those that came already are skipped.
bool FrameProducer::fall_back_to_cpu(const std::string& reason) {
  decoder_.leave_gpu(reason);
  replace_ring();
  if (!camera_.start.decode) return begin_again();
  seen_before_ = window_.seen_frames();
  beginning_.begin();
  if (!window_.complete()) {
    spdlog::warn("{}: frames up to the next key frame are lost: the one before is too far back", camera_.name());
    await_key_ = true;
  }
  // Also with policy `drop`: what the worker cannot have seen yet must not count as lost by it.
  rings_.wait_for_reader(reattach_deadline);
  return std::exchange(window_, {}).replay([this](const AVPacket& packet) {
    camera_.stop.beat();
    return feed(&packet);
  });
}

// With another ring, whose reader has to come first.
bool FrameProducer::begin_again() {
  decoder_->flush();
  beginning_.begin();
  window_ = {};
  await_key_ = true;
  return true;
}

// At this packet, where what came before it could not be decoded, or no reader took it.
bool FrameProducer::may_begin(const AVPacket& packet) {
  if ((packet.flags & AV_PKT_FLAG_KEY) == 0) return false;
  return camera_.start.decode || rings_.has_reader();
}

}  // namespace campipe
