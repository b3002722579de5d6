// Ingest's decoder and frame ring: packets in, published frames out.
#include <algorithm>

#include "app/control/thread_scope.h"
#include "app/master/ingest.h"
#include "app/master/ingest_refusal.h"
#include "app/master/source_times.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/ring_checks.h"

namespace campipe {
namespace {

using std::chrono::seconds;

constexpr auto worker_deadline = seconds(30);    // for a worker that was restarted, or a reader that blocks
constexpr auto change_deadline = seconds(1);     // for the worker to begin with a ring that is to be replaced already
constexpr auto reattach_deadline = seconds(5);   // for the worker to begin with a ring that replaces another
constexpr std::size_t most_corrupt_known = 128;  // packets; more than a decoder holds

}  // namespace

void Ingest::service() {
  if (over_ && ring_) ring_->service();
  retired_.drop_old(Clock::now());
}

bool Ingest::StreamKind::is_like(const StreamKind& other) const {
  const double difference = std::abs(frame_rate - other.frame_rate);
  return codec == other.codec && width == other.width && height == other.height && rotation == other.rotation &&
         difference <= 0.1 * std::max(frame_rate, other.frame_rate);
}

Ingest::StreamKind Ingest::kind_of(const SourceStream& stream) {
  StreamKind kind{AV_CODEC_ID_NONE, stream.width, stream.height, stream.rotation, stream.frame_rate};
  if (stream.codec == nullptr) return kind;
  kind.codec = stream.codec->codec_id;
  kind.width = stream.codec->width;
  kind.height = stream.codec->height;
  return kind;
}

// A new decoder for the source that was opened; the ring of the one before stays where the stream is as it was.
void Ingest::begin_decoding() {
  const StreamKind kind = kind_of(source_->stream());
  const bool was_on_hardware = on_hardware_;
  decoder_.reset();
  window_.clear();
  seen_before_.clear();
  primed_ = false;
  open_decoder();
  await_key_ = !start_.decode || (live_ && on_hardware_);  // a GPU's decoder shows what it guesses
  const bool same = ring_ && kind.is_like(kind_) && was_on_hardware == on_hardware_ && !ring_->exhausted();
  if (same) return decoder_->write_to(ring_);
  if (ring_) retire_ring();
  open_ring();
}

// The hardware's decoder is made for the first packet, which takes tenths of a second, more where many cameras start at
// once: too long for a source whose clock runs already. The packet stays, to be handed on when its time has come.
void Ingest::prime(AVPacket& packet) {
  if (!read(packet)) return;
  window_.add(packet);
  const auto refusal = refusal_of([&] { send(&packet, utc_now_ns()); });
  primed_ = !refusal;
  if (primed_) return;
  leave_gpu(*refusal);
  window_ = {};
  retire_ring();
  open_ring();
}

void Ingest::open_decoder() {
  const SourceStream& stream = source_->stream();
  DecoderOptions options{start_.config.decode_threads, {}};
  if (stream.codec != nullptr) options.gpu = start_.placement.decode_gpu;  // the test pattern is painted, not decoded
  on_hardware_ = on_gpu(options.gpu);
  const auto refusal = refusal_of([&] { decoder_ = make_decoder(options); });
  if (refusal) leave_gpu(*refusal);
}

void Ingest::leave_gpu(const std::string& reason) {
  spdlog::warn("{}: decoded on the CPU: {}", start_.config.name, reason);
  on_hardware_ = false;
  decoder_.reset();
  decoder_ = make_decoder({start_.config.decode_threads, {}});
}

// In these the decoder's own threads may work for this one.
std::unique_ptr<Decoder> Ingest::make_decoder(const DecoderOptions& options) const {
  const ThreadWait wait(WaitsFor::decoder);
  return start_.open_decoder(source_->stream(), options);
}

bool Ingest::send(const AVPacket* packet, std::int64_t capture_utc) {
  const ThreadWait wait(WaitsFor::decoder);
  return decoder_->send(packet, capture_utc);
}

Decoder::Receive Ingest::receive(DecodedPicture& picture) {
  const ThreadWait wait(WaitsFor::decoder);
  return decoder_->receive(picture);
}

// Where the GPU has no room for a ring, the camera does without the GPU.
void Ingest::open_ring() {
  const auto refusal = refusal_of([this] { make_ring(); });
  if (!refusal) return;
  leave_gpu(*refusal);
  make_ring();
}

// With policy `block` no frame may be lost for want of a slot. When the decoder claims one, at most queue_size slots
// wait for the reader, which leaves `kept` for the decoder and 4 for what the reader holds. A slot whose fill by the
// GPU has not completed is one of those: a reader gives it back behind that fill. Only a reader that dies gives back
// earlier, and for those fills the GPU's decoder waits.
void Ingest::make_ring() {
  const SlotNeeds needs = decoder_->needs();
  // Else the supervisor would take this process for one that is out of its mind.
  if (!is_possible(needs.expected, false)) throw Error("the source describes its frames as none can be");
  FrameRingSpec spec;
  spec.slots = std::min<unsigned>(needs.kept + static_cast<unsigned>(start_.config.queue_size) + 4, max_ring_slots);
  spec.slot_bytes = needs.bytes;
  spec.epoch = epoch_;
  spec.base = start_.base + published_;
  if (needs.on_gpu) {
    spec.memory = start_.placement.memory;
    spec.ready = start_.placement.ready;
    spec.device = start_.placement.decode_gpu;
  }
  spec.expected = needs.expected;
  ring_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
  ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::worker); });
  decoder_->write_to(ring_);
  const SourceStream& stream = source_->stream();
  kind_ = kind_of(stream);
  // Where the size has changed in mid-stream, the stream's description is out of date.
  if (needs.expected.width > 0) {
    kind_.width = needs.expected.width;
    kind_.height = needs.expected.height;
  }
  events_.on_ring(ring_->memory(), stream, on_hardware_ ? stream.decoder + " (nvdec)" : stream.decoder);
}

