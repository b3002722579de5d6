// A whole request, a header a line: method, target, Host, Origin, Sec-Fetch-Site, Cookie, Authorization, X-CSRF-Token,
// Campipe-User, Campipe-Visitor, Campipe-Node.
// Whatever they are, nobody comes in who may not. "@SESSION" and "@CSRF" stand for those that ann has.
#include "app/publisher/server/http/gate.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/quiet.h"
#include "tests/fuzz/users.h"

namespace campipe::fuzz {
namespace {

struct Server {
  ServerConfig config = server_with_users();
  Access access{config, hurried_clock()};
  std::vector<HttpServer::Route> routes{{"/", true, {}}, {"/api/v1/", false, {}}, {"/api/v1/login", true, {}}};
  HttpGate gate{config, access, routes};
  ServerConfig door_config = with_tls(config);
  HttpGate door{door_config, access, routes, true};  // of a node of a cluster

  static ServerConfig with_tls(ServerConfig config) {
    config.tls.emplace();
    return config;
  }
};

std::string filled_in(std::string line, const std::string& mark, const std::string& value) {
  if (const auto at = line.find(mark); at != std::string::npos) line.replace(at, mark.size(), value);
  return line;
}

HttpFacts read_facts(std::string input, const Access::Session& session) {
  HttpFacts facts;
  for (std::string* header : {&facts.method, &facts.target, &facts.host, &facts.origin, &facts.fetch.site,
                              &facts.credentials.cookie, &facts.credentials.authorization, &facts.credentials.csrf,
                              &facts.node.user, &facts.node.visitor, &facts.node.own})
    *header = filled_in(filled_in(take_line(input), "@SESSION", session.token), "@CSRF", session.csrf);
  facts.address = "10.0.0.5";
  return facts;
}

void check_door(const Server& server, const HttpFacts& facts, const std::string& input) {
  const HttpGate::Verdict verdict = server.door.judge_quickly(facts);
  require(!verdict.unclear, "a door asks for no password", input);
  if (verdict.refusal) return;
  const auto& [request, route, camera, looks_itself] = verdict.passed;
  using Kind = Identity::Kind;
  const bool is_user = request.identity.kind == Kind::user && request.identity.user == facts.node.user;
  require(is_user || (request.identity.kind == Kind::node && facts.node.user.empty()),
          "a door lets in whom a node names", input);
  require(!camera || request.identity.may(Permission::view, camera->camera), "nobody sees others' cameras", input);
  require(!looks_itself, "who answers says that", input);
  require(request.from_node && facts.origin.empty() && facts.fetch.site.empty(), "no browser comes in", input);
}

void check(const std::string& input) {
  static Server server;
  be_silent();
  const Access::Session session = server.access.open_session(*server.access.identity_of("ann"));
  const HttpFacts facts = read_facts(input, session);
  const HttpGate::Verdict verdict = server.gate.judge(facts, server.gate.check_password(facts));
  server.access.close_session(session.token);
  check_door(server, facts, input);
  if (verdict.refusal) {
    require(verdict.refusal->status >= 300, "a refusal is none that looks like an answer", input);
    return;
  }
  const auto& [request, route, camera, looks_itself] = verdict.passed;
  const bool known = request.identity.kind == Identity::Kind::user;
  require(known || (route != nullptr && route->anyone), "who is not known sees only what anyone may", input);
  require((route != nullptr) != camera.has_value(), "what passes goes somewhere", input);
  require(!camera || request.identity.may(Permission::view, camera->camera), "nobody sees others' cameras", input);
  require(facts.origin.empty() || is_same_origin(facts.origin, facts.host), "no other site's page comes in", input);
  require(!looks_itself, "who answers says that", input);
  const bool changes = request.method != "GET" && (route == nullptr || !route->anyone);
  require(!changes || request.session.empty() || facts.credentials.csrf == session.csrf, "no forgery comes in", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
