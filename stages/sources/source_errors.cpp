#include "stages/sources/source_errors.h"

#include <array>
#include <cerrno>

#include "core/passwords.h"
#include "stages/sources/source_address.h"

namespace campipe {
namespace {

using Kind = SourceError::Kind;

struct Meaning {
  int code;
  Kind kind;
  const char* text;  // behind the source's name
};

constexpr std::array<Meaning, 21> meanings{{
    {AVERROR_HTTP_UNAUTHORIZED, Kind::unauthorized, "wants a user and a password, and these are not the right ones"},
    {AVERROR_HTTP_FORBIDDEN, Kind::unauthorized, "does not let this user in"},
    {AVERROR_HTTP_NOT_FOUND, Kind::not_found, "does not exist there (is the path right?)"},
    {AVERROR_HTTP_BAD_REQUEST, Kind::refused, "rejects the request"},
    {AVERROR_HTTP_OTHER_4XX, Kind::refused, "rejects the request (does it offer this transport? too many viewers?)"},
    {AVERROR_HTTP_SERVER_ERROR, Kind::refused, "has an error of its own"},
    {AVERROR(ECONNREFUSED), Kind::refused, "refuses the connection (is the camera on, and the port right?)"},
    {AVERROR(EHOSTUNREACH), Kind::refused, "cannot be reached (is the camera on, and in this network?)"},
    {AVERROR(ENETUNREACH), Kind::refused, "cannot be reached: there is no way to its network"},
    {AVERROR(EADDRINUSE), Kind::refused, "cannot be listened to: another program has this port"},
    {AVERROR(EADDRNOTAVAIL), Kind::refused, "cannot be listened to: this machine does not have this address"},
    {AVERROR(EPROTONOSUPPORT), Kind::refused, "does not offer this transport (see rtsp_transport)"},
    {AVERROR(ENXIO), Kind::refused, "is not there (is the camera plugged in?)"},
    {AVERROR(ENOTTY), Kind::unsupported, "is no capture device"},
    {AVERROR(EBUSY), Kind::refused, "is used by another program"},
    {AVERROR(ENOENT), Kind::refused, "is not there (is the camera plugged in?)"},
    {AVERROR(ENODEV), Kind::refused, "is not there, or is no camera (is it plugged in?)"},
    {AVERROR(EACCES), Kind::unauthorized, "may not be opened by this user (is it in the group 'video'?)"},
    {AVERROR(ETIMEDOUT), Kind::timed_out, "does not answer (is the camera on?)"},
    {AVERROR_INVALIDDATA, Kind::unsupported, "is not a video stream that FFmpeg knows"},
    {AVERROR_PROTOCOL_NOT_FOUND, Kind::unsupported, "is of a kind that this FFmpeg was built without"},
}};

SourceError make(Kind kind, const std::string& shown, const std::string& text) { return {kind, shown + " " + text}; }

// What libav reports in words only.
const Meaning* heard_meaning(const LibavMessages& messages) {
  static constexpr Meaning unknown_name{
      0, Kind::refused, "cannot be found: its name is not known (is it right, and does the network work?)"};
  static constexpr Meaning untrusted{0, Kind::unauthorized,
                                     "shows a certificate that is not trusted (set tls: {ca_file: …} to the one that "
                                     "signed it, or tls: {verify: false})"};
  static constexpr Meaning other_host{
      0, Kind::unauthorized,
      "shows a certificate of another host (use the name it was made for, or tls: {verify: false})"};
  static constexpr Meaning payload{
      0, Kind::unsupported,
      "sends RTP that nothing describes: without RTSP only MPEG-TS and JPEG can be received (use rtsp://)"};
  if (messages.has("Failed to resolve hostname")) return &unknown_name;
  if (messages.has("certificate failed verification") || messages.has("Unable to verify peer")) return &untrusted;
  if (messages.has("owner does not match hostname")) return &other_host;
  if (messages.has("Unable to receive RTP payload type")) return &payload;
  return nullptr;
}

const Meaning* find_meaning(int code) {
  for (const Meaning& meaning : meanings) {
    if (meaning.code == code) return &meaning;
  }
  return nullptr;
}

std::string seconds_text(std::chrono::nanoseconds time) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return std::to_string(tenths / 10) + (tenths % 10 != 0 ? "." + std::to_string(tenths % 10) : "") + " s";
}

}  // namespace

