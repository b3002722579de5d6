// Keys of what is served: addresses, TLS, users.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/config/address.h"
#include "app/config/config.h"
#include "app/config/json.h"
#include "app/config/password_hash.h"
#include "core/error.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Strings = std::vector<std::string>;

const std::string hash = hash_password("hunter2");

// `keys` begin on line 2.
std::string with_server(const std::string& keys) { return "cameras: {dock: {source: '" + pattern + "'}}\n" + keys; }
std::string with_user(const std::string& keys) {
  return with_server("users:\n  ann: {password: '" + hash + "', " + keys + "}\n");
}

class ServerConfigTest : public ConfigTest {
 protected:
  static ServerConfig server(const std::string& keys) {
    const LoadedConfig loaded = load(with_server(keys));
    EXPECT_EQ(formatted(loaded), Strings());
    return loaded.rig.server;
  }
};

TEST_F(ServerConfigTest, WithoutKeysOnlyThisMachineIsServed) {
  EXPECT_EQ(server(""), ServerConfig());
  EXPECT_EQ(ServerConfig().http_address, "127.0.0.1:8080");
}

TEST_F(ServerConfigTest, KeysAreRead) {
  make_certificate("rig.pem", "rig.key");
  const ServerConfig read = server(
      "http_address: :8443\nrtsp_address: 'off'\nrtsp_timestamps: ntp64\n"
      "tls: {certificate: rig.pem, key: rig.key}\ntrusted_proxies: [10.0.0.0/8]\nhttp_base: /cams\n"
      "http_hosts: [cams.example.com]\nsessions: {idle: 2h}\nusers: {ann: {password: '" +
      hash + "'}}\n");
  const ServerConfig expected{":8443",
                              "",
                              RtspTimestamps::ntp64,
                              false,
                              TlsConfig{"rig.pem", "rig.key"},
                              {{"ann", hash, "", Permission::view, {}}},
                              {"10.0.0.0/8"},
                              SessionConfig{std::chrono::hours(2), std::chrono::hours(12)},
                              "/cams",
                              {"cams.example.com"}};
  EXPECT_EQ(read, expected);
}

TEST_F(ServerConfigTest, ProxiesAreAddressesOrNetworks) {
  const Strings good{"127.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32", "0.0.0.0/0"};
  std::string list;
  for (const std::string& proxy : good) list += "'" + proxy + "', ";
  EXPECT_EQ(server("trusted_proxies: [" + list + "]\n").trusted_proxies, good);
  for (const std::string bad : {"localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0/8", "::1/129", ""}) {
    EXPECT_THAT(formatted(load(with_server("trusted_proxies: ['" + bad + "']\n"))),
                ElementsAre(HasSubstr("rig.yaml:2:19: trusted_proxies[0]: expected an address or a network")))
        << bad;
  }
}

TEST_F(ServerConfigTest, APublicAddressIsAPathAndHosts) {
  for (const std::string good : {"/cams", "/video/hall-1", "/a.b/c_d~"})
    EXPECT_EQ(server("http_base: " + good + "\n").http_base, good);
  for (const std::string bad : {"cams", "/", "/cams/", "//", "/a//b", "/..", "/a/./b", "/a b", "/a?b", "/ä"})
    EXPECT_THAT(errors(with_server("http_base: '" + bad + "'\n")),
                ElementsAre(HasSubstr("rig.yaml:2:12: http_base: expected a path without an end, such as /cams, got")))
        << bad;
  for (const std::string own : {"/api", "/live/cams", "/cameras", "/static"})
    EXPECT_THAT(
        errors(with_server("http_base: " + own + "\n")),
        ElementsAre(HasSubstr("rig.yaml:2:12: http_base: expected another path: the rig's own pages and calls")));
  EXPECT_EQ(server("http_base: /live-cams\n").http_base, "/live-cams");
  const Strings hosts{"cams.example.com", "cams.example.com:8443", "[2001:db8::1]:8443", "rig"};
  EXPECT_EQ(server("http_hosts: [cams.example.com, 'cams.example.com:8443', '[2001:db8::1]:8443', rig]\n").http_hosts,
            hosts);
  for (const std::string bad : {"https://cams.example.com", "cams.example.com/", ":8443", "a b", "rig:0", "rig:"})
    EXPECT_THAT(errors(with_server("http_hosts: ['" + bad + "']\n")),
                ElementsAre(HasSubstr("rig.yaml:2:14: http_hosts[0]: expected HOST or HOST:PORT")))
        << bad;
}

