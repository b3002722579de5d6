#include "app/worker/encoded_stream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "app/config/stream_config.h"
#include "app/control/messages/run_node.h"
#include "app/control/thread_scope.h"
#include "core/clock.h"
#include "core/failpoint.h"
#include "core/frame_age.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"
#include "ipc/rig_page.h"
#include "ipc/shared_block.h"

namespace campipe {
namespace {

constexpr double same_rate = 0.1;  // an encoder goes on where the frame rate differs by no more than this part

// Room for a few GOPs, since the publisher gives packets back only when they are in the file.
std::size_t packet_capacity(const EncoderConfig& config, const FrameFormat& format, double frame_rate) {
  const double rate = frame_rate > 0 ? frame_rate : 30;
  const auto* frames = std::get_if<int>(&config.gop);
  const double gop_seconds =
      frames != nullptr ? *frames / rate : std::chrono::duration<double>(std::get<1>(config.gop)).count();
  // With a constant quality the rate is not known; this is a generous one, an eighth of a byte for a pixel.
  const double guess = static_cast<double>(format.width) * format.height * rate;
  const bool constant_quality = config.crf.has_value() || config.codec == "mjpeg";
  const double bits = config.bitrate ? static_cast<double>(*config.bitrate) : constant_quality ? guess : 4e6;
  const double wanted = 4 * gop_seconds * bits / 8;
  const double two_frames = 2.0 * format.width * format.height * 3 / 2;  // one frame must always fit
  const double low = std::max(4.0 * 1024 * 1024, two_frames);
  return static_cast<std::size_t>(std::clamp(wanted, low, std::max(64.0 * 1024 * 1024, low)));
}

}  // namespace

std::optional<KeyFrameGrid> key_frame_grid(const ResolvedOutput& config) {
  const auto* gop = std::get_if<std::chrono::nanoseconds>(&config.encode.gop);
  if (gop == nullptr) return std::nullopt;
  // The members of a group code their key frames at the same sets.
  return KeyFrameGrid(*gop, key_frame_shift(config.group ? config.group->name : config.camera, *gop));
}

EncodedStream::EncodedStream(const messages::EncodedOutput& output, const RigPage& page, const OutputEvents& events)
    : output_(output),
      block_(page.encode(output.output, page.own())),
      events_(events),
      range_(output.config.name, "encode"),
      packets_(output, block_, events),
      grid_(key_frame_grid(output.config)),
      key_frames_(page.shared(output.output).audience) {}

// The frame rate alone is a guess of the source, and often another one after each reconnection.
bool EncodedStream::goes_on(const FrameFormat& input, double frame_rate) const {
  if (!encoder_ || input_ != input) return false;
  const bool known = frame_rate > 0 && frame_rate_ > 0;
  return !known || std::abs(frame_rate - frame_rate_) <= same_rate * frame_rate_;
}

bool EncodedStream::takes(const FrameRef& frame) const {
  return encoder_ && input_ == frame.view.format &&
         encoder_->wants_gpu_frames() == (frame.view.memory != MemoryKind::host);
}

void EncodedStream::begin(std::unique_ptr<Encoder> encoder, const FrameFormat& input, double frame_rate) {
  const StreamParameters& parameters = encoder->parameters();
  packets_.begin(packet_capacity(output_.config.encode, parameters.format, frame_rate), parameters);
  encoder_ = std::move(encoder);
  input_ = input;
  frame_rate_ = frame_rate;
}

void EncodedStream::encode(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) {
  const ProfileRange range(range_, number);
  const ThreadWait wait(WaitsFor::encoder);
  const bool is_due = grid_ && grid_->is_due(times.media_time);
  if (key_frames_.ask(times.pts) || is_due) encoder_->want_key_frame();
  ++inside_;
  if (output_.config.group) shown_inside_.push_back(times.pts);
  begin_ = now_ns();
  encoder_->encode(frame, times, [this](const PacketView& packet) { take(packet); });
}

void EncodedStream::flush() {
  if (!encoder_) return;
  const ThreadWait wait(WaitsFor::encoder);
  begin_ = now_ns();
  encoder_->flush([this](const PacketView& packet) { take(packet); });
  encoder_.reset();
  shown_inside_.clear();
  packets_.close();
}

void EncodedStream::fail() {
  counter(block_.dropped, DropCause::encoder_failed).fetch_add(std::exchange(inside_, 0));
  shown_inside_.clear();
  encoder_.reset();
  packets_.close();
}

// The successor of a member of a group goes on with the next set, so all sets before must be there. With B-frames a
// frame comes out before those that are shown before it.
bool EncodedStream::is_whole(const PacketView& packet) {
  if (!output_.config.group) return true;
  shown_last_ = std::max(shown_last_, packet.times.pts);
  std::erase_if(shown_inside_, [&](std::int64_t shown) {
    return shown == packet.times.pts || shown <= packet.dts;  // what comes later is shown later
  });
  return shown_inside_.empty() || shown_inside_.front() > shown_last_;
}

void EncodedStream::take(const PacketView& packet) {
  const std::int64_t cost = now_ns() - begin_;
  events_.beat();  // a flush hands out hundreds of frames, and may take long over each
  --inside_;
  PacketView stamped = packet;
  FrameTimes& times = stamped.times;
  times.encoded = now_ns();
  if (!packets_.push(stamped, is_whole(packet))) return;
  if (packet.key) key_frames_.sent(times.pts);
  const std::int64_t since_arrival = times.encoded - times.arrival;
  const auto transit = transit_of(times);
  if (transit) block_.transit.record(*transit);
  block_.latency.record(transit.value_or(0) + since_arrival);
  block_.encode.record(cost);
  block_.overhead.record(since_arrival - times.decode_cost - times.filter_cost - cost);
  failpoint("stage.pushed", output_.config.name);
  begin_ = now_ns();
}

}  // namespace campipe
