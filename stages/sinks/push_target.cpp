#include "stages/sinks/push_target.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/passwords.h"
#include "core/srt_address.h"
#include "core/unescaped_password.h"
#include "core/written_url.h"

namespace campipe {
namespace {

constexpr std::string_view mark = "://";
constexpr std::string_view hidden = "***";

struct Scheme {
  std::string_view name;
  const char* format;
  bool needs_port;
  std::string_view example;
};
constexpr std::array<Scheme, 6> schemes{{
    {"rtsp", "rtsp", false, "rtsp://user:password@10.0.0.9:8554/dock"},
    {"rtsps", "rtsp", false, "rtsps://user:password@10.0.0.9:8322/dock"},
    {"srt", "mpegts", true, "srt://10.0.0.9:9000"},
    {"udp", "mpegts", true, "udp://239.0.0.1:5000"},
    {"rtmp", "flv", false, "rtmp://10.0.0.9/live/dock"},
    {"rtmps", "flv", false, "rtmps://example.org/live/key"},
}};

bool is_rtmp(std::string_view scheme) { return scheme.starts_with("rtmp"); }

// "key?more" of the path "/app/key?more".
std::string stream_key_of(std::string_view path) {
  const auto slash = path.substr(0, path.find('?')).rfind('/');
  return slash == 0 || slash == std::string_view::npos ? std::string() : std::string(path.substr(slash + 1));
}

// A stream's id shows a server who publishes, and often with which password.
void hide_stream_id(std::string& name) {
  std::size_t from = 0;
  for (const std::string& written : read_srt_address(name).written_stream_ids) {
    const std::string field = "streamid=" + written;
    const auto at = name.find(field, from);
    if (at == std::string::npos) continue;
    name.replace(at, field.size(), "streamid=" + std::string(hidden));
    from = at;
  }
}

// "host" of "user:password@host:554", without the brackets of an IPv6 address.
std::string host_of(std::string_view authority) {
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  if (authority.starts_with('[')) return std::string(authority.substr(1, authority.find(']') - 1));
  return std::string(authority.substr(0, authority.rfind(':')));
}

// The name for people of a target that has a stream key: without it, whatever of it is written there.
std::string without_stream_key(const std::string& url, const std::string& written, std::size_t key_size) {
  if (written.empty()) return url.substr(0, url.size() - key_size) + std::string(hidden);
  const std::string path = written.substr(0, written.find('?'));
  const auto scheme = path.find(mark);
  const auto begin = scheme == std::string::npos ? 0 : scheme + mark.size();
  const auto slash = path.find('/', begin) == std::string::npos ? path.size() : path.rfind('/') + 1;
  return path.substr(0, slash) + (slash < path.size() ? std::string(hidden) : "");
}

// All of `url` between the first and the last place at which `written` is another text, whole and piece by piece.
std::vector<std::string> pieces_from_variables(const std::string& url, const std::string& written) {
  if (written.empty()) return {};
  const auto begin = std::ranges::mismatch(url, written).in1;
  const auto end = std::mismatch(url.rbegin(), std::reverse_iterator(begin), written.rbegin(), written.rend()).first;
  const std::string differs(begin, end.base());
  std::vector<std::string> pieces{differs};
  for (std::size_t at = 0; at < differs.size();) {
    const auto stop = std::min(differs.find_first_of("/?#&=:@", at), differs.size());
    pieces.push_back(differs.substr(at, stop - at));
    at = stop + 1;
  }
  std::ranges::stable_sort(pieces, std::ranges::greater(), &std::string::size);
  return pieces;
}

// "554" of "user:password@host:554"; empty: there is none.
std::string_view port_of(std::string_view authority) {
  authority.remove_prefix(std::min(authority.rfind('@') + 1, authority.size()));  // npos + 1 is 0
  authority.remove_prefix(std::min(authority.find(']') + 1, authority.size()));
  const auto colon = authority.rfind(':');
  return colon == std::string_view::npos ? std::string_view() : authority.substr(colon + 1);
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

}  // namespace

PushTarget read_push_target(const PushUrl& push) {
  const std::string& url = push.url;
  const auto at = std::min(url.find(mark), url.size());
  PushTarget target;
  target.url = target.opened = url;
  for (const unsigned char c : url.substr(0, at)) target.scheme += static_cast<char>(std::tolower(c));
  const auto* const scheme = std::ranges::find(schemes, target.scheme, &Scheme::name);
  if (scheme == schemes.end()) {
    const std::string& written = written_url(push);
    const auto end = written.find(mark);
    const std::string which =
        end == std::string::npos ? "such push target" : "push target '" + written.substr(0, end + mark.size()) + "'";
    throw Error("there is no " + which + ", only rtsp, rtsps, srt, udp, rtmp and rtmps");
  }
  const std::string rest = url.substr(std::min(at + mark.size(), url.size()));
  const std::string authority = rest.substr(0, rest.find_first_of("/?#"));
  target.host = host_of(authority);
  if (is_rtmp(target.scheme)) target.stream_key = stream_key_of(std::string_view(rest).substr(authority.size()));
  target.name =
      target.stream_key.empty() ? written_url(push) : without_stream_key(url, push.written, target.stream_key.size());
  target.name = without_passwords(target.name);
  hide_stream_id(target.name);
  target.from_variables = pieces_from_variables(url, push.written);
  const bool listens = target.scheme == "srt" && rest.find("mode=listener") != std::string::npos;
  const std::string_view port = port_of(authority);
  if (!port.empty() && !is_port(port)) {
    throw Error("'" + target.name + "' has no port from 1 to 65535, expected something like " +
                std::string(scheme->example));
  }
  if ((target.host.empty() && !listens) || (scheme->needs_port && port.empty())) {
    throw Error("'" + target.name + "' has no " + (target.host.empty() && !listens ? "host" : "port") +
                ", expected something like " + std::string(scheme->example));
  }
  if (!is_rtmp(target.scheme) && has_unescaped_password(url)) {  // a stream key may have an '@'
    throw Error("this " + target.scheme + ":// push target has '@' behind its host and port, expected something like " +
                std::string(scheme->example) + " (in a password, " + password_escapes +
                "; an '@' of a path or query is written %40)");
  }
  if (target.scheme == "srt") {
    if (const auto problem = srt_problem(url)) throw Error(*problem);
    SrtAddress address = read_srt_address(url);
    target.opened = std::move(address.url);
    target.passphrase = std::move(address.passphrase);
    target.stream_id = std::move(address.stream_id);
  }
  target.format = av_guess_format(scheme->format, nullptr, nullptr);
  if (target.format == nullptr) {
    throw Error("this FFmpeg was built without '" + std::string(scheme->format) + "', which " + target.scheme +
                ":// needs");
  }
  return target;
}

bool can_carry(const PushTarget& target, const std::string& codec_name) {
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(codec_name.c_str());
  if (descriptor == nullptr) return false;
  const AVCodecID codec = descriptor->id;
  const int answer = avformat_query_codec(target.format, codec, FF_COMPLIANCE_NORMAL);
  if (answer >= 0) return answer != 0;
  // These muxers do not report it: MPEG-TS takes everything, and no player can decode what it has no number for.
  constexpr std::array mpegts{AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG4};
  constexpr std::array rtp{AV_CODEC_ID_H264,       AV_CODEC_ID_HEVC,  AV_CODEC_ID_MJPEG, AV_CODEC_ID_MPEG1VIDEO,
                           AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_VP8,   AV_CODEC_ID_VP9};
  const bool is_rtsp = std::string_view(target.format->name) == "rtsp";
  return is_rtsp ? std::ranges::count(rtp, codec) != 0 : std::ranges::count(mpegts, codec) != 0;
}

bool can_carry(const PushTarget& target, const AudioParameters& audio) {
  const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(audio.codec.c_str());
  if (descriptor == nullptr || audio.sample_rate <= 0 || audio.channels <= 0) return false;
  const AVCodecID codec = descriptor->id;
  const std::string_view format = target.format->name;
  if (format == "flv") return codec == AV_CODEC_ID_AAC;  // what else it has a number for, few servers take
  constexpr std::array mpegts{AV_CODEC_ID_AAC, AV_CODEC_ID_MP2,  AV_CODEC_ID_MP3,
                              AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3, AV_CODEC_ID_OPUS};
  constexpr std::array rtp{AV_CODEC_ID_AAC,        AV_CODEC_ID_MP2,        AV_CODEC_ID_MP3,
                           AV_CODEC_ID_PCM_MULAW,  AV_CODEC_ID_PCM_ALAW,   AV_CODEC_ID_OPUS,
                           AV_CODEC_ID_ADPCM_G722, AV_CODEC_ID_ADPCM_G726, AV_CODEC_ID_ADPCM_G726LE};
  return format == "rtsp" ? std::ranges::count(rtp, codec) != 0 : std::ranges::count(mpegts, codec) != 0;
}

std::string scrubbed(std::string text, const PushTarget& target) {
  hide_text(text, target.url, target.name);
  hide_text(text, target.opened, target.name);
  hide_text(text, target.stream_key, hidden);
  if (target.passphrase) hide_text(text, *target.passphrase, hidden);
  for (const std::string& piece : target.from_variables) hide_text(text, piece, hidden);
  return without_passwords(text);
}

}  // namespace campipe
