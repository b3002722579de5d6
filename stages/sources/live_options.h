// How libavformat is asked to open a live source.
#pragma once

#include <string>

#include "stages/sources/source.h"

namespace campipe {

// What libavformat's functions take options from, and leave those in that they do not know.
class LibavOptions {
 public:
  LibavOptions() = default;
  ~LibavOptions() { av_dict_free(&options_); }
  LibavOptions(const LibavOptions&) = delete;
  LibavOptions& operator=(const LibavOptions&) = delete;
  void set(const char* key, const std::string& value) { av_dict_set(&options_, key, value.c_str(), 0); }
  void set(const char* key, std::int64_t value) { av_dict_set_int(&options_, key, value, 0); }
  [[nodiscard]] AVDictionary** get() { return &options_; }

 private:
  AVDictionary* options_ = nullptr;
};

// `transport`: of rtsp.
void set_stream_options(LibavOptions& options, const SourceConfig& config, RtspTransport transport);
// Of https, also of what an https stream refers to.
void set_certificate_options(AVDictionary** options, const SourceConfig& config);
// What FFmpeg may open for such a source, separated by commas.
std::string protocols_of(const std::string& scheme);
// That the next connection of http or https does not follow an answer elsewhere. Throws SourceError where this FFmpeg
// cannot be kept from it.
void refuse_redirects(AVDictionary** options, const std::string& shown);
void set_capture_options(LibavOptions& options, const CaptureConfig& capture);

// FFmpeg's input for capture devices. Its library is loaded here: it brings 80 others along, and the processes of rigs
// without capture devices do not need them. Throws Error where it is not there.
const AVInputFormat* capture_format();

}  // namespace campipe
