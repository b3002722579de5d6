// What an RTSP camera answers, before FFmpeg's client hears it: a head keeps its length, its lines and its end; what is
// said of it for people is one line; an answer to a challenge is one line.
#include "stages/sources/login_challenge.h"
#include "stages/sources/rtsp_dialogue.h"
#include "stages/sources/rtsp_text.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

bool is_line(std::string_view text) { return text.find_first_of("\r\n") == std::string_view::npos; }

void check_head(const std::string& input) {
  const std::size_t size = size_of_head(input);
  require(size <= input.size(), "a head is in what came", input);
  std::string head = input.substr(0, size);
  replace_rtsp_header(head, "WWW-Authenticate", "Digest realm=\"x\"");
  require(size == 0 || size_of_head(head) == head.size(), "a changed head ends where it did", input);
  require(rtsp_headers(head, "WWW-Authenticate").size() <= 1, "one header is left", input);
  if (const auto status = read_status_line(input)) require(is_line(status->reason), "a reason is a line", input);
  if (const auto line = read_request_line(input))
    require(is_line(line->method + line->uri), "a request is a line", input);
}

void check_login(const std::string& input) {
  const auto challenges = read_challenges(input);
  for (const LoginChallenge& challenge : challenges) {
    require(is_line(challenge_value(challenge)), "a challenge is a line", input);
    require(is_line(answer_digest(challenge, {"ann", "secret"}, "GET", "/", 1, "own")), "an answer is a line", input);
  }
  const LoginChallenge* best = best_challenge(challenges);
  require(best == nullptr || (best >= challenges.data() && best < challenges.data() + challenges.size()),
          "the best one is one of them", input);
}

void check(const std::string& input) {
  check_head(input);
  check_login(input);
  for (const RtspTrack& track : read_tracks(input)) require(is_line(track.text()), "a track is a line", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
