// The servers of two nodes: who comes in at a door, and what goes on from one node to the other.
#include <stdexcept>
#include <thread>

#include "app/publisher/recording/record_index.h"
#include "core/clock.h"
#include "tests/unit/node_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::map<std::string, std::string> both{{"dock", "east"}, {"gate", "west"}};

std::string door_says(const TestNode& node, const std::string& curl_options, const std::string& path = "/api/v1/status",
                      bool tls = true) {
  return output_of("curl -sS --max-time 20 -w ' %{http_code}' " + curl_options + " http" + (tls ? "s" : "") + "://" +
                   node.address() + path + " 2>&1");
}

std::string shows(const ClusterTlsConfig& files) {
  return "--cacert " + files.ca + " --cert " + files.certificate + " --key " + files.key + " ";
}

// The cameras of all nodes, once the one of `camera` has answered: each question waits a second for that.
json wall(const TestNode& node, const std::string& path, const std::string& headers = "",
          const std::string& camera = "gate") {
  const Deadline end = Clock::now() + 50s;
  for (;;) {
    const Reply reply = ask(node.port(), "GET " + path, headers);
    EXPECT_EQ(reply.status, 200) << reply.body;
    json cameras = json::parse(reply.body, nullptr, false).value("cameras", json::object());
    if (cameras.contains(camera) && cameras[camera].at("state") != "starting") return cameras;
    if (Clock::now() > end) throw std::runtime_error("the other node is not heard");
  }
}

class DoorTest : public testing::Test {
 protected:
  static std::vector<UserConfig> users() {
    return {node_user("ann", Permission::administer), node_user("ben", Permission::view, {"dock"})};
  }
  NodeAuthority authority_;
  ClusterTlsConfig east_tls_ = authority_.make("east", "IP:127.0.0.1");
  TestNode east_{"east", users(), {"dock"}, east_tls_};
};

TEST_F(DoorTest, LetsInNobodyWithoutACertificateOfItsAuthority) {
  east_.see({{"east", east_.address()}}, both);
  EXPECT_THAT(door_says(east_, "--cacert " + east_tls_.ca + " -H 'Campipe-User: ann'"), HasSubstr(" 000"));
  const NodeAuthority other;
  const ClusterTlsConfig foreign = other.make("east", "IP:127.0.0.1");
  EXPECT_THAT(door_says(east_, "--cacert " + east_tls_.ca + " --cert " + foreign.certificate + " --key " + foreign.key +
                                   " -H 'Campipe-User: ann'"),
              HasSubstr(" 000"));
  EXPECT_THAT(door_says(east_, "-H 'Campipe-User: ann'", "/api/v1/status", false), HasSubstr(" 000")) << "in plain";
  EXPECT_THAT(door_says(east_, shows(east_tls_) + "-H 'Campipe-User: ann'"), HasSubstr("\"dock\""));
}

TEST_F(DoorTest, LetsInNobodyWhoseCertificateIsThatOfNoNode) {
  const std::string etcd = shows(authority_.make("etcd", "IP:127.0.0.1"));  // on the same machine as the node
  EXPECT_THAT(door_says(east_, etcd + "-H 'Campipe-User: ann'"), HasSubstr(" 503")) << "it knows no node yet";
  east_.see({{"east", east_.address()}}, both);
  for (const char* user : {"ann", "eve"}) {
    EXPECT_THAT(door_says(east_, etcd + "-H 'Campipe-User: " + user + "'"),
                HasSubstr("the certificate is that of no node of this cluster: its common name is 'etcd'"))
        << "whether there is such a user is not said";
  }
  EXPECT_THAT(door_says(east_, etcd, "/nothing"), HasSubstr("the certificate is that of no node"));
  EXPECT_THAT(door_says(east_, shows(authority_.make("east", "IP:10.9.9.9")) + "-H 'Campipe-User: ann'"),
              HasSubstr(" 200"));
}