TEST_F(ServerConfigTest, SessionsEndInOrder) {
  const auto sessions = [&](const std::string& keys) { return server("sessions: {" + keys + "}\n").sessions; };
  using std::chrono::hours;
  EXPECT_EQ(sessions("idle: 24h"), (SessionConfig{hours(24), hours(24)}));
  EXPECT_EQ(sessions("longest: 30m"), (SessionConfig{std::chrono::minutes(30), std::chrono::minutes(30)}));
  EXPECT_EQ(sessions("idle: 10m, longest: 20m"), (SessionConfig{std::chrono::minutes(10), std::chrono::minutes(20)}));
  EXPECT_EQ(errors(with_server("sessions: {idle: 3h, longest: 2h}\n")),
            Strings{"rig.yaml:2:18: sessions.idle: expected at most `longest`, which is '2h', got '3h'"});
  EXPECT_THAT(errors(with_server("sessions: {idle: 1s}\n")), ElementsAre(HasSubstr("sessions.idle: expected")));
}

TEST_F(ServerConfigTest, ATokenIsAHashOfOneWhoMayView) {
  const std::string token(64, 'a');
  const auto with_token = [&](const std::string& keys) { return "users: {lobby: {token: " + keys + "}}\n"; };
  EXPECT_EQ(server(with_token(token)).users, (std::vector<UserConfig>{{"lobby", "", "", Permission::view, {}, token}}));
  EXPECT_EQ(
      errors(with_server(with_token(token + ", may: record"))),
      Strings{"rig.yaml:2:24: users.lobby.token: a token is for users who may only `view`: it is in the address of "
              "a page"});
  for (const std::string& bad : Strings{"hunter2", std::string(63, 'a'), std::string(64, 'A'), std::string(43, 'x')})
    EXPECT_EQ(errors(with_server(with_token(bad))),
              Strings{"rig.yaml:2:24: users.lobby.token: expected the hash of a token (64 hexadecimal digits); use "
                      "campipe make-token"})
        << bad;
}

TEST_F(ServerConfigTest, ATokenIsOneUsers) {
  const std::string token(64, 'a');
  EXPECT_EQ(errors(with_server("users:\n  lobby: {token: " + token + "}\n  yard: {token: " + token + "}\n")),
            Strings{"rig.yaml:4:17: users.yard.token: user 'lobby' has this token, too; make another one with campipe "
                    "make-token"});
}

TEST_F(ServerConfigTest, ARangeHasItsAddressesOnly) {
  const auto has = [](const std::string& range, const std::string& address) {
    return parse_address_range(range)->contains(address);
  };
  EXPECT_TRUE(has("10.1.0.0/15", "10.0.255.1"));
  EXPECT_FALSE(has("10.1.0.0/15", "10.2.0.1"));
  EXPECT_TRUE(has("0.0.0.0/0", "1.2.3.4"));
  EXPECT_FALSE(has("0.0.0.0/0", "2001:db8::1"));
  EXPECT_TRUE(has("2001:db8::/32", "2001:db8:7::1"));
  EXPECT_FALSE(has("2001:db8::1", "2001:db8::2"));
  EXPECT_TRUE(has("10.0.0.1", "::ffff:10.0.0.1"));
  EXPECT_FALSE(has("10.0.0.1", "unknown"));
}

TEST_F(ServerConfigTest, AddressesAreNamesOrNumbersWithAPort) {
  for (const std::string address : {"127.0.0.1:0", "[::1]:8080", "localhost:65535", "127.1.2.3:1", "off"}) {
    EXPECT_EQ(server("http_address: '" + address + "'\n").http_address, address == "off" ? "" : address);
    EXPECT_EQ(server("rtsp_address: '" + address + "'\n").rtsp_address, address == "off" ? "" : address);
  }
  for (const std::string address : {":8080", "0.0.0.0:80", "[::]:80", "rig.example:443", "10.0.0.1:80"}) {
    EXPECT_EQ(server("insecure: true\nhttp_address: '" + address + "'\n").http_address, address);
  }
  for (const std::string address :
       {"8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]80", "[127.0.0.1]:80",
        "127.0.0:80", "a b:80", "http://localhost:80", "a:80/x", "[]:80", "OFF"}) {
    EXPECT_THAT(
        errors(with_server("http_address: '" + address + "'\n")),
        ElementsAre("rig.yaml:2:15: http_address: expected HOST:PORT, :PORT for all of this machine's addresses, "
                    "or off, got '" +
                    address + "'"));
  }
  EXPECT_FALSE(split_listen_address(std::string("10.0.0.1\0:80", 12)));
}

