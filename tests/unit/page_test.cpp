#include "app/publisher/server/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string files = "/static/" + std::string(page_version()) + "/";

HttpAnswer get(const std::string& path, const std::string& method = "GET", bool takes_gzip = false) {
  HttpRequest request;
  request.takes_gzip = takes_gzip;
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
  EXPECT_EQ(get(files + "app.js").type, "text/javascript; charset=utf-8");
  EXPECT_EQ(get(files + "app.css").type, "text/css; charset=utf-8");
  EXPECT_EQ(get(files + "icon.svg").type, "image/svg+xml");
  EXPECT_THAT(get(files + "icon.svg").body, StartsWith("<svg"));
}

TEST(Page, ThereIsNothingElse) {
  for (const std::string path :
       {"/static/", "/static/app.js", "/static/0123456789abcdef/app.js", "/index.html", "/cameras/dock", "/x"})
    EXPECT_EQ(get(path).status, 404) << path;
  for (const std::string name : {"", "nothing.js", "../page.h", "player.js"})
    EXPECT_EQ(get(files + name).status, 404) << name;
  EXPECT_EQ(get("/", "POST").status, 405);
  EXPECT_EQ(header(get("/", "POST"), "Allow"), "GET, HEAD");
}

// All that a page loads is named after its bytes.
TEST(Page, ABrowserMayKeepItUntilItChanges) {
  EXPECT_EQ(header(get("/"), "ETag"), "\"" + std::string(page_version()) + "\"");
  EXPECT_EQ(header(get("/"), "Cache-Control"), "no-cache");
  for (const std::string name : {"app.js", "more.js", "app.css", "theme.js", "icon.svg"}) {
    EXPECT_THAT(header(get(files + name), "Cache-Control"), HasSubstr("immutable")) << name;
    if (name == "more.js") continue;  // is asked for later
    EXPECT_THAT(get("/").body, HasSubstr("\"static/" + files.substr(8) + name));
  }
}

TEST(Page, ItsAddressesAreRelativeToWhereItIsShown) {
  EXPECT_THAT(get("/").body, HasSubstr("<base href=\"./\">"));
  EXPECT_THAT(get("/system").body, HasSubstr("<base href=\"./\">"));
  EXPECT_THAT(get("/camera/dock").body, HasSubstr("<base href=\"../\">"));
  for (const char* absolute : {"href=\"/", "src=\"/", "@"}) EXPECT_THAT(get("/").body, Not(HasSubstr(absolute)));
}

TEST(Page, IsSmallOnTheWay) {
  std::size_t all = get("/").body.size();
  for (const std::string name : {"app.js", "app.css", "theme.js", "icon.svg"}) {
    const HttpAnswer small = get(files + name, "GET", true);
    EXPECT_EQ(header(small, "Content-Encoding"), "gzip");
    EXPECT_EQ(header(small, "Vary"), "Accept-Encoding");
    all += small.body.size();
  }
  EXPECT_LT(all, 35'000U) << "with a status and a session, a wall shall have at most 45 kB";
}

TEST(Page, NothingIsInlineAndNothingComesFromElsewhere) {
  const PageFile* page = find_page_file("index.html");
  ASSERT_NE(page, nullptr);
  for (const char* forbidden : {"<style", "style=", "onclick", "http://", "https://"})
    EXPECT_EQ(page->bytes.find(forbidden), std::string_view::npos) << forbidden;
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
