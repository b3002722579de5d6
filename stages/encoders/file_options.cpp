#include "stages/encoders/file_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/ffmpeg.h"
#include "core/libav_log.h"
#include "core/libav_options.h"

namespace campipe {
namespace {

// FFmpeg's own; what it passes to libkvazaar is not looked into.
constexpr std::array<std::string_view, 3> options{"stats", "passlogfile", "kvazaar-params"};

// Of x264-params, x264opts and x265-params. Of two passes the first one writes statistics, for ever, and the second one
// reads them.
constexpr auto keys = std::to_array<std::string_view>(
    {"pass", "stats", "dump-yuv", "cqmfile", "qpfile", "opencl-clbin", "log-file", "csv", "recon", "analysis-save",
     "analysis-load", "analysis-reuse-file", "lambda-file", "zonefile", "dhdr10-info", "film-grain", "aom-film-grain",
     "nalu-file", "dolby-vision-rpu"});

// A file, or one of these words.
constexpr std::array<std::string_view, 2> matrices{"cqm", "scaling-list"};
constexpr std::array<std::string_view, 4> known_matrices{"flat", "jvt", "off", "default"};

bool contains(const auto& list, std::string_view word) { return std::ranges::find(list, word) != list.end(); }

// Both libraries take "no-stats" and "nostats" for "stats" with another value.
std::string_view without_no(std::string_view key) {
  if (!key.starts_with("no")) return key;
  key.remove_prefix(2);
  if (key.starts_with('-')) key.remove_prefix(1);
  return key;
}

bool leads_to_file(std::string name, std::string_view value) {
  std::ranges::replace(name, '_', '-');  // as both libraries do
  const std::string_view key = without_no(name);
  return contains(keys, key) || (contains(matrices, key) && !contains(known_matrices, value));
}

// x264-params and x265-params, with the quotes and escapes that FFmpeg takes. What it cannot read it refuses.
std::optional<std::string> file_of_params(const std::string& params) {
  for (const auto& [key, value] : LibavOptions::parse(params).entries()) {
    if (leads_to_file(key, value)) return key;
  }
  return std::nullopt;
}

// x264opts, which has neither.
std::optional<std::string> file_of_opts(std::string_view opts) {
  while (!opts.empty()) {
    const std::string_view item = opts.substr(0, opts.find(':'));
    opts.remove_prefix(std::min(opts.size(), item.size() + 1));
    const std::string key(item.substr(0, item.find('=')));
    if (leads_to_file(key, item.substr(std::min(item.size(), key.size() + 1)))) return key;
  }
  return std::nullopt;
}

// Of FFmpeg's own option, which takes names, numbers and sums of both. What cannot be read is refused elsewhere.
std::optional<std::string> pass_of_flags(const std::string& flags) {
  LibavMessages unheard;
  const LibavCapture capture(unheard);
  const AvCodecContext context(avcodec_alloc_context3(nullptr));
  if (!context || av_opt_set(context.get(), "flags", flags.c_str(), 0) < 0) return std::nullopt;
  if ((context->flags & AV_CODEC_FLAG_PASS1) != 0) return "pass1";
  if ((context->flags & AV_CODEC_FLAG_PASS2) != 0) return "pass2";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> named_file(const std::string& name, const std::string& value) {
  if (contains(options, name)) return name;
  if (name == "flags") return pass_of_flags(value);
  if (name == "x264opts") return file_of_opts(value);
  return name == "x264-params" || name == "x265-params" ? file_of_params(value) : std::nullopt;
}

}  // namespace campipe
