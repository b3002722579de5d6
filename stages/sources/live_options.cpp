#include "stages/sources/live_options.h"

#include "core/ffmpeg.h"
#include "stages/sources/source_config.h"

namespace campipe {

void set_certificate_options(LibavOptions& options, const SourceConfig& config) {
  options.set("tls_verify", config.verify_certificate ? 1 : 0);
  if (!config.ca_file.empty()) options.set("ca_file", config.ca_file);
}

void refuse_redirects(LibavOptions& options, const std::string& shown) {
  constexpr const char* name = "max_redirects";
  const AVClass* http = avio_protocol_get_class("http");
  // An option that is not known would be ignored, and the redirect followed.
  if (http == nullptr || av_opt_find(static_cast<void*>(&http), name, nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ) == nullptr) {
    throw SourceError(SourceError::Kind::unsupported,
                      shown +
                          " may send its reader anywhere, and this FFmpeg cannot be kept from following (update "
                          "FFmpeg, or set allow_redirects: true)");
  }
  options.set(name, 0);
}

}  // namespace campipe
