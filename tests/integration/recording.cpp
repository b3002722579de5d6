#include "tests/integration/recording.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "core/error.h"
#include "core/ffmpeg.h"
#include "tests/integration/open_video.h"

namespace campipe::test {
namespace {

std::mutex complaints_mutex;
std::vector<std::string> complaints;

void collect(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_WARNING) return;
  std::array<char, 512> line{};
  int prefix = 1;
  av_log_format_line2(object, level, format, arguments, line.data(), line.size(), &prefix);
  const std::lock_guard lock(complaints_mutex);
  complaints.emplace_back(line.data());
}

// Frames of more than 8 bits have the code in their upper bits.
std::optional<PatternCode> code_of(const AVFrame& frame) {
  FrameView view;
  view.format.width = frame.width;
  view.format.height = frame.height;
  view.data[0] = frame.data[0];
  view.stride[0] = frame.linesize[0];
  return read_pattern(view);
}

void decode(AVCodecContext& decoder, const AVPacket* packet, AVRational time_base, VideoFile& video) {
  avcodec_send_packet(&decoder, packet);
  const AvFrame frame = make_av_frame();
  while (avcodec_receive_frame(&decoder, frame.get()) == 0) {
    video.pictures.push_back({av_rescale_q(frame->best_effort_timestamp, time_base, nanoseconds), code_of(*frame)});
  }
}

void read(VideoFile& video, const std::filesystem::path& file) {
  const AvInput input = open_input(file);
  const int index =
      av_check(av_find_best_stream(input.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0), file.string() + ": no video");
  const AVStream& track = *input->streams[index];
  const AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(track.codecpar->codec_id)));
  av_check(avcodec_parameters_to_context(decoder.get(), track.codecpar), file);
  decoder->thread_count = 1;
  av_check(avcodec_open2(decoder.get(), nullptr, nullptr), file);
  video.start_s = static_cast<double>(input->start_time) / AV_TIME_BASE;
  video.duration_s = static_cast<double>(input->duration) / AV_TIME_BASE;
  video.width = track.codecpar->width;
  video.height = track.codecpar->height;
  const bool stores_dts = std::string_view(input->iformat->name).find("mp4") != std::string_view::npos;
  const AvPacket packet = make_av_packet();
  while (av_read_frame(input.get(), packet.get()) == 0) {
    if (packet->stream_index == index) {
      ++video.packets;
      if (stores_dts) video.dts.push_back(packet->dts);
      decode(*decoder, packet.get(), track.time_base, video);
    }
    av_packet_unref(packet.get());
  }
  decode(*decoder, nullptr, track.time_base, video);
}

}  // namespace

// The file's header alone: what libavformat finds out of the frames is not asked for.
std::string check_key_frames(const std::filesystem::path& file) {
  AVFormatContext* raw = nullptr;
  av_check(avformat_open_input(&raw, ("file:" + file.string()).c_str(), nullptr, nullptr), file);
  const AvInput input(raw);
  const int index =
      av_check(av_find_best_stream(input.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0), file.string() + ": no video");
  const AVCodecParameters* header = input->streams[index]->codecpar;
  AvCodecContext decoder;
  std::size_t sent = 0;
  std::size_t shown = 0;
  std::string problems;
  const AvFrame frame = make_av_frame();
  const auto receive = [&] {
    while (avcodec_receive_frame(decoder.get(), frame.get()) == 0) {
      const bool whole = frame->decode_error_flags == 0 && (frame->flags & AV_FRAME_FLAG_CORRUPT) == 0;
      // Of MPEG-4 in MP4 libavformat leaves the size to the decoder.
      const bool fits = header->width == 0 || (frame->width == header->width && frame->height == header->height);
      shown += whole && fits ? 1 : 0;
    }
  };
  const auto end_group = [&](std::size_t at) {
    if (!decoder) return;
    avcodec_send_packet(decoder.get(), nullptr);
    receive();
    if (shown != sent) {
      problems += "before packet " + std::to_string(at) + ": " + std::to_string(shown) + " of " + std::to_string(sent) +
                  " frames; ";
    }
    sent = shown = 0;
  };
  const AvPacket packet = make_av_packet();
  std::size_t at = 0;
  for (; av_read_frame(input.get(), packet.get()) == 0; av_packet_unref(packet.get())) {
    if (packet->stream_index != index) continue;
    if ((packet->flags & AV_PKT_FLAG_KEY) != 0) {
      end_group(at);
      decoder.reset(avcodec_alloc_context3(avcodec_find_decoder(header->codec_id)));
      av_check(avcodec_parameters_to_context(decoder.get(), header), file);
      decoder->thread_count = 1;
      av_check(avcodec_open2(decoder.get(), nullptr, nullptr), file);
    }
    if (!decoder) return file.string() + ": begins without a key frame";
    ++at;
    ++sent;
    avcodec_send_packet(decoder.get(), packet.get());
    receive();
  }
  end_group(at);
  return at == 0 ? file.string() + ": no frames" : problems.empty() ? "" : file.string() + ": " + problems;
}

