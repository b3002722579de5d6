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

// Of a word: where a path of this machine begins in it.
std::size_t path_begin(std::string_view word) {
  constexpr std::string_view before = "(=[:,";
  for (std::size_t at = word.find('/'); at != std::string_view::npos; at = word.find('/', at + 1)) {
    if (at == 0 || before.find(word[at - 1]) != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

std::string word_for_viewers(const std::string& word) {
  const std::size_t scheme = word.find("://");
  const bool is_file = scheme == std::string::npos || word.substr(0, scheme).ends_with("file");
  if (!is_file) return word.substr(0, word.find_first_of("?#", scheme));
  const std::size_t path = scheme == std::string::npos ? path_begin(word) : scheme + 3;
  const std::size_t name = word.find_last_not_of("/:,.)]");
  if (path == std::string::npos || name == std::string::npos || name < path) return word;
  return word.substr(0, path) + word.substr(word.rfind('/', name) + 1);
}

std::string text_for_viewers(const std::string& text) {
  constexpr std::string_view ends = " \t\r\n'\"<>";
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(ends, at), text.size());
    shown += word_for_viewers(text.substr(at, end - at));
    if (end < text.size()) shown += text[end];
    at = end + 1;
  }
  return shown;
}

// "rtmp://host": what follows may be the key of a stream.
std::string host_of_target(const std::string& url) {
  const std::size_t scheme = url.find("://");
  return scheme == std::string::npos ? "target" : url.substr(0, url.find_first_of("/?#", scheme + 3));
}

void hide_in_camera(json& camera) {
  if (const auto file = camera.find("recording"); file != camera.end() && file->is_string()) {
    const auto path = file->get<std::string>();
    *file = path.substr(path.rfind('/') + 1);
  }
  if (const auto source = camera.find("source"); source != camera.end() && source->is_string()) {
    const auto url = source->get<std::string>();
    *source = url.substr(0, url.find_first_of("?#"));
  }
  const auto push = camera.find("push");
  if (push == camera.end() || !push->is_object()) return;
  json targets = json::object();
  for (auto& [url, target] : push->items()) {
    std::string host = host_of_target(url);
    for (int i = 2; targets.contains(host); ++i) host = host_of_target(url) + " " + std::to_string(i);
    target["reason"] = "";  // it may name the rest of the address
    targets[host] = std::move(target);
  }
  *push = std::move(targets);
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

json for_viewers(const json& value) {
  if (value.is_string()) return text_for_viewers(value.get<std::string>());
  if (!value.is_structured()) return value;
  json shown = value.is_array() ? json::array() : json::object();
  if (value.is_array()) {
    for (const json& child : value) shown.push_back(for_viewers(child));
  } else {
    for (const auto& [key, child] : value.items()) shown[key] = for_viewers(child);
  }
  return shown;
}

json status_for_viewers(const json& status) {
  json shown = status;
  for (auto& camera : shown.at("cameras")) {
    hide_in_camera(camera);
    if (!camera.contains("outputs")) continue;
    for (auto& output : camera["outputs"]) hide_in_camera(output);
  }
  if (shown.contains("processes")) {
    for (auto& process : shown["processes"]) process.erase("pid");
  }
  if (shown.contains("rtsp")) {
    const auto address = shown["rtsp"].value("address", "");
    shown["rtsp"]["address"] = address.substr(std::min(address.rfind(':'), address.size()));
  }
  return for_viewers(shown);
}

}  // namespace campipe