TEST_F(DoorTest, WantsToKnowForWhomANodeAsks) {
  east_.see({{"east", east_.address()}}, both);
  const std::string node = shows(east_tls_);
  EXPECT_THAT(door_says(east_, node), HasSubstr("the request names no user"));
  EXPECT_THAT(door_says(east_, node + "-u ann:hunter2"), HasSubstr(" 403")) << "passwords are for the ordinary port";
  EXPECT_THAT(door_says(east_, node + "-H 'Campipe-User: eve'"), HasSubstr("has no such user"));
  EXPECT_THAT(door_says(east_, node + "-H 'Campipe-Visitor: 1'"), HasSubstr(" 403")) << "it has users";
  EXPECT_THAT(door_says(east_, node + "-H 'Campipe-User: ben'", "/api/v1/cameras/gate"), HasSubstr(" 404"));
  EXPECT_THAT(door_says(east_, node + "-X POST -H 'Campipe-User: ben'", "/api/v1/reload"), HasSubstr(" 403"));
  EXPECT_THAT(door_says(east_, node + "-H 'Campipe-Node: 1'"), HasSubstr(" 200"));
  EXPECT_THAT(door_says(east_, node + "-X POST -H 'Campipe-Node: 1'", "/api/v1/cameras/dock/record"),
              HasSubstr(" 403"));
  EXPECT_THAT(door_says(east_, node + "-H 'Campipe-User: ann' -H 'Sec-Fetch-Site: none'"), HasSubstr("no browser"));
  EXPECT_THAT(door_says(east_, node + "-H 'Campipe-User: ann' -d '{}'", "/api/v1/login"), HasSubstr(" 404"));
  EXPECT_TRUE(east_.asked().empty());
}

TEST_F(DoorTest, NamesOfUsersCountNowhereElse) {
  east_.see({{"east", east_.address()}}, both);
  for (const char* header : {"Campipe-User: ann\r\n", "Campipe-Visitor: 1\r\n", "Campipe-Node: 1\r\n"}) {
    EXPECT_EQ(ask(east_.port(), "GET /api/v1/status", header).status, 401) << header;
  }
}

// Without TLS, an account on this machine could name any user.
TEST(PlainDoor, AnswersOnlyWhereThereAreNoUsers) {
  TestNode west("west", {}, {"gate"});
  west.see({{"west", west.address()}}, both);
  EXPECT_EQ(ask(west.door(), "GET /api/v1/status", "Campipe-Visitor: 1\r\n").status, 200);
  EXPECT_EQ(ask(west.door(), "GET /api/v1/status", "Campipe-User: ann\r\n").status, 403);
  EXPECT_EQ(ask(west.door(), "GET /api/v1/status", "Campipe-Visitor: 1\r\nHost: evil.example\r\n").status, 403);
  west.set_users({node_user("ann", Permission::administer)});
  for (const char* header : {"Campipe-User: ann\r\n", "Campipe-Visitor: 1\r\n", "Campipe-Node: 1\r\n"}) {
    const Reply reply = ask(west.door(), "GET /api/v1/status", header);
    EXPECT_EQ(reply.status, 403);
    EXPECT_THAT(reply.body, HasSubstr("cluster.tls"));
  }
}

// east has dock, and west has gate; both have users, who are not the same.
class RelayTest : public testing::Test {
 protected:
  RelayTest() { introduce(east_, west_, both); }
  // Behind what was on its way.
  static bool ends(WebSocketClient& client) {
    for (int message = 0; message < 10; ++message) {
      if (client.next().opcode == 8) return true;
    }
    return false;
  }

