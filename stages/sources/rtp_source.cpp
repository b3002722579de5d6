// rtp://: MPEG-TS or JPEG by RTP, without anything that describes it.
#include <array>

#include "stages/sources/live_options.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

void set_options(LibavOptions& options, const SourceConfig& config, RtspTransport /*transport*/) {
  options.set("listen_timeout", std::to_string(microseconds(config.read_timeout)) + "us");
  options.set("buffer_size", receive_buffer);
}

// libavformat describes the stream to itself by the host, and cannot without one.
std::string opened_url(const SourceConfig& config) {
  constexpr std::string_view mark = "://";
  const auto host = config.url.find(mark) + mark.size();
  return split_address(config.url).host.empty() ? config.url.substr(0, host) + "0.0.0.0" + config.url.substr(host)
                                                : config.url;
}

constexpr StreamRules rules{.protocols = "rtp,udp", .set_options = set_options, .opened_url = opened_url};

constexpr std::array schemes{
    SourceScheme{"rtp", "rtp://:5004, or rtp://239.0.0.1:5004", -1, false, true},
};

const SourceKindRegistration registration(stream_kind<rules>("RTP", 50, schemes));

}  // namespace
}  // namespace campipe
