// `rate` and `encode`: the keys, and how a camera's go over those of `defaults`, and an output's over the camera's.
#include <algorithm>

#include "app/config/settings.h"
#include "app/config/units.h"

namespace campipe {
namespace {

using Options = EncodeSettings::Options;

bool read_codec(const YamlNode& node, EncodeSettings& encode, Report& report) {
  constexpr std::array<std::string_view, 5> codecs{"auto", "h264", "hevc", "mjpeg", "copy"};
  const std::string* text = scalar_text(node);
  const bool known = text != nullptr && std::find(codecs.begin(), codecs.end(), *text) != codecs.end();
  if (!known && text != nullptr && *text == "h265" && node.variables.empty()) {
    report.at(node, "expected " + alternatives(codecs) + ", got " + shown(node) + ", did you mean 'hevc'?");
  } else if (!known) {
    refuse_choice(node, codecs, report);
  }
  return set(encode.codec, node, known ? std::optional(*text) : std::nullopt);
}

bool read_encoder(const YamlNode& node, EncodeSettings& encode, Report& report) {
  return set(encode.encoder, node, read_text(node, "auto or the name of an encoder", report));
}

bool read_preset(const YamlNode& node, EncodeSettings& encode, Report& report) {
  return set(encode.preset, node, read_text(node, "auto or the name of a preset of the encoder", report));
}

bool read_bitrate(const YamlNode& node, EncodeSettings& encode, Report& report) {
  constexpr std::int64_t lowest = 10'000;
  constexpr std::int64_t highest = 1'000'000'000;
  const std::string* text = scalar_text(node);
  auto rate = text != nullptr ? parse_bitrate(*text) : std::nullopt;
  if (rate && (*rate < lowest || *rate > highest)) rate.reset();
  if (!rate) refuse(node, "bits a second from 10k to 1G (units k, M, G), such as 4M", report);
  return set(encode.bitrate, node, rate);
}

bool read_crf(const YamlNode& node, EncodeSettings& encode, Report& report) {
  return set(encode.crf, node, read_number(node, {.min = 0, .max = 51, .whole = false}, report));
}

std::optional<EncodeSettings::Gop> parse_gop(const std::string& text) {
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

bool read_gop(const YamlNode& node, EncodeSettings& encode, Report& report) {
  const std::string* text = scalar_text(node);
  const auto gop = text != nullptr ? parse_gop(*text) : std::nullopt;
  if (!gop) {
    refuse(node, "frames from 1 to 100000, or a time from 1ms to 10m (units ms, s, m, h, d), such as 2s", report);
  }
  return set(encode.gop, node, gop);
}

bool read_threads(const YamlNode& node, EncodeSettings& encode, Report& report) {
  return set(encode.threads, node, read_int_or_auto(node, 1, 64, EncoderConfig().threads, report));
}

bool read_options(const YamlNode& node, EncodeSettings& encode, Report& report) {
  set(encode.options, node, std::optional<Options>());
  if (!is_map(node, report)) return false;
  Options options;
  for (const YamlNode& child : node.children) {
    const auto value = read_text(child, "a value for the encoder", report);
    if (value) options.emplace_back(child.key, *value);
  }
  if (options.size() != node.children.size()) return false;
  return set(encode.options, node, std::optional(std::move(options)));
}

constexpr std::array<Key<EncodeSettings>, 9> keys{{{"codec", read_codec},
                                                   {"encoder", read_encoder},
                                                   {"preset", read_preset},
                                                   {"bitrate", read_bitrate},
                                                   {"crf", read_crf},
                                                   {"gop", read_gop},
                                                   {"latency", choice_key<&EncodeSettings::latency>},
                                                   {"threads", read_threads},
                                                   {"options", read_options}}};

// Key by key, in the order of `defaults`, then what only the camera has.
Options merge_options(const Options& own, const Options& defaults) {
  Options merged = defaults;
  for (const auto& option : own) {
    const auto same =
        std::find_if(merged.begin(), merged.end(), [&](const auto& m) { return m.first == option.first; });
    if (same != merged.end()) {
      same->second = option.second;
    } else {
      merged.push_back(option);
    }
  }
  return merged;
}

bool changes_codec(const EncodeSettings& own, const EncodeSettings& outer) {
  return own.codec.value && encoded_codec(own) != encoded_codec(outer);
}

// Without what an encoder of one codec understands, and one of another does not, or otherwise.
EncodeSettings without_encoder(EncodeSettings encode) {
  encode.encoder = {};
  encode.preset = {};
  encode.crf = {};
  encode.options = {};
  return encode;
}

}  // namespace

std::string encoded_codec(const EncodeSettings& encode) {
  return is_auto(encode) ? EncoderConfig().codec : *encode.codec.value;
}

ConfigSection encode_section() { return {"encode", key_names(std::span<const Key<EncodeSettings>>(keys))}; }

bool read_rate(const YamlNode& node, StreamSettings& stream, Report& report) {
  return set(stream.rate, node, read_number(node, {.min = 0, .max = 1000, .whole = false}, report));
}

bool read_encode(const YamlNode& node, StreamSettings& stream, Report& report) {
  EncodeSettings& encode = stream.encode;
  encode.nodes = {&node};
  encode.good = read_map(node, std::span<const Key<EncodeSettings>>(keys), encode, report);
  if (encode.bitrate.node != nullptr && encode.crf.node != nullptr) {
    // Both are elements of one vector: the greater address comes later in the file.
    report.at_key(*std::max(encode.bitrate.node, encode.crf.node), "`bitrate` and `crf` exclude one another");
    encode.good = false;
  }
  return encode.good;
}

EncodeSettings merge(const EncodeSettings& own, const EncodeSettings& outer) {
  const EncodeSettings defaults = changes_codec(own, outer) ? without_encoder(outer) : outer;
  EncodeSettings merged;
  merged.nodes = own.nodes;
  merged.nodes.insert(merged.nodes.end(), defaults.nodes.begin(), defaults.nodes.end());
  merged.good = own.good && defaults.good;
  merged.codec = merge(own.codec, defaults.codec);
  merged.encoder = merge(own.encoder, defaults.encoder);
  merged.preset = merge(own.preset, defaults.preset);
  // One choice with two names: a camera's crf replaces a bitrate from `defaults`, and the other way round.
  const bool own_rate = own.bitrate.node != nullptr || own.crf.node != nullptr;
  merged.bitrate = own_rate ? own.bitrate : merge({}, defaults.bitrate);
  merged.crf = own_rate ? own.crf : merge({}, defaults.crf);
  merged.gop = merge(own.gop, defaults.gop);
  merged.latency = merge(own.latency, defaults.latency);
  merged.threads = merge(own.threads, defaults.threads);
  merged.options = merge(own.options, defaults.options);
  if (own.options.value && defaults.options.value) {
    merged.options.value = merge_options(*own.options.value, *defaults.options.value);
  }
  return merged;
}

EncoderConfig encoder_config(const EncodeSettings& encode) {
  EncoderConfig config;
  config.codec = encode.codec.value.value_or(config.codec);
  if (is_copy(encode)) return config;
  config.encoder = encode.encoder.value.value_or(config.encoder);
  config.preset = encode.preset.value.value_or(config.preset);
  config.bitrate = encode.bitrate.value;
  config.crf = encode.crf.value;
  config.gop = encode.gop.value.value_or(config.gop);
  config.latency = encode.latency.value.value_or(config.latency);
  config.threads = encode.threads.value.value_or(config.threads);
  config.options = encode.options.value.value_or(config.options);
  return config;
}

}  // namespace campipe
