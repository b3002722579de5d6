// What one who watches says over the WebSocket.
#include "app/publisher/server/http/rules.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::string& text) {
  const ViewerWish wish = parse_viewer_wish(text);
  require(wish == ViewerWish::nothing || contains(text, "{"), "a wish is an object", text);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