// Readers go on with the ring that is made next.
void Ingest::retire_ring() {
  ring_->close();
  burst_left_ = longest_burst;  // the worker has to find the next one first
  kind_ = {};                   // should no other be made, this one is not taken for a ring of the next connection
  ++epoch_;
  if (ring_->memory().signals() == nullptr) return;
  retired_.add(ring_, Clock::now());
}

// Before the sequence wraps, after some months: readers end with this ring and go on with the next.
void Ingest::renew_ring() {
  empty_decoder();
  retire_ring();
  open_ring();
  await_key_ = !start_.decode;
}

// A stream whose size changes with every frame must not make rings faster than the worker can take them: before a
// ring is replaced its reader has come, and is done with the one before. A worker that is away is not waited for.
void Ingest::await_reader() {
  ring_->wait_for_reader(Clock::now() + change_deadline, [this] {
    scope_->beat();
    return given_up();
  });
}

void Ingest::empty_decoder() {
  if (!decoder_ || !source_ || await_key_) return;
  decode(nullptr);
  decoder_->flush();
  window_.clear();
}

void Ingest::decode_in_ring(const AVPacket& packet) {
  const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  if (key && (renew_.exchange(false) || ring_->exhausted())) renew_ring();
  decode(&packet);
}

// False: told to stop, and the time to hand over what is left is over.
bool Ingest::decode(const AVPacket* packet) {
  failpoint("ingest.packet", start_.config.name);
  if (!on_hardware_) return feed(packet);
  if (packet != nullptr && !primed_) window_.add(*packet);
  bool alive = false;
  const auto refusal = refusal_of([&] { alive = feed(packet); });
  if (!refusal) return alive;
  return go_on_without_gpu(*refusal) && (packet != nullptr || feed(nullptr));
}

bool Ingest::feed(const AVPacket* packet) {
  if (await_key_ && packet != nullptr && !may_begin(*packet)) return true;
  await_key_ = false;
  const ProfileRange range(packet_range_, start_.base + published_ + 1);
  std::int64_t begin = now_ns();
  if (!std::exchange(primed_, false) && !send(packet, arrival_utc_)) {
    spdlog::debug("{}: a packet could not be decoded", start_.config.name);
    if (packet != nullptr) count_corrupt(packet->pos);
  }
  for (;;) {
    DecodedPicture picture;
    const Decoder::Receive received = receive(picture);
    decode_cost_ += now_ns() - begin;
    if (received == Decoder::Receive::none) return true;
    if (received == Decoder::Receive::changed) {
      const FrameFormat& size = decoder_->needs().expected;
      if (const auto more = size_lines_.pass()) {
        spdlog::info("{}: its frames are {}x{} now{}", start_.config.name, size.width, size.height, *more);
      }
      if (start_.decode) await_reader();
      retire_ring();
      open_ring();
      if (!start_.decode) return begin_again();
    } else if (!hand_over(picture, received)) {
      return false;
    }
    begin = now_ns();
  }
}

bool Ingest::hand_over(DecodedPicture& picture, Decoder::Receive received) {
  window_.seen(picture.packet);
  if (picture.corrupt) count_corrupt(picture.packet);
  if (const auto before = seen_before_.find(picture.packet); before != seen_before_.end()) {
    seen_before_.erase(before);
    return true;
  }
  if (received == Decoder::Receive::no_slot) {
    count_unpublished(DropCause::queue_full);
    return true;
  }
  if (picture.corrupt && start_.config.on_corrupt == OnCorrupt::skip) {
    count_unpublished(DropCause::corrupt);
    return true;
  }
  return publish(picture);
}

// The decoder gave up: another begins where no frame is missed, and those that came already are skipped.
bool Ingest::go_on_without_gpu(const std::string& reason) {
  leave_gpu(reason);
  retire_ring();
  open_ring();
  if (!start_.decode) return begin_again();
  seen_before_ = window_.seen_pictures();
  if (!window_.complete()) {
    spdlog::warn("{}: frames up to the next key frame are lost: the one before is too far back", start_.config.name);
    await_key_ = true;
  }
  // Also with policy `drop`: what the worker cannot have seen yet must not count as lost by it.
  ring_->wait_for_reader(Clock::now() + reattach_deadline, [this] {
    scope_->beat();
    return given_up();
  });
  return std::exchange(window_, {}).replay([this](const AVPacket& packet) {
    scope_->beat();
    return feed(&packet);
  });
}