  NodeAuthority authority_;
  TestNode east_{"east",
                 {node_user("ann", Permission::administer), node_user("ben", Permission::view, {"dock"}),
                  node_user("cat", Permission::record, {"dock", "gate"}), node_user("eve", Permission::view)},
                 {"dock"},
                 authority_.make("east", "IP:127.0.0.1")};
  TestNode west_{"west",
                 {node_user("ann", Permission::administer), node_user("ben", Permission::view),
                  node_user("cat", Permission::view, {"dock"})},
                 {"gate"},
                 authority_.make("west", "IP:127.0.0.1")};
};

TEST_F(RelayTest, ACameraOfAnotherNodeIsThereAsOneOfThisOne) {
  const Reply camera = ask(east_.port(), "GET /api/v1/cameras/gate", login_of("ann"));
  EXPECT_EQ(camera.status, 200) << camera.body;
  EXPECT_EQ(json::parse(camera.body).at("source"), "rtsp://10.0.0.9/gate");
  EXPECT_EQ(camera.headers.at("connection"), "close");
  EXPECT_EQ(ask(east_.port(), "GET /api/v1/cameras/gate/history", login_of("ann")).status, 200);
  EXPECT_EQ(ask(east_.port(), "HEAD /api/v1/cameras/gate", login_of("ann"), "").status, 200);
  const Reply done = ask(east_.port(), "POST /api/v1/cameras/gate/record", login_of("ann"), "{}");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_THAT(west_.asked(), ElementsAre("set_recording"));
  EXPECT_TRUE(east_.asked().empty());
  EXPECT_EQ(ask(east_.port(), "POST /api/v1/cameras/gate/record", login_of("ann"), "{\"x\": 1}").status, 400);
  EXPECT_EQ(ask(east_.port(), "GET /cameras/gate/nothing", login_of("ann")).status, 404);
  EXPECT_EQ(ask(east_.port(), "GET /cameras/gate/snapshot.jpg", login_of("ann")).status, 503) << "it sends nothing";
}

TEST_F(RelayTest, BothNodesLookAtTheRights) {
  EXPECT_EQ(ask(east_.port(), "GET /api/v1/cameras/gate").status, 401);
  EXPECT_EQ(ask(east_.port(), "GET /api/v1/cameras/gate", login_of("ben")).status, 404) << "not here";
  EXPECT_EQ(ask(east_.port(), "GET /cameras/gate/snapshot.jpg", login_of("ben")).status, 404) << "not here";
  EXPECT_EQ(ask(east_.port(), "GET /api/v1/cameras/gate", login_of("cat")).status, 404) << "not there";
  EXPECT_EQ(ask(east_.port(), "POST /api/v1/cameras/gate/record", login_of("cat"), "{}").status, 404) << "not there";
  const Reply unknown = ask(east_.port(), "GET /api/v1/cameras/gate", login_of("eve"));
  EXPECT_EQ(unknown.status, 403);
  EXPECT_THAT(unknown.body, HasSubstr("the camera's node has no such user"));
  EXPECT_EQ(ask(east_.port(), "GET /api/v1/cameras/gate", login_of("ben") + "Campipe-User: ann\r\n").status, 404);
}

TEST_F(RelayTest, WebSocketsGoThrough) {
  WebSocketClient client(east_.port(), "/cameras/gate/live", login_of("ann"));
  EXPECT_EQ(client.head().status, 101);
  const auto state = client.next();
  EXPECT_EQ(state.opcode, 1);
  EXPECT_EQ(json::parse(state.bytes).at("state"), "running");
  client.say(R"({"type": "pause"})");
  EXPECT_EQ(WebSocketClient(east_.port(), "/cameras/gate/live", login_of("ben")).head().status, 404);
  // What is taken back here ends it, though the other node would go on.
  east_.set_users({node_user("ben", Permission::view)});
  EXPECT_TRUE(ends(client));
}

