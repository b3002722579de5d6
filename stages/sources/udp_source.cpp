// udp://: MPEG-TS and the like, in datagrams to a port of this machine or to a multicast group.
#include <array>

#include "stages/sources/live_options.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

void set_options(LibavOptions& options, const SourceConfig& /*config*/, RtspTransport /*transport*/) {
  options.set("overrun_nonfatal", 1);  // loses packets where the machine is too slow, and goes on
  options.set("buffer_size", receive_buffer);
}

constexpr StreamRules rules{.protocols = "udp", .set_options = set_options, .received_by_thread = true};

constexpr std::array schemes{
    SourceScheme{"udp", "udp://:5000, or udp://239.0.0.1:5000", -1, false, true},
};

const SourceKindRegistration registration(stream_kind<rules>("UDP", 40, schemes));

}  // namespace
}  // namespace campipe
