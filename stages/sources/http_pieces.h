// What a source by HTTP is made of: libavformat opens the source itself, and HLS its pieces and keys one by one. Each
// URL is checked where the source may not lead elsewhere, and each playlist before libavformat sees it.
//
// Used by one thread, in functions that libavformat calls.
#pragma once

#include <string>

#include "core/ffmpeg.h"
#include "stages/sources/playlist_guard.h"
#include "stages/sources/source.h"

namespace campipe {

struct SourceConfig;

class HttpPieces {
 public:
  using OpenIo = int (*)(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**);

  // `shown`: the source, for people. Both outlive it.
  HttpPieces(const SourceConfig& config, const std::string& shown)
      : config_(config), shown_(shown), playlists_(shown) {}

  // Another connection.
  void restart();
  // As AVFormatContext::io_open, by `open_nested`, which is libavformat's own. Throws SourceError: what is there is not
  // taken.
  int open(AVFormatContext& context, AVIOContext** io, const std::string& url, int flags, const AVDictionary* given,
           OpenIo open_nested);
  // The URL that the source leads to, and may not; empty: none.
  [[nodiscard]] const std::string& elsewhere() const { return elsewhere_; }

 private:
  int admit(AVIOContext*& io, const std::string& url);

  const SourceConfig& config_;
  const std::string& shown_;
  PlaylistGuard playlists_;
  bool pieces_limited_ = false;  // of this connection
  std::string elsewhere_;
};

}  // namespace campipe
