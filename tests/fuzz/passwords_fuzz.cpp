// A text in which passwords are to be hidden: those of a URL and of a field are gone, whatever stands around them.
#include "core/passwords.h"

#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

constexpr std::string_view secret = "hidden-7351";

void check(const std::string& text) {
  if (contains(text, secret)) return;
  const std::string hidden(secret);
  for (const std::string& with :
       {text + " rtsp://ann:" + hidden + "@host/1 " + text, text + " http://host/?password=" + hidden + "&" + text,
        "rtsp://ann:" + hidden + "@" + text}) {
    require(!contains(without_passwords(with), secret), "a password is hidden", with);
    require(!contains(redact_urls(with), secret), "for viewers too", with);
  }
  require(without_passwords(text).size() <= text.size() * 4, "a text stays of its size", text);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
