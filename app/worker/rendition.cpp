#include "app/worker/rendition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/control/thread_scope.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto room_interval = std::chrono::seconds(1);        // between two looks whether the GPU has room
constexpr auto publisher_deadline = std::chrono::seconds(30);  // `block`: for a publisher that restarts, or a slow disk
constexpr std::int64_t recent_ns = 500'000'000;                // a key frame as old as this serves who comes to watch
constexpr double same_rate = 0.1;  // an encoder goes on where the frame rate differs by no more than this part

// Room for a few GOPs, since the publisher gives packets back only when they are in the file.
std::size_t packet_capacity(const EncoderConfig& config, const FrameFormat& format, double frame_rate) {
  const double rate = frame_rate > 0 ? frame_rate : 30;
  const auto* frames = std::get_if<int>(&config.gop);
  const double gop_seconds =
      frames != nullptr ? *frames / rate : std::chrono::duration<double>(std::get<1>(config.gop)).count();
  // With a constant quality nobody knows the rate; this is a generous one, an eighth of a byte for a pixel.
  const double guess = static_cast<double>(format.width) * format.height * rate;
  const bool constant_quality = config.crf.has_value() || config.codec == "mjpeg";
  const double bits = config.bitrate ? static_cast<double>(*config.bitrate) : constant_quality ? guess : 4e6;
  const double wanted = 4 * gop_seconds * bits / 8;
  const double pictures = 2.0 * format.width * format.height * 3 / 2;  // one frame must always fit
  const double low = std::max(4.0 * 1024 * 1024, pictures);
  return static_cast<std::size_t>(std::clamp(wanted, low, std::max(64.0 * 1024 * 1024, low)));
}

// What is encoded of a source of that rate.
double limited_rate(double source, double limit) {
  return limit > 0 && (source <= 0 || limit < source) ? limit : source;
}

std::unique_ptr<SnapshotWriter> make_snapshot(const ResolvedOutput& config) {
  if (!config.snapshot) return nullptr;
  const std::string path =
      expand_record_path(config.snapshot->path, config.camera, config.output, utc_now_ns() / 1'000'000'000);
  return std::make_unique<SnapshotWriter>(path, config.snapshot->every, [name = config.name](const std::string& why) {
    spdlog::warn("{}: {}", name, why);
  });
}

}  // namespace

// A little is forgiven: times are rounded and tremble. What is taken early is made up for by the next.
bool RateLimit::takes(std::int64_t pts) {
  if (interval_ == 0) return true;
  constexpr std::int64_t most_tremble = 20'000'000;
  if (due_ && pts < *due_ - std::min(interval_ / 4, most_tremble)) return false;
  const bool on_time = due_ && pts - *due_ < interval_;
  due_ = (on_time ? *due_ : pts) + interval_;
  return true;
}

Rendition::Rendition(const Start& start, const RigPage& page, const Events& events, Place& place)
    : start_(start),
      block_(page.encode(start.output, page.own())),
      audience_(page.shared(start.output).audience),
      events_(events),
      place_(place),
      filter_range_(start.config.name, "filter"),
      encode_range_(start.config.name, "encode"),
      rate_(start.config.rate),
      motion_(block_.motion),
      snapshot_(make_snapshot(start.config)),
      epoch_(start.epoch),
      demand_({start.output}, page),
      arrivals_(audience_.arrivals),
      failed_(start.failed) {}

// Kernels, pools and encoders take tenths of a second to make, more where many cameras start at once: too long for the
// first frames to wait in the queue.
void Rendition::get_ready(const FrameFormat& expected, const Source& source) {
  if (failed_ || expected.width == 0 || !is_wanted()) return;
  try {
    prepare(expected, source);
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) return fail(error);
    wait_for_room(error.what());
  } catch (const std::exception& error) {
    // Tried again for the first frame, which may be another than was expected; then it counts.
    spdlog::debug("{}: not ready for what is expected: {}", start_.config.name, error.what());
  }
}

