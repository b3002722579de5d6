// What is trusted in requests, as plain functions on bytes from outside.
#include "app/publisher/server/http/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "app/publisher/server/http/files.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::Pair;

TEST(HttpTarget, IsDecoded) {
  const auto target = parse_target("/cameras/dock%20one/live?output=small&a=%2Fx%2B+y&flag&=z");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/cameras/dock one/live");
  EXPECT_THAT(target->query, ElementsAre(Pair("a", "/x+ y"), Pair("flag", ""), Pair("output", "small")));
  EXPECT_EQ(target->duplicate, "");
  EXPECT_EQ(parse_target("/")->path, "/");
  EXPECT_EQ(parse_target("/?a=1&b=2&%61=1")->duplicate, "a");
}

TEST(HttpTarget, WithTricksIsNone) {
  for (const char* bad : {"", "a", "http://host/a", "*", "/..", "/a/../b", "/%2e%2e/b", "/a/.%2E", "/./a", "/a%2fb",
                          "/a%", "/a%2", "/%zz", "/a%00b", "/a%0d%0aSet-Cookie:x", "/a?b=%00", "/a?%0a=b", "/a/..?x"}) {
    EXPECT_FALSE(parse_target(bad)) << bad;
  }
  EXPECT_TRUE(parse_target("/a..b/...")) << "these are names";
}

TEST(HttpCookie, IsFound) {
  using testing::ElementsAre;
  EXPECT_THAT(cookies_of("a=1; campipe_session=xyz; b=2", "campipe_session"), ElementsAre("xyz"));
  EXPECT_THAT(cookies_of("campipe_session=xyz", "campipe_session"), ElementsAre("xyz"));
  EXPECT_THAT(cookies_of("campipe_session=of a path; b=2; campipe_session=xyz", "campipe_session"),
              ElementsAre("of a path", "xyz"));
  EXPECT_THAT(cookies_of("not_campipe_session=xyz; campipe_sessions=abc", "campipe_session"), testing::IsEmpty());
  EXPECT_THAT(cookies_of("", "campipe_session"), testing::IsEmpty());
}

TEST(HttpHost, HasAPort) {
  EXPECT_EQ(port_of("rig.example:8443"), 8443);
  EXPECT_EQ(port_of("[::1]:80"), 80);
  for (const char* none : {"", "rig", "[::1]", "rig:", "rig:65536", "rig:-1", "rig:8080;x", "rig:8080 "})
    EXPECT_EQ(port_of(none), 0) << none;
}

TEST(HttpHost, IsOurs) {
  for (const char* good : {"localhost", "LocalHost:8080", "a.localhost", "127.0.0.1:80", "10.1.2.3", "[::1]:8080",
                           "[::1]", "rig.example:8080", "RIG.example", "cams.example"}) {
    EXPECT_TRUE(is_own_host(good, {"rig.example", "cams.example:8443"})) << good;
  }
  for (const char* bad : {"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "",
                          "[::1", "rig.example.evil"}) {
    EXPECT_FALSE(is_own_host(bad, {"rig.example", "cams.example:8443"})) << bad;
  }
  EXPECT_FALSE(is_own_host("", {}));
}

TEST(HttpOrigin, MustBeTheSame) {
  EXPECT_TRUE(is_same_origin("http://rig:8080", "rig:8080"));
  EXPECT_TRUE(is_same_origin("http://rig", "RIG:80"));
  EXPECT_TRUE(is_same_origin("https://rig", "rig"));  // also behind a proxy that does the TLS
  EXPECT_TRUE(is_same_origin("http://[::1]:8080", "[::1]:8080"));
  for (const char* bad : {"null", "", "http://evil.example", "http://rig:8081", "http://rig", "https://rig:8080.evil",
                          "file://rig:8080", "http://rig:8080@evil", "rig:8080"}) {
    EXPECT_FALSE(is_same_origin(bad, "rig:8080")) << bad;
  }
}

TEST(HttpTarget, HasAWayToTheRoot) {
  EXPECT_EQ(way_to_root("/"), "./");
  EXPECT_EQ(way_to_root("/system"), "./");
  EXPECT_EQ(way_to_root("/camera/dock"), "../");
  EXPECT_EQ(way_to_root("/cams/cameras/dock/live"), "../../../");
  EXPECT_EQ(way_to_root("nothing"), "./");
}

