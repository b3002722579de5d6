#include "tests/integration/mosaic_video.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"
#include "core/ffmpeg.h"
#include "tests/integration/open_video.h"

namespace campipe::test {
namespace {

// Mean of a plane's region, or of its distance from `from`.
double mean(const AVFrame& frame, int plane, const FrameRegion& region, int from) {
  double sum = 0;
  for (int y = region.y; y < region.y + region.height; ++y) {
    const std::uint8_t* const row = frame.data[plane] + std::ptrdiff_t{y} * frame.linesize[plane];
    for (int x = region.x; x < region.x + region.width; ++x) sum += std::abs(row[x] - from);
  }
  return sum / (static_cast<double>(region.width) * region.height);
}

ShownCell cell_of(const AVFrame& frame, const FrameRegion& region) {
  FrameView view;
  view.format.width = region.width;
  view.format.height = region.height;
  view.data[0] = frame.data[0] + std::ptrdiff_t{region.y} * frame.linesize[0] + region.x;
  view.stride[0] = frame.linesize[0];
  const FrameRegion chroma{region.x / 2, region.y / 2, region.width / 2, region.height / 2};
  return {read_pattern(view), mean(frame, 0, region, 0), mean(frame, 1, chroma, 128) + mean(frame, 2, chroma, 128)};
}

}  // namespace

std::vector<MosaicFrame> read_mosaic(const std::filesystem::path& file, const std::vector<FrameRegion>& cells) {
  std::vector<MosaicFrame> frames;
  const AvInput input = open_input(file);
  const int index = av_check(av_find_best_stream(input.get(), AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0), file);
  const AVStream& track = *input->streams[index];
  const AvCodecContext decoder(avcodec_alloc_context3(avcodec_find_decoder(track.codecpar->codec_id)));
  av_check(avcodec_parameters_to_context(decoder.get(), track.codecpar), file);
  av_check(avcodec_open2(decoder.get(), nullptr, nullptr), file);
  const auto decode = [&](const AVPacket* packet) {
    avcodec_send_packet(decoder.get(), packet);
    const AvFrame frame = make_av_frame();
    while (avcodec_receive_frame(decoder.get(), frame.get()) == 0) {
      MosaicFrame& shown = frames.emplace_back();
      shown.pts = av_rescale_q(frame->best_effort_timestamp, track.time_base, nanoseconds);
      for (const FrameRegion& region : cells) shown.cells.push_back(cell_of(*frame, region));
    }
  };
  for (const AvPacket packet = make_av_packet(); av_read_frame(input.get(), packet.get()) == 0;
       av_packet_unref(packet.get())) {
    if (packet->stream_index == index) decode(packet.get());
  }
  decode(nullptr);
  return frames;
}

std::string check_mosaic(const std::vector<MosaicFrame>& frames, double rate, bool whole) {
  std::string problems;
  if (frames.empty()) return "no frames";
  std::vector<std::int64_t> newest(frames.front().cells.size(), -1);
  std::int64_t tick = -1;
  for (const MosaicFrame& frame : frames) {
    const double place = static_cast<double>(frame.pts - frames.front().pts) * rate / 1e9;
    const std::int64_t next = std::llround(place);
    const std::string at = "tick " + std::to_string(place) + " after " + std::to_string(tick) + "; ";
    if (std::abs(place - static_cast<double>(next)) > 0.1) problems += "not on the clock: " + at;
    if (whole ? next != tick + 1 : next <= tick) problems += "not in order: " + at;
    tick = next;
    for (std::size_t i = 0; i < frame.cells.size(); ++i) {
      const auto& code = frame.cells[i].code;
      if (!code) continue;
      if (static_cast<std::int64_t>(code->number) < newest[i])
        problems += "cell " + std::to_string(i) + " goes back to " + std::to_string(code->number) + ": " + at;
      newest[i] = code->number;
    }
  }
  return problems.substr(0, 2000);
}

double longest_standstill(const std::vector<MosaicFrame>& frames, std::size_t cell) {
  double longest = 0;
  std::optional<std::uint32_t> newest;
  std::int64_t since = 0;
  for (const MosaicFrame& frame : frames) {
    const auto& code = frame.cells[cell].code;
    if (newest) longest = std::max(longest, static_cast<double>(frame.pts - since) / 1e9);
    if (!code || code->number == newest) continue;
    newest = code->number;
    since = frame.pts;
  }
  return longest;
}

}  // namespace campipe::test
