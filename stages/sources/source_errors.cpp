#include "stages/sources/source_errors.h"

#include <array>
#include <cerrno>
#include <charconv>

#include "core/passwords.h"
#include "stages/sources/http_pieces.h"
#include "stages/sources/login_challenge.h"
#include "stages/sources/rtsp_dialogue.h"
#include "stages/sources/rtsp_text.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"

namespace campipe {
namespace {

using Kind = SourceError::Kind;

struct Meaning {
  int code;
  Kind kind;
  const char* text;  // behind the source's name
};

constexpr std::array meanings{
    Meaning{AVERROR(ECONNREFUSED), Kind::refused, "refuses the connection (is the camera on, and the port right?)"},
    Meaning{AVERROR(EHOSTUNREACH), Kind::refused,
            "cannot be reached: No route to host (is the camera on, and in this network?)"},
    Meaning{AVERROR(ENETUNREACH), Kind::refused,
            "cannot be reached: Network is unreachable (has this machine a way to it?)"},
    Meaning{AVERROR(EADDRINUSE), Kind::refused,
            "cannot be listened to: Address already in use (has another program the port?)"},
    Meaning{AVERROR(EADDRNOTAVAIL), Kind::refused,
            "cannot be listened to, or reached from here: Cannot assign requested address (is it this machine's?)"},
    Meaning{
        AVERROR(EACCES), Kind::unauthorized,
        "cannot be opened: Permission denied (does a rule of this machine forbid it? A port below 1024 needs a right "
        "of its own)"},
    Meaning{AVERROR(ETIMEDOUT), Kind::timed_out,
            "does not answer: Connection timed out (is the camera on, and in this network?)"},
    Meaning{AVERROR_INVALIDDATA, Kind::unsupported, "sends what FFmpeg cannot read: Invalid data (is it video?)"},
    Meaning{AVERROR_PROTOCOL_NOT_FOUND, Kind::unsupported, "is of a kind that this FFmpeg was built without"},
};

constexpr std::string_view refused_format_message = "Format not on whitelist";
constexpr const char* unknown_name_text =
    "cannot be found: its name is not known (is it right, and does the network work?)";

SourceError make(Kind kind, const std::string& shown, const std::string& text) { return {kind, shown + " " + text}; }

// What libav reports in words only.
const Meaning* heard_meaning(const LibavMessages& messages) {
  static constexpr Meaning unknown_name{0, Kind::refused, unknown_name_text};
  static constexpr Meaning untrusted{0, Kind::unauthorized,
                                     "shows a certificate that is not trusted (set tls: {ca_file: …} to the one that "
                                     "signed it, or tls: {verify: false})"};
  static constexpr Meaning other_host{
      0, Kind::unauthorized,
      "shows a certificate of another host (use the name it was made for, or tls: {verify: false})"};
  static constexpr Meaning payload{0, Kind::unsupported,
                                   "sends RTP of a payload type that nothing describes: without RTSP only MPEG-TS (33) "
                                   "and JPEG (26) can be received (use rtsp://)"};
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

// Why an answer of HTTP or RTSP with this status was given is the server's; this is what may help.
std::string_view remedy_for(int status) {
  switch (status) {
    case 403:
      return " (may this user watch it, and from this machine?)";
    case 404:
      return " (is the path right?)";
    case 453:
      return " (has it too many viewers?)";
    case 461:
      return " (set rtsp_transport to tcp, or to udp)";
    case 503:
      return " (is it starting, or has it too many viewers?)";
    default:
      return "";
  }
}

Kind kind_of(int status) {
  if (status == 401 || status == 403) return Kind::unauthorized;
  return status == 404 ? Kind::not_found : Kind::refused;
}

// `asked`: "DESCRIBE". `status`: "401 Unauthorized".
std::string login_problem(const std::string& asked, const std::string& status, const SourceConfig& config,
                          const std::vector<LoginChallenge>& challenges) {
  const std::string seen = "it answers " + asked + " with " + status;
  if (challenges.empty()) return "asks for a login and does not say which (" + seen + ")";
  const std::string how = challenges_text(challenges);
  if (best_challenge(challenges) == nullptr) {
    return "asks for a login by " + how + " (" + seen +
           "), which campipe does not know: let it take Digest with MD5 or SHA-256, or Basic";
  }
  if (!login_of(config.url)) {
    return "asks for a user name and a password (" + how + "; " + seen +
           "), and the source gives none: " + split_address(config.url).scheme + "://USER:PASSWORD@…";
  }
  return "rejected the user name or the password (" + how + "; " + seen + ")";
}

// What libavformat logs of an answer of HTTP: "404 Not Found".
std::string http_status(const LibavMessages& messages) {
  constexpr std::string_view mark = "HTTP error ";
  std::string status;
  for (const LibavMessages::Line& line : messages.lines()) {  // the newest one counts
    const auto at = line.text.find(mark);
    if (at != std::string::npos) status = shown_line(std::string_view(line.text).substr(at + mark.size()));
  }
  return status;
}

}  // namespace

std::string seconds_text(std::chrono::nanoseconds time) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return std::to_string(tenths / 10) + (tenths % 10 != 0 ? "." + std::to_string(tenths % 10) : "") + " s";
}

LibavMessages source_messages() {
  return LibavMessages([](const std::string& line) { return redact_urls(line); });
}

std::string refused_format(const LibavMessages& messages) {
  if (!messages.has(refused_format_message)) return "";
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
  if (const auto own = explain != nullptr ? explain(code, messages) : std::nullopt)
    return make(own->kind, shown, own->text);
  if (const Meaning* meaning = find_meaning(code)) return make(meaning->kind, shown, meaning->text);
  if (code == AVERROR_EOF) return make(Kind::lost, shown, "closes the connection before there is any video");
  return make(Kind::lost, shown, "cannot be opened: " + av_error_text(code));
}

SourceError rtsp_error(int code, const std::string& shown, const ReadWatch& watch, const LibavMessages& messages,
                       const RtspDialogue& dialogue, const SourceConfig& config) {
  const auto& failure = dialogue.failure();
  if (failure && !watch.timed_out() && !watch.no_packets()) {
    const std::string status = std::to_string(failure->status) + " " + failure->reason;
    if (failure->status == 401) {
      return make(Kind::unauthorized, shown, login_problem(failure->method, status, config, dialogue.challenges()));
    }
    const std::string track = failure->track ? " of its " + failure->track->text() : "";
    return make(kind_of(failure->status), shown,
                "answers " + failure->method + track + " with " + status + std::string(remedy_for(failure->status)));
  }
  // So libavformat calls whatever it does not take.
  const std::string seen = dialogue.seen();
  const bool vague = code == AVERROR_INVALIDDATA || code == AVERROR_EOF || code == AVERROR(EIO);
  const bool over = watch.timed_out() || watch.no_packets();
  if (!seen.empty() && (over ? dialogue.is_other_protocol() : vague)) return make(Kind::lost, shown, seen);
  return opening_error(code, shown, watch, messages, nullptr);
}

SourceError http_error(int code, const std::string& shown, const ReadWatch& watch, const LibavMessages& messages,
                       const HttpPieces& pieces, const SourceConfig& config) {
  const std::string status = http_status(messages);
  if (!status.empty() && !watch.timed_out()) {
    int number = 0;  // that begins it
    std::from_chars(status.data(), status.data() + status.size(), number);
    if (number == 401)
      return make(Kind::unauthorized, shown, login_problem("GET", status, config, pieces.challenges()));
    return make(kind_of(number), shown, "answers GET with " + status + std::string(remedy_for(number)));
  }
  if (code == AVERROR_INVALIDDATA && !pieces.type().empty() && !watch.timed_out() &&
      !messages.has(refused_format_message)) {
    return make(Kind::unsupported, shown,
                "sends what FFmpeg cannot read: Invalid data, of Content-Type " + shown_line(pieces.type()) +
                    " (is it video?)");
  }
  return opening_error(code, shown, watch, messages, nullptr);
}

SourceError unknown_name_error(const std::string& shown) { return make(Kind::refused, shown, unknown_name_text); }

SourceError no_beginning_error(const std::string& shown, const ReadWatch& watch) {
  return make(Kind::timed_out, shown,
              "sends video, but within " + seconds_text(watch.allowed()) +
                  " (read_timeout) nothing that tells what it is: a key frame with its parameter sets; let the camera "
                  "send key frames more often, or wait longer for them");
}

SourceError unknown_codec_error(const std::string& shown, const std::string& codec) {
  return make(Kind::unsupported, shown,
              "describes its video as " + (codec.empty() ? "of no codec" : "'" + codec + "'") +
                  ", which FFmpeg does not read by RTP; let the camera send H.264 or H.265");
}

SourceError other_packets_error(const std::string& shown, const std::string& types, const ReadWatch& watch) {
  return make(Kind::timed_out, shown,
              "sends RTP packets of payload type " + types + ", and within " + seconds_text(watch.allowed()) +
                  " (read_timeout) none of the video that it describes");
}

SourceError no_size_error(const std::string& shown) {
  return make(
      Kind::unsupported, shown,
      "sends JPEG by RTP without the size of its frames: RTP's headers have room for 2040 pixels a side, and its "
      "description has neither x-dimensions nor framesize; let the camera send smaller frames, H.264 or H.265");
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
  if (code == AVERROR(ENODEV)) return make(Kind::lost, shown, "is gone: No such device (was the camera unplugged?)");
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