TEST(HttpCameraPath, HasANameAndAWish) {
  EXPECT_EQ(parse_camera_path("/cameras/dock/live")->camera, "dock");
  EXPECT_EQ(parse_camera_path("/cameras/dock/live")->what, "live");
  EXPECT_EQ(parse_camera_path("/cameras/dock/a/b")->what, "a/b");
  for (const char* bad : {"/camera/dock", "/cameras/", "/cameras/dock", "/cameras//live"}) {
    EXPECT_FALSE(parse_camera_path(bad)) << bad;
  }
}

TEST(ViewerWish, IsAnObjectWithAType) {
  EXPECT_EQ(parse_viewer_wish(R"({"type":"pause"})"), ViewerWish::pause);
  EXPECT_EQ(parse_viewer_wish(R"({"type":"resume","x":1})"), ViewerWish::resume);
  for (const char* other : {"", "pause", "[]", "{}", R"(["type"])", R"({"type":{"type":"pause"}})", R"({"type":"x"})"})
    EXPECT_EQ(parse_viewer_wish(other), ViewerWish::nothing) << other;
}

struct RangeCase {
  const char* header;
  RangeWish wish;
  std::uint64_t begin;
  std::uint64_t size;
};

TEST(HttpRange, IsReadAsTheStandardSays) {
  using enum RangeWish;
  for (const RangeCase& of :
       {RangeCase{"bytes=0-9", part, 0, 10}, RangeCase{"bytes=90-", part, 90, 10}, RangeCase{"bytes=-10", part, 90, 10},
        RangeCase{"bytes=-200", part, 0, 100}, RangeCase{"bytes=50-1000", part, 50, 50},
        RangeCase{"bytes=99-99", part, 99, 1}, RangeCase{"bytes=100-", impossible, 0, 100},
        RangeCase{"bytes=-0", impossible, 0, 100}, RangeCase{"", whole, 0, 100}, RangeCase{"bytes=", whole, 0, 100},
        RangeCase{"bytes=-", whole, 0, 100}, RangeCase{"bytes=9-1", whole, 0, 100},
        RangeCase{"bytes=0-1,5-6", whole, 0, 100}, RangeCase{"lines=0-1", whole, 0, 100},
        RangeCase{"bytes=a-b", whole, 0, 100}, RangeCase{"bytes=-5-9", whole, 0, 100},
        RangeCase{"bytes=99999999999999999999-", whole, 0, 100}}) {
    ByteRange range;
    EXPECT_EQ(parse_range(of.header, 100, range), of.wish) << of.header;
    EXPECT_EQ(range.begin, of.begin) << of.header;
    EXPECT_EQ(range.size, of.size) << of.header;
  }
  ByteRange range;
  EXPECT_EQ(parse_range("bytes=0-", 0, range), impossible);
}

// A recording that ends is appended to, and then its first bytes name what was appended. Whoever was told the length
// before gets the first bytes of then.
TEST(HttpFile, IsSentAsItWasWhenItsLengthWasAsked) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "a.mp4";
  std::ofstream(path) << "before, and more";
  HttpAnswer answer;
  answer.file = in_own_folder(path);
  const FileAnswer file = open_file(answer, {}, false);
  {
    std::ofstream more(path, std::ios::app);
    more << " that was appended";
    std::fstream(path) << "behind";
  }
  EXPECT_EQ(file.range.size, 16U);
  const auto part = [&](std::uint64_t from, std::size_t most) {
    const std::vector<char> bytes = read_part(file, from, most);
    return std::string(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(part(0, 16), "before, and more");
  EXPECT_EQ(part(3, 4), "ore,");
  EXPECT_EQ(part(12, 4), "more");
}

TEST(HttpEtag, IsCompared) {
  EXPECT_TRUE(matches_etag("\"a\", W/\"b\"", "\"b\""));
  EXPECT_TRUE(matches_etag("*", "\"b\""));
  EXPECT_FALSE(matches_etag("\"a\"", "\"b\""));
  EXPECT_FALSE(matches_etag("", "\"b\""));
}

TEST(HttpFileType, IsByTheEnding) {
  EXPECT_EQ(type_of_file("a.mp4"), "video/mp4");
  EXPECT_EQ(type_of_file("a.html"), "application/octet-stream");  // what comes from outside is never a page
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
