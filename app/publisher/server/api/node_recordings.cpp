#include "app/publisher/server/api/node_recordings.h"

#include <algorithm>
#include <utility>

#include "core/shallow_json.h"

namespace campipe {

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 3s;

bool has_text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string();
}

}  // namespace

// Names and times have no characters that would need an escape.
NodeRecordings::NodeRecordings(Nodes& nodes, const std::string& camera, Recordings::Query query,
                               const Identity& identity, bool has_users)
    : query_(std::move(query)), own_(nodes.places()->own), deadline_(Clock::now() + patience + 500ms) {
  std::string path = "/api/v1/recordings?local=true&limit=" + std::to_string(query_.limit);
  if (!camera.empty()) path += "&camera=" + camera;
  if (!query_.from.empty()) path += "&from=" + query_.from;
  if (!query_.to.empty()) path += "&to=" + query_.to;
  const auto places = nodes.places();
  const HeaderLine who = header_for(identity, has_users);
  for (const auto& [node, place] : places->nodes) {
    if (node != own_) replies_[node] = nodes.get(node, path, who, patience);
  }
}

void NodeRecordings::add_to(json& body) {
  json& recordings = body["recordings"];
  for (json& recording : recordings) recording.emplace("node", own_);
  for (auto& [node, reply] : replies_) {
    const bool has_come = reply.wait_until(deadline_) == std::future_status::ready;
    try {
      take(node, has_come ? reply.get() : Nodes::Reply{.problem = "node '" + node + "' does not answer in time"},
           recordings);
    } catch (const std::future_error&) {
      unreachable_[node] = "this node's servers end";
    }
  }
  const auto is_newer = [](const json& one, const json& other) {
    return one.at("start_utc").get_ref<const std::string&>() > other.at("start_utc").get_ref<const std::string&>();
  };
  std::stable_sort(recordings.begin(), recordings.end(), is_newer);
  if (recordings.size() > query_.limit)
    recordings.erase(recordings.begin() + static_cast<std::ptrdiff_t>(query_.limit), recordings.end());
  body["unreachable"] = unreachable_;
}

// What it may not show here is left out, whatever the other node lets this user see.
void NodeRecordings::take(const std::string& node, const Nodes::Reply& reply, json& recordings) {
  const json answer = parse_shallow(reply.body);
  const bool is_list =
      reply.status == 200 && answer.is_object() && answer.contains("recordings") && answer["recordings"].is_array();
  // As for a camera that this user may not see there, or that the node does not know yet.
  if (reply.status == 404) return;
  if (!is_list) {
    const bool has_reason = answer.is_object() && has_text(answer, "error");
    unreachable_[node] = !reply.problem.empty() ? reply.problem
                         : has_reason           ? answer["error"].get<std::string>()
                                                : "it answers with what is no list";
    return;
  }
  for (json recording : answer["recordings"]) {
    const bool is_one = recording.is_object() && has_text(recording, "id") && has_text(recording, "camera") &&
                        has_text(recording, "start_utc") && query_.wanted(recording["camera"].get<std::string>());
    if (!is_one) continue;
    recording["node"] = node;
    recordings.push_back(std::move(recording));
  }
}

}  // namespace campipe
