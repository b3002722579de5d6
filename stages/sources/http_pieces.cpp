#include "stages/sources/http_pieces.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "core/libav_log.h"
#include "core/libav_options.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/live_options.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"

namespace campipe {
namespace {

constexpr int most_redirects = 8;                        // as FFmpeg follows
constexpr std::string_view encrypted_piece = "crypto+";  // before the URL of a piece of HLS
constexpr std::string_view encrypted_piece_too = "crypto:";

}  // namespace

void HttpPieces::restart() {
  playlists_ = PlaylistGuard(shown_);
  pieces_limited_ = false;
}

// Where the source is not allowed to lead elsewhere, redirects are followed here.
int HttpPieces::open(AVFormatContext& context, AVIOContext** io, const std::string& given_url, int flags,
                     const AVDictionary* given, OpenIo open_nested) {
  // The playlist's demuxer has been chosen, and its pieces' have not.
  const bool in_hls = context.iformat != nullptr && std::strcmp(context.iformat->name, "hls") == 0;
  if (in_hls && !std::exchange(pieces_limited_, true)) limit_pieces(context);
  const bool encrypted = given_url.starts_with(encrypted_piece) || given_url.starts_with(encrypted_piece_too);
  const std::string prefix = encrypted ? given_url.substr(0, encrypted_piece.size()) : "";
  std::string url = given_url.substr(prefix.size());
  for (int redirects = 0;; ++redirects) {
    if (!config_.allow_redirects && !same_origin(url, config_.url)) elsewhere_ = url;
    if (!elsewhere_.empty()) return AVERROR(EACCES);
    LibavOptions options = LibavOptions::copy_of(given);
    if (split_address(url).scheme == "https") set_certificate_options(options, config_);
    if (!config_.allow_redirects) refuse_redirects(options, shown_);
    take_libav_hints();
    const int code = open_nested(&context, io, (prefix + url).c_str(), flags, options.get());
    const std::string location = code == AVERROR(EIO) ? take_libav_hints().redirect : "";
    if (location.empty() || redirects == most_redirects) return code >= 0 ? admit(*io, url) : code;
    url = redirected(url, location);
  }
}

int HttpPieces::admit(AVIOContext*& io, const std::string& url) {
  try {
    const int code = playlists_.admit(*io, url);
    if (code < 0) avio_closep(&io);
    return code;
  } catch (...) {
    avio_closep(&io);
    throw;
  }
}

}  // namespace campipe
