// test://pattern?width=1280&height=720&rate=25&frames=0: frames that show which frame they are and when they were
// made (core/test_pattern.h). frames=0 or none: without end.
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/test_pattern.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

constexpr std::string_view beginning = "test://";
constexpr std::string_view pattern_name = "pattern";
constexpr int largest_side = 8192;
constexpr std::int64_t most_frames = 4'000'000'000;

struct PatternSpec {
  int width = 1280;
  int height = 720;
  AVRational rate{25, 1};
  std::int64_t frames = 0;
};

template <typename Number>
Number number_in(std::string_view key, std::string_view text, Number low, Number high) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= low && value <= high)) {
    throw Error("test://pattern: '" + std::string(key) + "' must be a number from " + std::to_string(low) + " to " +
                std::to_string(high) + ", not '" + std::string(text) + "'");
  }
  return value;
}

// "25", "12.5" or "30000/1001".
AVRational rate_in(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return av_d2q(number_in("rate", text, 0.1, 1000.0), 1'001'000);
  const AVRational rate{number_in("rate", text.substr(0, slash), 1, 1'000'000),
                        number_in("rate", text.substr(slash + 1), 1, 1'000'000)};
  if (av_q2d(rate) < 0.1 || av_q2d(rate) > 1000) throw Error("test://pattern: 'rate' must be from 0.1 to 1000");
  return rate;
}

void set_field(PatternSpec& spec, std::string_view key, std::string_view value) {
  if (key == "width") {
    spec.width = number_in(key, value, pattern_min_width, largest_side);
  } else if (key == "height") {
    spec.height = number_in(key, value, pattern_min_height, largest_side);
  } else if (key == "rate") {
    spec.rate = rate_in(value);
  } else if (key == "frames") {
    spec.frames = number_in<std::int64_t>(key, value, 0, most_frames);
  } else {
    throw Error("test://pattern: unknown '" + std::string(key) + "'; there are width, height, rate and frames");
  }
}

PatternSpec parse(std::string_view url) {
  std::string_view rest = url.substr(beginning.size());
  const auto question = rest.find('?');
  if (rest.substr(0, question) != pattern_name) throw Error("the only test source is test://pattern");
  PatternSpec spec;
  rest = question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const std::string_view field = rest.substr(0, end);
    const auto equals = field.find('=');
    if (equals == std::string_view::npos) {
      throw Error("test://pattern: expected key=value, not '" + std::string(field) + "'");
    }
    set_field(spec, field.substr(0, equals), field.substr(equals + 1));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return spec;
}

class PatternSource final : public Source {
 public:
  explicit PatternSource(const PatternSpec& spec) : frames_(spec.frames) {
    stream_.time_base = av_inv_q(spec.rate);
    stream_.frame_rate = av_q2d(spec.rate);
    stream_.decoder = "pattern";
    stream_.width = spec.width;
    stream_.height = spec.height;
  }

  const SourceStream& stream() const override { return stream_; }

  ReadResult read(AVPacket& packet) override {
    if (frames_ > 0 && next_ >= frames_) return ReadResult::end;
    packet.pts = packet.dts = next_++;
    packet.duration = 1;
    packet.flags = AV_PKT_FLAG_KEY;
    return ReadResult::packet;
  }

  void rewind() override { next_ = 0; }

  void seek(std::int64_t pts) override { next_ = av_rescale_q(pts, nanoseconds, stream_.time_base); }

 private:
  std::int64_t frames_;
  std::int64_t next_ = 0;
  SourceStream stream_;
};

std::unique_ptr<Source> open(const SourceConfig& config, const Source::Interrupt& /*interrupt*/) {
  return std::make_unique<PatternSource>(parse(config.url));
}

std::optional<std::string> check(const std::string& url) {
  try {
    parse(url);
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

constexpr std::array schemes{SourceScheme{"test", "test://pattern"}};

constexpr std::array keys{SourceKeysOf{SourceKeys::playback, "test patterns"}};

const SourceKindRegistration registration{
    {.name = "test pattern",
     .place = 90,
     .written = "test://pattern",
     .schemes = schemes,
     .keys = keys,
     .check = check,
     .open = open,
     .can_end = [](const SourceConfig& config) { return !config.loop && parse(config.url).frames > 0; },
     .tried_at_check = true,
     .painted = true,
     .size =
         [](const std::string& url) {
           const PatternSpec spec = parse(url);
           return std::pair(spec.width, spec.height);
         },
     .no_copy = "a test pattern has nothing to copy, since no camera encoded it"}};

}  // namespace
}  // namespace campipe