// RTSP begins like this at a door, and would go through without a look at what is asked.
TEST_F(RelayTest, OnlyWhatACameraHasForViewersIsPassedOn) {
  const std::string upgrade = login_of("ann") + "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  const std::string keys = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
  EXPECT_EQ(ask(east_.port(), "GET /cameras/gate/rtsp", upgrade + keys).status, 404);
  EXPECT_EQ(ask(east_.port(), "GET /cameras/gate/rtsp", login_of("ann")).status, 404);
  EXPECT_EQ(ask(east_.port(), "GET /cameras/gate/live", upgrade).status, 400) << "as from its own node";
  EXPECT_EQ(ask(west_.port(), "GET /cameras/gate/live", upgrade).status, 400);
  EXPECT_EQ(ask(east_.port(), "GET /cameras/gate/snapshot.jpg?output=none", login_of("ann")).status, 404);
}

TEST_F(RelayTest, WhatIsTakenBackThereEndsIt) {
  WebSocketClient client(east_.port(), "/cameras/gate/live", login_of("ann"));
  EXPECT_EQ(client.next().opcode, 1);
  west_.set_users({node_user("ben", Permission::view)});
  EXPECT_TRUE(ends(client));
}

TEST_F(RelayTest, TheWallHasTheCamerasOfBoth) {
  const json cameras = wall(east_, "/api/v1/status", login_of("ann"));
  EXPECT_EQ(cameras.at("gate").at("state"), "running");
  EXPECT_EQ(cameras.at("gate").at("node"), "west");
  EXPECT_EQ(cameras.at("dock").at("node"), "east");
  EXPECT_FALSE(json::parse(ask(east_.port(), "GET /api/v1/status?local=true", login_of("ann")).body)
                   .at("cameras")
                   .contains("gate"));
  EXPECT_FALSE(
      json::parse(ask(east_.port(), "GET /api/v1/cameras", login_of("ben")).body).at("cameras").contains("gate"));
  west_.close_door();
  json gate = json::object();
  const Deadline deadline = Clock::now() + 50s;
  // What was under way when the door closed is cut off, and the next one refused.
  while (!gate.value("reason", "").starts_with("node 'west' cannot be reached: ") && Clock::now() < deadline)
    gate = json::parse(ask(east_.port(), "GET /api/v1/status", login_of("ann")).body).at("cameras").at("gate");
  EXPECT_EQ(gate.at("state"), "unreachable");
  EXPECT_THAT(gate.at("reason"), HasSubstr("node 'west' cannot be reached: "));
  const Reply gone = ask(east_.port(), "GET /api/v1/cameras/gate", login_of("ann"));
  EXPECT_EQ(gone.status, 502);
  EXPECT_THAT(gone.body, HasSubstr("node 'west' cannot be reached: Connection refused"));
}

