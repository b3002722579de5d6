// A request to the API: method, target, then the body. Whatever comes, the answer is JSON, and the supervisor is asked
// only for what it knows, of the camera that the path names.
#include "app/publisher/server/api/api.h"

#include "app/control/json_fields.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "app/publisher/server/http/rules.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

using nlohmann::json;

class Rig {
 public:
  Rig() {
    view_.set_status({{"uptime_s", 1.5}, {"state", "running"}, {"cameras", {{"dock", {{"state", "running"}}}}}});
  }

  HttpAnswer answer(const HttpRequest& request) {
    asked_ = nullptr;
    const HttpServer::Route* best = nullptr;
    for (const auto& route : routes_) {
      const bool fits = request.path.starts_with(route.prefix);
      if (fits && (best == nullptr || route.prefix.size() > best->prefix.size())) best = &route;
    }
    return best == nullptr ? http_error(404, "") : best->handle(request);
  }
  // Null: nothing.
  [[nodiscard]] const json& asked() const { return asked_; }

 private:
  void take(const messages::Request& request) {
    std::visit(
        [this]<typename M>(const M& asked) {
          asked_ = write_json(asked);
          asked_["type"] = M::type;
          view_.on_answer({200, asked_, asked.request});
        },
        request);
  }

  json asked_;
  RigView view_{[this](const messages::Request& request) { take(request); }};
  Access access_{ServerConfig()};
  Api api_{view_, access_, [] { return json::array(); }};
  std::vector<HttpServer::Route> routes_ = api_.routes();
};

void check_asked(const json& asked, const std::string& path) {
  const std::string type = asked.at("type");
  if (type == messages::Reload::type) return;
  const std::string name = asked.at("name");
  const std::string named = path.substr(path.find('/', std::string_view("/api/v1/").size()) + 1);
  require(named == name || named.starts_with(name + "/"), "the name is the path's", path);
  require(!messages::is_put(type) || asked.at("config").is_object(), "its keys are an object", path);
  for (const char* flag : {"persist", "on"})
    require(!asked.contains(flag) || asked[flag].is_boolean(), "a flag is true or false", path);
}

void check(std::string input) {
  static Rig rig;
  HttpRequest request;
  request.method = take_line(input);
  auto target = parse_target(take_line(input));
  if (!target) return;
  request.path = std::move(target->path);
  request.query = std::move(target->query);
  request.body = std::move(input);
  HttpAnswer answer = rig.answer(request);
  if (const auto look = std::move(answer.on_disk)) {
    DiskNote note;
    answer = look(note);
  }
  const json body = json::parse(answer.body, nullptr, false);
  require(!answer.file.name.empty() || body.is_object(), "an answer is JSON", answer.body);
  require(answer.status < 400 || body.contains("error"), "a refusal has its reason", answer.body);
  require(answer.status < 500, "no request makes the server fail", answer.body);
  if (!rig.asked().is_null()) check_asked(rig.asked(), request.path);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
