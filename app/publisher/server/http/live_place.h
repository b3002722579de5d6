// Which live streams a request means, and whether they can be watched here.
#pragma once

#include <optional>
#include <string>

#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/live/piece.h"
#include "app/publisher/server/nodes/nodes.h"
#include "app/publisher/server/stream_places.h"

namespace campipe {

// Of a camera's stream.
struct LivePlace {
  std::string camera;
  std::string stream;              // "dock" or "dock/small"
  LiveForm form = LiveForm::fmp4;  // as a page gets it: sound is its sound, without its frames
};
// `name`: as in `streams` of /live: "dock", "dock/small", or "dock?sound=1".
LivePlace live_place(const std::string& name);

struct LiveRefusal {
  int status = 404;  // 503: it may come within seconds
  std::string reason;
};
// What is said of a camera that is not there, and of one that the user may not see.
inline constexpr const char* no_such_stream = "there is no such camera or output";
// Nothing: its stream is here, or comes. `nodes`: null: of no cluster.
std::optional<LiveRefusal> refuse_place(const RigView& rig, const Nodes* nodes, const LivePlace& place);

// GET /live?streams=dock,gate/small: `live_streams`, or what is wrong with the request.
HttpAnswer live_route(const HttpRequest& request, StreamPlaces& places);

}  // namespace campipe
