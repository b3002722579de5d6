// /dev/videoN, or a link to it below /dev/v4l/: capture devices (V4L2).
#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <string_view>

extern "C" {
#include <libavdevice/version_major.h>
}

#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

constexpr std::string_view numbered_device = "/dev/video";
constexpr std::string_view named_devices = "/dev/v4l/";  // links that stay where numbers change

// Its name alone: a camera may be plugged in later.
std::optional<std::string> check(const std::string& path) {
  const bool numbered = path.starts_with(numbered_device);
  const std::string_view rest = std::string_view(path).substr((numbered ? numbered_device : named_devices).size());
  const bool number = !rest.empty() && rest.size() <= 4 && rest.find_first_not_of("0123456789") == std::string::npos;
  const bool name = !rest.empty() && !rest.ends_with('/') && rest.find("..") == std::string::npos;
  if (numbered ? number : name) return std::nullopt;
  return "'" + path +
         "' is no name of a capture device, expected /dev/video0, or /dev/v4l/by-id/… (ls /dev/video* "
         "/dev/v4l/by-id/* shows those that are there)";
}

void set_options(LibavOptions& options, const SourceConfig& config, RtspTransport /*transport*/) {
  const CaptureConfig& capture = config.capture;
  if (capture.width > 0 && capture.height > 0) {
    options.set("video_size", std::to_string(capture.width) + "x" + std::to_string(capture.height));
  }
  if (capture.rate > 0) options.set("framerate", std::to_string(capture.rate));
  if (!capture.format.empty()) options.set("input_format", capture.format);
}

// The library is loaded here: it brings 80 others along, and the processes of rigs without capture devices do not need
// them.
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

std::optional<StreamProblem> explain(int code, const LibavMessages& /*messages*/) {
  using Kind = SourceError::Kind;
  switch (code) {
    case AVERROR(EINVAL):
      return StreamProblem{
          Kind::unsupported,
          "does not offer this size, rate or format (v4l2-ctl --list-formats-ext shows what it offers)"};
    case AVERROR(ENOENT):
    case AVERROR(ENXIO):
      return StreamProblem{Kind::refused, "is not there (is the camera plugged in?)"};
    case AVERROR(ENODEV):
      return StreamProblem{Kind::refused, "is not there, or is no camera (is it plugged in?)"};
    case AVERROR(ENOTTY):
      return StreamProblem{Kind::unsupported, "is no capture device"};
    case AVERROR(EBUSY):
      return StreamProblem{Kind::refused, "is used by another program"};
    case AVERROR(EACCES):
      return StreamProblem{Kind::unauthorized, "may not be opened by this user (is it in the group 'video'?)"};
    default:
      return std::nullopt;
  }
}

constexpr StreamRules rules{.set_options = set_options, .explain = explain, .device = capture_format};

constexpr std::array keys{
    SourceKeysOf{SourceKeys::device, "capture devices (/dev/videoN)"},
    SourceKeysOf{SourceKeys::rate, "capture devices (/dev/videoN)"},
};

const SourceKindRegistration registration{
    {.name = "capture device",
     .place = 70,
     .written = "/dev/videoN",
     .takes =
         [](const std::string& path) { return path.starts_with(numbered_device) || path.starts_with(named_devices); },
     .keys = keys,
     .check = check,
     .open = open_stream<rules>,
     .live = true,
     .copied_by_default = [](const SourceConfig& config) { return config.capture.format == "h264"; }}};

}  // namespace
}  // namespace campipe
