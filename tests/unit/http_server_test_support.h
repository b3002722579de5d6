// An HTTP server with routes that say what they got, that fail and that wait; with users, or without.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/config/password_hash.h"
#include "app/publisher/server/http/server.h"
#include "core/error.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/tls_peers.h"

namespace campipe::test {

inline HttpAnswer echo(const HttpRequest& request) {
  nlohmann::json body = {{"method", request.method}, {"path", request.path},          {"query", request.query},
                         {"body", request.body},     {"user", request.identity.user}, {"address", request.address},
                         {"base", request.base}};
  HttpAnswer answer;
  answer.body = body.dump();
  return answer;
}

inline UserConfig user(const std::string& name, Permission may, std::vector<std::string> cameras = {}) {
  UserConfig config;
  config.name = name;
  config.password = hash_password(name + "'s");
  config.may = may;
  config.cameras = std::move(cameras);
  return config;
}

class HttpServerTest : public testing::Test {
 protected:
  static ServerConfig open_config() {
    ServerConfig config;
    config.http_address = "127.0.0.1:0";
    return config;
  }
  static ServerConfig guarded_config() {
    static const std::vector<UserConfig> users{user("anna", Permission::administer),
                                               user("bob", Permission::view, {"dock"}),
                                               user("carl", Permission::view, {"dock"})};
    ServerConfig config = open_config();
    config.users = users;
    return config;
  }

  void start(const ServerConfig& config, const HttpLimits& limits = {}) {
    access_.emplace(config);
    const auto wait = [this](const HttpRequest& request) {
      ++waiting_;
      {
        const std::lock_guard lock(served_mutex_);
        served_.push_back(request.address);
      }
      released_.wait();
      return HttpAnswer();
    };
    const auto send_file = [this](const HttpRequest&) {
      HttpAnswer answer;
      answer.file = in_own_folder(file_);
      answer.saved_as = answer.file.name.filename();
      return answer;
    };
    std::vector<HttpServer::Route> routes{
        {"/api/v1/", false, echo},
        {"/login", true, echo},
        {"/tagged", true,
         [](const HttpRequest&) {
           HttpAnswer answer;
           answer.body = std::string(2000, 'p');
           answer.headers = {{"ETag", "\"1\""}, {"Cache-Control", "no-cache"}};
           return answer;
         }},
        {"/waits", true, wait},
        {"/api/v1/waits", false, wait},
        {"/api/v1/disk", false,
         [at_disk = at_disk_, released = released_](const HttpRequest&) {
           HttpAnswer answer;
           answer.on_disk = [at_disk, released](DiskNote& note) {
             note.is_about("dock");
             ++*at_disk;
             released.wait();
             HttpAnswer read;
             read.body = "read";
             return read;
           };
           return answer;
         }},
        {"/fails", true, [](const HttpRequest&) -> HttpAnswer { throw Error("secret reason"); }},
        {"/file", true, send_file},
        {"/api/v1/file", false, send_file}};
    auto tls = config.tls ? open_server_tls(*config.tls) : nullptr;
    server_.emplace(config, rig_, *access_, std::move(routes), limits, std::string(),
                    std::function<void(std::uint16_t)>(), std::move(tls));
  }
  // Addresses that "/waits" has answered, or is about to, in their order.
  std::vector<std::string> served() {
    const std::lock_guard lock(served_mutex_);
    return served_;
  }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  // Answer and status, by TLS.
  [[nodiscard]] std::string curl(const TlsConfig& tls, const std::string& options = "") const {
    return output_of("curl -sS --cacert " + tls.certificate + " --max-time 20 -w ' %{http_code}' " + options +
                     " https://localhost:" + std::to_string(port()) + "/api/v1/x 2>&1");
  }

  RigView rig_{[](const messages::Request&) {}};
  std::optional<Access> access_;
  std::string file_;
  std::atomic<int> waiting_ = 0;
  std::mutex served_mutex_;
  std::vector<std::string> served_;
  std::promise<void> let_go_;
  const std::shared_future<void> released_ = let_go_.get_future().share();
  const std::shared_ptr<std::atomic<int>> at_disk_ = std::make_shared<std::atomic<int>>(0);
  std::optional<HttpServer> server_;
};

}  // namespace campipe::test
