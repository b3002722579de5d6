#include "app/calibrate/clip.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "app/calibrate/footage.h"
#include "app/calibrate/stopwatch.h"
#include "app/costs/codec_work.h"
#include "stages/decoders/decoder.h"
#include "stages/encoders/encoder.h"
#include "stages/encoders/encoder_config.h"
#include "stages/sinks/codec_parameters.h"

namespace campipe {
namespace {

// Enough frames for the sum to be right, few enough for large ones to be encoded soon.
int frames_for(const std::string& codec, const FrameFormat& format) {
  const double wanted = (codec == "hevc" ? 16 : 48) / megapixels(format);
  return std::clamp(static_cast<int>(wanted), 8, 32);
}

AvPacket packet_of(const PacketView& view) {
  AvPacket packet = make_av_packet();
  av_check(av_new_packet(packet.get(), static_cast<int>(view.data.size())), "making a packet");
  std::memcpy(packet->data, view.data.data(), view.data.size());
  if (view.key) packet->flags |= AV_PKT_FLAG_KEY;
  return packet;
}

// A decoder whose frames nobody reads: each falls back when the next one is asked for.
class Drain {
 public:
  Drain(const SourceStream& stream, const DecoderOptions& options) : decoder_(open_decoder(stream, options)) {
    FrameRingSpec spec;
    const SlotNeeds needs = decoder_->needs();
    spec.slots = std::min(needs.kept + 2, max_ring_slots);
    spec.slot_bytes = needs.bytes;
    decoder_->write_to(std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec)));
  }
  void decode(const AVPacket* packet) {
    decoder_->send(packet, 0);
    DecodedFrame frame;
    while (decoder_->receive(frame) == Decoder::Receive::frame) ++frames_;
  }
  [[nodiscard]] int frames() const { return frames_; }

 private:
  std::unique_ptr<Decoder> decoder_;
  int frames_ = 0;
};

}  // namespace

SourceStream EncodedFootage::stream() const {
  SourceStream stream;
  stream.codec = codec.get();
  stream.time_base = {1, static_cast<int>(probed_rate)};
  stream.frame_rate = probed_rate;
  stream.decoder = avcodec_get_name(codec->codec_id);
  return stream;
}

std::string encoder_of(const std::string& codec) {
  EncoderConfig config;
  config.codec = codec;
  return first_encoder(config, false);
}

std::vector<std::string> probed_codecs() {
  std::vector<std::string> codecs{"h264", "hevc", "mjpeg"};
  std::erase_if(codecs, [](const std::string& codec) {
    return avcodec_find_encoder_by_name(encoder_of(codec).c_str()) == nullptr;
  });
  return codecs;
}

EncodedFootage encode_footage(const std::string& codec, const FrameFormat& format, const EncodedAs& as) {
  const Footage footage(format);
  EncoderConfig config;
  config.codec = codec;
  config.preset = as.preset;
  config.gop = 10'000;
  config.threads = 1;
  if (codec != "mjpeg")
    config.bitrate = static_cast<std::int64_t>(as.bits_a_pixel * probed_rate * format.width * format.height);
  const auto encoder = open_encoder(config, footage.format(), probed_rate);
  EncodedFootage clip;
  const auto take = [&](const PacketView& view) { clip.packets.push_back(packet_of(view)); };
  const int frames = frames_for(codec, format);
  std::vector<double> times_us;  // of frames that are no key frames
  for (int i = 0; i < frames; ++i) {
    const double begin = process_cpu_us();
    const double before = thread_cpu_us();
    const FrameRef frame = footage.frame(i);
    const double drawing = thread_cpu_us() - before;  // while the encoder's own threads may be at work
    FrameTimes times;
    times.duration = static_cast<std::int64_t>(1e9 / probed_rate);
    times.pts = i * times.duration;
    encoder->encode(frame, times, take);
    if (i > 0) times_us.push_back(process_cpu_us() - begin - drawing);
  }
  encoder->flush(take);
  // No frame is held back, so that each call does a frame's work. The median, as whatever else runs disturbs some.
  std::ranges::nth_element(times_us, times_us.begin() + static_cast<std::ptrdiff_t>(times_us.size() / 2));
  clip.us = times_us[times_us.size() / 2];
  clip.codec.reset(avcodec_parameters_alloc());
  if (!clip.codec) throw std::bad_alloc();
  set_codec_parameters(*clip.codec, encoder->parameters());
  if (clip.packets.empty()) throw Error("the encoder of " + codec + " gave nothing");
  return clip;
}

double decode_us_of(const EncodedFootage& clip) {
  Drain drain(clip.stream(), {.threads = 1});
  std::int64_t pts = 0;
  // All of the clip, again and again: it begins with a key frame. A frame for each packet, but for those still inside.
  const auto once = [&] {
    for (const AvPacket& packet : clip.packets) {
      packet->pts = packet->dts = pts++;
      drain.decode(packet.get());
    }
  };
  const double us =
      cpu_us_of(once, {.total = std::chrono::milliseconds(150)}) / static_cast<double>(clip.packets.size());
  if (drain.frames() == 0) throw Error(std::string("no frame could be decoded of ") + clip.stream().decoder);
  return us;
}

double paint_us_of(const FrameFormat& format) {
  SourceStream stream;
  stream.decoder = "pattern";
  stream.width = format.width;
  stream.height = format.height;
  Drain drain(stream, {});
  const AvPacket packet = make_av_packet();
  packet->pts = 0;
  return cpu_us_of([&] {
    ++packet->pts;
    drain.decode(packet.get());
  });
}

}  // namespace campipe
