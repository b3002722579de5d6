// `encode`: its values, and how a camera's go over those of `defaults`, and an output's over the camera's.
#include <algorithm>
#include <array>

#include "app/config/key_table.h"
#include "app/config/reader.h"
#include "app/config/units.h"
#include "app/config/values.h"

namespace campipe {
namespace {

std::optional<Gop> parse_gop(const std::string& text) {
  using std::chrono::milliseconds;
  using std::chrono::minutes;
  if (const auto frames = parse_number(text)) {
    const int whole = static_cast<int>(std::clamp(*frames, 0.0, 1e6));
    if (whole == *frames && whole >= 1 && whole <= 100'000) return whole;
  } else if (const auto time = parse_time(text)) {
    if (*time >= milliseconds(1) && *time <= minutes(10)) return *time;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_codec(const YamlNode& node, Report& report) {
  constexpr std::array<std::string_view, 5> codecs{"auto", "h264", "hevc", "mjpeg", "copy"};
  const std::string* text = scalar_text(node);
  if (text != nullptr && std::ranges::find(codecs, *text) != codecs.end()) return *text;
  if (text != nullptr && *text == "h265" && node.variables.empty()) {
    report.at(node, "expected " + alternatives(codecs) + ", got " + shown(node) + ", did you mean 'hevc'?");
  } else {
    refuse_choice(node, codecs, report);
  }
  return std::nullopt;
}

std::optional<std::string> read_encoder(const YamlNode& node, Report& report) {
  return read_text(node, "auto or the name of an encoder", report);
}

std::optional<std::string> read_preset(const YamlNode& node, Report& report) {
  return read_text(node, "auto or the name of a preset of the encoder", report);
}

std::optional<std::int64_t> read_bitrate(const YamlNode& node, Report& report) {
  constexpr std::int64_t lowest = 10'000;
  constexpr std::int64_t highest = 1'000'000'000;
  const std::string* text = scalar_text(node);
  const auto rate = text != nullptr ? parse_bitrate(*text) : std::nullopt;
  if (rate && *rate >= lowest && *rate <= highest) return rate;
  refuse(node, "bits a second from 10k to 1G (units k, M, G), such as 4M", report);
  return std::nullopt;
}

std::optional<Gop> read_gop(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  auto gop = text != nullptr ? parse_gop(*text) : std::nullopt;
  if (!gop) {
    refuse(node, "frames from 1 to 100000, or a time from 1ms to 10m (units ms, s, m, h, d), such as 2s", report);
  }
  return gop;
}

std::optional<EncoderOptions> read_options(const YamlNode& node, Report& report) {
  if (!is_map(node, report)) return std::nullopt;
  EncoderOptions options;
  for (const YamlNode& child : node.children) {
    const auto value = read_text(child, "a value for the encoder", report);
    if (value) options.emplace_back(child.key, *value);
  }
  if (options.size() != node.children.size()) return std::nullopt;
  return options;
}

bool is_auto(const Origins& stream, const EncoderConfig& encode) {
  return !stream["encode.codec"].good || encode.codec == "auto";
}

std::string encoded_codec(const Origins& stream, const EncoderConfig& encode) {
  return is_auto(stream, encode) ? EncoderConfig().codec : encode.codec;
}

void inherit_encode(Origins& stream, StreamConfig& value, const Origins& outer, const StreamConfig& outer_value) {
  const bool other_codec =
      stream["encode.codec"].good && encoded_codec(stream, value.encode) != encoded_codec(outer, outer_value.encode);
  inherit(stream, value, outer, outer_value, [&](const KeyInfo& key) {
    return (key.path == "encode" || key.section() == "encode") && !(other_codec && key.text.of_codec);
  });
}

}  // namespace campipe
