#include "app/publisher/server/api/request.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "app/config/address.h"
#include "app/publisher/server/http/rules.h"
#include "core/nearest_name.h"
#include "core/passwords.h"
#include "core/shallow_json.h"

namespace campipe {
namespace {

using nlohmann::json;

// More than a configuration may have; copying a value costs stack for each level.
constexpr int max_depth = 32;

json parse(const std::string& text) {
  using Kind = JsonProblem::Kind;
  const JsonProblem problem = find_json_problem(text, max_depth, JsonKeys::unique);
  switch (problem.kind) {
    case Kind::none:
      break;
    case Kind::no_json:
      throw ApiError(400, "the body is not valid JSON");  // the parser's message would quote it
    case Kind::too_deep:
      throw ApiError(400, "the body is nested too deeply");
    case Kind::duplicate_key:
      throw ApiError(400, "duplicate key '" + shown_name(problem.key) + "'");
  }
  return json::parse(text);
}

// Of a word: where a path of this machine begins in it.
std::size_t path_begin(std::string_view word) {
  constexpr std::string_view before = "(=[:,";
  const std::size_t scheme = word.find("://");
  if (scheme != std::string_view::npos) return word.substr(0, scheme).ends_with("file") ? scheme + 3 : scheme;
  for (std::size_t at = word.find('/'); at != std::string_view::npos; at = word.find('/', at + 1)) {
    if (at == 0 || before.find(word[at - 1]) != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

bool is_url(std::string_view text) {
  const std::size_t scheme = text.find("://");
  return scheme != std::string_view::npos && !text.substr(0, scheme).ends_with("file");
}

std::string url_for_viewers(std::string_view url) {
  return std::string(url.substr(0, url.find_first_of("?#", url.find("://"))));
}

// Of a path, with what may stand behind it: without its folders.
std::string without_folders(std::string_view path) {
  const std::size_t name = path.find_last_not_of("/:,.)] \t");
  const std::size_t slash = name == std::string_view::npos ? name : path.rfind('/', name);
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// All of it is one path or URL, which may have spaces.
std::string place_for_viewers(std::string_view place) {
  return is_url(place) ? url_for_viewers(place) : without_folders(place);
}

// How far a path that begins there may go at most: it may have spaces. It looks no further than that: a text may have
// many paths.
std::size_t longest_path(std::string_view text) {
  constexpr std::string_view marks = "\r\n'\"<>:";
  for (std::size_t at = text.find_first_of(marks); at != std::string_view::npos;
       at = text.find_first_of(marks, at + 1)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("://")) return text.substr(0, at).find_last_of(" \t") + 1;
    if (!rest.starts_with(':') || rest.starts_with(": ")) return at;
  }
  return text.size();
}

// Of a quotation that begins there: its length with both marks; 0: this begins none.
std::size_t quotation(std::string_view text, std::size_t at) {
  const bool may = text[at] == '\'' || text[at] == '"';
  if (!may || (at > 0 && std::string_view(" \t\r\n(=[:,").find(text[at - 1]) == std::string_view::npos)) return 0;
  const std::size_t end = text.find(text[at], at + 1);
  return end == std::string_view::npos ? 0 : end + 1 - at;
}

// What begins there, and is to be shown otherwise or as it is; `at` moves behind it. `word_end`: where the word that
// was looked at last ends.
std::string next_for_viewers(std::string_view text, std::size_t& at, std::size_t& word_end) {
  constexpr std::string_view ends = " \t\r\n'\"<>";
  if (const std::size_t size = quotation(text, at); size > 0) {
    const std::string_view whole = text.substr(std::exchange(at, at + size), size);
    return whole[0] + place_for_viewers(whole.substr(1, size - 2)) + whole[0];
  }
  if (at >= word_end) word_end = std::min(text.find_first_of(ends, at), text.size());
  const std::string_view word = text.substr(at, std::max<std::size_t>(word_end - at, 1));
  const std::size_t path = path_begin(word);
  if (path == std::string_view::npos || is_url(word)) {
    at += word.size();
    return is_url(word) ? url_for_viewers(word) : std::string(word);
  }
  const std::string_view rest = text.substr(at + path);
  const std::string_view longest = rest.substr(0, longest_path(rest));
  at += path + longest.size();
  return std::string(word.substr(0, path)) + without_folders(longest);
}

std::string text_for_viewers(std::string_view text) {
  std::string shown;
  std::size_t word_end = 0;
  for (std::size_t at = 0; at < text.size();) shown += next_for_viewers(text, at, word_end);
  return shown;
}

// Those in which others lie come last.
using Folders = std::set<std::string, std::greater<>>;

void remove_folder(std::string& text, const std::string& folder) {
  const std::string_view given = text;
  std::string shown;
  std::size_t copied = 0;
  for (std::size_t at = given.find(folder); at != std::string_view::npos;) {
    shown += given.substr(copied, at - copied);
    const bool begins =
        shown.empty() || std::string_view(" \t\r\n'\"(=[:,").find(shown.back()) != std::string_view::npos;
    copied = begins ? at + folder.size() : at;
    at = given.find(folder, begins ? copied : at + 1);
  }
  text = shown + std::string(given.substr(copied));
}

// What is known to be a path is found also where it is relative, and no space in it misleads.
void hide_folders(json& value, const Folders& folders) {
  if (value.is_string()) {
    auto text = value.get<std::string>();
    for (const std::string& folder : folders) remove_folder(text, folder);
    value = std::move(text);
  } else if (value.is_structured()) {
    for (json& child : value) hide_folders(child, folders);
  }
}

// With '/' behind each.
Folders folders_of(const json& camera) {
  constexpr std::size_t longest_folder = 4096;  // as the system has it
  Folders folders;
  for (const char* key : {"source", "recording"}) {
    const auto found = camera.find(key);
    if (found == camera.end() || !found->is_string() || is_url(found->get_ref<const std::string&>())) continue;
    const auto path = found->get<std::string>();
    const std::size_t name = path.rfind('/');
    if (name != std::string::npos && name > 0 && name < longest_folder) folders.insert(path.substr(0, name + 1));
  }
  return folders;
}

// "rtmp://host": what follows may be the key of a stream.
std::string host_of_target(const std::string& url) {
  const std::size_t scheme = url.find("://");
  return scheme == std::string::npos ? "target" : url.substr(0, url.find_first_of("/?#", scheme + 3));
}

void hide_in_camera(json& camera) {
  // No path is in the graph, but names of outputs that look like one: "dock/small".
  json graph = std::exchange(camera["graph"], {});
  hide_folders(camera, folders_of(camera));
  camera["graph"] = std::move(graph);
  if (camera["graph"].is_null()) camera.erase("graph");
  for (const char* key : {"recording", "source"}) {
    const auto place = camera.find(key);
    if (place != camera.end() && place->is_string()) *place = place_for_viewers(place->get_ref<const std::string&>());
  }
  const auto push = camera.find("push");
  if (push == camera.end() || !push->is_object()) return;
  json targets = json::object();
  std::map<std::string, int> numbers;
  for (auto& [url, target] : push->items()) {
    const std::string name = host_of_target(url);
    std::string host = name;
    for (int& number = numbers.try_emplace(name, 1).first->second; targets.contains(host);)
      host = name + " " + std::to_string(++number);
    target["reason"] = "";  // it may name the rest of the address
    targets[host] = std::move(target);
  }
  *push = std::move(targets);
}

// Where nodes are reached, and what etcd's addresses are, is for administrators.
void hide_in_cluster(json& cluster) {
  for (json& node : cluster.at("nodes")) node["address"] = "";
  json& etcd = cluster.at("etcd");
  if (!etcd.at("problem").is_null())
    etcd["problem"] = "etcd, or the cluster's plan, has a problem: an administrator sees which";
}

void check_known(const std::string& what, const std::string& name, std::span<const std::string_view> names) {
  if (std::ranges::find(names, name) != names.end()) return;
  throw ApiError(400, "unknown " + what + " '" + shown_name(name) + "'" + suggestion(name, names));
}

}  // namespace

// Names of files, and what cameras report of themselves, need not be UTF-8.
std::string json_text(const json& body) { return body.dump(-1, ' ', false, json::error_handler_t::replace); }

HttpAnswer json_answer(int status, const json& body) { return json_text_answer(status, json_text(body)); }

HttpAnswer json_text_answer(int status, std::string body) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = std::move(body);
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

ApiError no_camera(const std::string& name) { return {404, "there is no camera '" + shown_name(name) + "'"}; }

HttpAnswer error_answer(const ApiError& error) {
  HttpAnswer answer = json_answer(error.status, {{"error", error.what()}});
  if (error.retry_after_s > 0) answer.headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  return answer;
}

HttpAnswer from_disk(std::function<HttpAnswer(const Recordings::IsAbout& is_about)> look) {
  HttpAnswer answer;
  answer.on_disk = [look = std::move(look)](DiskNote& note) {
    try {
      return look([&note](const std::string& camera) { note.is_about(camera); });
    } catch (const DiskSilent& error) {
      return no_answer_from_disk(error.camera);
    }
  };
  return answer;
}

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

json camera_for_viewers(json camera) {
  hide_in_camera(camera);
  return for_viewers(camera);
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
    const auto parsed = split_listen_address(address);
    // A loopback address tells nobody where the rig is.
    if (!parsed || !is_loopback(*parsed))
      shown["rtsp"]["address"] = address.substr(std::min(address.rfind(':'), address.size()));
  }
  if (shown.contains("cluster")) hide_in_cluster(shown["cluster"]);
  return for_viewers(shown);
}

}  // namespace campipe
