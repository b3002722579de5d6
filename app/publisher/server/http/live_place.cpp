#include "app/publisher/server/http/live_place.h"

#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "app/publisher/server/api/request.h"
#include "app/publisher/server/http/rules.h"
#include "core/passwords.h"

namespace campipe {
namespace {

constexpr std::size_t most_streams = 256;
constexpr std::string_view sound_mark = "?sound=1";

bool is_known(const nlohmann::json& status, const LivePlace& place) {
  if (!status.contains("cameras") || !status["cameras"].contains(place.camera)) return false;
  if (place.stream == place.camera) return true;
  const nlohmann::json& camera = status["cameras"][place.camera];
  return camera.contains("outputs") && camera["outputs"].contains(place.stream.substr(place.camera.size() + 1));
}

// The plan has it, and it comes.
bool is_awaited(const Nodes* nodes, const std::string& camera) {
  if (nodes == nullptr) return false;
  const auto places = nodes->places();
  return places->cameras.contains(camera) && !places->local.contains(camera);
}

}  // namespace

LivePlace live_place(const std::string& name) {
  const bool sound = name.ends_with(sound_mark);
  const std::string stream = name.substr(0, name.size() - (sound ? sound_mark.size() : 0));
  return {stream.substr(0, stream.find('/')), stream, sound ? LiveForm::sound : LiveForm::fmp4};
}

std::optional<LiveRefusal> refuse_place(const RigView& rig, const Nodes* nodes, const LivePlace& place) {
  if (rig.stream(place.stream) || is_known(*rig.status(), place)) return std::nullopt;
  if (!rig.status_age()) return LiveRefusal{503, "there is no status of the rig yet"};
  if (is_awaited(nodes, place.camera)) return LiveRefusal{503, "this camera has not begun on its node yet"};
  return LiveRefusal{404, no_such_stream};
}

HttpAnswer live_route(const HttpRequest& request, StreamPlaces& places) try {
  constexpr std::array<std::string_view, 1> parameters{"streams"};
  if (request.path != "/live") return http_error(404, "there is nothing at this address");
  if (request.method != "GET") return method_not_allowed();
  check_parameters(request, parameters);
  const std::string names = parameter(request, "streams", "");
  if (names.empty()) throw ApiError(400, "'streams' must name streams, such as dock,gate/small");
  HttpAnswer answer;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    answer.live_streams.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  if (answer.live_streams.size() > most_streams)
    throw ApiError(400, "'streams' may name " + std::to_string(most_streams) + " streams at most");
  std::set<std::string_view> once;
  for (const std::string& stream : answer.live_streams) {
    if (!once.insert(stream).second) throw ApiError(400, "'streams' names " + shown_name(stream) + " twice");
  }
  if (request.from_node) return answer;  // the other node has counted it
  answer.live_place = places.take(request);
  if (answer.live_place) return answer;
  return http_busy(request.identity.session.empty()
                       ? "too many pages watch over HTTP from this address"
                       : "this browser has four pages that watch over HTTP, and no connection for more",
                   10);
} catch (const ApiError& error) {
  return error_answer(error);
}

}  // namespace campipe
