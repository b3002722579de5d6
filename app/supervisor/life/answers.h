// What the supervisor answers to requests (app/control/messages/requests.h). app/publisher/server/api/openapi.json
// describes the bodies, as schemas or with the calls.
#pragma once

#include <string>
#include <vector>

#include "app/control/messages/answer.h"

namespace campipe {

// To a request that is not done.
inline messages::Answer refused(int status, const std::string& why) { return {status, {{"error", why}}}; }

// `on`: what was asked for, and is so from now on.
inline messages::Answer enabled_answer(bool on) { return {200, {{"enabled", on}}}; }
inline messages::Answer recording_answer(bool on) { return {200, {{"recording", on}}}; }

// `worker`: that has it now.
inline messages::Answer moved_answer(unsigned worker) { return {200, {{"worker", worker}}}; }

// To PutCamera. `is_new`: there was no such camera.
inline messages::Answer put_answer(bool is_new) { return {is_new ? 201 : 200, nlohmann::json::object()}; }
inline messages::Answer removed_answer() { return {200, nlohmann::json::object()}; }

// Names of cameras that a reload has made to differ.
struct CameraDifference {
  std::vector<std::string> added = {};
  std::vector<std::string> changed = {};
  std::vector<std::string> removed = {};
};
inline messages::Answer reloaded_answer(const CameraDifference& cameras) {
  return {200, {{"added", cameras.added}, {"changed", cameras.changed}, {"removed", cameras.removed}}};
}

}  // namespace campipe
