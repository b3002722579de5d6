#include "tests/unit/coded_units.h"

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/ffmpeg.h"

namespace campipe::test {
namespace {

constexpr std::string_view start_code{"\0\0\0\1", 4};

bool has_nal_units(const std::string& encoder) { return encoder == "libx264" || encoder == "libx265"; }

AvCodecContext open(const Coding& coding) {
  const AVCodec* codec = avcodec_find_encoder_by_name(coding.encoder.c_str());
  if (codec == nullptr) throw Error("there is no encoder " + coding.encoder);
  AvCodecContext context(avcodec_alloc_context3(codec));
  context->width = coding.width;
  context->height = coding.height;
  context->pix_fmt = coding.encoder == "mjpeg" ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
  context->time_base = {1, 25};
  context->framerate = {25, 1};
  context->gop_size = coding.gop;
  context->max_b_frames = coding.b_frames;
  context->thread_count = 1;
  context->bit_rate = 400'000;
  if (coding.slices > 1) context->slices = coding.slices;
  AVDictionary* options = nullptr;
  if (has_nal_units(coding.encoder)) av_dict_set(&options, "preset", "ultrafast", 0);
  if (coding.encoder == "mjpeg") av_dict_set(&options, "huffman", "default", 0);  // RTP has no others
  if (coding.encoder == "libx265") {
    const std::string params = "log-level=none:repeat-headers=1:bframes=" + std::to_string(coding.b_frames);
    av_dict_set(&options, "x265-params", params.c_str(), 0);
  }
  for (const auto& [name, value] : coding.options) av_dict_set(&options, name.c_str(), value.c_str(), 0);
  const int code = avcodec_open2(context.get(), codec, &options);
  av_dict_free(&options);
  av_check(code, coding.encoder);
  return context;
}

void paint(AVFrame& frame, int number) {
  for (int plane = 0; plane < 3; ++plane) {
    const int rows = plane == 0 ? frame.height : frame.height / 2;
    const int columns = plane == 0 ? frame.width : frame.width / 2;
    for (int y = 0; y < rows; ++y) {
      const std::span<std::uint8_t> row(frame.data[plane] + std::ptrdiff_t{y} * frame.linesize[plane],
                                        static_cast<std::size_t>(columns));
      for (std::size_t x = 0; x < row.size(); ++x)
        row[x] = static_cast<std::uint8_t>((x * x / 7) + static_cast<std::size_t>(y * 3 + number * 5 + plane * 40));
    }
  }
}

std::string as_depacketizers_write_it(const std::string& unit) {
  std::string all;
  for (const std::string& nal : nal_units(unit)) all += std::string(start_code) + nal;
  return all;
}

}  // namespace

std::vector<CodedUnit> coded_units(const Coding& coding) {
  const AvCodecContext context = open(coding);
  std::vector<CodedUnit> units;
  const AvPacket packet = make_av_packet();
  const auto take = [&] {
    while (avcodec_receive_packet(context.get(), packet.get()) >= 0) {
      const std::string data(packet->data, packet->data + packet->size);
      units.push_back({has_nal_units(coding.encoder) ? as_depacketizers_write_it(data) : data, packet->pts,
                       (packet->flags & AV_PKT_FLAG_KEY) != 0});
      av_packet_unref(packet.get());
    }
  };
  for (int i = 0; i < coding.count; ++i) {
    const AvFrame frame = make_av_frame();
    frame->width = coding.width;
    frame->height = coding.height;
    frame->format = context->pix_fmt;
    av_check(av_frame_get_buffer(frame.get(), 0), "av_frame_get_buffer");
    paint(*frame, i);
    frame->pts = i;
    av_check(avcodec_send_frame(context.get(), frame.get()), "avcodec_send_frame");
    take();
  }
  avcodec_send_frame(context.get(), nullptr);
  take();
  return units;
}

CodedSound coded_sound(const std::string& encoder, int rate, int count) {
  const AVCodec* codec = avcodec_find_encoder_by_name(encoder.c_str());
  if (codec == nullptr) throw Error("there is no encoder " + encoder);
  const AvCodecContext context(avcodec_alloc_context3(codec));
  context->sample_rate = rate;
  context->sample_fmt = AV_SAMPLE_FMT_FLTP;
  context->bit_rate = 64'000;
  context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  av_channel_layout_default(&context->ch_layout, 1);
  av_check(avcodec_open2(context.get(), codec, nullptr), encoder);
  CodedSound sound;
  sound.samples = context->frame_size;
  sound.config.assign(context->extradata, context->extradata + context->extradata_size);
  const AvPacket packet = make_av_packet();
  while (std::ssize(sound.frames) < count) {
    const AvFrame frame = make_av_frame();
    frame->nb_samples = context->frame_size;
    frame->format = context->sample_fmt;
    frame->sample_rate = rate;
    av_check(av_channel_layout_copy(&frame->ch_layout, &context->ch_layout), "av_channel_layout_copy");
    av_check(av_frame_get_buffer(frame.get(), 0), "av_frame_get_buffer");
    const std::span<std::uint8_t> bytes(frame->data[0], static_cast<std::size_t>(frame->nb_samples) * sizeof(float));
    std::ranges::fill(bytes, std::uint8_t{0});
    av_check(avcodec_send_frame(context.get(), frame.get()), "avcodec_send_frame");
    while (avcodec_receive_packet(context.get(), packet.get()) >= 0) {
      sound.frames.emplace_back(packet->data, packet->data + packet->size);
      av_packet_unref(packet.get());
    }
  }
  return sound;
}

std::string rtp_name(const std::string& encoder) {
  if (encoder == "libx264") return "H264";
  if (encoder == "mjpeg") return "JPEG";
  return encoder == "libx265" ? "H265" : "MP4V-ES";
}

std::string jpeg_scan(const std::string& file) {
  const auto at = file.find("\xff\xda");
  const auto begin = at + 2 + static_cast<unsigned char>(file.at(at + 3));
  return file.substr(begin, file.rfind("\xff\xd9") - begin);
}

namespace {

// With a quantization table in the first one, which serves for luma and chroma.
std::vector<std::string> jpeg_payloads(const std::string& file, std::size_t size) {
  const std::string table = file.substr(file.find("\xff\xdb") + 5, 64);
  const std::string scan = jpeg_scan(file);
  // Of a side beyond 2040 there is not all.
  const auto header = file.find("\xff\xc0");
  const auto eighths = [&](std::size_t at) {
    return static_cast<char>(((static_cast<unsigned char>(file.at(header + at)) << 8) +
                              static_cast<unsigned char>(file.at(header + at + 1))) /
                             8);
  };
  std::vector<std::string> payloads;
  for (std::size_t at = 0; at < scan.size(); at += size) {
    std::string payload{0,
                        static_cast<char>(at >> 16),
                        static_cast<char>(at >> 8),
                        static_cast<char>(at),
                        1,
                        '\xff',
                        eighths(7),
                        eighths(5)};
    if (at == 0) payload += std::string{0, 0, 0, '\x80'} + table + table;
    payloads.push_back(payload + scan.substr(at, size));
  }
  return payloads;
}

}  // namespace

std::vector<std::string> nal_units(const std::string& unit) {
  constexpr std::string_view code("\0\0\1", 3);
  std::vector<std::string> all;
  auto at = unit.find(code);
  while (at != std::string::npos) {
    const auto begin = at + code.size();
    at = unit.find(code, begin);
    std::string nal = unit.substr(begin, at == std::string::npos ? at : at - begin);
    nal.erase(nal.find_last_not_of('\0') + 1);
    all.push_back(std::move(nal));
  }
  return all;
}

std::vector<std::string> rtp_payloads(const std::string& encoder, const std::string& unit, std::size_t size) {
  if (encoder == "mjpeg") return jpeg_payloads(unit, size);
  std::vector<std::string> payloads;
  if (!has_nal_units(encoder)) {
    for (std::size_t at = 0; at < unit.size(); at += size) payloads.push_back(unit.substr(at, size));
    return payloads;
  }
  const bool hevc = encoder == "libx265";
  const std::size_t header = hevc ? 2 : 1;
  for (const std::string& nal : nal_units(unit)) {
    if (nal.size() <= size) {
      payloads.push_back(nal);
      continue;
    }
    const int type = hevc ? nal[0] >> 1 & 0x3f : nal[0] & 0x1f;
    const std::string indicator = hevc ? std::string{static_cast<char>((nal[0] & 0x81) | 49 << 1), nal[1]}
                                       : std::string{static_cast<char>((nal[0] & 0xe0) | 28)};
    for (std::size_t at = header; at < nal.size(); at += size) {
      const int begins = at == header ? 0x80 : 0;
      const int ends = at + size >= nal.size() ? 0x40 : 0;
      payloads.push_back(indicator + static_cast<char>(begins | ends | type) + nal.substr(at, size));
    }
  }
  return payloads;
}

std::string aggregated(const std::vector<std::string>& nal_units) {
  std::string payload{'\x78'};
  for (const std::string& nal : nal_units)
    payload += std::string{static_cast<char>(nal.size() >> 8), static_cast<char>(nal.size() & 255)} + nal;
  return payload;
}

}  // namespace campipe::test
