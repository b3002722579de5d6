// What comes with a request to the API, checked; and answers.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "app/publisher/server/http/server.h"
#include "app/publisher/server/recordings.h"

namespace campipe {

// Thrown by handlers: becomes {"error": "…"}.
struct ApiError : std::runtime_error {
  ApiError(int code, const std::string& why, int retry_after = 0)
      : std::runtime_error(why), status(code), retry_after_s(retry_after) {}
  int status;
  int retry_after_s;  // in the header Retry-After; 0: none
};
// Also where the user may not see it.
ApiError no_camera(const std::string& name);

std::string json_text(const nlohmann::json& body);
HttpAnswer json_answer(int status, const nlohmann::json& body);
HttpAnswer json_text_answer(int status, std::string body);  // `body`: of json_text()
HttpAnswer error_answer(const ApiError& error);
// What `look` returns, on a thread that may wait for a disk. It owns all that it uses.
HttpAnswer from_disk(std::function<HttpAnswer(const Recordings::IsAbout& is_about)> look);

// The body as an object that has no keys but these, and none twice; nothing at all is an empty one. Throws ApiError
// 400.
nlohmann::json read_body(const HttpRequest& request, std::span<const std::string_view> keys);
bool read_bool(const nlohmann::json& body, const std::string& key, bool otherwise);
// Throws ApiError 400 where it is not there, or something else.
std::string read_string(const nlohmann::json& body, const std::string& key);

// Throws ApiError 400 where there is a parameter that is none of these.
void check_parameters(const HttpRequest& request, std::span<const std::string_view> names);
// A parameter, or what counts without it.
std::string parameter(const HttpRequest& request, const std::string& name, const std::string& otherwise);

// Names and values, without users and passwords of URLs (core/passwords.h).
nlohmann::json without_secrets(const nlohmann::json& json);

// What those who do not administer the rig are shown of it. Of texts: URLs without what follows '?' and '#', names of
// files without their folders. Of a status also: no ids of processes, of targets only the host, of the addresses
// that are listened at only the port, and of a cluster no addresses.
nlohmann::json for_viewers(const nlohmann::json& json);
// Of one camera in it: what is known of the places of its files is used, too.
nlohmann::json camera_for_viewers(nlohmann::json camera);
nlohmann::json status_for_viewers(const nlohmann::json& status);

}  // namespace campipe