void Rendition::process(RingInUse& ring, FrameRingReader::Lease lease, const Source& source) {
  if (failed_) return count(DropCause::encoder_failed);
  if (!is_wanted()) return count(DropCause::unwatched);
  if (!rate_.takes(lease.times.pts)) return count(DropCause::rate);
  FrameTimes times = lease.times;
  times.leased = now_ns();
  const auto picture = filter(ring, lease, source);
  if (!picture) return;
  times.filtered = now_ns();
  motion_.take(picture->metadata, times.pts);
  block_.filter.record(times.filtered - times.leased);
  try {
    if (snapshot_) snapshot_->offer(picture->view);
    encode(*picture, times, lease.number);
  } catch (const std::exception& error) {
    fail(error);
  }
}

// Where it is not, what it takes to encode is given up.
bool Rendition::is_wanted() {
  if (!start_.config.on_demand) return true;
  if (demand_.is_there()) return true;
  if (encoder_) finish();
  path_.reset();
  input_.reset();
  return false;
}

void Rendition::finish() {
  try {
    flush_encoder();
  } catch (const std::exception& error) {
    fail(error);
  }
}

// Nothing: the frame has been counted as dropped.
std::optional<FrameRef> Rendition::filter(RingInUse& ring, FrameRingReader::Lease& lease, const Source& source) {
  const ProfileRange range(filter_range_, lease.number);
  try {
    if (try_again_ && Clock::now() < *try_again_) {
      count(DropCause::no_gpu_memory);
      return std::nullopt;
    }
    prepare(lease.picture.view.format, source);
    const ThreadWait wait(WaitsFor::filter);
    auto picture = path_->process(ring, lease, events_.beat);
    lease.picture = {};
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

// Filters, encoder and packet ring for frames of this format.
void Rendition::prepare(const FrameFormat& format, const Source& source) {
  if (input_ == format && source_ == source) return;
  input_.reset();
  make_path(source.rotation);
  // With a snapshot to take, the frames have to come to host memory anyway, so that a GPU's encoder is not tried.
  const bool hardware = start_.hardware_encoder && !snapshot_;
  const bool on_gpu = encoder_ ? encoder_->wants_gpu_pictures() : hardware;
  const FrameFormat output = path_->configure(format, on_gpu);
  const double rate = limited_rate(source.frame_rate, start_.config.rate);
  if (!encoder_goes_on(output, rate)) make_encoder(format, on_gpu, output, rate);
  input_ = format;
  source_ = source;
  if (!try_again_) return;
  try_again_.reset();
  spdlog::info("{}: {} has room for its frames again", start_.config.name, to_string(place_.gpu));
}

void Rendition::make_path(int rotation) {
  if (path_ && rotation == rotation_) return;
  std::vector<FilterConfig> filters = start_.config.filters;
  if (rotation != 0) filters.insert(filters.begin(), {"rotate", {{"angle", rotation}}});
  path_ = make_frame_path(filters, place_.gpu, place_.stream);
  place_.stream = path_->stream();
  rotation_ = rotation;
}

// The frame rate alone is a guess of the source, and often another one after each reconnection.
bool Rendition::encoder_goes_on(const FrameFormat& output, double frame_rate) const {
  if (!encoder_ || encoder_input_ != output) return false;
  const bool known = frame_rate > 0 && encoder_rate_ > 0;
  return !known || std::abs(frame_rate - encoder_rate_) <= same_rate * encoder_rate_;
}

// The encoder is opened for what the filters make of the frames; and only when it is open, it is known whether it
// takes them in the GPU's memory.
void Rendition::make_encoder(const FrameFormat& input, bool on_gpu, const FrameFormat& output, double frame_rate) {
  EncoderPlace place = path_->place();
  place.hardware = start_.hardware_encoder && !snapshot_;
  place.cores = start_.encode_cores;
  flush_encoder();
  const ThreadWait wait(WaitsFor::encoder);
  auto encoder = open_encoder(start_.config.encode, output, frame_rate, place);
  if (!encoder->remark().empty()) spdlog::warn("{}: {}", start_.config.name, encoder->remark());
  if (encoder->wants_gpu_pictures() != on_gpu) path_->configure(input, encoder->wants_gpu_pictures());
  const StreamParameters& parameters = encoder->parameters();
  const std::size_t capacity = packet_capacity(start_.config.encode, parameters.format, frame_rate);
  // Before the encoder is taken: without memory or descriptors there is no ring, and then no encoder that goes on.
  packets_ = std::make_unique<PacketRingWriter>(PacketRingMemory::create(capacity, epoch_, start_.base + pushed_));
  packets_->on_faulty_reader([this] { accuse(block_.accusation, Accused::publisher); });
  encoder_ = std::move(encoder);
  encoder_input_ = output;
  encoder_rate_ = frame_rate;
  events_.on_packets(start_.output, packets_->memory(), epoch_, parameters);
  ++epoch_;
}

void Rendition::encode(const FrameRef& picture, const FrameTimes& times, std::uint64_t number) {
  const ProfileRange range(encode_range_, number);
  const ThreadWait wait(WaitsFor::encoder);
  look_at_audience(times.pts);
  ++inside_;
  encode_begin_ = now_ns();
  encoder_->encode(picture, times, [this](const PacketView& packet) { push(packet); });
}

// Who has come to watch begins with the newest key frame there is, unless that is long ago.
void Rendition::look_at_audience(std::int64_t pts) {
  const std::uint32_t arrivals = audience_.arrivals;
  if (std::exchange(arrivals_, arrivals) == arrivals) return;
  if (pts - last_key_pts_ >= recent_ns) encoder_->want_key_frame();
}

void Rendition::flush_encoder() {
  if (!encoder_) return;
  const ThreadWait wait(WaitsFor::encoder);
  encode_begin_ = now_ns();
  encoder_->flush([this](const PacketView& packet) { push(packet); });
  encoder_.reset();
  packets_->close();
}

// With `drop` it never waits: the packet ring holds several GOPs, and the camera's other outputs, on this
// thread, are not to suffer from a disk that is slow for this one.
void Rendition::push(const PacketView& packet) {
  const std::int64_t encode_cost = now_ns() - encode_begin_;
  events_.beat();  // a flush hands out hundreds of frames, and may take long over each
  --inside_;
  need_key_ = need_key_ && !packet.key;
  if (need_key_) return count(DropCause::publisher_slow);
  PacketView stamped = packet;
  FrameTimes& times = stamped.times;
  times.encoded = now_ns();
  const bool may_wait = start_.drop_policy == DropPolicy::block;
  const Deadline deadline = Clock::now() + (may_wait ? publisher_deadline : std::chrono::seconds(0));
  const bool pushed = packets_->push(stamped, deadline, [this] {
    events_.beat();
    return events_.abandoned();
  });
  if (!pushed) {
    need_key_ = true;
    return count(DropCause::publisher_slow);
  }
  ++pushed_;
  if (packet.key) last_key_pts_ = packet.times.pts;
  const std::int64_t latency = times.encoded - times.arrival;
  block_.latency.record(latency);
  block_.encode.record(encode_cost);
  block_.overhead.record(latency - times.decode_cost - (times.filtered - times.leased) - encode_cost);
  failpoint("stage.pushed", start_.config.name);
  encode_begin_ = now_ns();
}

// Its frames are dropped until prepare() works again.
void Rendition::wait_for_room(const std::string& reason) {
  if (!try_again_) spdlog::warn("{}: its frames are dropped until the GPU has room: {}", start_.config.name, reason);
  try_again_ = Clock::now() + room_interval;
  input_.reset();
}

// From here on its frames are only counted.
void Rendition::fail(const std::exception& error) {
  const auto* of_gpu = dynamic_cast<const GpuError*>(&error);
  if (of_gpu != nullptr && of_gpu->kind == GpuError::Kind::broken) events_.on_gpu_lost(error.what());
  if (failed_) return;
  failed_ = true;
  for (; inside_ > 0; --inside_) count(DropCause::encoder_failed);
  encoder_.reset();
  path_.reset();
  if (packets_) packets_->close();
  events_.on_failed(start_.output, error.what());
}

void Rendition::count(DropCause cause) { counter(block_.dropped, cause).fetch_add(1); }

}  // namespace campipe