VideoFile read_video(const std::filesystem::path& file) {
  VideoFile video;
  complaints.clear();
  av_log_set_level(AV_LOG_WARNING);
  av_log_set_callback(collect);
  try {
    read(video, file);
  } catch (...) {
    av_log_set_callback(av_log_default_callback);
    throw;
  }
  av_log_set_callback(av_log_default_callback);
  video.complaints = static_cast<int>(complaints.size());
  for (const std::string& line : complaints) video.text += line;
  return video;
}

std::vector<std::int64_t> numbers_of(const VideoFile& video) {
  std::vector<std::int64_t> numbers;
  for (const ShownPicture& picture : video.pictures)
    numbers.push_back(picture.code ? std::int64_t{picture.code->number} : -1);
  return numbers;
}

std::vector<std::int64_t> times_of(const VideoFile& video) {
  std::vector<std::int64_t> times;
  for (const ShownPicture& picture : video.pictures) times.push_back(picture.pts - video.pictures.front().pts);
  return times;
}

double largest_gap(const VideoFile& video, std::int64_t from_utc_ns) {
  double largest = 0;
  for (std::size_t i = 1; i < video.pictures.size(); ++i) {
    const auto& before = video.pictures[i - 1].code;
    const auto& after = video.pictures[i].code;
    if (!before || !after || after->utc_us * 1000 < from_utc_ns) continue;
    largest = std::max(largest, static_cast<double>(after->utc_us - before->utc_us) / 1e6);
  }
  return largest;
}

std::string check_pattern_recording(const VideoFile& video, bool whole) {
  std::string problems;
  if (video.pictures.empty()) problems += "no frames; ";
  if (video.complaints > 0) problems += "libav complains: " + video.text + "; ";
  if (video.packets != video.pictures.size()) {
    problems += std::to_string(video.packets) + " packets, " + std::to_string(video.pictures.size()) + " frames; ";
  }
  for (std::size_t i = 1; i < video.dts.size(); ++i) {
    if (video.dts[i] <= video.dts[i - 1]) problems += "decode time of packet " + std::to_string(i) + " does not grow; ";
  }
  const std::vector<std::int64_t> numbers = numbers_of(video);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string at = "frame " + std::to_string(i) + " (number " + std::to_string(numbers[i]) + ")";
    if (numbers[i] < 0) problems += at + " cannot be read; ";
    if (i == 0) continue;
    const std::string after = at + " after number " + std::to_string(numbers[i - 1]) + "; ";
    if (whole ? numbers[i] != numbers[i - 1] + 1 : numbers[i] <= numbers[i - 1]) problems += after;
    if (video.pictures[i].pts <= video.pictures[i - 1].pts) problems += "the time does not grow: " + after;
  }
  return problems.substr(0, 2000);
}

PacketTimes packet_times(const std::filesystem::path& file, TrackKind which) {
  const AvInput input = open_input(file);
  const AVMediaType type = which == TrackKind::video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO;
  const int index = av_check(av_find_best_stream(input.get(), type, -1, -1, nullptr, 0), file.string());
  const AVRational unit = input->streams[index]->time_base;
  const auto add = [unit](std::int64_t time, std::vector<double>& times) {
    if (time != AV_NOPTS_VALUE) times.push_back(static_cast<double>(time) * av_q2d(unit));
  };
  PacketTimes times;
  const AvPacket packet = make_av_packet();
  while (av_read_frame(input.get(), packet.get()) == 0) {
    if (packet->stream_index == index) {
      add(packet->pts, times.pts);
      add(packet->dts, times.dts);
    }
    av_packet_unref(packet.get());
  }
  return times;
}

std::vector<double> sound_times(const std::filesystem::path& file) {
  const PacketTimes times = packet_times(file, TrackKind::sound);
  if (times.pts.empty()) throw Error(file.string() + " has no sound");
  return times.pts;
}

}  // namespace campipe::test
