// What nodes tell each other of their links: answers of doors that are none.
#include <gtest/gtest.h>

#include <string>

#include "app/control/link_keys.h"
#include "app/control/messages/links_json.h"
#include "app/control/messages/shared_links.h"
#include "app/publisher/server/nodes/links.h"

namespace campipe::test {
namespace {

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

TEST(LinkKey, IsReadFromItsTextAndNothingElse) {
  LinkKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key.at(i) = static_cast<std::uint8_t>(7 * i + 3);
  EXPECT_EQ(link_key_from(text_of(key)), key);
  for (const std::string& text :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'g'), std::string(64, 'A')})
    EXPECT_FALSE(link_key_from(text)) << text;
}

}  // namespace
}  // namespace campipe::test
