#include "stages/sources/http_pieces.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "core/libav_log.h"
#include "stages/sources/accepted_media.h"
#include "stages/sources/flv_video.h"
#include "stages/sources/io_beginning.h"
#include "stages/sources/jpeg_picture.h"
#include "stages/sources/live_options.h"
#include "stages/sources/multipart.h"
#include "stages/sources/single_picture.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"

namespace campipe {
namespace {

constexpr int most_redirects = 8;                        // as FFmpeg follows
constexpr std::string_view encrypted_piece = "crypto+";  // before the URL of a piece of HLS
constexpr std::string_view encrypted_piece_too = "crypto:";
constexpr std::int64_t largest_picture = std::int64_t{16} << 20;  // bytes

// What a server may answer that takes no range of bytes, or closes the connection over it. A user and a password are
// not tried twice for it (`logs_in`): some cameras count wrong ones.
bool may_be_for_range(int code, bool logs_in) {
  if (code == AVERROR_HTTP_FORBIDDEN) return !logs_in;
  constexpr std::array codes{AVERROR_HTTP_BAD_REQUEST,
                             AVERROR_HTTP_OTHER_4XX,
                             AVERROR_HTTP_SERVER_ERROR,
                             AVERROR_EOF,
                             AVERROR(ECONNRESET),
                             AVERROR(EPIPE),
                             AVERROR(EIO)};
  return std::ranges::find(codes, code) != codes.end();
}

// It needs one.
bool is_part(const AVDictionary* given) { return av_dict_get(given, "offset", nullptr, 0) != nullptr; }

// As a request names it.
std::string path_of(const std::string& url) {
  const auto begin = std::min(url.find("://"), url.size() - 3) + 3;
  const auto path = url.find_first_of("/?#", begin);
  if (path == std::string::npos) return "/";
  return url[path] == '/' ? url.substr(path) : "/" + url.substr(path);
}

// One that is all that is there; it is read for that, and given back where it is not.
bool is_single_picture(AVIOContext& io, const std::string& type) {
  if (type.starts_with("video/") || type.starts_with("audio/")) return false;
  std::string text;
  if (read_more(io, text, 3) < 0 || !begins_as_jpeg(text)) {
    put_back(io, text, text.size());
    return false;
  }
  // A clip of JPEG pictures goes on behind the first one.
  const std::int64_t size = avio_size(&io);
  bool single = type.starts_with("image/");
  std::optional<JpegPicture> picture;
  JpegFinder finder;
  std::size_t looked_at = 0;
  for (int count = 1; !single && count > 0 && size <= largest_picture && std::ssize(text) < largest_picture;) {
    const std::size_t behind = picture ? std::max(picture->size, looked_at) : text.size();
    if (text.find_first_not_of(std::string_view("\r\n\0", 3), behind) != std::string::npos) break;
    looked_at = text.size();
    count = read_some(io, text);
    if (!picture) picture = finder.find(text);
    single = count == 0 && picture;
  }
  put_back(io, text, text.size());
  return single;
}

}  // namespace

HttpPieces::HttpPieces(const SourceConfig& config, const std::string& shown, For what)
    : config_(config), shown_(shown), what_(what), login_(login_of(config.url)), playlists_(shown) {}

void HttpPieces::restart() {
  playlists_ = PlaylistGuard(shown_);
  times_ = {};
  pieces_limited_ = false;
  begun_ = false;
  parts_.reset();
  video_header_ = {};
  audio_header_ = {};
}

void HttpPieces::Header::take(std::optional<TrackHeader> header) {
  if (!header) return;
  is_new = is_new || (newest && newest != header);
  if (!newest) first_ticks = header->ticks;
  newest = std::move(header);
}

void HttpPieces::tell_new_header(AVPacket& packet, const AVCodecParameters& codec) {
  Header& header = codec.codec_type == AVMEDIA_TYPE_AUDIO ? audio_header_ : video_header_;
  const int ticks = header.newest ? header.newest->ticks : 0;
  if (ticks > 0 && header.first_ticks > 0 && ticks != header.first_ticks)
    av_packet_rescale_ts(&packet, {1, ticks}, {1, header.first_ticks});
  if (!std::exchange(header.is_new, false)) return;
  if (header.newest->codec != codec.codec_id) {
    throw SourceError(SourceError::Kind::lost, shown_ + " goes on with " + avcodec_get_name(header.newest->codec) +
                                                   " instead of " + avcodec_get_name(codec.codec_id) +
                                                   ", and is opened anew");
  }
  const std::vector<std::uint8_t>& extradata = header.newest->extradata;
  if (extradata.empty()) return;
  std::uint8_t* data = av_packet_new_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, extradata.size());
  if (data == nullptr) throw std::bad_alloc();
  std::ranges::copy(extradata, data);
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
    std::string location;
    const int code = open_in_any_way(context, io, prefix, url, flags, given, open_nested, location);
    if (location.empty() || redirects == most_redirects) {
      const int admitted = code >= 0 ? admit(*io, url, in_hls) : code;
      if (parts_ && admitted >= 0 && *io == parts_->io()) {
        context.flags |= AVFMT_FLAG_CUSTOM_IO;
        context.iformat = av_find_input_format("mpjpeg");  // whose parts' types show nothing any more
      }
      return admitted;
    }
    url = redirected(url, location);
  }
}

