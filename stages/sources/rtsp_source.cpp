// rtsp:// and rtsps://: cameras.
#include <array>

#include "stages/sources/live_options.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

void set_options(LibavOptions& options, const SourceConfig& config, RtspTransport transport) {
  // Automatic: what the camera refuses is not tried again by a new connection, which some take for one too many.
  const bool both = transport == RtspTransport::automatic;
  options.set("rtsp_transport", both ? "udp+tcp" : transport == RtspTransport::udp ? "udp" : "tcp");
  options.set("allowed_media_types", config.audio == Audio::copy ? "video+audio" : "video");
  options.set("timeout", microseconds(config.read_timeout));
  options.set("buffer_size", receive_buffer);
}

constexpr StreamRules rules{
    .protocol = StreamRules::Protocol::rtsp, .protocols = "tcp,tls,udp,rtp", .set_options = set_options};

constexpr std::array schemes{
    SourceScheme{"rtsp", "rtsp://user:password@10.0.0.11/stream1", 554, true},
    SourceScheme{"rtsps", "rtsps://user:password@10.0.0.11/stream1", 322, true},
};

constexpr std::array keys{
    SourceKeysOf{SourceKeys::rtsp, "rtsp://"},
    SourceKeysOf{SourceKeys::rtsp, "rtsps://"},
    SourceKeysOf{SourceKeys::tls, "rtsps://",
                 [](const std::string& url) { return split_address(url).scheme == "rtsps"; }},
    SourceKeysOf{SourceKeys::redirects, "rtsp(s)://"},
};

const SourceKindRegistration registration(stream_kind<rules>("RTSP", 10, schemes, keys));

}  // namespace
}  // namespace campipe
