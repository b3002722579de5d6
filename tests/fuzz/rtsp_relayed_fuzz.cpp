// A camera's name in the first line, and behind it what an RTSP client sends that is passed on to the camera's node:
// whole messages, as RtspFraming cuts them. What goes on is about that camera, a message that RtspFraming takes as one,
// and has no login.
#include "app/publisher/server/rtsp/framing.h"
#include "app/publisher/server/rtsp/relayed_request.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

std::string lower(std::string text) {
  for (char& letter : text) letter = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
  return text;
}

void check_message(const std::string& message, const std::string& camera, const std::string& input) {
  const auto passed = request_for_node(message, camera);
  if (!passed) return;
  RtspFraming again;
  again.add(*passed);
  require(again.whole() && again.message() == *passed, "what goes on is one message", input);
  if (message.starts_with('$')) return;
  const std::string head = lower(passed->substr(0, passed->find("\r\n\r\n") + 2));
  require(head.find("\r\nauthorization:") == std::string::npos, "the login stays here", input);
  const std::string first = passed->substr(0, passed->find("\r\n"));
  require(first.find(" *") != std::string::npos || first.find("/" + camera) != std::string::npos,
          "it is about the camera", input);
  const std::string answer = rtsp_answer(message, 503, "Service Unavailable");
  require(answer.starts_with("RTSP/1.0 503 ") && answer.find("\r\n\r\n") == answer.size() - 4, "an answer is one",
          input);
}

void check(std::string input) {
  const std::string whole = input;
  const std::string camera = take_line(input);
  if (camera.empty()) return;
  RtspFraming framing;
  framing.add(input);
  while (framing.whole()) {
    std::string message(framing.message());
    framing.take(message);
    check_message(message, camera, whole);
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
