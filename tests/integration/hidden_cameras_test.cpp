// A user who may see one camera of a rig: no route tells of the others, in no kind of text, and asking for one of them
// is answered as asking for one that does not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string secret = "zq7351";  // in the names of what is hidden

class HiddenCameras : public testing::Test {
 protected:
  HiddenCameras() {
    const std::string picture = R"(source: "test://pattern?width=160&height=120&rate=10", encode: {gop: 10})";
    const auto camera = [&](const std::string& name, const std::string& more) {
      return "  " + name + ": {" + picture + more + ", record: {path: \"" + name +
             "/%H-%M-%S.mp4\", segment_duration: 1s}}\n";
    };
    rig_ = std::make_unique<RigRun>(
        "http_address: \"127.0.0.1:" + std::to_string(port_) +
        "\"\nrtsp_address: off\ninsecure: true\nworkers: {count: 1}\nusers:\n  ada: {password: '" + hash_ +
        "', may: record, cameras: [dock, hall]}\n  owner: {password: '" + hash_ +
        "', may: administer}\nsync_groups: {pair: {cameras: [dock, vault-zq7351], rate: 10}}\ncameras:\n" +
        camera("dock", "") +
        camera("vault-zq7351", ", outputs: {small-zq7351: {filters: [{resize: {width: 80, height: 60}}]}}") +
        "mosaics:\n  hall: {layout: 2x1, cameras: [dock, vault-zq7351], width: 320, height: 240, rate: 10}\n"
        "  wall-zq7351: {layout: 2x1, cameras: [dock, vault-zq7351], width: 320, height: 240, rate: 10}\n");
    const bool ready = eventually([&] {
      try {
        return ask(port(), "GET /readyz").status == 200;
      } catch (const Error&) {
        return false;  // it does not listen yet
      }
    });
    if (!ready) throw Error("the rig is not ready: " + rig_->log());
  }
  [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }
  // With the password "correct horse".
  static std::string login_of(const std::string& user) {
    return std::string("Authorization: Basic ") +
           (user == "ada" ? "YWRhOmNvcnJlY3QgaG9yc2U=" : "b3duZXI6Y29ycmVjdCBob3JzZQ==") + "\r\n";
  }
  [[nodiscard]] Reply call(const std::string& line, const std::string& user = "ada",
                           const std::string& body = "") const {
    return ask(port(), line, login_of(user) + "Content-Type: application/json\r\n", body);
  }

  const std::string hash_ =
      "$argon2id$v=19$m=8192,t=1,p=1$j5Jqca6CfWjn2YBeUc14IQ$WqqfGov3SJrVn7xzww+8j9iTz0qXyfgVxPehGfpf2kg";
  const int port_ = free_port();
  std::unique_ptr<RigRun> rig_;
};

// Where it stands, in short.
std::string around_secret(const std::string& text) {
  const auto at = text.find(secret);
  return at == std::string::npos ? "" : text.substr(at < 200 ? 0 : at - 200, 400);
}

std::string with_name(const std::string& path, const std::string& name) {
  const auto at = path.find("{name}");
  return at == std::string::npos ? path : path.substr(0, at) + name + path.substr(at + 6);
}

TEST_F(HiddenCameras, NoRouteTellsOfThem) {
  const json described = json::parse(call("GET /api/v1/openapi.json").body).at("paths");
  // There is something to tell, everywhere.
  const auto is_recorded = [&] {
    return call("GET /api/v1/recordings", "owner").body.find("vault-zq7351/") != std::string::npos &&
           call("GET /api/v1/recordings").body.find("dock/") != std::string::npos;
  };
  ASSERT_TRUE(eventually(is_recorded)) << rig_->log();
  for (const char* line : {"GET /api/v1/status", "GET /api/v1/cameras", "GET /metrics", "GET /api/v1/recordings"})
    EXPECT_THAT(call(line, "owner").body, HasSubstr(secret)) << line;

  std::vector<std::string> lines{
      "GET /metrics", "GET /healthz",    "GET /readyz",      "GET /",
      "GET /system",  "GET /recordings", "GET /camera/dock", "GET /cameras/dock/snapshot.jpg"};
  for (const auto& [path, methods] : described.items()) {
    for (const auto& [method, operation] : methods.items()) {
      if (path == "/logout") continue;
      std::string upper = method;
      std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (upper != "GET" && upper != "POST" && upper != "PUT" && upper != "DELETE") continue;
      for (const char* seen : {"dock", "hall"}) lines.push_back(upper + " /api/v1" + with_name(path, seen));
    }
  }
  ASSERT_GT(lines.size(), 20U);
  for (const std::string& line : lines) {
    const Reply reply = call(line, "ada", line.starts_with("GET") ? "" : "{}");
    EXPECT_EQ(around_secret(reply.body), "") << line;
    for (const auto& [name, value] : reply.headers) EXPECT_THAT(value, Not(HasSubstr(secret))) << line << " " << name;
  }
}

TEST_F(HiddenCameras, TheStreamOfTheStatusDoesNotTellOfThem) {
  TcpClient client(port());
  client.send(request_text("GET /api/v1/status/changes", login_of("ada")));
  ASSERT_TRUE(client.read_up_to_end_of("event: change"));
  EXPECT_TRUE(client.read_up_to_end_of("\n\n"));
  EXPECT_THAT(client.text(), HasSubstr("\"hall\""));
  EXPECT_EQ(around_secret(client.text()), "");
}

TEST_F(HiddenCameras, AreAnsweredAsThoseThatDoNotExist) {
  const json described = json::parse(call("GET /api/v1/openapi.json").body).at("paths");
  std::vector<std::pair<std::string, std::string>> around;  // the name
  for (const char* path : {"snapshot.jpg", "stream.ts", "stream.mp4", "live", "small-zq7351/snapshot.jpg"})
    around.emplace_back("GET /cameras/", std::string("/") + path);
  for (const auto& [path, methods] : described.items()) {
    const auto at = path.find("{name}");
    if (at == std::string::npos) continue;
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (upper != "GET" && upper != "POST" && upper != "PUT" && upper != "DELETE") continue;
      around.emplace_back(upper + " /api/v1" + path.substr(0, at), path.substr(at + 6));
    }
  }
  const auto replaced = [](std::string text, const std::string& name) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at))
      text.replace(at, name.size(), "X");
    return text;
  };
  for (const auto& [before, behind] : around) {
    const std::string body = before.starts_with("GET") ? "" : "{}";
    for (const char* hidden : {"vault-zq7351", "wall-zq7351"}) {
      const Reply there = call(before + hidden + behind, "ada", body);
      const Reply none = call(before + "nothing" + behind, "ada", body);
      EXPECT_EQ(there.status, none.status) << before << hidden << behind;
      EXPECT_EQ(replaced(there.body, hidden), replaced(none.body, "nothing")) << before << hidden << behind;
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
