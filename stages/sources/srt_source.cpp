// srt://: MPEG-TS and the like, by SRT; as the one that calls or the one that listens.
#include <array>

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
}

std::optional<StreamProblem> explain(int code) {
  if (code != AVERROR(EIO)) return std::nullopt;
  return StreamProblem{SourceError::Kind::refused, "refuses the connection (are passphrase and streamid right?)"};
}

constexpr StreamRules rules{
    .protocols = "srt", .set_options = set_options, .explain = explain, .received_by_thread = true};

constexpr std::array schemes{
    SourceScheme{"srt", "srt://10.0.0.11:9000, or srt://:9000?mode=listener", -1, false, true},
};

const SourceKindRegistration registration(stream_kind<rules>("SRT", 30, schemes));

}  // namespace
}  // namespace campipe
