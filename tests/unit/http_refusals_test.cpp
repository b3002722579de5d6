// HTTP cameras that refuse a range of bytes, or a login that FFmpeg does not know, and multipart that begins in odd
// ways.
#include <mutex>

#include "stages/sources/login_challenge.h"
#include "tests/unit/live_test_support.h"
#include "tests/unit/rtsp_camera.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = SourceError::Kind;

class HttpRefusals : public WithClip {
 protected:
  static void SetUpTestSuite() {
    WithClip::SetUpTestSuite();
    run_ffmpeg({"-i", file("clip.ts"), "-frames:v", "1", file("picture.jpg")});
  }
  static std::string picture() { return bytes_of(file("picture.jpg")); }

  // `camera` sends nothing but that picture, again and again; `as`: how.
  static void expect_pictures(const Server& camera, const std::string& as) {
    const auto source = open_source(source_of(local("http", camera.port(), "/stream")), never);
    EXPECT_EQ(source->stream().codec->width, 320);
    const AvPacket packet = make_av_packet();
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(source->read(*packet), ReadResult::packet);
      EXPECT_EQ(static_cast<std::size_t>(packet->size), picture().size()) << as;
      av_packet_unref(packet.get());
    }
  }

  // MJPEG; `refuses`: a request, with this answer, or not.
  static auto mjpeg(std::function<std::string(const std::string&)> refuses) {
    const std::string part =
        "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: " + std::to_string(picture().size()) + "\r\n\r\n" +
        picture() + "\r\n";
    return [part, refuses](int fd, const std::atomic<bool>& over) {
      const std::string refusal = refuses(read_request(fd));
      if (refusal == "closes") return;
      if (!refusal.empty()) {
        send_all(fd, "HTTP/1.1 " + refusal + "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        return;
      }
      send_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n\r\n");
      while (!over && send_all(fd, part)) std::this_thread::sleep_for(milliseconds(20));
    };
  }
};

TEST_F(HttpRefusals, AServerThatTakesNoRangeIsAskedWithoutOne) {
  for (const std::string answer : {"416 Requested Range Not Satisfiable", "400 Bad Request", "501 Not Implemented",
                                   "403 Forbidden", "412 Precondition Failed", "closes"}) {
    const Server camera(mjpeg(
        [&](const std::string& request) { return header_of(request, "Range").empty() ? std::string() : answer; }));
    const auto source = open_source(source_of(local("http", camera.port(), "/video")), never);
    EXPECT_EQ(source->stream().decoder, "mjpeg");
    EXPECT_EQ(count_packets(*source, {5, 0}).video, 5);
    EXPECT_EQ(camera.connections(), 2) << answer;
  }
}

TEST_F(HttpRefusals, AnAnswerThatIsNotForTheRangeIsToldAsItCame) {
  struct Case {
    std::string answer;
    Kind kind;
    std::string text;
    int connections;
  };
  for (const Case& c :
       {Case{"404 Not Found", Kind::not_found, "answers GET with 404 Not Found (is the path right?)", 1},
        {"403 Forbidden", Kind::unauthorized, "answers GET with 403 Forbidden (may this user", 2},
        {"418 I'm a Teapot", Kind::refused, "answers GET with 418 I'm a Teapot", 2},
        {"503 Busy", Kind::refused, "answers GET with 503 Busy (is it starting", 2}}) {
    const Server camera(mjpeg([&](const std::string&) { return c.answer; }));
    const Failure failure = failure_of(source_of(local("http", camera.port(), "/video")));
    EXPECT_EQ(failure.kind, c.kind);
    EXPECT_THAT(failure.text, HasSubstr(c.text));
    EXPECT_EQ(camera.connections(), c.connections);
  }
}

