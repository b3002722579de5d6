// RTSP's header Authorization: nobody comes in but by Basic with the right password or secret. (Digest needs a nonce,
// which is another for each connection.)
#include "app/publisher/server/rtsp/auth.h"

#include <cctype>
#include <semaphore>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/quiet.h"
#include "tests/fuzz/users.h"

namespace campipe::fuzz {
namespace {

struct Request {
  GstRTSPMessage request{};
  GstRTSPMessage response{};
  GstRTSPUrl* url = nullptr;
  explicit Request(const std::string& authorization) {
    gst_rtsp_url_parse("rtsp://127.0.0.1/dock", &url);
    gst_rtsp_message_init_request(&request, GST_RTSP_DESCRIBE, "rtsp://127.0.0.1/dock");
    gst_rtsp_message_add_header(&request, GST_RTSP_HDR_AUTHORIZATION, authorization.c_str());
  }
  ~Request() {
    gst_rtsp_message_unset(&request);
    gst_rtsp_message_unset(&response);
    gst_rtsp_url_free(url);
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
};

std::shared_ptr<const RtspLogin> login;  // of the request that is next

// The bytes of a request, as a channel has them before GStreamer does.
std::shared_ptr<const RtspLogin> check_bytes(RtspLogins& logins, std::binary_semaphore& done,
                                             const std::string& authorization) {
  auto found = logins.check(
      "DESCRIBE rtsp://127.0.0.1/dock RTSP/1.0\r\nCSeq: 1\r\nAuthorization: " + authorization + "\r\n\r\n", "");
  while (found && !found->done) require(done.try_acquire_for(std::chrono::seconds(60)), "a check ends", authorization);
  return found;
}

// Who comes in with this header; empty: nobody.
std::string let_in(const std::string& authorization) {
  Access access(server_with_users(), hurried_clock());
  std::binary_semaphore done(0);
  RtspLogins logins(access, [&done] { done.release(); });
  login = check_bytes(logins, done, authorization);
  const GObjectPtr<GstRTSPAuth> auth = make_rtsp_auth(
      logins, [](GstRTSPClient*) { return login.get(); }, [](GstRTSPClient*) -> const Identity* { return nullptr; },
      false);
  const GObjectPtr<GstRTSPClient> client(gst_rtsp_client_new());
  Request message(authorization);
  GstRTSPContext context{};
  context.client = client.get();
  context.auth = auth.get();
  context.request = &message.request;
  context.response = &message.response;
  context.method = GST_RTSP_DESCRIBE;
  context.uri = message.url;
  gst_rtsp_context_push_current(&context);
  const bool good = gst_rtsp_auth_check(GST_RTSP_AUTH_CHECK_URL) == TRUE;
  gst_rtsp_context_pop_current(&context);
  require(good == !rtsp_identity(client.get()).user.empty(), "who comes in is known", authorization);
  return rtsp_identity(client.get()).user;
}

std::string basic(const std::string& text) {
  gchar* encoded = g_base64_encode(reinterpret_cast<const guchar*>(text.data()), text.size());
  std::string header = std::string("Basic ") + encoded;
  g_free(encoded);
  return header;
}

// What GLib decodes of it: it passes over all else.
std::string base64_of(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '+' && c != '/'; });
  return text;
}

void check(const std::string& input) {
  static const bool ready = gst_init_check(nullptr, nullptr, nullptr) == TRUE;
  require(ready, "GStreamer starts");
  be_silent();
  const std::string by_password = basic(std::string("ann:") + right_password).substr(6, 16);
  const std::string by_secret = basic(std::string("ann:") + right_secret).substr(6, 12);
  const std::string of_ben = basic(std::string("ben:") + right_password).substr(6, 16);
  const std::string given = base64_of(input);
  const bool holds = contains(given, by_password) || contains(given, by_secret) || contains(given, of_ben);
  require(let_in(input).empty() || holds, "who comes in has what is right", input);
  const std::string user = let_in(basic(input));
  const bool right = input == std::string("ann:") + right_password || input == std::string("ann:") + right_secret ||
                     input == std::string("ben:") + right_password;
  require(!user.empty() == right, "Basic is exact", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