TEST_F(ServerConfigTest, TwoServersDoNotShareAPort) {
  const auto first = [&](const std::string& yaml) { return formatted(load(yaml + "\ncameras: {}\n")).at(0); };
  EXPECT_THAT(first("http_address: \"127.0.0.1:9000\"\nrtsp_address: \"127.0.0.1:9000\""),
              HasSubstr("rig.yaml:2:15: rtsp_address: "));
  EXPECT_THAT(first("http_address: \"127.0.0.1:8554\""), HasSubstr("rig.yaml:1:15: http_address: "));
  EXPECT_THAT(first("http_address: \":9000\"\nrtsp_address: \"127.0.0.1:9000\"\ninsecure: true"),
              HasSubstr("rig.yaml:2:15: rtsp_address: "));
}

TEST_F(ServerConfigTest, WhatOthersReachNeedsUsersOrAWord) {
  const std::string told =
      " could watch and control the rig: add `users`, or say that it is meant with `insecure: true`";
  EXPECT_EQ(errors(with_server("http_address: :8080\nrtsp_address: 10.0.0.1:554\n")),
            (Strings{"rig.yaml:2:15: http_address: any visitor who reaches ':8080'" + told,
                     "rig.yaml:3:15: rtsp_address: any visitor who reaches '10.0.0.1:554'" + told}));
  EXPECT_EQ(
      errors(with_server("insecure: false\nhttp_address: rig.example:80\n")),
      Strings{"rig.yaml:3:15: http_address: any visitor who reaches 'rig.example:80'" + told + ", which is false"});
  EXPECT_THAT(errors(with_server("insecure: true\nhttp_address: :8080\n")), IsEmpty());
  EXPECT_THAT(errors(with_user("may: view") + "http_address: :8080\nrtsp_address: :8554\n"), IsEmpty());
}

// They may be renewed, or come with a disk: so it is a condition, and nothing is served meanwhile.
TEST_F(ServerConfigTest, CertificateAndKeyMustBelongTogether) {
  make_certificate("rig.pem", "rig.key");
  make_certificate("other.pem", "other.key");
  write("junk.pem", "-----BEGIN CERTIFICATE-----\njunk\n-----END CERTIFICATE-----\n");
  ASSERT_EQ(std::system("openssl ec -in rig.key -aes128 -passout pass:x -out locked.key 2> /dev/null"), 0);
  const auto told = [](const std::string& tls) { return conditions(with_server("tls: {" + tls + "}\n")); };
  const auto wrong = [](const std::string& tls) { return errors(with_server("tls: {" + tls + "}\n")); };
  EXPECT_THAT(told("certificate: rig.pem, key: rig.key"), IsEmpty());
  EXPECT_EQ(told("certificate: rig.pem, key: other.key"),
            Strings{"rig.yaml:2:34: tls.key: the file 'other.key' does not belong to the certificate"});
  EXPECT_THAT(told("certificate: rig.pem, key: rig.pem"),
              ElementsAre(HasSubstr("tls.key: the file 'rig.pem' is no private key (PEM): ")));
  EXPECT_THAT(told("certificate: rig.key, key: rig.key"),
              ElementsAre(HasSubstr("tls.certificate: the file 'rig.key' has no certificates (PEM): ")));
  EXPECT_THAT(told("certificate: junk.pem, key: rig.key"),
              ElementsAre(HasSubstr("tls.certificate: the file 'junk.pem' has no certificates (PEM): ")));
  EXPECT_THAT(told("certificate: rig.pem, key: locked.key"),
              ElementsAre(HasSubstr("tls.key: the file 'locked.key' is encrypted")));
  EXPECT_THAT(told("certificate: gone.pem, key: rig.key"),
              ElementsAre(HasSubstr("tls.certificate: the file 'gone.pem' cannot be read: No such file")));
  ASSERT_EQ(
      std::system("openssl req -x509 -newkey rsa:1024 -nodes -keyout short.key -out short.pem -days 9 -subj /CN=x "
                  "2> /dev/null"),
      0);
  EXPECT_THAT(told("certificate: short.pem, key: short.key"),
              ElementsAre(HasSubstr(
                  "tls.certificate: the file 'short.pem' cannot be used: OpenSSL reports 'ee key too small'")));
  EXPECT_EQ(wrong("certificate: rig.pem"), Strings{"rig.yaml:2:1: tls: missing key 'key'"});
  EXPECT_EQ(wrong("key: rig.key"), Strings{"rig.yaml:2:1: tls: missing key 'certificate'"});
  EXPECT_EQ(wrong("certificate: rig.pem, kye: rig.key"),
            Strings{"rig.yaml:2:29: tls.kye: unknown key, did you mean 'key'?"});
}

