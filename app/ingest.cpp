#include "app/ingest.h"

#include <pthread.h>

#include <algorithm>
#include <cmath>

#include "app/thread_scope.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto start_deadline = seconds(30);       // for the other processes to be ready
constexpr auto worker_deadline = seconds(30);      // for a worker that was restarted, or a reader that blocks
constexpr auto drain_deadline = seconds(2);        // for frames that are decoded when told to stop
constexpr auto reattach_deadline = seconds(5);     // for the worker to begin with a ring that replaces another
constexpr auto retired_for = seconds(30);          // at least; a restarted worker may still get to see the ring
constexpr std::int64_t smallest_step = 1'000'000;  // ns, between frames whose times do not grow

bool ends_process(const std::exception& error) {
  const auto* of_gpu = dynamic_cast<const GpuError*>(&error);
  return of_gpu != nullptr && of_gpu->kind == GpuError::Kind::broken;
}

// Why the camera must go on without the GPU; nothing: `work` was done with it.
template <typename Work>
std::optional<std::string> refusal_of(const Work& work) {
  try {
    work();
    return std::nullopt;
  } catch (const HardwareRefused& error) {
    return error.what();
  } catch (const GpuError& error) {
    if (ends_process(error)) throw;
    return error.what();
  }
}

}  // namespace

Ingest::Ingest(const Start& start, const RigPage& page, const Events& events)
    : start_(start),
      page_(page),
      block_(page.camera(start.camera)),
      events_(events),
      epoch_(start.epoch),
      skip_through_(start.resume) {
  thread_ = std::jthread([this] { run(); });
}

Ingest::~Ingest() { stop(); }

void Ingest::stop() {
  std::int64_t not_yet = 0;
  stop_at_.compare_exchange_strong(not_yet, now_ns());
}

void Ingest::service() {
  if (over_ && ring_) ring_->service();
  const std::lock_guard lock(retired_mutex_);
  std::erase_if(retired_, [](const RetiredRing& retired) {
    return retired.ring->drained() && Clock::now() > retired.since + retired_for;
  });
}

bool Ingest::given_up() const {
  const std::int64_t stopped = stop_at_.load();
  return stopped != 0 && now_ns() > stopped + std::chrono::nanoseconds(drain_deadline).count();
}

void Ingest::run() {
  ThreadScope scope(block_.ingest, "in:" + start_.config.name);
  scope_ = &scope;
  std::string failure;
  try {
    pin_to_cores();
    produce();
  } catch (const std::exception& error) {
    if (ends_process(error)) events_.on_gpu_lost(error.what());
    // One that was told to stop while it opened its source has not failed: it was interrupted.
    if (stop_at_.load() == 0) {
      failure = error.what();
    } else {
      spdlog::info("{}: stopped: {}", start_.config.name, error.what());
    }
  }
  if (ring_) ring_->close();
  decoder_.reset();
  source_.reset();
  over_ = true;
  events_.on_over(failure);
}

void Ingest::produce() {
  source_ = open_source(start_.config.source, [this] {
    scope_->beat();
    return stop_at_.load() != 0;
  });
  open_decoder();
  open_ring();
  go_back_to_resume();
  AvPacket packet = make_av_packet();
  if (on_hardware_) prime(*packet);
  if (!wait_for_start()) return;
  while (stop_at_.load() == 0) {
    scope_->beat();
    if (packet->data == nullptr && !read(*packet)) break;
    pace(*packet);
    if (ring_->exhausted() && (packet->flags & AV_PKT_FLAG_KEY) != 0) renew_ring();
    const bool alive = decode(packet.get());
    av_packet_unref(packet.get());
    if (!alive) return;
  }
  decode(nullptr);
  if (published_ == 0 && stop_at_.load() == 0 && !start_.resume) throw Error("no picture could be decoded");
}

void Ingest::go_back_to_resume() {
  if (!start_.resume) return;
  if (start_.config.source.loop) {
    loop_offset_ = *start_.resume + smallest_step;  // a loop has no place to go back to: it begins again
    last_pts_ = *start_.resume;
    skip_through_.reset();
  } else {
    source_->seek(*start_.resume);
  }
}

// False: no packet will come.
bool Ingest::read(AVPacket& packet) {
  while (stop_at_.load() == 0) {
    scope_->beat();
    const ReadResult result = source_->read(packet);
    if (result == ReadResult::interrupted || (result == ReadResult::end && at_end())) return false;
    if (result == ReadResult::end) continue;
    packet.pos = packets_read_++;  // by which its picture is known
    return true;
  }
  return false;
}

