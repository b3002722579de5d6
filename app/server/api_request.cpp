#include "app/server/api_request.h"

#include <algorithm>

#include "core/nearest_name.h"
#include "core/passwords.h"

namespace campipe {
namespace {

using nlohmann::json;

// More than a configuration may have; copying a value costs stack for each level.
constexpr int max_depth = 32;

json parse(const std::string& text) {
  const auto check = [](int depth, json::parse_event_t, const json&) {
    if (depth > max_depth) throw ApiError(400, "the body is nested too deeply");
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception&) {
    throw ApiError(400, "the body is not valid JSON");  // the parser's message would quote it
  }
}

void check_known(const std::string& what, const std::string& name, std::span<const std::string_view> names) {
  if (std::ranges::find(names, name) != names.end()) return;
  throw ApiError(400, "unknown " + what + " '" + without_passwords(name) + "'" + suggestion(name, names));
}

}  // namespace

HttpAnswer json_answer(int status, const json& body) {
  HttpAnswer answer;
  answer.status = status;
  // Names of files, and what cameras say of themselves, need not be UTF-8.
  answer.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

HttpAnswer error_answer(int status, const std::string& why) { return json_answer(status, {{"error", why}}); }

json read_body(const HttpRequest& request, std::span<const std::string_view> keys) {
  if (request.body.empty()) return json::object();
  json body = parse(request.body);
  if (!body.is_object()) throw ApiError(400, "the body must be a JSON object");
  for (const auto& [key, value] : body.items()) check_known("key", key, keys);
  return body;
}

bool read_bool(const json& body, const std::string& key, bool otherwise) {
  const auto found = body.find(key);
  if (found == body.end()) return otherwise;
  if (!found->is_boolean()) throw ApiError(400, "'" + key + "' must be true or false");
  return found->get<bool>();
}

std::string read_string(const json& body, const std::string& key) {
  const auto found = body.find(key);
  if (found == body.end()) throw ApiError(400, "missing key '" + key + "'");
  if (!found->is_string()) throw ApiError(400, "'" + key + "' must be a text");
  return found->get<std::string>();
}

void check_parameters(const HttpRequest& request, std::span<const std::string_view> names) {
  for (const auto& [name, value] : request.query) check_known("parameter", name, names);
}

std::string parameter(const HttpRequest& request, const std::string& name, const std::string& otherwise) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? otherwise : found->second;
}

json without_secrets(const json& value) {
  if (value.is_string()) return without_passwords(value.get<std::string>());
  if (!value.is_structured()) return value;
  json clean = value.is_array() ? json::array() : json::object();
  if (value.is_array()) {
    for (const json& child : value) clean.push_back(without_secrets(child));
  } else {
    for (const auto& [key, child] : value.items()) clean[without_passwords(key)] = without_secrets(child);
  }
  return clean;
}

}  // namespace campipe
