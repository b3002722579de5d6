#include "stages/sources/live_options.h"

#include <dlfcn.h>

extern "C" {
#include <libavdevice/version_major.h>
#include <libavutil/opt.h>
}

#include "stages/sources/source_address.h"

namespace campipe {
namespace {

constexpr std::int64_t receive_buffer = std::int64_t{4} << 20;  // bytes; the system may give less

std::int64_t microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

void set_rtsp_options(LibavOptions& options, const SourceConfig& config, RtspTransport transport) {
  // Automatic: what the camera refuses is not tried again by a new connection, which some take for one too many.
  const bool both = transport == RtspTransport::automatic;
  options.set("rtsp_transport", both ? "udp+tcp" : transport == RtspTransport::udp ? "udp" : "tcp");
  options.set("allowed_media_types", config.audio == Audio::copy ? "video+audio" : "video");
  options.set("timeout", microseconds(config.read_timeout));
  options.set("buffer_size", receive_buffer);
}

}  // namespace

void set_stream_options(LibavOptions& options, const SourceConfig& config, RtspTransport transport) {
  const std::string scheme = split_address(config.url).scheme;
  const std::int64_t timeout = microseconds(config.read_timeout);
  if (scheme.starts_with("rtsp")) {
    set_rtsp_options(options, config, transport);
  } else if (scheme.starts_with("http")) {
    options.set("rw_timeout", timeout);
    options.set("timeout", timeout);
    // Of HLS: each piece and playlist is opened anew, so that it can be looked at first.
    options.set("http_persistent", 0);
    options.set("http_multiple", 0);
    if (scheme == "https") set_certificate_options(options, config);
  } else if (scheme == "tcp") {
    options.set("timeout", timeout);
  } else if (scheme == "srt") {
    // Not sooner than the source's own time is over: SRT does not tell a peer that says no from one that says nothing.
    options.set("connect_timeout", timeout / 1000 + 1000);
  } else if (scheme == "udp") {
    options.set("overrun_nonfatal", 1);  // loses packets where the machine is too slow, and goes on
    options.set("buffer_size", receive_buffer);
  } else if (scheme == "rtp") {
    options.set("listen_timeout", std::to_string(timeout) + "us");
    options.set("buffer_size", receive_buffer);
  }
}

void set_certificate_options(LibavOptions& options, const SourceConfig& config) {
  options.set("tls_verify", config.verify_certificate ? 1 : 0);
  if (!config.ca_file.empty()) options.set("ca_file", config.ca_file);
}

std::string protocols_of(const std::string& scheme) {
  if (scheme.starts_with("http")) return "http,https,httpproxy,tls,tcp,crypto";
  if (scheme.starts_with("rtsp")) return "tcp,tls,udp,rtp";
  if (scheme == "rtp") return "rtp,udp";
  return scheme;
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

void set_capture_options(LibavOptions& options, const CaptureConfig& capture) {
  if (capture.width > 0 && capture.height > 0) {
    options.set("video_size", std::to_string(capture.width) + "x" + std::to_string(capture.height));
  }
  if (capture.rate > 0) options.set("framerate", std::to_string(capture.rate));
  if (!capture.format.empty()) options.set("input_format", capture.format);
}

const AVInputFormat* capture_format() {
  const char* name = "libavdevice.so." AV_STRINGIFY(LIBAVDEVICE_VERSION_MAJOR);
  // Never closed: libavformat keeps pointers into it.
  void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(std::string("capture devices need FFmpeg's libavdevice: ") + ::dlerror());
  void* symbol = ::dlsym(library, "avdevice_register_all");
  if (symbol == nullptr) throw Error(std::string(name) + " is not FFmpeg's: " + ::dlerror());
  using Register = void();
  (reinterpret_cast<Register*>(symbol))();
  const AVInputFormat* format = av_find_input_format("v4l2");
  if (format == nullptr) throw Error("this FFmpeg was built without capture devices (v4l2)");
  return format;
}

}  // namespace campipe
