#include "app/rig_check.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "app/config/address.h"
#include "app/config/cluster_config.h"
#include "app/config/config.h"
#include "app/config/paths.h"
#include "app/config/rig_groups.h"
#include "app/control/sent_stream.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/orientation.h"
#include "core/unique_handle.h"
#include "stages/filters/chain.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

constexpr auto longest_open = std::chrono::seconds(10);
const std::string unknown_outcome =
    "H.264 that plays everywhere is passed on as it comes, anything else encoded as h264";

void add(std::vector<ConfigError>& errors, const ConfigPlace& place, const std::string& message) {
  const auto is_same = [&](const ConfigError& error) {  // of `defaults`
    return place.line > 0 && error.line == place.line && error.column == place.column && error.message == message &&
           error.document == place.document;
  };
  if (std::ranges::any_of(errors, is_same)) return;
  errors.push_back({place.line, place.column, place.path, message, place.document});
}

void refuse(RigCheck& check, const ConfigPlace& place, const std::string& message) {
  add(check.errors, place, message);
}

// Filters work on frames as they are shown.
FrameFormat shown_format(const SourceStream& stream) {
  FrameFormat format;
  format.width = stream.codec != nullptr ? stream.codec->width : stream.width;
  format.height = stream.codec != nullptr ? stream.codec->height : stream.height;
  if (stream.rotation % 180 != 0) std::swap(format.width, format.height);
  return format;
}

std::string describe(const SourceStream& stream, const FrameFormat& format) {
  std::string text = fmt::format("{}, {}x{}", stream.decoder, format.width, format.height);
  if (stream.frame_rate > 0) text += fmt::format(", {:.4g} fps", stream.frame_rate);
  if (turn_of(stream.rotation) != 0) text += fmt::format(", turned by {}°", turn_of(stream.rotation));
  if (is_mirrored(stream.rotation)) text += ", mirrored";
  if (stream.audio != nullptr) text += fmt::format(", audio {}", avcodec_get_name(stream.audio->codec_id));
  return text;
}

SentStream sent_by(Source& source) {
  const AvPacket packet = make_av_packet();
  while (may_be_untimed(source.stream()) && source.read(*packet) == ReadResult::audio) av_packet_unref(packet.get());
  return sent_stream(source.stream(), packet->data != nullptr ? packet.get() : nullptr);
}

// What a filter that refuses its input was to make of it, so that what follows is checked, too.
FrameFormat meant_by(const FilterConfig& filter, FrameFormat format) {
  const auto width = filter.parameters.find("width");
  const auto height = filter.parameters.find("height");
  if (width == filter.parameters.end() || height == filter.parameters.end()) return format;
  format.width = static_cast<int>(width->second);
  format.height = static_cast<int>(height->second);
  return format;
}

// Sizes that a filter refuses, such as a crop outside of the frame. Gives what comes out.
FrameFormat check_filters(const std::vector<FilterConfig>& filters, FrameFormat format,
                          const std::vector<ConfigPlace>& places, RigCheck& check) {
  for (std::size_t f = 0; f < filters.size(); ++f) {
    try {
      format = FilterChain(std::vector{filters[f]}).configure(format);
    } catch (const std::exception& error) {
      refuse(check, f < places.size() ? places[f] : ConfigPlace(),
             fmt::format("for frames of {}x{}: {}", format.width, format.height, error.what()));
      format = meant_by(filters[f], format);
    }
  }
  return format;
}

void check_all_filters(const CameraConfig& camera, const FrameFormat& in, const GpuPlaces& places, RigCheck& check) {
  const FrameFormat out = check_filters(camera.filters, in, places.filters, check);
  for (std::size_t o = 0; o < camera.outputs.size(); ++o)
    check_filters(camera.outputs[o].filters, out, places.output_filters.at(o), check);
}

// Whatever it sends.
std::string encoded_as(const CameraConfig& camera) {
  return is_auto(camera.encode) || is_copy(camera.encode) ? "" : "; encoded as " + camera.encode.codec;
}

