// The URL of a push target: neither its name for people nor a refusal shows a password, a stream key or a stream id.
#include "stages/sinks/push_target.h"

#include "core/error.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

constexpr std::string_view secret = "hidden-7351";

void check_secret(const std::string& url) {
  try {
    const PushTarget target = read_push_target({url});
    require(!contains(target.name, secret), "a name for people has no secret", url);
    require(!contains(scrubbed("cannot open " + url, target), secret), "a text about it has no secret", url);
    require(target.host.find_first_of("@/?#") == std::string::npos, "a host is only that", url);
  } catch (const Error& error) {
    require(!contains(error.what(), secret), "a refusal shows no secret", error.what());
  }
}

void check(const std::string& input) {
  if (contains(input, secret)) return;
  const std::string hidden(secret);
  check_secret(input);
  check_secret("rtsp://ann:" + hidden + "@" + input);
  if (input.find_first_of("?#") == std::string::npos) check_secret("rtmp://" + input + "/live/" + hidden);
  check_secret("srt://10.0.0.9:9000?streamid=" + hidden + "&" + input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