TEST_F(HttpRefusals, PiecesOfAPlaylistAreAskedForWithoutARangeToo) {
  run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-hls_time", "1", "-hls_list_size", "0", file("list.m3u8")});
  std::mutex mutex;
  std::vector<std::string> with_range;
  const Server server([&](int fd, const std::atomic<bool>&) {
    const std::string request = read_request(fd);
    const std::string name = request.substr(5, request.find(' ', 5) - 5);
    if (!header_of(request, "Range").empty()) {
      const std::lock_guard lock(mutex);
      with_range.push_back(name);
      send_all(fd, "HTTP/1.1 416 No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    send_all(fd, found(bytes_of(file(name))));
  });
  const auto source = open_source(source_of(local("http", server.port(), "/list.m3u8")), never);
  EXPECT_EQ(count_packets(*source, {1000, 1000}).video, 100);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(with_range, std::vector<std::string>{"list.m3u8"});
}

std::string login_refusal(const std::string& request, const std::string& challenge, const std::string& accepted) {
  const auto answers = read_challenges(header_of(request, "Authorization"));
  const std::string refusal = "401 Unauthorized\r\nWWW-Authenticate: " + challenge;
  if (answers.size() != 1 || answers[0].algorithm() != accepted || !answers[0].fields.contains("response"))
    return refusal;
  const auto& fields = answers[0].fields;
  LoginChallenge asked = read_challenges(challenge).at(0);
  asked.fields["algorithm"] = accepted;
  if (asked.fields.contains("qop")) asked.fields["qop"] = fields.contains("qop") ? fields.at("qop") : "";
  const std::string right = answer_digest(asked, {"admin", "se/cret"}, "GET", "/video?a=b", 1,
                                          fields.contains("cnonce") ? fields.at("cnonce") : "");
  return read_challenges(right).at(0).fields.at("response") == fields.at("response") && fields.at("uri") == "/video?a=b"
             ? ""
             : refusal;
}

TEST_F(HttpRefusals, DigestWithWhateverIsOffered) {
  const std::string rest = "Digest realm=\"cam\", nonce=\"n1\"";
  for (const auto& [challenge, accepted] : std::vector<std::pair<std::string, std::string>>{
           {rest + ", algorithm=SHA-256", "SHA-256"},
           {rest + ", algorithm=SHA-256, qop=\"auth\"", "SHA-256"},
           {rest + ", algorithm=MD5, qop=\"auth\"", "MD5"},
           {rest + ", algorithm=MD5\r\nWWW-Authenticate: " + rest + ", algorithm=SHA-256", "MD5"}}) {
    const Server camera(mjpeg([&](const std::string& request) { return login_refusal(request, challenge, accepted); }));
    const std::string there = "127.0.0.1:" + std::to_string(camera.port()) + "/video?a=b";
    auto source = open_source(source_of("http://admin:se%2Fcret@" + there), never);
    EXPECT_EQ(count_packets(*source, {5, 0}).video, 5) << challenge;
    source.reset();  // its server has one client at a time
    const Failure wrong = failure_of(source_of("http://admin:hunter2@" + there));
    EXPECT_EQ(wrong.kind, Kind::unauthorized);
    EXPECT_THAT(wrong.text, AllOf(HasSubstr("rejected the user name or the password"), Not(HasSubstr("hunter2"))));
    EXPECT_THAT(failure_of(source_of("http://" + there)).text,
                HasSubstr("the source gives none: http://USER:PASSWORD@"));
  }
}

TEST_F(HttpRefusals, MultipartThatBeginsWithoutABoundary) {
  const std::string headers =
      "Content-Type: image/jpeg\r\nContent-Length: " + std::to_string(picture().size()) + "\r\n\r\n";
  const std::string next = picture() + "\r\n--frame\r\n" + headers;
  for (const std::string& begin : {headers, "\r\n" + headers, "A stream follows.\r\n\r\n--frame\r\n" + headers,
                                   "\r\n\r\n--frame\r\n" + headers, "--frame\r\n" + headers}) {
    const Server camera([&](int fd, const std::atomic<bool>& over) {
      read_request(fd);
      send_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n" + begin);
      while (!over && send_all(fd, next)) std::this_thread::sleep_for(milliseconds(20));
    });
    expect_pictures(camera, begin);
  }
}

TEST_F(HttpRefusals, MultipartWhosePartsHaveOtherTypes) {
  const std::string size = "Content-Length: " + std::to_string(picture().size()) + "\r\n";
  for (const std::string& type :
       {std::string("Content-Type: image/jpg\r\n"), std::string("content-type: image/pjpeg\r\n"),
        std::string("Content-Type: image/jpeg;size=1234\r\n"), std::string()}) {
    const Server camera([&](int fd, const std::atomic<bool>& over) {
      read_request(fd);
      send_all(fd, "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n");
      const std::string part = "--frame\r\n" + type + size + "\r\n" + picture() + "\r\n";
      while (!over && send_all(fd, part)) std::this_thread::sleep_for(milliseconds(20));
    });
    expect_pictures(camera, type);
  }
}

TEST_F(HttpRefusals, WhatIsSentInsteadOfVideoIsTold) {
  const std::string page = "<html>please log in</html>\n";
  const Server server(answering("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " +
                                std::to_string(page.size()) + "\r\n\r\n" + page));
  const Failure failure = failure_of(source_of(local("http", server.port(), "/")));
  EXPECT_EQ(failure.kind, Kind::unsupported);
  EXPECT_THAT(failure.text, HasSubstr("sends what FFmpeg cannot read: Invalid data, of Content-Type text/html"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
