// The web page: files of app/publisher/server/page, built into the program, so that there is nothing to install beside
// it. Thread-safe; nothing here changes.
#pragma once

#include <array>
#include <string_view>

#include "app/publisher/server/http/server.h"

namespace campipe {

struct PageFile {
  std::string_view name;  // "index.html", "app.js" …; of the API's description "openapi.json"
  std::string_view type;  // for Content-Type
  std::string_view bytes;
};

// Null: there is no such file. It lives as long as the program.
const PageFile* find_page_file(std::string_view name);
// Changes with any of the files.
std::string_view page_version();

inline constexpr std::array page_prefixes{"/", "/login", "/camera/", "/recordings", "/system", "/static/"};
// GET of a path with one of these prefixes: of "/static/VERSION/FILE" the file; of the others the same page, which
// looks at its own address; 404 for the rest. Needs no login: what the page then asks for does. Its addresses are
// relative, as a proxy may show it below a path.
HttpAnswer page_route(const HttpRequest& request);

}  // namespace campipe