// The hardware's decoder is made for the first packet, which takes tenths of a second, more where many cameras start at
// once: too long for a source whose clock runs already. The packet stays, to be handed on when its time has come.
void Ingest::prime(AVPacket& packet) {
  if (!read(packet)) return;
  window_.add(packet);
  const auto refusal = refusal_of([&] { decoder_->send(&packet, utc_now_ns()); });
  primed_ = !refusal;
  if (primed_) return;
  leave_gpu(*refusal);
  window_ = {};
  retire_ring();
  open_ring();
}

void Ingest::pin_to_cores() const {
  if (start_.placement.decode_cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : start_.placement.decode_cpus) CPU_SET(cpu, &set);
  if (const int code = pthread_setaffinity_np(pthread_self(), sizeof set, &set); code != 0)
    spdlog::warn("{}: {}", start_.config.name, system_error("cannot pin its thread to its cores", code).what());
}

void Ingest::open_decoder() {
  const SourceStream& stream = source_->stream();
  DecoderOptions options{start_.config.decode_threads, {}};
  if (stream.codec != nullptr) options.gpu = start_.placement.decode_gpu;  // the test pattern is painted, not decoded
  on_hardware_ = on_gpu(options.gpu);
  const auto refusal = refusal_of([&] { decoder_ = start_.open_decoder(stream, options); });
  if (refusal) leave_gpu(*refusal);
}

void Ingest::leave_gpu(const std::string& reason) {
  spdlog::warn("{}: decoded on the CPU: {}", start_.config.name, reason);
  on_hardware_ = false;
  decoder_.reset();
  decoder_ = start_.open_decoder(source_->stream(), {start_.config.decode_threads, {}});
}

// Where the GPU has no room for a ring, the camera does without the GPU.
void Ingest::open_ring() {
  const auto refusal = refusal_of([this] { make_ring(); });
  if (!refusal) return;
  leave_gpu(*refusal);
  make_ring();
}

// With policy `block` no picture may be lost for want of a slot. When the decoder claims one, at most queue_size slots
// wait for the reader, which leaves `kept` for the decoder and 4 for what the reader holds. A slot whose fill by the
// GPU has not completed is one of those: a reader gives it back behind that fill. Only a reader that dies gives back
// earlier, and for those fills the GPU's decoder waits.
void Ingest::make_ring() {
  const SlotNeeds needs = decoder_->needs();
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
  decoder_->write_to(ring_);
  const SourceStream& stream = source_->stream();
  events_.on_ring(ring_->memory(), stream, on_hardware_ ? stream.decoder + " (nvdec)" : stream.decoder);
}

// Readers go on with the ring that is made next.
void Ingest::retire_ring() {
  ring_->close();
  ++epoch_;
  if (ring_->memory().signals() == nullptr) return;
  const std::lock_guard lock(retired_mutex_);
  retired_.push_back({ring_, Clock::now()});
}

// Before the sequence wraps, after some months: readers end with this ring and go on with the next.
void Ingest::renew_ring() {
  empty_decoder();
  retire_ring();
  open_ring();
}

void Ingest::empty_decoder() {
  decode(nullptr);
  decoder_->flush();
  window_.clear();
}

bool Ingest::wait_for_start() {
  const auto stopped = [this] {
    scope_->beat();
    return stop_at_.load() != 0;
  };
  const Deadline deadline = Clock::now() + start_deadline;
  while (!page_.barrier().over(0)) {
    if (stopped()) return false;
    if (Clock::now() >= deadline) throw Error("the other processes were not ready in time");
    page_.barrier().wait(0, std::min(deadline, Clock::now() + milliseconds(100)));
    ring_->service();
  }
  return ring_->wait_for_reader(deadline, stopped) || stop_at_.load() == 0;
}

std::int64_t Ingest::time_of(std::int64_t timestamp) const {
  const SourceStream& stream = source_->stream();
  return av_rescale_q(timestamp - stream.start, stream.time_base, nanoseconds) + loop_offset_;
}

// Files that start together would deliver at the same moments for ever, and wait for one another's turn on the cores.
// Real cameras are not in step: the golden ratio spreads any number of them evenly over a frame's time.
std::chrono::nanoseconds Ingest::stagger() const {
  const double rate = source_->stream().frame_rate;
  if (rate <= 0) return {};
  const double turns = start_.camera * 0.6180339887;
  return std::chrono::nanoseconds(static_cast<std::int64_t>((turns - std::floor(turns)) * 1e9 / rate));
}

