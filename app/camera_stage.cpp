#include "app/camera_stage.h"

#include <algorithm>

#include "app/thread_scope.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;

constexpr auto slice = milliseconds(100);                      // how long a wait may last before the thread beats again
constexpr auto room_interval = std::chrono::seconds(1);        // between two looks whether the GPU has room
constexpr auto publisher_deadline = std::chrono::seconds(30);  // for a publisher that was restarted, or a slow disk

// Room for a few groups of pictures, since the publisher gives packets back only when they are in the file.
std::size_t packet_capacity(const EncoderConfig& config, const FrameFormat& format, double frame_rate) {
  const double rate = frame_rate > 0 ? frame_rate : 30;
  const auto* frames = std::get_if<int>(&config.gop);
  const double gop_seconds =
      frames != nullptr ? *frames / rate : std::chrono::duration<double>(std::get<1>(config.gop)).count();
  // With a constant quality nobody knows the rate; this is a generous one, an eighth of a byte for a pixel.
  const double guess = static_cast<double>(format.width) * format.height * rate;
  const double bits = config.bitrate ? static_cast<double>(*config.bitrate) : config.crf ? guess : 4e6;
  const double wanted = 4 * gop_seconds * bits / 8;
  const double pictures = 2.0 * format.width * format.height * 3 / 2;  // one picture must always fit
  const double low = std::max(4.0 * 1024 * 1024, pictures);
  return static_cast<std::size_t>(std::clamp(wanted, low, std::max(64.0 * 1024 * 1024, low)));
}

}  // namespace

CameraStage::CameraStage(const Start& start, const RigPage& page, const Events& events)
    : start_(start),
      block_(page.camera(start.camera)),
      events_(events),
      filter_range_(start.config.name, "filter"),
      encode_range_(start.config.name, "encode"),
      epoch_(start.epoch) {
  thread_ = std::jthread([this] { run(); });
}

CameraStage::~CameraStage() { abandon(); }

void CameraStage::add(const Ring& ring) {
  const std::lock_guard lock(mutex_);
  rings_.push_back(ring);
  changed_.notify_one();
}

void CameraStage::finish() {
  const std::lock_guard lock(mutex_);
  finishing_ = true;
  changed_.notify_one();
}

void CameraStage::abandon() {
  abandoned_ = true;
  finish();
}

void CameraStage::drop_used_rings() {
  std::vector<std::shared_ptr<FrameRingMemory>> used;
  const std::lock_guard lock(mutex_);
  used.swap(used_rings_);
}

void CameraStage::run() {
  ThreadScope scope(block_.stage, "st:" + start_.config.name);
  scope_ = &scope;
  while (auto ring = next_ring()) {
    drain(*ring);
    const std::lock_guard lock(mutex_);
    used_rings_.push_back(std::move(ring->memory));
  }
  try {
    flush_encoder();
  } catch (const std::exception& error) {
    fail(error);
  }
  path_.reset();
  events_.on_done();
}

// Nothing: there will be none.
std::optional<CameraStage::Ring> CameraStage::next_ring() {
  std::unique_lock lock(mutex_);
  while (rings_.empty()) {
    if (finishing_) return std::nullopt;
    scope_->beat();
    changed_.wait_for(lock, slice);
  }
  Ring ring = std::move(rings_.front());
  rings_.pop_front();
  return ring;
}

void CameraStage::drain(const Ring& ring) {
  get_ready(ring);
  RingInUse use{FrameRingReader(ring.memory, ring.reader), FrameRingObserver(ring.memory)};
  use.reader.attach(start_.config.drop_policy == DropPolicy::block, static_cast<unsigned>(start_.config.queue_size));
  for (;;) {
    scope_->beat();
    FrameRingReader::Lease lease;
    const auto next = use.reader.next(lease, Clock::now() + slice);
    if (next == FrameRingReader::Next::frame) {
      process(use, lease, ring.frame_rate);
    } else if (next != FrameRingReader::Next::timeout || abandoned_) {
      return;
    }
  }
}

// Kernels, pools and encoders take tenths of a second to make, more where many cameras start at once: too long for the
// first frames to wait in the queue. A source begins when its reader is attached.
void CameraStage::get_ready(const Ring& ring) {
  const FrameFormat& expected = ring.memory->expected();
  if (failed_ || expected.width == 0) return;
  try {
    prepare(expected, ring.frame_rate);
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) return fail(error);
    wait_for_room(error.what());
  } catch (const std::exception& error) {
    // Tried again for the first picture, which may be another than was expected; then it counts.
    spdlog::debug("{}: not ready for what is expected: {}", start_.config.name, error.what());
  }
}

void CameraStage::process(RingInUse& ring, FrameRingReader::Lease& lease, double frame_rate) {
  if (failed_) return count(DropCause::encoder_failed);
  FrameTimes times = lease.times;
  times.leased = now_ns();
  block_.queue.record(times.leased - times.decoded);
  failpoint("stage.frame", start_.config.name);
  const auto picture = filter(ring, lease, frame_rate);
  if (!picture) return;
  times.filtered = now_ns();
  block_.filter.record(times.filtered - times.leased);
  try {
    encode(*picture, times, lease.number);
  } catch (const std::exception& error) {
    fail(error);
  }
}

