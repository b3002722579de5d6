// The CPU: everything in this process, one thing after the other, by the CPU time that it takes.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "app/calibrate/calibrate.h"
#include "app/calibrate/clip.h"
#include "app/calibrate/footage.h"
#include "app/calibrate/stopwatch.h"
#include "app/costs/codec_work.h"
#include "core/frame_memory.h"
#include "stages/filters/chain.h"

namespace campipe {
namespace {

constexpr std::array codecs{"h264", "hevc", "mjpeg"};
// Returns how many bytes it has.
int copy_row(const FrameView& from, int plane, int y, std::uint8_t* to) {
  const auto at = static_cast<std::size_t>(plane);
  const int width = plane_size(from.format, plane).width;
  std::memcpy(to, from.data[at] + std::ptrdiff_t{from.stride[at]} * y, static_cast<std::size_t>(width));
  return width;
}

// In memory of its own.
FrameRef copy_of(const FrameRef& frame) {
  const auto pool = std::make_shared<FramePool>(FrameLayout{frame.view.format, host_frame_alignment}, host_frame_bytes);
  auto [view, owner] = pool->take();
  for (int plane = 0; plane < plane_count(view.format.pixels); ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    for (int y = 0; y < plane_size(view.format, plane).height; ++y)
      copy_row(frame.view, plane, y, view.data[at] + std::ptrdiff_t{view.stride[at]} * y);
  }
  return {as_const(view), owner};
}

// Frames come out of memory, and not out of the caches, as they do where there are many cameras. That also makes times
// of small and of large ones comparable.
constexpr double bytes_in_turn = 100e6;
constexpr int drawn = 4;  // so many of them are different

// The same frames for all filters of a size.
class Frames {
 public:
  const std::vector<FrameRef>& of(const FrameFormat& format, bool interlaced) {
    const bool same = format.width == format_.width && format.height == format_.height;
    if (frames_.empty() || !same || interlaced != interlaced_) {
      frames_.clear();
      const Footage footage(format, interlaced);
      for (int i = 0; i < drawn; ++i) frames_.push_back(footage.frame(i));
      const double bytes = 1.5 * format.width * format.height;
      const auto number = static_cast<std::size_t>(bytes_in_turn / bytes);
      while (frames_.size() < number) frames_.push_back(copy_of(frames_[frames_.size() % drawn]));
      format_ = format;
      interlaced_ = interlaced;
    }
    return frames_;
  }

 private:
  FrameFormat format_;
  bool interlaced_ = false;
  std::vector<FrameRef> frames_;
};

double time_of_chain(const std::vector<FilterConfig>& filters, const FrameFormat& in, Frames& frames) {
  const auto& input = frames.of(in, filters.front().name == "deinterlace");
  FilterChain chain(filters);
  chain.configure(input.front().view.format);
  std::size_t turn = 0;
  std::int64_t pts = 0;
  return cpu_us_of([&] {
    pts += static_cast<std::int64_t>(1e9 / compared_rate);
    chain.process(input[turn++ % input.size()], pts);
  });
}

double time_of_copy(const FrameFormat& in, Frames& frames) {
  const auto& input = frames.of(in, false);
  const auto pixels = static_cast<std::size_t>(in.width) * static_cast<std::size_t>(in.height);
  std::vector<std::uint8_t> to(3 * pixels / 2);
  std::size_t turn = 0;
  return cpu_us_of([&] {
    const FrameRef& from = input[turn++ % input.size()];
    std::uint8_t* out = to.data();
    for (int plane = 0; plane < plane_count(from.view.format.pixels); ++plane) {
      const int rows = plane_size(from.view.format, plane).height;
      for (int y = 0; y < rows; ++y) out += copy_row(from.view, plane, y, out);
    }
  });
}

std::string encoder_of(const std::string& codec) {
  EncoderConfig config;
  config.codec = codec;
  return first_encoder(config, false);
}

}  // namespace

DeviceCosts measure_cpu(const CostKey& key, const ReportProgress& progress) {
  DeviceCosts costs{key, utc_text_of_now()};
  Frames frames;
  measure_filters(costs, progress, [&](const FilterConfig& filter, const FrameFormat& in) {
    return time_of_chain({filter}, in, frames);
  });
  progress("copies");
  for (const FrameFormat& size : probed_filter_sizes()) {
    const Work work = copy_work(size);
    costs.at(work.name).add(0, {work.megapixels, time_of_copy(size, frames)});
  }
  for (const FrameFormat& size : probed_codec_sizes()) {
    for (const std::string codec : codecs) {
      progress(fmt::format("{} of {}", codec, size_text(size)));
      const EncodedFootage clip = encode_footage(codec, size);
      const Work decode = decode_work(codec, size);
      costs.at(decode.name).add(0, {decode.megapixels, decode_us_of(clip)});
      costs.at(encode_work_name(encoder_of(codec))).add(0, {decode.megapixels, clip.us});
    }
    const Work paint = decode_work("pattern", size);
    costs.at(paint.name).add(0, {paint.megapixels, paint_us_of(size)});
  }
  return costs;
}

std::vector<CostComparison> compare_cpu(const DeviceCosts& costs, const ReportProgress& progress) {
  std::vector<CostComparison> all;
  Frames frames;
  for (const ComparedChain& chain : compared_chains()) {
    progress(chain.what);
    const double predicted = chain_us(costs, chain_work(chain.filters, chain.in, compared_rate));
    all.push_back({"filter " + chain.what, predicted, time_of_chain(chain.filters, chain.in, frames)});
  }
  for (const FrameFormat& size : compared_codec_sizes()) {
    for (const std::string codec : codecs) {
      const std::string what = fmt::format("{}, {}", size_text(size), codec);
      progress(what);
      const EncodedFootage clip = encode_footage(codec, size);
      EncoderConfig config;
      config.codec = codec;
      const Work encode = encode_work(encoder_of(codec), config, size);
      all.push_back({"decode " + what, cost_us(costs, decode_work(codec, size)).value_or(0), decode_us_of(clip)});
      all.push_back({"encode " + what, cost_us(costs, encode).value_or(0), clip.us});
    }
  }
  const FrameFormat& middle = probed_codec_sizes()[1];
  for (const char* codec : {"h264", "hevc"}) {
    for (const char* preset : {"ultrafast", "veryfast", "faster", "fast", "medium", "slow", "slower"}) {
      const std::string what = fmt::format("{}, {} {}", size_text(middle), encoder_of(codec), preset);
      progress(what);
      EncoderConfig config;
      config.preset = preset;
      const Work work = encode_work(encoder_of(codec), config, middle);
      all.push_back({"preset " + what, cost_us(costs, work).value_or(0), encode_footage(codec, middle, preset).us});
    }
  }
  return all;
}

}  // namespace campipe
