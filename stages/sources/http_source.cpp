// http:// and https://: MJPEG, HLS, a file, or a single picture that is fetched again and again. What says how long it
// is, a file or a complete playlist, ends.
#include <array>

#include "stages/sources/live_options.h"
#include "stages/sources/single_picture.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

bool is_secure(const std::string& url) { return split_address(url).scheme == "https"; }

void set_options(LibavOptions& options, const SourceConfig& config, RtspTransport /*transport*/) {
  options.set("rw_timeout", microseconds(config.read_timeout));
  options.set("timeout", microseconds(config.read_timeout));
  // Of HLS: each piece and playlist is opened anew, so that it can be looked at first.
  options.set("http_persistent", 0);
  options.set("http_multiple", 0);
  if (is_secure(config.url)) set_certificate_options(options, config);
}

constexpr StreamRules rules{.protocol = StreamRules::Protocol::http,
                            .protocols = "http,https,httpproxy,tls,tcp,crypto",
                            .set_options = set_options};

constexpr std::array schemes{
    SourceScheme{"http", "http://10.0.0.11/video.mjpg", 80, true},
    SourceScheme{"https", "https://10.0.0.11/live.m3u8", 443, true},
};

constexpr std::array keys{
    SourceKeysOf{SourceKeys::tls, "https://", is_secure},
    SourceKeysOf{SourceKeys::redirects, "http(s)://"},
    SourceKeysOf{SourceKeys::rate, "pictures at a URL (http(s))"},
};

// Only its server knows which it is.
std::unique_ptr<Source> open(const SourceConfig& config, const Source::Interrupt& interrupt) {
  try {
    return open_stream<rules>(config, interrupt);
  } catch (const SinglePicture&) {
    return open_single_pictures(config, interrupt);
  }
}

SourceKind http_kind() {
  SourceKind kind = stream_kind<rules>("HTTP", 20, schemes, keys);
  kind.open = open;
  kind.longest_pause = picture_interval;
  kind.can_end = [](const SourceConfig& /*config*/) { return true; };
  return kind;
}

const SourceKindRegistration registration(http_kind());

}  // namespace
}  // namespace campipe
