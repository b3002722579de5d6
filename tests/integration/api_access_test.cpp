// The API of a rig that runs, as those meet it who are not its owner, and as its owner does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>

#include "core/error.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::string picture = R"("test://pattern?width=160&height=120&rate=10")";

class ApiAccess : public testing::Test {
 protected:
  explicit ApiAccess(const std::string& more = "") {
    rig_ = std::make_unique<RigRun>("http_address: \"127.0.0.1:" + std::to_string(port_) +
                                        "\"\nrtsp_address: off\nworkers: {count: 1}\n" + more +
                                        "cameras:\n  dock: {source: " + picture + "}\n",
                                    RigOptions{.report = false});
    const bool ready = eventually([&] {
      try {
        return call("GET /readyz").status == 200;
      } catch (const Error&) {
        return false;  // it does not listen yet
      }
    });
    if (!ready) throw Error("the rig is not ready: " + rig_->log());
  }

  [[nodiscard]] Reply call(const std::string& line, const std::string& headers = "",
                           const std::string& body = "") const {
    return ask(static_cast<std::uint16_t>(port_), line, headers, body);
  }
  [[nodiscard]] std::filesystem::path token_file() const { return rig_->file("state/token-" + std::to_string(port_)); }
  [[nodiscard]] std::string as_owner() const { return "Authorization: Bearer " + read_text(token_file()) + "\r\n"; }
  [[nodiscard]] static std::string put_body(const std::string& keys, bool persist = false) {
    return R"({"config": {"source": )" + picture + keys + R"(}, "persist": )" + (persist ? "true" : "false") + "}";
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  const int port_ = free_port();
  std::unique_ptr<RigRun> rig_;
};

TEST_F(ApiAccess, OnlyTheRigsOwnerChangesWhichCamerasThereAre) {
  struct stat info {};
  ASSERT_EQ(::stat(token_file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const std::string record = put_body(R"(, "record": {"path": "stolen.mp4"})");
  for (const std::string headers : {"", "Authorization: Bearer 0123\r\n", "Authorization: Basic eDp5\r\n"}) {
    EXPECT_EQ(call("PUT /api/v1/cameras/belt", headers, record).status, 403) << headers;
    EXPECT_EQ(call("DELETE /api/v1/cameras/dock", headers).status, 403) << headers;
    EXPECT_EQ(call("POST /api/v1/reload", headers).status, 403) << headers;
    for (const std::string part : {"mosaics", "sync_groups"}) {
      EXPECT_EQ(call("PUT /api/v1/" + part + "/new", headers, R"({"config": {}})").status, 403) << part << headers;
      EXPECT_EQ(call("DELETE /api/v1/" + part + "/new", headers).status, 403) << part << headers;
    }
  }
  EXPECT_EQ(call("DELETE /api/v1/mosaics/new", as_owner()).status, 404);
  EXPECT_EQ(call("DELETE /api/v1/sync_groups/new", as_owner()).status, 404);
  EXPECT_EQ(call("PUT /api/v1/cameras/belt", as_owner(), record).status, 201);
  EXPECT_TRUE(rig_->wait_for_growth("stolen.mp4", 1000));
  EXPECT_EQ(call("DELETE /api/v1/cameras/belt", as_owner()).status, 200);
  // What all may do on this machine.
  EXPECT_EQ(call("POST /api/v1/cameras/dock/disable").status, 200);
  EXPECT_EQ(call("POST /api/v1/cameras/dock/enable").status, 200);
  const auto pid = [](const Reply& reply) { return json::parse(reply.body)["processes"][0].contains("pid"); };
  EXPECT_FALSE(pid(call("GET /api/v1/status")));
  EXPECT_TRUE(pid(call("GET /api/v1/status", as_owner())));

  const auto runs = [&] { return json::parse(call("GET /api/v1/cameras/dock").body).at("state") == "running"; };
  EXPECT_TRUE(eventually(runs)) << rig_->log();
  rig_->signal(SIGTERM);
  EXPECT_EQ(rig_->wait(), 0) << rig_->log();
  EXPECT_FALSE(std::filesystem::exists(token_file()));
}

// Whoever took the port in between may have been sent the one before.
TEST_F(ApiAccess, TheTokenIsAnotherOneAfterThePublisherDied) {
  const std::string before = as_owner();
  ASSERT_EQ(call("POST /api/v1/reload", before).status, 200);
  ASSERT_EQ(::kill(rig_->pid_of("publisher"), SIGKILL), 0);
  const auto status_of = [&](const std::string& headers) {
    try {
      return call("POST /api/v1/reload", headers).status;
    } catch (const Error&) {
      return 0;  // nobody listens yet
    }
  };
  EXPECT_TRUE(eventually([&] { return status_of(as_owner()) == 200; })) << rig_->log();
  EXPECT_NE(as_owner(), before);
  EXPECT_EQ(status_of(before), 403);
}

TEST_F(ApiAccess, WhereThePortIsAnothersThereIsNoToken) {
  const std::string token = as_owner();
  // Another rig of this account, with the same files.
  RigRun other("http_address: \"127.0.0.1:" + std::to_string(port_) +
                   "\"\nrtsp_address: off\nworkers: {count: 1}\ncameras:\n  dock: {source: " + picture + "}\n",
               RigOptions{.report = false, .state = rig_->file("state")});
  EXPECT_TRUE(eventually([&] { return other.log().find("HTTP is not served") != std::string::npos; })) << other.log();
  EXPECT_EQ(as_owner(), token);
  EXPECT_EQ(call("POST /api/v1/reload", token).status, 200);
  other.signal(SIGTERM);
  other.wait();
  EXPECT_EQ(as_owner(), token);
}

TEST_F(ApiAccess, TheCommandsFindAndUseTheToken) {
  const Answer stranger = ask({"reload", "--url", url()});
  EXPECT_EQ(stranger.status, 1);
  EXPECT_THAT(stranger.errors, HasSubstr("token"));
  const Answer owner = ask({"reload", "--url", url(), "--token-file", token_file()});
  EXPECT_EQ(owner.status, 0) << owner.errors;
  const Answer missing = ask({"status", "--url", url(), "--token-file", rig_->file("none")});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.errors, HasSubstr("--token-file"));
  // Found by the address of the rig.
  ::setenv("CAMPIPE_URL", url().c_str(), 1);
  ::setenv("CAMPIPE_TOKEN_FILE", token_file().c_str(), 1);
  const Answer by_environment = ask({"reload"});
  ::unsetenv("CAMPIPE_TOKEN_FILE");
  ::unsetenv("CAMPIPE_URL");
  EXPECT_EQ(by_environment.status, 0) << by_environment.errors;
}

// Answers with thousands of mistakes, and requests with thousands of numbers, end nothing.
TEST_F(ApiAccess, LargeMistakesAreToldInShort) {
  const pid_t publisher = rig_->pid_of("publisher");
  std::string keys;
  for (int i = 0; i < 5500; ++i) keys += ", \"k" + std::to_string(i) + "\": 1";
  const Reply reply = call("PUT /api/v1/cameras/belt", as_owner(), put_body(keys));
  EXPECT_EQ(reply.status, 400);
  const json errors = json::parse(reply.body)["errors"];
  EXPECT_THAT(errors, SizeIs(101));
  EXPECT_THAT(errors.back(), HasSubstr("more mistakes"));
  std::string numbers = "1e5";
  for (int i = 0; i < 15'000; ++i) numbers += ",1e5";
  EXPECT_EQ(call("PUT /api/v1/cameras/belt", as_owner(), put_body(", \"queue_size\": [" + numbers + "]")).status, 400);
  const std::string long_key(60'000, 'x');
  EXPECT_EQ(call("PUT /api/v1/cameras/belt", as_owner(), put_body(", \"" + long_key + "\": 1")).status, 400);
  EXPECT_EQ(call("GET /api/v1/status").status, 200);
  EXPECT_EQ(rig_->pid_of("publisher"), publisher);
}

TEST_F(ApiAccess, WhatIsKeptIsNotBesideTheConfiguration) {
  EXPECT_EQ(call("PUT /api/v1/cameras/belt", as_owner(), put_body("", true)).status, 201);
  EXPECT_FALSE(std::filesystem::exists(rig_->file("rig.api.yaml")));
  const auto overlay = rig_->file("state/overlays") / rig_->file("rig.api.yaml").relative_path();
  EXPECT_THAT(read_text(overlay), HasSubstr("belt"));
  EXPECT_EQ(call("POST /api/v1/reload", as_owner()).status, 200);
  // The status that it is taken from may be a second old.
  EXPECT_TRUE(eventually([&] { return json::parse(call("GET /api/v1/cameras").body)["cameras"].contains("belt"); }));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
