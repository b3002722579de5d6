#include "app/publisher/server/page.h"

#include <algorithm>
#include <string>

#include "app/publisher/server/http/rules.h"
#include "app/publisher/server/page_files.h"

namespace campipe {
namespace {

bool is_page(std::string_view path) {
  return path == "/" || path == "/login" || path == "/recordings" || path == "/system" || path.starts_with("/camera/");
}

const PageFile* file_of(std::string_view path) {
  constexpr std::string_view folder = "/static/";
  if (path.starts_with(folder)) return find_page_file(path.substr(folder.size()));
  return is_page(path) ? find_page_file("index.html") : nullptr;
}

}  // namespace

const PageFile* find_page_file(std::string_view name) {
  const auto files = page_files();
  const auto found = std::ranges::find(files, name, &PageFile::name);
  return found == files.end() ? nullptr : &*found;
}

HttpAnswer page_route(const HttpRequest& request) {
  if (request.method != "GET") return method_not_allowed();
  const PageFile* file = file_of(request.path);
  if (file == nullptr) return http_error(404, "there is no such page");
  HttpAnswer answer;
  answer.type = file->type;
  answer.body = file->bytes;
  // Asked for each time, and answered with 304 as long as the program is the same: no page of an older one is seen.
  answer.headers = {{"ETag", std::string(file->etag)}, {"Cache-Control", "no-cache"}};
  return answer;
}

}  // namespace campipe
