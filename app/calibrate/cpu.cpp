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
#include "stages/encoders/encoder_config.h"
#include "stages/filters/chain.h"

namespace campipe {
namespace {

constexpr std::array other_bits_a_pixel{0.02, 0.3};
constexpr double compared_bits_a_pixel = 0.15;
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
  // Of what crop leaves out nothing comes into the caches: with as many frames as for others a small part would lie
  // there always, and a large one never.
  const std::size_t turns = filters.size() == 1 && filters.front().name == "crop" ? drawn : input.size();
  std::size_t turn = 0;
  std::int64_t pts = 0;
  return cpu_us_of([&] {
    pts += static_cast<std::int64_t>(1e9 / compared_rate);
    chain.process(input[turn++ % turns], pts);
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

double predicted_encoding(const DeviceCosts& costs, const std::string& codec, const FrameFormat& size,
                          const EncodedAs& as) {
  EncoderConfig config;
  config.preset = as.preset;
  config.bitrate = static_cast<std::int64_t>(as.bits_a_pixel * probed_rate * size.width * size.height);
  return cost_us(costs, encode_work(encoder_of(codec), config, size, probed_rate)).value_or(0);
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
    for (const std::string& codec : probed_codecs()) {
      progress(fmt::format("{} of {}", codec, size_text(size)));
      const EncodedFootage clip = encode_footage(codec, size);
      const Work decode = decode_work(codec, size);
      costs.at(decode.name).add(0, {decode.megapixels, decode_us_of(clip)});
      WorkCost& encode = costs.at(encode_work_name(encoder_of(codec)));
      encode.add(usual_bits_a_pixel, {decode.megapixels, clip.us});
      if (codec != "h264") continue;
      for (const double bits : other_bits_a_pixel)
        encode.add(bits, {decode.megapixels, encode_footage(codec, size, {.bits_a_pixel = bits}).us});
    }
    const Work paint = decode_work("pattern", size);
    costs.at(paint.name).add(0, {paint.megapixels, paint_us_of(size)});
  }
  return costs;
}

std::vector<CostComparison> compare_cpu(const DeviceCosts& costs, const ReportProgress& progress) {
  Frames frames;
  std::vector<CostComparison> all =
      compare_chains(costs, progress, [&](const std::vector<FilterConfig>& filters, const FrameFormat& in) {
        return time_of_chain(filters, in, frames);
      });
  for (const FrameFormat& size : compared_codec_sizes()) {
    for (const std::string& codec : probed_codecs()) {
      const std::string what = fmt::format("{}, {}", size_text(size), codec);
      progress(what);
      const EncodedFootage clip = encode_footage(codec, size);
      all.push_back({"decode " + what, cost_us(costs, decode_work(codec, size)).value_or(0), decode_us_of(clip)});
      all.push_back({"encode " + what, predicted_encoding(costs, codec, size, {}), clip.us});
      if (codec != "h264") continue;
      const EncodedAs as{.bits_a_pixel = compared_bits_a_pixel};
      all.push_back({fmt::format("encode {}, {} bits a pixel", what, as.bits_a_pixel),
                     predicted_encoding(costs, codec, size, as), encode_footage(codec, size, as).us});
    }
  }
  const FrameFormat& middle = probed_codec_sizes()[1];
  for (const std::string& codec : probed_codecs()) {
    if (codec == "mjpeg") continue;  // it has none
    for (const char* preset : {"ultrafast", "veryfast", "faster", "fast", "medium", "slow", "slower"}) {
      const std::string what = fmt::format("{}, {} {}", size_text(middle), encoder_of(codec), preset);
      progress(what);
      const EncodedAs as{.preset = preset};
      all.push_back(
          {"preset " + what, predicted_encoding(costs, codec, middle, as), encode_footage(codec, middle, as).us});
    }
  }
  return all;
}

}  // namespace campipe
