// srt://: MPEG-TS and the like, by SRT; as the one that calls or the one that listens.
#include <array>

#include "core/passwords.h"
#include "core/srt_address.h"
#include "stages/sources/live_options.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

void set_options(LibavOptions& options, const SourceConfig& config, RtspTransport /*transport*/) {
  // Not sooner than the source's own time is over: SRT does not distinguish a peer that refuses from one that is
  // silent.
  options.set("connect_timeout", microseconds(config.read_timeout) / 1000 + 1000);
  const SrtAddress address = read_srt_address(config.url);
  if (address.passphrase) options.set("passphrase", *address.passphrase);
  if (address.stream_id) options.set("streamid", *address.stream_id);
}

std::string opened_url(const SourceConfig& config) { return read_srt_address(config.url).url; }

std::optional<std::string> check(const std::string& url) {
  const auto problem = check_stream_url(url);
  return problem ? problem : srt_problem(url);
}

// libavformat returns EIO for whatever SRT finds wrong, and logs what that was. Why the other side ended the handshake,
// SRT's own library knows, and libavformat does not ask it.
std::optional<StreamProblem> explain(int code, const LibavMessages& messages) {
  using Kind = SourceError::Kind;
  if (code != AVERROR(EIO)) return std::nullopt;
  const std::string option = messages.find_any({"failed to set option"});
  if (!option.empty()) return StreamProblem{Kind::unsupported, "cannot be opened by SRT: " + redact_urls(option)};
  if (messages.has("Connection to")) {
    return StreamProblem{Kind::refused,
                         "is not connected to: SRT ends the connection while it is made, and does not say why (are "
                         "passphrase, pbkeylen and streamid right?)"};
  }
  return StreamProblem{Kind::refused, "cannot be opened by SRT: " + redact_urls(messages.errors())};
}

constexpr StreamRules rules{.protocols = "srt",
                            .set_options = set_options,
                            .opened_url = opened_url,
                            .explain = explain,
                            .received_by_thread = true};

constexpr std::array schemes{
    SourceScheme{"srt", "srt://10.0.0.11:9000, or srt://:9000?mode=listener", -1, false, true},
};

SourceKind srt_kind() {
  SourceKind kind = stream_kind<rules>("SRT", 30, schemes);
  kind.check = check;
  return kind;
}

const SourceKindRegistration registration(srt_kind());

}  // namespace
}  // namespace campipe
