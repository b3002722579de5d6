// tcp://: MPEG-TS and the like, from a server that sends to every client.
#include <array>

#include "stages/sources/live_options.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

void set_options(LibavOptions& options, const SourceConfig& config, RtspTransport /*transport*/) {
  options.set("timeout", microseconds(config.read_timeout));
}

std::optional<StreamProblem> explain(int code, const LibavMessages& /*messages*/) {
  if (code != AVERROR_INVALIDDATA) return std::nullopt;
  return StreamProblem{SourceError::Kind::lost, "closes the connection before there is any video that FFmpeg knows"};
}

constexpr StreamRules rules{.protocols = "tcp", .set_options = set_options, .explain = explain};

constexpr std::array schemes{
    SourceScheme{"tcp", "tcp://10.0.0.11:5000", -1, true, true},
};

const SourceKindRegistration registration(stream_kind<rules>("TCP", 60, schemes));

}  // namespace
}  // namespace campipe
