// A path of the page: what is served is one of the files that are built in, as it is.
#include "app/publisher/server/page.h"

#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  const HttpAnswer answer = page_route(request);
  require(answer.status == 200 || answer.status == 404, "it is there or not", path);
  require(answer.file.name.empty(), "no file of the disk is served", path);
  if (answer.status != 200) return;
  const bool is_file = path.starts_with("/static/");
  if (is_file) {
    const PageFile* file = find_page_file(path.substr(path.rfind('/') + 1));
    require(file != nullptr && answer.body == file->bytes, "what is served is built in", path);
  } else {
    require(answer.body.find("<title>campipe</title>") != std::string::npos, "every page is the same", path);
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
