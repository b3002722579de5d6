// What nodes tell each other of their links: answers of doors that are none.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/control/link_keys.h"
#include "app/control/messages/links_json.h"
#include "app/control/messages/shared_links.h"
#include "app/publisher/server/nodes/links.h"
#include "core/clock.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

messages::OfferedLinks some_links() {
  messages::OfferedLinks links;
  links.key = std::string(64, 'a');
  links.links = {{"wall/0/gate", 40123}};
  return links;
}

TEST(NodeLinks, AreWhatADoorSays) {
  const messages::OfferedLinks links = some_links();
  EXPECT_EQ(links_in({.status = 200, .body = write_json(links).dump()}), links);
}

TEST(NodeLinks, AreNoneWhereItSaysAnythingElse) {
  for (const char* body : {"{}", "[1]", "x", "", R"({"key": 1, "encrypted": true, "links": []})",
                           R"({"key": "a", "encrypted": true, "links": {}})",
                           R"({"key": "a", "encrypted": true, "links": [{"name": "a", "port": -1}]})",
                           R"({"key": "a", "encrypted": true, "links": [{"name": "a"}]})"}) {
    EXPECT_FALSE(links_in({.status = 200, .body = body})) << body;
  }
  messages::OfferedLinks many = some_links();
  many.links.assign(5000, many.links.front());
  EXPECT_FALSE(links_in({.status = 200, .body = write_json(many).dump()})) << "more than a message holds";
  EXPECT_FALSE(links_in({.status = 404, .body = write_json(some_links()).dump()})) << "a node of an earlier version";
  EXPECT_FALSE(links_in({.problem = "node 'west' does not answer"}));
}

// What a real door says, with one thing in it that cannot be. It is that node's alone, and no news for the supervisor.
TEST(NodeLinks, OfAPeerThatCannotBeAreNoNews) {
  Nodes of_west(false);
  NodeLinks west(of_west);
  west.set({.own = some_links(), .ask = {}});
  const std::string said = west.route().handle({}).body;
  ASSERT_TRUE(links_in({.status = 200, .body = said}));
  for (const auto& [place, value] : std::vector<std::pair<nlohmann::json::json_pointer, nlohmann::json>>{
           {"/key"_json_pointer, "0123"},
           {"/key"_json_pointer, std::string(64, 'z')},
           {"/links/0/port"_json_pointer, 0},
           {"/links/0/port"_json_pointer, 70'000},
           {"/links/0/name"_json_pointer, ""},
           {"/links/0/name"_json_pointer, std::string(200, 'a')},
           {"/transports"_json_pointer, std::vector<int>(1000, 0)}}) {
    nlohmann::json bad = nlohmann::json::parse(said);
    bad[place] = value;
    EXPECT_FALSE(links_in({.status = 200, .body = bad.dump()})) << place.to_string();
  }

  nlohmann::json bad = nlohmann::json::parse(said);
  bad["key"] = "no key";
  const auto answer = [](const std::string& body) {
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  std::atomic<int> asked = 0;
  const Server peer([&](int fd, const std::atomic<bool>&) {
    read_request(fd);
    send_all(fd, answer(asked++ == 0 ? bad.dump() : said));
  });
  const std::string address = "127.0.0.1:" + std::to_string(peer.port());
  Nodes nodes(false);
  nodes.set_status(
      {{"cluster",
        {{"node", "east"},
         {"nodes",
          {{"east", {{"here", true}, {"address", "127.0.0.1:1"}}}, {"west", {{"here", true}, {"address", address}}}}},
         {"cameras", nlohmann::json::object()}}}});
  NodeLinks links(nodes);
  links.set({.own = some_links(), .ask = {"west"}});
  std::vector<messages::PeerLinks> news;
  const Deadline deadline = Clock::now() + std::chrono::seconds(30);
  while (news.empty() && Clock::now() < deadline) {
    news = links.tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(news.front().offered, some_links()) << "the second answer, and not the first";
}

TEST(LinkKey, IsReadFromItsTextAndNothingElse) {
  LinkKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key.at(i) = static_cast<std::uint8_t>(7 * i + 3);
  EXPECT_EQ(link_key_from(text_of(key)), key);
  for (const std::string& text :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g'), std::string(64, 'A')})
    EXPECT_FALSE(link_key_from(text)) << text;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