TEST_F(ServerConfigTest, PasswordsInClearAreRefusedUnseen) {
  const std::string told =
      "expected a hash ($argon2id$…), since a password in clear is not taken; use campipe "
      "hash-password";
  EXPECT_EQ(errors(with_server("users: {ann: {password: hunter2}}\n")),
            Strings{"rig.yaml:2:25: users.ann.password: " + told});
  EXPECT_EQ(errors(with_server("users: {ann: {password: [hunter2]}}\n")),
            Strings{"rig.yaml:2:25: users.ann.password: " + told});
  for (const std::string& users :
       Strings{"hunter2", "{ann: hunter2}", "[hunter2]", "{ann: [hunter2]}", "{ann: {password: 'hunter2${'}}",
               "{ann: {password: !x hunter2}}", "{ann: {password: '" + hash + "', rtsp_secret: hunter2}}",
               "{ann: {password: '" + hash + "', rtsp_secret: {hunter2: 1}}}"}) {
    EXPECT_THAT(errors(with_server("users: " + users + "\n")), ElementsAre(Not(HasSubstr("hunter2")))) << users;
  }
}

TEST_F(ServerConfigTest, UsersMayWhatTheirKeysSay) {
  const auto users = server(
                         "users:\n"
                         "  ann: {password: '" +
                         hash +
                         "'}\n"
                         "  ben: {password: '" +
                         hash + "', rtsp_secret: open-sesame, may: record, cameras: [dock]}\n")
                         .users;
  EXPECT_EQ(users, (std::vector<UserConfig>{{"ann", hash, "", Permission::view, {}},
                                            {"ben", hash, "open-sesame", Permission::record, {"dock"}}}));
}

TEST_F(ServerConfigTest, MistakesInUsersAreTold) {
  EXPECT_THAT(errors(with_user("may: admin")),
              ElementsAre(HasSubstr("expected metrics, view, record or administer, got 'admin'")));
  EXPECT_THAT(errors(with_user("cameras: [docks]")),
              ElementsAre(HasSubstr("users.ann.cameras[0]: there is no camera 'docks', did you mean 'dock'?")));
  EXPECT_THAT(errors(with_user("cameras: []")), ElementsAre(HasSubstr("without this key it is all cameras")));
  EXPECT_THAT(errors(with_user("cameras: dock")), ElementsAre(HasSubstr("expected a list, got 'dock'")));
  EXPECT_THAT(errors(with_user("pasword: x")), ElementsAre(HasSubstr("unknown key, did you mean 'password'?")));
  EXPECT_EQ(errors(with_server("users: {ann: {may: view}}\n")),
            Strings{"rig.yaml:2:9: users.ann: missing key 'password'; make one with campipe hash-password"});
  EXPECT_THAT(errors(with_server("users: {}\n")), ElementsAre(HasSubstr("expected at least one user")));
  EXPECT_THAT(errors(with_server("users: {'a:b': {password: '" + hash + "'}}\n")),
              ElementsAre(HasSubstr("a user's name has 1 to 64")));
}

TEST(ServerJson, ComesBackEqual) {
  ServerConfig full{":1", ":2", RtspTimestamps::ntp64, true, TlsConfig{"a.pem", "b.key"}, {}, {"10.0.0.0/8"}};
  full.users = {{"ann", hash, "secret", Permission::record, {"dock", "gate"}},
                {"lobby", "", "", Permission::view, {}, std::string(64, 'a')}};
  full.sessions = {std::chrono::minutes(5), std::chrono::hours(5)};
  full.http_base = "/cams";
  full.http_hosts = {"cams.example.com"};
  const auto there_and_back = [](const ServerConfig& server) {
    return server_from_json(nlohmann::json::parse(to_json(server).dump()));
  };
  EXPECT_EQ(there_and_back({}), ServerConfig());
  EXPECT_EQ(there_and_back(full), full);
  const nlohmann::json good = to_json(full);
  nlohmann::json bad = good;
  bad["users"][0]["may"] = "rule";
  EXPECT_THROW(server_from_json(bad), Error);
  for (const auto& [key, value] : good.items()) {
    bad = good;
    bad.erase(key);
    EXPECT_THROW(server_from_json(bad), Error) << key;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
