// Who has a place among the connections of HTTP, and who gives it up; without connections.
#include "app/publisher/server/http/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace campipe::test {
namespace CAMPIPE_FILE {

class HttpPlacesTest : public testing::Test {
 protected:
  struct Guest {
    std::unique_ptr<HttpPlaces::Place> place;
    bool ended = false;
  };

  // Null: it did not come in, or got no answer.
  Guest* come(const Identity& identity, const std::string& address) {
    if (!places_.make_room_for(address, false)) return nullptr;
    Guest& guest = guests_.emplace_back();
    guest.place = std::make_unique<HttpPlaces::Place>(places_, address, false, [&guest] { guest.ended = true; });
    guest.place->judge();
    if (guest.place->answer(identity, address)) return &guest;
    guests_.pop_back();
    return nullptr;
  }
  static Identity identity(const std::string& name, Permission may = Permission::view) {
    UserConfig config;
    config.name = name;
    config.may = may;
    return Identity::of(std::make_shared<const UserConfig>(config));
  }
  static std::string address(int number) { return "10.0.0." + std::to_string(number); }

  HttpPlaces places_{HttpLimits{.connections = 16}};  // of which one is kept for administrators
  std::list<Guest> guests_;
};

TEST_F(HttpPlacesTest, WhoHasMostGivesOneToWhoHasFewer) {
  std::vector<Guest*> bobs;
  for (int i = 0; i < 15; ++i) bobs.push_back(come(identity("bob"), address(i)));
  ASSERT_THAT(bobs, testing::Each(testing::NotNull()));
  EXPECT_EQ(come(identity("bob"), address(99)), nullptr) << "all places are his already";
  EXPECT_NE(come(identity("anna", Permission::administer), address(1)), nullptr);
  guests_.pop_back();
  ASSERT_NE(come(identity("carol"), address(1)), nullptr);
  EXPECT_TRUE(bobs.back()->ended);
  for (int i = 0; i < 14; ++i) EXPECT_FALSE(bobs[static_cast<std::size_t>(i)]->ended) << i;
  EXPECT_EQ(come(identity("bob"), address(99)), nullptr) << "he does not take it back";
  for (int i = 0; i < 6; ++i) EXPECT_NE(come(identity("carol"), address(20 + i)), nullptr) << i;
  EXPECT_EQ(come(identity("carol"), address(30)), nullptr) << "she has as many as he";
}

TEST_F(HttpPlacesTest, WithoutUsersEachAddressIsOne) {
  for (int i = 0; i < 8; ++i) ASSERT_NE(come(Identity::visitor(), address(1)), nullptr);
  EXPECT_EQ(come(Identity::visitor(), address(1)), nullptr) << "half of all";
  for (int i = 0; i < 7; ++i) ASSERT_NE(come(Identity::visitor(), address(2)), nullptr);
  EXPECT_NE(come(Identity::owner(), address(1)), nullptr);
  guests_.pop_back();
  EXPECT_NE(come(Identity::visitor(), address(3)), nullptr);
  EXPECT_EQ(std::ranges::count_if(guests_, &Guest::ended), 1);
}

TEST_F(HttpPlacesTest, OfThoseWhoSayNothingTheAddressWithMostGivesWay) {
  const auto connect = [this](const std::string& from) {
    ASSERT_TRUE(places_.make_room_for(from, false));
    Guest& guest = guests_.emplace_back();
    guest.place = std::make_unique<HttpPlaces::Place>(places_, from, false, [&guest] { guest.ended = true; });
  };
  connect(address(1));
  for (int i = 0; i < 40; ++i) connect(address(2));
  EXPECT_FALSE(guests_.front().ended);
  EXPECT_EQ(std::ranges::count_if(guests_, &Guest::ended), 25);
}

TEST_F(HttpPlacesTest, StrangersGiveWayToEverybody) {
  for (int i = 0; i < 16; ++i) ASSERT_NE(come(Identity(), address(i)), nullptr);
  EXPECT_NE(come(identity("carol"), address(20)), nullptr);
  EXPECT_TRUE(guests_.front().ended);
  EXPECT_EQ(std::ranges::count_if(guests_, &Guest::ended), 1);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
