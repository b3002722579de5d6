// The URL of a source, as it is and behind a user and a password: no message shows the password, and the parts of an
// address are what they should be.
#include "stages/sources/source.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

constexpr std::string_view secret = "hidden-7351";

void check_address(const std::string& url) {
  const SourceAddress address = split_address(url);
  require(address.port == -1 || (address.port > 0 && address.port < 65536), "a port is one", url);
  require(!address.bad_port || address.port == -1, "a bad port is none", url);
  require(address.host.find_first_of("@/?#") == std::string::npos, "a host is only that", url);
  if (!check_stream_url(url)) require(!source_kind_of(url).schemes.empty(), "a URL that is good is one of a kind", url);
  const SourceKind& kind = source_kind_of(url);
  if (kind.name == "file") return;  // asks the disk
  if (!kind.check(url) && kind.tried_at_check) static_cast<void>(open_source({.url = url}, [] { return false; }));
}

void check(const std::string& input) {
  check_address(input);
  if (contains(input, secret)) return;
  for (const char* scheme : {"rtsp", "srt", "nonsense"}) {
    const std::string url = std::string(scheme) + "://ann:" + std::string(secret) + "@" + input;
    check_address(url);
    require(!contains(check_stream_url(url).value_or(""), secret), "no message shows a password", url);
    require(!contains(shown_url(url), secret), "a URL for people has no password", url);
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