LibavMessages source_messages() {
  return LibavMessages([](const std::string& line) { return redact_urls(line); });
}

std::string refused_format(const LibavMessages& messages) {
  if (!messages.has("Format not on whitelist")) return "";
  const std::string format = take_libav_hints().format;
  return format.empty() ? "unknown" : format;
}

SourceError opening_error(int code, const std::string& shown, const ReadWatch& watch, const LibavMessages& messages,
                          StreamErrors explain) {
  const Meaning* heard = heard_meaning(messages);
  if (heard != nullptr && !watch.timed_out()) return make(heard->kind, shown, heard->text);
  if (watch.timed_out() || watch.no_packets()) {
    return make(Kind::timed_out, shown, "sends no video within " + seconds_text(watch.allowed()) + " (read_timeout)");
  }
  if (const std::string format = refused_format(messages); !format.empty()) {
    return make(Kind::unsupported, shown, refused_format_text(format));
  }
  if (const auto own = explain != nullptr ? explain(code) : std::nullopt) return make(own->kind, shown, own->text);
  if (const Meaning* meaning = find_meaning(code)) return make(meaning->kind, shown, meaning->text);
  if (code == AVERROR_EOF) return make(Kind::lost, shown, "closes the connection before there is any video");
  return make(Kind::lost, shown, "cannot be opened: " + av_error_text(code));
}

SourceError no_beginning_error(const std::string& shown, const ReadWatch& watch) {
  return make(Kind::timed_out, shown,
              "sends video, but within " + seconds_text(watch.allowed()) +
                  " (read_timeout) nothing that tells what it is: a key frame with its parameter sets; let the camera "
                  "send key frames more often, or wait longer for them");
}

SourceError redirect_error(const std::string& shown, const std::string& target) {
  const SourceAddress address = split_address(target);
  const std::string port = address.port > 0 ? ":" + std::to_string(address.port) : "";
  const std::string where = address.scheme.empty() ? "elsewhere" : "to " + address.scheme + "://" + address.host + port;
  return make(
      Kind::unsupported, shown,
      "sends its reader " + where + ", another scheme, host or port; that is followed only with allow_redirects: true");
}

std::string refused_format_text(const std::string& format) {
  return "is of the format '" + format +
         "', which campipe does not take (docs/configuration.md lists those that it does)";
}

SourceError reading_error(int code, const std::string& shown, const ReadWatch& watch) {
  if (watch.timed_out() || code == AVERROR(ETIMEDOUT)) {
    return make(Kind::timed_out, shown, "has sent no video for " + seconds_text(watch.allowed()) + " (read_timeout)");
  }
  if (code == AVERROR_EOF) return make(Kind::lost, shown, "has ended the connection");
  if (code == AVERROR(ENODEV)) return make(Kind::lost, shown, "is gone (was the camera unplugged?)");
  return make(Kind::lost, shown, "cannot be read any more: " + av_error_text(code));
}

Error interrupted_error(const std::string& shown) { return Error("opening " + shown + " was interrupted"); }

const char* name_of(SourceError::Kind kind) {
  switch (kind) {
    case Kind::refused:
      return "refused";
    case Kind::unauthorized:
      return "unauthorized";
    case Kind::not_found:
      return "not_found";
    case Kind::timed_out:
      return "timed_out";
    case Kind::unsupported:
      return "unsupported";
    case Kind::lost:
      return "lost";
  }
  return "";
}

}  // namespace campipe
