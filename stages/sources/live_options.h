// How libavformat is asked to open a live source.
#pragma once

#include <string>

#include "core/libav_options.h"
#include "stages/sources/source.h"

namespace campipe {

// `transport`: of rtsp.
void set_stream_options(LibavOptions& options, const SourceConfig& config, RtspTransport transport);
// Of https, also of what an https stream refers to.
void set_certificate_options(LibavOptions& options, const SourceConfig& config);
// What FFmpeg may open for such a source, separated by commas.
std::string protocols_of(const std::string& scheme);
// That the next connection of http or https does not follow an answer elsewhere. Throws SourceError where this FFmpeg
// cannot be kept from it.
void refuse_redirects(LibavOptions& options, const std::string& shown);
void set_capture_options(LibavOptions& options, const CaptureConfig& capture);

// FFmpeg's input for capture devices. Its library is loaded here: it brings 80 others along, and the processes of rigs
// without capture devices do not need them. Throws Error where it is not there.
const AVInputFormat* capture_format();

}  // namespace campipe