TEST_F(RelayTest, RecordingsOfAllNodesAreOneList) {
  const TemporaryFolder folder;
  const auto record = [&](TestNode& node, const std::string& camera, const std::string& file, const std::string& hour) {
    const auto at = folder.path() / node.name();
    std::filesystem::create_directories(at);
    ResolvedOutput output;
    output.name = output.camera = camera;
    output.output = "main";
    output.record.emplace();
    output.record->path = (at / (camera + "-%H.mp4")).string();
    replace_file(at / file, node.name() + "'s");
    replace_file(
        record_index_path(output.record->path, camera, "main"),
        R"({"event": "begin", "file": ")" + file + R"(", "start": "2026-11-21T)" + hour + R"(:00:00Z"})" + "\n");
    node.record(output);
  };
  record(east_, "gate", "gate-10.mp4", "10");  // it ran here before
  record(west_, "gate", "gate-11.mp4", "11");
  const auto list = [&](const std::string& user, const std::string& more = "") {
    const Reply reply = ask(east_.port(), "GET /api/v1/recordings?camera=gate" + more, login_of(user));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body, nullptr, false);
  };
  const json all = list("ann");
  ASSERT_EQ(all.at("recordings").size(), 2U) << all;
  EXPECT_EQ(all.at("recordings").at(0).at("node"), "west");
  EXPECT_EQ(all.at("recordings").at(1).at("node"), "east");
  EXPECT_EQ(all.at("unreachable"), json::object());
  EXPECT_EQ(list("ann", "&limit=1").at("recordings").size(), 1U);
  EXPECT_EQ(list("ann", "&to=2026-11-21T10:30:00Z").at("recordings").size(), 1U);
  EXPECT_EQ(list("cat").at("recordings").size(), 1U) << "west shows this user nothing";

  const std::string id = all.at("recordings").at(0).at("id");
  EXPECT_EQ(ask(east_.port(), "GET /recordings/files/" + id, login_of("ann")).status, 404) << "not here";
  const Reply file = ask(east_.port(), "GET /recordings/files/" + id + "?node=west", login_of("ann"));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, "west's");
  const Reply part = ask(east_.port(), "GET /recordings/files/" + id + "?node=west&download",
                         login_of("ann") + "Range: bytes=1-2\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "es");
  EXPECT_THAT(part.headers.at("content-disposition"), HasSubstr("gate-11.mp4"));
  EXPECT_EQ(ask(east_.port(), "GET /recordings/files/" + id + "?node=west", login_of("eve")).status, 403);
  EXPECT_EQ(ask(east_.port(), "GET /recordings/files/" + id + "?node=north", login_of("ann")).status, 503);

  west_.close_door();
  const json part_of_it = list("ann");
  EXPECT_EQ(part_of_it.at("recordings").size(), 1U);
  EXPECT_THAT(part_of_it.at("unreachable").at("west"), HasSubstr("node 'west' cannot be reached"));
}

// Each believes that the other one has it.
TEST_F(RelayTest, NothingIsPassedOnTwice) {
  const std::map<std::string, std::string> addresses{{"east", east_.address()}, {"west", west_.address()}};
  east_.see(addresses, {{"belt", "west"}});
  west_.see(addresses, {{"belt", "east"}});
  EXPECT_EQ(ask(east_.port(), "GET /api/v1/cameras/belt", login_of("ann")).status, 404);
  const Reply live = ask(east_.port(), "GET /cameras/belt/snapshot.jpg", login_of("ann"));
  EXPECT_EQ(live.status, 503);
  EXPECT_THAT(live.body, HasSubstr("has not begun on its node yet"));
}

TEST_F(RelayTest, OnlyTheNodeItselfIsBelieved) {
  const std::map<std::string, std::string> lie{{"east", east_.address()},
                                               {"west", "127.0.0.1:" + std::to_string(east_.port())}};
  east_.see(lie, both);
  const Reply plain = ask(east_.port(), "GET /api/v1/cameras/gate", login_of("ann"));
  EXPECT_EQ(plain.status, 502) << "it speaks no TLS";
  EXPECT_THAT(plain.body, HasSubstr("node 'west' cannot be reached"));
  const TestNode other("other", {node_user("ann", Permission::administer)}, {"gate"},
                       authority_.make("other", "IP:127.0.0.1"));
  east_.see({{"east", east_.address()}, {"west", other.address()}}, both);
  const Reply wrong = ask(east_.port(), "GET /api/v1/cameras/gate", login_of("ann"));
  EXPECT_EQ(wrong.status, 502);
  EXPECT_THAT(wrong.body, HasSubstr("the common name of its certificate is not the node's name"));
}

auto answering_with(const std::string& body) {
  return answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                   "\r\n\r\n" + body);
}

// What other nodes do that are none.
class StrangePeer : public testing::Test {
 protected:
  void see(const Server& peer, const std::map<std::string, std::string>& plan = both) {
    east_.see({{"east", east_.address()}, {"west", "127.0.0.1:" + std::to_string(peer.port())}}, plan);
  }
  // As east, without TLS and users.
  Reply ask_for_gate(const Server& peer, const std::string& line = "GET /api/v1/cameras/gate",
                     const std::string& headers = "", const std::string& body = "") {
    see(peer);
    return ask(east_.port(), line, headers, body);
  }
  static HttpLimits limits() {
    HttpLimits limits;
    limits.relay = 400ms;
    return limits;
  }
  TestNode east_{"east", {}, {"dock"}, {}, limits()};
};