// Nothing: the frame has been counted as dropped.
std::optional<FrameRef> CameraStage::filter(RingInUse& ring, FrameRingReader::Lease& lease, double frame_rate) {
  const ProfileRange range(filter_range_, lease.number);
  try {
    if (try_again_ && Clock::now() < *try_again_) {
      count(DropCause::no_gpu_memory);
      return std::nullopt;
    }
    prepare(lease.picture.view.format, frame_rate);
    auto picture = path_->process(ring, lease, [this] { scope_->beat(); });
    if (!picture) count(DropCause::master_lost);
    return picture;
  } catch (const GpuError& error) {
    const bool no_room =
        error.kind == GpuError::Kind::out_of_memory || (!input_ && error.kind == GpuError::Kind::other);
    count(no_room ? DropCause::no_gpu_memory : DropCause::filter_failed);
    if (no_room) {
      wait_for_room(error.what());
    } else {
      fail(error);
    }
  } catch (const std::exception& error) {
    count(DropCause::filter_failed);
    fail(error);
  }
  return std::nullopt;
}

// Filters, encoder and packet ring for pictures of this format.
void CameraStage::prepare(const FrameFormat& format, double frame_rate) {
  if (input_ == format) return;
  input_.reset();
  if (!path_) path_ = make_frame_path(start_.config.filters, start_.gpu);
  make_encoder(format, frame_rate);
  input_ = format;
  if (!try_again_) return;
  try_again_.reset();
  spdlog::info("{}: {} has room for its pictures again", start_.config.name, to_string(start_.gpu));
}

// The encoder is opened for what the filters make of the pictures; and only when it is open, it is known whether it
// takes them in the GPU's memory.
void CameraStage::make_encoder(const FrameFormat& format, double frame_rate) {
  EncoderPlace place = path_->place();
  place.hardware = start_.hardware_encoder;
  place.cores = start_.encode_cores;
  const FrameFormat output = path_->configure(format, place.hardware);
  flush_encoder();
  auto encoder = open_encoder(start_.config.encode, output, frame_rate, place);
  if (!encoder->remark().empty()) spdlog::warn("{}: {}", start_.config.name, encoder->remark());
  if (place.hardware && !encoder->wants_gpu_pictures()) path_->configure(format, false);
  encoder_ = std::move(encoder);
  const StreamParameters& parameters = encoder_->parameters();
  const std::size_t capacity = packet_capacity(start_.config.encode, parameters.format, frame_rate);
  packets_ = std::make_unique<PacketRingWriter>(PacketRingMemory::create(capacity, epoch_, start_.base + pushed_));
  events_.on_packets(packets_->memory(), epoch_, parameters);
  ++epoch_;
}

void CameraStage::encode(const FrameRef& picture, const FrameTimes& times, std::uint64_t number) {
  const ProfileRange range(encode_range_, number);
  ++inside_;
  encode_begin_ = now_ns();
  encoder_->encode(picture, times, [this](const PacketView& packet) { push(packet); });
}

void CameraStage::flush_encoder() {
  if (!encoder_) return;
  encode_begin_ = now_ns();
  encoder_->flush([this](const PacketView& packet) { push(packet); });
  encoder_.reset();
  packets_->close();
}

void CameraStage::push(const PacketView& packet) {
  const std::int64_t encode_cost = now_ns() - encode_begin_;
  scope_->beat();  // a flush hands out hundreds of pictures, and may take long over each
  --inside_;
  need_key_ = need_key_ && !packet.key;
  if (need_key_) return count(DropCause::publisher_slow);
  PacketView stamped = packet;
  FrameTimes& times = stamped.times;
  times.encoded = now_ns();
  const bool pushed = packets_->push(stamped, Clock::now() + publisher_deadline, [this] {
    scope_->beat();
    return abandoned_.load();
  });
  if (!pushed) {
    need_key_ = true;
    return count(DropCause::publisher_slow);
  }
  ++pushed_;
  const std::int64_t latency = times.encoded - times.arrival;
  block_.latency.record(latency);
  block_.encode.record(encode_cost);
  block_.overhead.record(latency - times.decode_cost - (times.filtered - times.leased) - encode_cost);
  failpoint("stage.pushed", start_.config.name);
  encode_begin_ = now_ns();
}

// Its frames are dropped until prepare() works again.
void CameraStage::wait_for_room(const std::string& reason) {
  if (!try_again_) spdlog::warn("{}: its frames are dropped until the GPU has room: {}", start_.config.name, reason);
  try_again_ = Clock::now() + room_interval;
  input_.reset();
}

// From here on this camera's frames are only counted.
void CameraStage::fail(const std::exception& error) {
  const auto* of_gpu = dynamic_cast<const GpuError*>(&error);
  if (of_gpu != nullptr && of_gpu->kind == GpuError::Kind::broken) events_.on_gpu_lost(error.what());
  if (failed_) return;
  failed_ = true;
  for (; inside_ > 0; --inside_) count(DropCause::encoder_failed);
  encoder_.reset();
  path_.reset();
  if (packets_) packets_->close();
  events_.on_failed(error.what());
}

void CameraStage::count(DropCause cause) { counter(block_.dropped, cause).fetch_add(1); }

}  // namespace campipe