void check_camera(const CameraConfig& camera, const GpuPlaces& places, RigCheck& check) {
  const std::string url = shown_url(camera.source);
  if (!camera.enabled || !source_kind_of(camera.source.url).tried_at_check) {
    check.lines.push_back(fmt::format("{}: {} ({})", camera.name, url, camera.enabled ? "not tried" : "switched off"));
    if (camera.enabled && is_auto(camera.encode)) check.lines.back() += "; " + unknown_outcome;
    if (camera.enabled) check.lines.back() += encoded_as(camera);
    return;
  }
  try {
    const Deadline deadline = Clock::now() + longest_open;
    const auto source = open_source(camera.source, [&] { return Clock::now() > deadline; });
    const FrameFormat in = shown_format(source->stream());
    check.lines.push_back(fmt::format("{}: {}: {}", camera.name, url, describe(source->stream(), in)));
    if (depends_on_stream(camera)) check.lines.back() += "; " + outcome(camera, sent_by(*source));
    check.lines.back() += encoded_as(camera);
    if (const std::string remark = source->remark(); !remark.empty())
      check.lines.push_back(camera.name + ": " + remark);
    if (in.width <= 0 || in.height <= 0) return;
    check_all_filters(camera, in, places, check);
  } catch (const SourceError& error) {  // it is waited for
    check.lines.push_back(fmt::format("{}: {}: not tried: {}{}", camera.name, url, error.what(), encoded_as(camera)));
  } catch (const std::exception& error) {  // what a file contains is no mistake of the configuration
    add(check.conditions, places.source, error.what());
  }
}

void check_mosaic(const CameraConfig& camera, const GpuPlaces& places, RigCheck& check) {
  const MosaicConfig& mosaic = *camera.mosaic;
  const std::size_t cells = mosaic.cells.size();
  check.lines.push_back(fmt::format("{}: a mosaic of {} camera{}, {}x{}, {:.4g} fps{}{}", camera.name, cells,
                                    cells == 1 ? "" : "s", mosaic.width, mosaic.height, mosaic.rate,
                                    camera.enabled ? "" : " (switched off)", encoded_as(camera)));
  FrameFormat format;
  format.width = mosaic.width;
  format.height = mosaic.height;
  check_all_filters(camera, format, places, check);
}

// Why nothing can listen there, or nothing.
std::string listening_problem(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  if (const int code = ::getaddrinfo(host, port.c_str(), &hints, &found); code != 0) return ::gai_strerror(code);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  const UniqueFd listener(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (listener && ::bind(listener.get(), found->ai_addr, found->ai_addrlen) == 0 && ::listen(listener.get(), 1) == 0)
    return {};
  return errno == EADDRINUSE ? "a program listens there already; if that is not this rig, it must go"
                             : std::strerror(errno);
}

void check_address(const std::string& key, const std::string& text, RigCheck& check) {
  const auto address = split_listen_address(text);
  if (!address || address->port == 0) return;  // it is off, or any port will do
  const std::string problem = listening_problem(*address);
  // No mistake: who checks a changed file has the rig running.
  if (!problem.empty()) check.lines.push_back(fmt::format("note: {}: '{}': {}", key, text, problem));
}

// It is added to. A pipe would be waited for, and a link may lead anywhere.
void check_events(const RigConfig& rig, RigCheck& check) {
  if (rig.events.empty()) return;
  const std::string file = with_node(rig.events, rig.cluster ? node_name(*rig.cluster) : "");
  struct stat found {};
  if (::lstat(file.c_str(), &found) != 0 || S_ISREG(found.st_mode)) return;
  ConfigPlace place;
  place.path = "events";
  refuse(check, place, fmt::format("'{}' is there and is not a regular file; name another one", file));
}

}  // namespace

RigCheck check_rig(const LoadedConfig& loaded) {
  const RigConfig& rig = loaded.rig;
  RigCheck check;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    const CameraConfig& camera = rig.cameras[c];
    const GpuPlaces& places = loaded.gpu_places.at(c);
    camera.mosaic ? check_mosaic(camera, places, check) : check_camera(camera, places, check);
  }
  for (const RigGroup& group : groups_of(rig)) check.lines.push_back(describe(group));
  check_events(rig, check);
  check_address("http_address", rig.server.http_address, check);
  check_address("rtsp_address", rig.server.rtsp_address, check);
  return check;
}

}  // namespace campipe
