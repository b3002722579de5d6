#include "app/publisher/server/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

HttpAnswer get(const std::string& path, const std::string& method = "GET") {
  HttpRequest request;
  request.method = method;
  request.path = path;
  return page_route(request);
}

std::string header(const HttpAnswer& answer, const std::string& name) {
  for (const auto& [key, value] : answer.headers)
    if (key == name) return value;
  return {};
}

TEST(Page, EveryAddressOfTheApplicationIsTheSamePage) {
  for (const char* path : {"/", "/login", "/camera/dock", "/recordings", "/system"}) {
    const HttpAnswer answer = get(path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.type, "text/html; charset=utf-8");
    EXPECT_THAT(answer.body, HasSubstr("<title>campipe</title>"));
  }
}

TEST(Page, FilesComeWithTheirType) {
  EXPECT_EQ(get("/static/player.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(get("/static/base.css").type, "text/css; charset=utf-8");
  EXPECT_EQ(get("/static/icon.svg").type, "image/svg+xml");
  EXPECT_THAT(get("/static/icon.svg").body, StartsWith("<svg"));
}

TEST(Page, ThereIsNothingElse) {
  for (const char* path : {"/static/", "/static/nothing.js", "/static/../page.h", "/index.html", "/cameras/dock", "/x"})
    EXPECT_EQ(get(path).status, 404) << path;
  EXPECT_EQ(get("/", "POST").status, 405);
  EXPECT_EQ(header(get("/", "POST"), "Allow"), "GET, HEAD");
}

TEST(Page, ABrowserMayKeepItUntilItChanges) {
  const std::string script = header(get("/static/main.js"), "ETag");
  EXPECT_THAT(script, StartsWith("\""));
  EXPECT_NE(script, header(get("/static/wall.js"), "ETag"));
  EXPECT_EQ(header(get("/static/main.js"), "Cache-Control"), "no-cache");
}

TEST(Page, NothingIsInlineAndNothingComesFromElsewhere) {
  const PageFile* page = find_page_file("index.html");
  ASSERT_NE(page, nullptr);
  for (const char* forbidden : {"<style", "style=", "onclick", "http://", "https://"})
    EXPECT_EQ(page->bytes.find(forbidden), std::string_view::npos) << forbidden;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