// False: a master before has published this frame.
bool Ingest::set_times(const DecodedPicture& picture, FrameTimes& times) {
  const double rate = source_->stream().frame_rate;
  if (times.duration <= 0 && rate > 0) times.duration = static_cast<std::int64_t>(1e9 / rate);
  while (!notes_.empty() && notes_.front().packet < picture.packet - 64) notes_.pop_front();
  const auto note = std::ranges::find(notes_, picture.packet, &PacketNote::packet);
  const bool noted = note != notes_.end();
  std::optional<Timeline::Mapped> mapped;
  if (picture.pts != AV_NOPTS_VALUE) {
    const std::int64_t time = source_ns(source_->stream(), picture.pts);
    mapped = {time, time + (noted ? note->offset : clock_.offset())};
  }
  if (skip_through_) {
    const std::int64_t next = timeline_.last() < 0 ? 0 : timeline_.end();
    const std::int64_t at = mapped ? mapped->at : next;
    if (at <= *skip_through_) {
      timeline_.set_last(at, times.duration);  // frames without a time count from the one before
      return false;
    }
    skip_through_.reset();
  }
  const Timeline::Time time = timeline_.next(mapped, times.duration);
  times.pts = time.pts;
  if (time.correction && start_.decode) count(*time.correction);  // else those of the copies are
  times.capture_utc = noted ? note->capture_utc : arrival_utc_;
  times.capture_clock = noted ? note->capture_clock : CaptureClock::arrival;
  return true;
}

bool Ingest::publish(DecodedPicture& picture) {
  scope_->beat();
  FrameTimes& times = picture.record.times;
  if (!set_times(picture, times)) return true;
  look_for_motion(picture);
  times.arrival = arrival_;
  times.decode_cost = decode_cost_;
  block_.decode.record(decode_cost_);
  decode_cost_ = 0;
  if (picture.converted) block_.converted.fetch_add(1);
  if (!wait_for_worker()) {
    count_unpublished(DropCause::worker_lost);
    return !given_up();
  }
  const ProfileRange range(publish_range_, start_.base + published_ + 1);
  times.decoded = now_ns();
  // The worker would accuse this process, and not the camera.
  const std::size_t slot_bytes = ring_->memory().pixels(picture.slot).size();
  if (!is_possible(picture.record, slot_bytes)) throw Error("the source has a frame that cannot be");
  unsigned recalled = 0;
  const auto published = ring_->publish(picture.slot, picture.record, recalled);
  counter(block_.dropped, DropCause::queue_full).fetch_add(recalled);
  if (published == FrameRingWriter::Published::no_reader) {
    count_unpublished(DropCause::worker_lost);
  } else {
    ++published_;
  }
  failpoint("ingest.published", start_.config.name);
  return true;
}

// Once for each packet, whoever finds it: the source, the decoder when it is given it, or in the frame.
void Ingest::count_corrupt(std::int64_t packet) {
  if (!corrupt_.insert(packet).second) return;
  block_.source.corrupt_packets.fetch_add(1);
  if (corrupt_.size() > most_corrupt_known) corrupt_.erase(corrupt_.begin());
}

void Ingest::count_unpublished(DropCause cause) { counter(block_.unpublished, cause).fetch_add(1); }

// What a connection held up comes at once, and so does what was read to learn what the stream is. For a short time the
// worker may take that in, while newer packets wait in the socket. A worker that is always too slow gets no more of it,
// and what has come to lie behind is dropped.
void Ingest::wait_out_burst() {
  if (!live_ || burst_left_ <= std::chrono::nanoseconds(0)) return;
  const auto interrupted = [this] {
    scope_->beat();
    return stopped();
  };
  const auto begin = Clock::now();
  const Deadline deadline = begin + burst_left_;
  if (ring_->wait_for_reader(deadline, interrupted)) {
    ring_->wait_for_room(deadline, interrupted, FrameRingWriter::Readers::all);
  }
  burst_left_ -= Clock::now() - begin;
}

// With policy `block` a frame waits for a reader and for room in its queue, in time; with `drop` only in a burst.
bool Ingest::wait_for_worker() {
  if (!start_.decode) return true;  // the copies wait for nobody
  if (start_.config.drop_policy == DropPolicy::drop) {
    wait_out_burst();
    return true;
  }
  const auto interrupted = [this] {
    scope_->beat();
    return given_up();
  };
  const Deadline deadline = Clock::now() + worker_deadline;
  if (!ring_->wait_for_reader(deadline, interrupted)) return false;
  // A reader that takes nothing for so long loses its oldest frames, like one with policy `drop`.
  return ring_->wait_for_room(deadline, interrupted) || !given_up();
}

}  // namespace campipe
