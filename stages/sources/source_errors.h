// What libavformat's errors mean for a live source.
#pragma once

#include <string>

#include "core/libav_log.h"
#include "stages/sources/read_watch.h"
#include "stages/sources/source.h"

namespace campipe {

// Listens to libav's messages on this thread as long as it lives: its codes alone do not tell a name that is not known
// from a certificate that is not trusted. What it hears is logged as ever, as messages of level debug.
class LibavReasons final : public LibavListener {
 public:
  LibavReasons();
  ~LibavReasons() override;
  LibavReasons(const LibavReasons&) = delete;
  LibavReasons& operator=(const LibavReasons&) = delete;
  void hear(int level, const std::string& piece) override;
  // The container that limit_media() kept from being opened; empty: that was not what went wrong.
  [[nodiscard]] std::string refused_format() const;
  [[nodiscard]] bool heard(const std::string& text) const { return text_.find(text) != std::string::npos; }

 private:
  std::string text_;
  std::size_t line_ = 0;  // where the newest line begins
};

// `watch` may have ended the wait.
SourceError opening_error(int code, const SourceConfig& source, const ReadWatch& watch, const LibavReasons& reasons);
// `shown`: the source for people.
// It sends its reader to the URL `target`, or names it as a part of itself.
SourceError redirect_error(const std::string& shown, const std::string& target);
std::string refused_format_text(const std::string& format);  // to stand behind the source's name
SourceError reading_error(int code, const std::string& shown, const ReadWatch& watch);
// When `watch` was interrupted.
Error interrupted_error(const std::string& shown);

}  // namespace campipe