// A file at `realtime` gives each packet when its time has come, counted from the first.
void Ingest::pace(const AVPacket& packet) {
  const std::int64_t timestamp = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
  if (start_.config.source.pace == Pace::realtime && timestamp != AV_NOPTS_VALUE) {
    const std::int64_t time = time_of(timestamp);
    if (!pace_anchor_) pace_anchor_.emplace(Clock::now() + stagger(), std::max(time, start_.resume.value_or(time)));
    const auto due = pace_anchor_->first + std::chrono::nanoseconds(time - pace_anchor_->second);
    ring_->sleep_until(due, [this] {
      scope_->beat();
      return stop_at_.load() != 0;
    });
  }
  arrival_ = now_ns();
  arrival_utc_ = utc_now_ns();
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
  if (await_key_ && packet != nullptr && (packet->flags & AV_PKT_FLAG_KEY) == 0) return true;
  await_key_ = false;
  const ProfileRange range(packet_range_, start_.base + published_ + 1);
  std::int64_t begin = now_ns();
  if (!std::exchange(primed_, false) && !decoder_->send(packet, arrival_utc_)) {
    spdlog::debug("{}: a packet could not be decoded", start_.config.name);
  }
  for (;;) {
    DecodedPicture picture;
    const Decoder::Receive received = decoder_->receive(picture);
    decode_cost_ += now_ns() - begin;
    if (received == Decoder::Receive::none) return true;
    window_.seen(picture.packet);
    if (const auto before = seen_before_.find(picture.packet); before != seen_before_.end()) {
      seen_before_.erase(before);
    } else if (received == Decoder::Receive::no_slot) {
      counter(block_.unpublished, DropCause::queue_full).fetch_add(1);
    } else if (!publish(picture)) {
      return false;
    }
    begin = now_ns();
  }
}

// The decoder gave up: another begins where no picture is missed, and those that came already are skipped.
bool Ingest::go_on_without_gpu(const std::string& reason) {
  leave_gpu(reason);
  retire_ring();
  open_ring();
  seen_before_ = window_.seen_pictures();
  if (!window_.complete()) {
    spdlog::warn("{}: pictures up to the next key frame are lost: the one before is too far back", start_.config.name);
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

bool Ingest::publish(DecodedPicture& picture) {
  scope_->beat();
  const std::int64_t time = picture.pts != AV_NOPTS_VALUE ? time_of(picture.pts) : last_pts_ + last_duration_;
  const double rate = source_->stream().frame_rate;
  FrameTimes& times = picture.record.times;
  if (times.duration <= 0 && rate > 0) times.duration = static_cast<std::int64_t>(1e9 / rate);
  if (skip_through_ && time <= *skip_through_) {
    last_pts_ = time;  // pictures without a time count from the one before
    last_duration_ = times.duration;
    return true;
  }
  skip_through_.reset();
  times.pts = time > last_pts_ ? time : last_pts_ + smallest_step;
  times.capture_utc = arrival_utc_;
  times.arrival = arrival_;
  times.decode_cost = decode_cost_;
  block_.decode.record(decode_cost_);
  decode_cost_ = 0;
  last_pts_ = times.pts;
  last_duration_ = times.duration;
  if (picture.converted) block_.converted.fetch_add(1);
  if (!wait_for_worker()) {
    count_unpublished();
    return !given_up();
  }
  const ProfileRange range(publish_range_, start_.base + published_ + 1);
  times.decoded = now_ns();
  unsigned recalled = 0;
  const auto published = ring_->publish(picture.slot, picture.record, recalled);
  counter(block_.dropped, DropCause::queue_full).fetch_add(recalled);
  if (published == FrameRingWriter::Published::no_reader) {
    count_unpublished();
  } else {
    ++published_;
  }
  failpoint("ingest.published", start_.config.name);
  return true;
}

void Ingest::count_unpublished() { counter(block_.unpublished, DropCause::worker_lost).fetch_add(1); }

// With policy `block` a frame waits for a reader and for room in its queue, in time; with `drop` never.
bool Ingest::wait_for_worker() {
  if (start_.config.drop_policy == DropPolicy::drop) return true;
  const auto interrupted = [this] {
    scope_->beat();
    return given_up();
  };
  const Deadline deadline = Clock::now() + worker_deadline;
  if (!ring_->wait_for_reader(deadline, interrupted)) return false;
  // A reader that takes nothing for so long loses its oldest frames, like one with policy `drop`.
  return ring_->wait_for_room(deadline, interrupted) || !given_up();
}

// The source is at its end: true if that is the end of the camera.
bool Ingest::at_end() {
  if (!start_.config.source.loop) return true;
  if (published_ == 0) return true;  // nothing comes out of it: going round and round would not help
  finish_loop();
  return false;
}

void Ingest::finish_loop() {
  empty_decoder();
  loop_offset_ = last_pts_ + std::max(last_duration_, smallest_step);
  source_->rewind();
}

}  // namespace campipe