TEST_F(StrangePeer, SendsWhatIsNoAnswer) {
  for (const std::string& answer : std::vector<std::string>{
           std::string("garbage\r\n\r\n"), std::string("\x16\x03\x01"), std::string("HTTP/1.1 100 Continue\r\n\r\n"),
           std::string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"), std::string(),
           "HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x')}) {
    const Server peer(answering(answer));
    const Reply reply = ask_for_gate(peer);
    EXPECT_EQ(reply.status, 502) << answer.substr(0, 40);
    EXPECT_THAT(reply.body, HasSubstr("node 'west'"));
  }
}

// What is nested so deeply would be written by a recursion that no stack is enough for.
TEST_F(StrangePeer, SendsAStatusWithoutABottom) {
  const int levels = 200'000;
  const std::string body =
      R"({"cameras":{"gate":{"state":"running","deep":)" + std::string(levels, '[') + std::string(levels, ']') + "}}}";
  const Server peer(answering_with(body));
  see(peer);
  const json gate = wall(east_, "/api/v1/status").at("gate");
  EXPECT_EQ(gate.at("state"), "unreachable");
  EXPECT_EQ(gate.at("reason"), "node 'west' answers with what is no status");
  EXPECT_THAT(ask_for_gate(peer, "GET /api/v1/recordings?camera=gate").body, HasSubstr("what is no list"));
}

// What a real node says, with one member of another shape: a camera for each, since the wall asks once a second.
TEST_F(StrangePeer, SendsACameraThatIsNone) {
  const std::vector<std::pair<std::string, json>> shapes{{"state", 7},
                                                         {"reason", json::array()},
                                                         {"push", "rtmp://a/b"},
                                                         {"push", {{"rtmp://a/b", 5}}},
                                                         {"outputs", {{"small", 1}}},
                                                         {"frames", "many"},
                                                         {"frames", {{"dropped", 1}}},
                                                         {"cells", json::array({1})},
                                                         {"latency_ms", 3}};
  TestNode west("west", {}, {"gate", "yard"});
  std::map<std::string, std::string> plan{{"dock", "east"}, {"gate", "west"}, {"yard", "west"}};
  west.see({{"east", east_.address()}, {"west", west.address()}}, plan);
  json bad = json::parse(ask(west.door(), "GET /api/v1/status?local=true", "Campipe-Node: 1\r\n").body);
  json& cameras = bad["cameras"];
  ASSERT_EQ(cameras.at("gate").at("state"), "running");
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = "gate" + std::to_string(i);
    plan[name] = "west";
    cameras[name] = cameras["gate"];
    cameras[name][shapes[i].first] = shapes[i].second;
  }
  cameras["yard"]["reason"] = std::string(1023, 'x') + "ä" + std::string(100'000, 'x');
  const std::string body = bad.dump();
  const Server peer(answering_with(body));
  see(peer, plan);
  for (const char* path : {"/api/v1/status", "/api/v1/cameras"}) {
    const json shown = wall(east_, path);
    for (const char* sound : {"dock", "gate", "yard"}) EXPECT_EQ(shown.at(sound).at("state"), "running") << sound;
    EXPECT_EQ(shown.at("yard").at("reason"), std::string(1023, 'x')) << "cut between characters";
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const json& camera = shown.at("gate" + std::to_string(i));
      EXPECT_EQ(camera.at("state"), "unreachable") << shapes[i].first << shapes[i].second;
      EXPECT_THAT(camera.at("reason").get<std::string>(), HasSubstr("unreadable: node 'west'"));
    }
  }
}

