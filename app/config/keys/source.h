// The keys of a camera that are about its source.
#pragma once

#include <chrono>

#include "app/config/key.h"
#include "app/config/values.h"
#include "stages/sources/source_config.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<CaptureConfig>) {
  using C = CaptureConfig;
  constexpr KeyScope devices = KeyScope::devices;
  keys.key("width", &C::width, IntegerKey{16, 16384},
           {.meaning = "width of the frames", .unit = "samples", .fallback = "the device's", .scope = devices});
  keys.key("height", &C::height, IntegerKey{16, 16384},
           {.meaning = "their height", .unit = "samples", .fallback = "the device's", .scope = devices});
  keys.key(
      "rate", &C::rate, NumberKey{0.000277, 1000},
      {.meaning = "how many it takes; also of numbered pictures, and how often a single picture at a URL is fetched",
       .unit = "frames a second",
       .range = "1/3600 (0.00028) to 1000",
       .fallback = "the device's; 25 for numbered pictures; 1 for a picture at a URL",
       .scope = KeyScope::rates});
  keys.key("format", &C::format,
           ParsedKey{read_capture_format, "string", R"({"type": "string", "pattern": "^[a-z0-9_]+$"})"},
           {.meaning = "what it delivers",
            .range = "FFmpeg's name of a pixel format or codec: `yuyv422`, `mjpeg`",
            .fallback = "the device's",
            .scope = devices});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<SourceConfig>) {
  using namespace std::chrono_literals;
  using S = SourceConfig;
  keys.key("source", &S::url, ParsedKey{read_source, "string", R"({"type": "string", "minLength": 1})"},
           {.meaning = "where the frames come from", .range = "see [sources](#sources)", .fallback = required});
  keys.hidden("written", &S::written);
  keys.key("stream", &S::stream, IntegerKey{0, 63},
           {.meaning = "which of the source's video streams, counted from 0", .fallback = "the best"});
  keys.key("audio", &S::audio,
           {.meaning = "`copy`: recordings, push targets and [live streams for players](operations.md#watch) get the "
                       "source's audio, as it is, where the container holds it. It is never encoded anew"});
  keys.key("rtsp_transport", &S::rtsp_transport,
           {.meaning = "`automatic`: UDP, and TCP where that does not work. `rtsps` is always TCP",
            .scope = KeyScope::rtsp});
  keys.key("allow_redirects", &S::allow_redirects,
           {.meaning = "`true`: what an `http`, `https`, `rtsp` or `rtsps` server answers may lead to another scheme, "
                       "host or port: redirects, and the pieces and keys that an HLS playlist names. Without it, a "
                       "camera that was taken over cannot make campipe ask others in the network",
            .scope = KeyScope::servers});
  keys.group("tls", {.meaning = "of `rtsps` and `https`", .fallback = "see below"}, [](auto& tls) {
    tls.key("verify", &S::verify_certificate,
            {.meaning = "the certificate must be good, and of that host", .scope = KeyScope::tls});
    tls.key("ca_file", &S::ca_file, ParsedKey{read_ca_file, "string", R"({"type": "string", "minLength": 1})"},
            {.meaning = "the certificates of those who may have signed it",
             .range = "a file (PEM)",
             .fallback = "the system's",
             .scope = KeyScope::tls});
  });
  keys.section("capture", &S::capture, {.meaning = "what a capture device is asked for", .fallback = "see below"});
  keys.key("read_timeout", &S::read_timeout, DurationKey{100ms, 10min},
           {.meaning = "how long a live source may be silent, or take to be connected to, before it counts as lost: "
                       "the connection is then given up and made again. A shorter silence costs nothing but its "
                       "frames; what the camera still sends of them is recorded. No silence, however long, restarts a "
                       "process or stops the camera for good"});
  keys.key("loop", &S::loop,
           {.meaning = "at the end of a file, begin again: where its video ends, or its audio, if that lasts up to a "
                       "second longer. Audio before the first frame is left out",
            .scope = KeyScope::files});
  keys.key(
      "pace", &S::pace,
      {.meaning = "a file is read at the pace of its timestamps, or as fast as it goes", .scope = KeyScope::files});
}

}  // namespace campipe