int HttpPieces::open_in_any_way(AVFormatContext& context, AVIOContext** io, const std::string& prefix,
                                const std::string& url, int flags, const AVDictionary* given, OpenIo open_nested,
                                std::string& redirect) {
  bool tries_without_range = !without_range_ && !is_part(given);
  bool tries_login = true;
  for (;;) {
    LibavOptions options = LibavOptions::copy_of(given);
    if (split_address(url).scheme == "https") set_certificate_options(options, config_);
    if (!config_.allow_redirects) refuse_redirects(options, shown_);
    if (without_range_ && !is_part(given)) options.set("seekable", 0);
    add_login(options, url);
    take_libav_hints();
    const int code = open_nested(&context, io, (prefix + url).c_str(), flags, options.get());
    const LibavHints hints = take_libav_hints();
    challenges_.clear();
    if (code == AVERROR_HTTP_UNAUTHORIZED) {
      for (const std::string& value : hints.challenges) {
        for (LoginChallenge& challenge : read_challenges(value)) challenges_.push_back(std::move(challenge));
      }
      if (std::exchange(tries_login, false) && has_new_answer(url)) continue;
      return code;
    }
    if (code == AVERROR(EIO)) redirect = hints.redirect;
    if (code >= 0 || !redirect.empty() || !tries_without_range || !may_be_for_range(code, login_.has_value())) {
      // It was not for the range.
      if (code < 0 && redirect.empty() && !begun_ && !is_part(given)) without_range_ = false;
      return code;
    }
    if (const AVIOInterruptCB& interrupt = context.interrupt_callback;
        interrupt.callback != nullptr && interrupt.callback(interrupt.opaque) != 0) {
      return code;
    }
    tries_without_range = false;
    without_range_ = true;
  }
}

void HttpPieces::add_login(LibavOptions& options, const std::string& url) {
  if (!answered_here_ || !login_ || !same_origin(url, config_.url)) return;
  const AVDictionaryEntry* given = av_dict_get(*options.get(), "headers", nullptr, 0);
  const std::string others = given != nullptr ? given->value : "";
  const std::string answer =
      answered_here_->scheme == "basic"
          ? answer_basic(*login_)
          : answer_digest(*answered_here_, *login_, "GET", path_of(url), ++answers_, random_cnonce());
  options.set("headers", others + "Authorization: " + answer + "\r\n");
}

// To a challenge that libavformat has not answered. An answer that was refused is not given again, but to another
// nonce that the server calls a fresh one.
bool HttpPieces::has_new_answer(const std::string& url) {
  if (!login_ || !same_origin(url, config_.url)) return false;
  const LoginChallenge* best = best_challenge(challenges_);
  if (best == nullptr) return false;
  // libavformat answers the last Digest that is offered, where it knows that one, and Basic where there is no Digest.
  const auto is_digest = [](const LoginChallenge& one) { return one.scheme == "digest"; };
  const auto last = std::find_if(challenges_.rbegin(), challenges_.rend(), is_digest);
  if (last == challenges_.rend() || is_known_to_ffmpeg(*last)) return false;
  const auto stale = best->fields.find("stale");
  const bool is_stale = stale != best->fields.end() && (stale->second == "true" || stale->second == "TRUE");
  if (answered_here_ && !is_stale) return false;
  answered_here_ = *best;
  answers_ = 0;
  return true;
}

int HttpPieces::admit(AVIOContext*& io, const std::string& url, bool is_piece) {
  try {
    const int code = playlists_.admit(*io, url, is_piece);
    if (code >= 0 && !std::exchange(begun_, true) && what_ == For::streams) look_at_beginning(io);
    if (code < 0) avio_closep(&io);
    if (code >= 0) follow_playlist(url);
    InitHeaders headers = playlists_.take_headers();
    video_header_.take(std::move(headers.video));
    audio_header_.take(std::move(headers.audio));
    return code;
  } catch (...) {
    if (parts_ && io == parts_->io()) {
      io = nullptr;  // restart() closes it
    } else {
      avio_closep(&io);
    }
    throw;
  }
}

void HttpPieces::follow_playlist(const std::string& url) {
  const auto playlist = playlists_.take_playlist();
  if (!playlist) return times_.open_piece(url);
  if (times_.read(*playlist, url)) return;
  throw SourceError(SourceError::Kind::lost,
                    shown_ + " has begun its playlist anew (EXT-X-MEDIA-SEQUENCE went back), and is opened anew");
}

void HttpPieces::look_at_beginning(AVIOContext*& io) {
  type_ = content_type(*io);
  if (is_multipart(type_)) {
    begin_with_boundary(*io);
    io = parts_.emplace(io).io();
    return;
  }
  if (is_single_picture(*io, type_)) throw SinglePicture();
  const std::string problem = unknown_flv_video(*io);
  if (!problem.empty()) throw SourceError(SourceError::Kind::unsupported, shown_ + " " + problem);
}

}  // namespace campipe
