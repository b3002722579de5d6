#include "app/worker/rendition.h"

#include <utility>

#include "app/control/thread_scope.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto room_interval = std::chrono::seconds(1);  // between two looks whether the GPU has room

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

Rendition::Rendition(const messages::EncodedOutput& output, const RigPage& page, const OutputEvents& events,
                     CameraPlace& place)
    : output_(output),
      block_(page.encode(output.output, page.own())),
      events_(events),
      filter_range_(output.config.name, "filter"),
      rate_(output.config.rate),
      motion_(block_.motion),
      snapshot_(make_snapshot(output.config)),
      filters_(output_.config, place),
      stream_(output_, page, events_),
      demand_({output.output}, page),
      failed_(output.failed) {}

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
    spdlog::debug("{}: not ready for what is expected: {}", output_.config.name, error.what());
  }
}

void Rendition::process(RingInUse& ring, FrameRingReader::Lease lease, const Source& source) {
  if (failed_) return count(DropCause::encoder_failed);
  if (!is_wanted()) return count(DropCause::unwatched);
  if (!rate_.takes(lease.times.pts)) return count(DropCause::rate);
  FrameTimes times = lease.times;
  times.leased = now_ns();
  const auto frame = filter(ring, lease, source);
  if (!frame) return;
  times.filtered = now_ns();
  motion_.take(frame->metadata, times.pts);
  block_.filter.record(times.filtered - times.leased);
  try {
    if (snapshot_) snapshot_->offer(frame->view);
    stream_.encode(*frame, times, lease.number);
  } catch (const std::exception& error) {
    fail(error);
  }
}

// Where it is not, what it takes to encode is given up.
bool Rendition::is_wanted() {
  if (!output_.config.on_demand) return true;
  if (demand_.is_there()) return true;
  finish();
  filters_.drop();
  ready_.reset();
  return false;
}

void Rendition::finish() {
  try {
    stream_.flush();
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
    prepare(lease.frame.view.format, source);
    auto frame = filters_.process(ring, lease, events_.beat);
    lease.frame = {};
    if (!frame) count(DropCause::master_lost);
    return frame;
  } catch (const GpuError& error) {
    const bool no_room =
        error.kind == GpuError::Kind::out_of_memory || (!ready_ && error.kind == GpuError::Kind::other);
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
  const Ready wanted{format, source};
  if (ready_ == wanted) return;
  ready_.reset();
  const Encoder* encoder = stream_.encoder();
  const bool on_gpu =
      encoder != nullptr ? encoder->wants_gpu_frames() : tries_gpu_encoder(output_.placement, output_.config);
  const FrameFormat output = filters_.configure(format, source.rotation, on_gpu);
  const double rate = limited_rate(source.frame_rate, output_.config.rate);
  if (!stream_.goes_on(output, rate)) make_encoder(wanted, on_gpu, output, rate);
  ready_ = wanted;
  if (!try_again_) return;
  try_again_.reset();
  spdlog::info("{}: {} has room for its frames again", output_.config.name, to_string(filters_.gpu()));
}

// The encoder is opened for what the filters make of the frames; and only when it is open, it is known whether it
// takes them in the GPU's memory.
void Rendition::make_encoder(const Ready& wanted, bool on_gpu, const FrameFormat& output, double frame_rate) {
  EncoderPlace place = filters_.place();
  place.hardware = tries_gpu_encoder(output_.placement, output_.config);
  place.cores = output_.placement.encode_cores;
  stream_.flush();
  const ThreadWait wait(WaitsFor::encoder);
  auto encoder = open_encoder(output_.config.encode, output, frame_rate, place);
  if (!encoder->remark().empty()) spdlog::warn("{}: {}", output_.config.name, encoder->remark());
  if (encoder->wants_gpu_frames() != on_gpu)
    filters_.configure(wanted.input, wanted.source.rotation, encoder->wants_gpu_frames());
  stream_.begin(std::move(encoder), output, frame_rate);
}

// Its frames are dropped until prepare() works again.
void Rendition::wait_for_room(const std::string& reason) {
  if (!try_again_) spdlog::warn("{}: its frames are dropped until the GPU has room: {}", output_.config.name, reason);
  try_again_ = Clock::now() + room_interval;
  ready_.reset();
}

// From here on its frames are only counted.
void Rendition::fail(const std::exception& error) {
  const auto* of_gpu = dynamic_cast<const GpuError*>(&error);
  if (of_gpu != nullptr && of_gpu->kind == GpuError::Kind::broken) events_.on_gpu_lost(error.what());
  if (failed_) return;
  failed_ = true;
  stream_.fail();
  filters_.drop();
  events_.on_failed(output_.output, error.what());
}

void Rendition::count(DropCause cause) { counter(block_.dropped, cause).fetch_add(1); }

}  // namespace campipe
