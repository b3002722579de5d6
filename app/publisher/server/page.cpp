#include "app/publisher/server/page.h"

#include <algorithm>
#include <map>
#include <string>

#include "app/publisher/server/http/compression.h"
#include "app/publisher/server/http/rules.h"
#include "app/publisher/server/page_files.h"

namespace campipe {
namespace {

constexpr std::string_view folder = "/static/";

bool is_page(std::string_view path) {
  return path == "/" || path == "/login" || path == "/recordings" || path == "/system" || path.starts_with("/camera/");
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// Asked for each time, and answered with 304 as long as the program is the same: no page of an older one is seen.
HttpAnswer index_page(std::string_view path) {
  HttpAnswer answer;
  const PageFile* index = find_page_file("index.html");
  answer.type = index->type;
  answer.body = index->bytes;
  replace_all(answer.body, "@ROOT@", way_to_root(path));
  replace_all(answer.body, "@VERSION@", page_version());
  answer.headers = {{"ETag", "\"" + std::string(page_version()) + "\""}, {"Cache-Control", "no-cache"}};
  return answer;
}

// All of them, compressed once.
const std::string& compressed(const PageFile& file) {
  static const std::map<std::string_view, std::string> all = [] {
    std::map<std::string_view, std::string> made;
    for (const PageFile& each : page_files()) made[each.name] = gzip(each.bytes, GzipLevel::small);
    return made;
  }();
  return all.at(file.name);
}

// Serves files of this version only, so that no page is made of two versions.
HttpAnswer static_file(std::string_view rest, bool takes_gzip) {
  const std::string version = std::string(page_version()) + "/";
  const PageFile* file = rest.starts_with(version) ? find_page_file(rest.substr(version.size())) : nullptr;
  if (file == nullptr) return http_error(404, "there is no such file in this version of the page; reload it");
  HttpAnswer answer;
  answer.type = file->type;
  answer.headers = {{"Cache-Control", "public, max-age=31536000, immutable"}};
  name_encoding(answer, takes_gzip);
  answer.body = takes_gzip ? std::string_view(compressed(*file)) : file->bytes;
  return answer;
}

}  // namespace

const PageFile* find_page_file(std::string_view name) {
  const auto files = page_files();
  const auto found = std::ranges::find(files, name, &PageFile::name);
  return found == files.end() ? nullptr : &*found;
}

HttpAnswer page_route(const HttpRequest& request) {
  if (request.method != "GET") return method_not_allowed();
  const std::string_view path = request.path;
  if (path.starts_with(folder)) return static_file(path.substr(folder.size()), request.takes_gzip);
  return is_page(path) ? index_page(path) : http_error(404, "there is no such page");
}

}  // namespace campipe