// A node of another version, perhaps.
TEST_F(StrangePeer, SendsAGraphThatCannotBeRead) {
  const Server peer(answering_with(
      R"({"cameras":{"a":{"state":"running","graph":{}},"b":{"state":"running","graph":{"edges":[1],"nodes":[]}},)"
      R"("c":{"state":"running","graph":{"edges":[],"nodes":{"a":1}}}}})"));
  see(peer, {{"dock", "east"}, {"a", "west"}, {"b", "west"}, {"c", "west"}});
  const json shown = wall(east_, "/api/v1/cameras", "", "a");
  for (const char* camera : {"a", "b", "c"}) EXPECT_EQ(shown.at(camera).at("state"), "running") << camera;
}

TEST_F(StrangePeer, DoesNotAnswer) {
  const Server silent([](int fd, const std::atomic<bool>& over) {
    read_request(fd);
    while (!over) std::this_thread::sleep_for(5ms);
  });
  const Reply reply = ask_for_gate(silent);
  EXPECT_EQ(reply.status, 502);
  EXPECT_THAT(reply.body, HasSubstr("node 'west' does not answer in time"));
  EXPECT_EQ(ask(east_.port(), "GET /api/v1/cameras/dock").status, 200) << "others do not notice";
}

TEST_F(StrangePeer, SetsNoCookieHere) {
  const Server peer(
      answering("HTTP/1.1 200 OK\r\nSet-Cookie: campipe_session=x\r\nConnection: keep-alive\r\n"
                "Content-Length: 2\r\nX-Own: 1\r\n\r\nhi"));
  const Reply reply = ask_for_gate(peer);
  EXPECT_EQ(reply.body, "hi");
  EXPECT_FALSE(reply.headers.contains("set-cookie"));
  EXPECT_EQ(reply.headers.at("connection"), "close");
  EXPECT_EQ(reply.headers.at("x-own"), "1");
}

// What a client sends is what the node is asked, and nothing else.
TEST_F(StrangePeer, GetsNoMoreThanItNeeds) {
  std::string asked;
  const Server peer([&asked](int fd, const std::atomic<bool>&) {
    asked = read_request(fd);
    send_all(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_EQ(ask_for_gate(peer, "GET /api/v1/cameras/gate",
                         "Cookie: campipe_session=secret\r\nAuthorization: Basic c2VjcmV0\r\nX-CSRF-Token: secret\r\n"
                         "X-Forwarded-For: 10.1.1.1\r\nCampipe-User: root\r\nCampipe-Node: 1\r\nAccept: text/plain\r\n"
                         "Connection: keep-alive, Campipe-Visitor\r\n")
                .status,
            200);
  EXPECT_EQ(asked, "GET /api/v1/cameras/gate HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(peer.port()) +
                       "\r\nCampipe-Visitor: 1\r\nX-Forwarded-For: 127.0.0.1\r\nAccept: text/plain\r\n"
                       "Connection: close\r\n\r\n");
  asked.clear();
  for (const char* target : {"/api/v1/cameras/gate?x=%0d%0aCampipe-User:%20root", "/api/v1/cameras/gate?x=\x01",
                             "/api/v1/cameras/gate HTTP/1.1\r\nHost: localhost\r\n\r\nGET /x"}) {
    const std::string line = std::string("GET ") + target;
    const Reply reply = ask_for_gate(peer, line);
    EXPECT_THAT(asked, Not(HasSubstr("root")));
    static_cast<void>(reply);
  }
  asked.clear();
  EXPECT_EQ(
      ask_for_gate(peer, "POST /api/v1/cameras/gate/record", "Content-Length: 2\r\nContent-Length: 3\r\n", "").status,
      400);
  EXPECT_EQ(
      ask_for_gate(peer, "POST /api/v1/cameras/gate/record", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "")
          .status,
      400);
  EXPECT_EQ(asked, "");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
