// RTSP cameras that refuse a track, a login or a request.
#include <map>

#include "stages/sources/control_urls.h"
#include "stages/sources/login_challenge.h"
#include "stages/sources/rtsp_dialogue.h"
#include "stages/sources/rtsp_text.h"
#include "tests/unit/live_test_support.h"
#include "tests/unit/rtsp_camera.h"
#include "tests/unit/web.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = SourceError::Kind;

constexpr const char* sound = "m=audio 0 RTP/AVP 0\r\na=control:audio\r\n";
constexpr const char* back_channel =
    "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 PCMA/8000\r\na=control:back\r\na=sendonly\r\n";

class RtspRefusals : public WithClip {
 protected:
  static void SetUpTestSuite() {
    WithClip::SetUpTestSuite();
    run_ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=2", "-c:v", "libx264", "-preset",
                "ultrafast", "-threads", "1", "-g", "10", "-pix_fmt", "yuv420p", file("small.h264")});
  }
  static std::string h264() { return bytes_of(file("small.h264")); }

  // "SETUP" of the track `control`.
  static bool is_setup(const std::string& request, const std::string& control) {
    return request.starts_with("SETUP") && request.substr(0, request.find(" RTSP")).ends_with("/" + control);
  }

  static SourceConfig config_of(const RtspCamera& camera, const std::string& user = "",
                                RtspTransport transport = RtspTransport::tcp) {
    SourceConfig config = source_of(camera.url(user));
    config.rtsp_transport = transport;
    return config;
  }
};

TEST_F(RtspRefusals, TheSoundIsLeftOutWhateverTheAnswer) {
  for (const std::string status : {"500 Internal Server Error", "400 Bad Request", "461 Unsupported Transport",
                                   "403 Forbidden\r\nContent-Length: 4\r\n\r\nno"}) {
    for (const bool first : {false, true}) {
      RtspCamera camera(
          {.h264 = h264(),
           .more = first ? "" : sound,
           .before = first ? sound : "",
           .refusal = [&](const std::string& request) { return is_setup(request, "audio") ? status : ""; }});
      const auto source = open_source(config_of(camera), never);
      EXPECT_EQ(source->stream().audio, nullptr);
      EXPECT_EQ(source->stream().codec->width, 160);
      EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
      EXPECT_THAT(source->remark(),
                  AllOf(HasSubstr("without its audio (PCMU)"),
                        HasSubstr("answers SETUP of that with " + status.substr(0, status.find("\r\n")))));
      EXPECT_EQ(camera.connections(), 1);
    }
  }
}

TEST_F(RtspRefusals, OneOfTwoTracksOfSoundIsLeftOut) {
  RtspCamera camera(
      {.h264 = h264(), .more = std::string(back_channel) + sound, .refusal = [](const std::string& request) {
         return is_setup(request, "back") ? "500 Internal Server Error" : "";
       }});
  const auto source = open_source(config_of(camera), never);
  ASSERT_NE(source->stream().audio, nullptr);
  EXPECT_EQ(source->stream().audio->codec_id, AV_CODEC_ID_PCM_MULAW);
  const Count count = count_packets(*source, {30, 30});
  EXPECT_GE(count.audio, 30);
  EXPECT_THAT(source->remark(), HasSubstr("audio (PCMA)"));
}

constexpr const char* aac = "m=audio 0 RTP/AVP 97\r\na=control:audio\r\na=rtpmap:97 mpeg4-generic/";
constexpr const char* of_aac = "\r\na=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3";

// Files with it would be refused by players as a whole.
TEST_F(RtspRefusals, SoundWithABrokenHeaderIsLeftOut) {
  RtspCamera camera({.h264 = h264(), .more = aac + std::string("0/2") + of_aac + ";config=1fff\r\n"});
  const auto source = open_source(config_of(camera), never);
  EXPECT_EQ(source->stream().audio, nullptr);
  EXPECT_THAT(source->remark(), HasSubstr("has a header that FFmpeg cannot read; it goes on without sound"));
  EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
}

TEST_F(RtspRefusals, SoundThatIsNotDescribedIsSaid) {
  for (const std::string& rest : {std::string("16000/1") + of_aac, std::string("16000")}) {
    RtspCamera camera({.h264 = h264(), .more = aac + rest + "\r\n"});
    const auto source = open_source(config_of(camera), never);
    EXPECT_THAT(source->remark(), HasSubstr("(aac) does not say how it is encoded (config="));
    EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
  }
}

TEST_F(RtspRefusals, NothingIsLeftOutOfACameraThatRefusesNothing) {
  RtspCamera camera({.h264 = h264(), .more = sound});
  const auto source = open_source(config_of(camera), never);
  EXPECT_NE(source->stream().audio, nullptr);
  EXPECT_EQ(source->remark(), "");
  EXPECT_GE(count_packets(*source, {30, 30}).audio, 30);
}

// RFC 2326 does not demand that a server knows it.
TEST_F(RtspRefusals, OptionsNeedNotBeKnown) {
  for (const std::string status : {"405 Method Not Allowed", "501 Not Implemented\r\nContent-Length: 4\r\n\r\nno"}) {
    RtspCamera camera({.h264 = h264(), .refusal = [&](const std::string& request) {
                         return request.starts_with("OPTIONS") ? status : "";
                       }});
    const auto source = open_source(config_of(camera), never);
    EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

// The channels are then those that were asked for.
TEST_F(RtspRefusals, AnAnswerNeedNotNameChannels) {
  RtspCamera camera({.h264 = h264(), .more = sound, .writes = [](const std::string& answer) {
                       return replaced(replaced(answer, ";interleaved=0-1", ""), ";interleaved=2-3", "");
                     }});
  const auto source = open_source(config_of(camera), never);
  ASSERT_NE(source->stream().audio, nullptr);
  const Count count = count_packets(*source, {30, 30});
  EXPECT_GE(count.video, 30);
  EXPECT_GE(count.audio, 30);
}

TEST_F(RtspRefusals, ASessionsTimeoutIsReadBehindASpaceToo) {
  RtspCamera camera({.h264 = h264(), .writes = [](const std::string& answer) {
                       return replaced(answer, "Session: 1\r\n", "Session: 1; timeout=2\r\n");
                     }});
  const auto source = open_source(config_of(camera), never);
  const AvPacket packet = make_av_packet();
  // A second later it is told that somebody is still there.
  for (int i = 0; i < 2000 && camera.requests("GET_PARAMETER").empty(); ++i) {
    av_packet_unref(packet.get());
    ASSERT_EQ(source->read(*packet), ReadResult::packet);
  }
  EXPECT_FALSE(camera.requests("GET_PARAMETER").empty());
}

// Over TCP as well; only then it is left out.
TEST_F(RtspRefusals, AnotherTransportIsTriedFirst) {
  RtspCamera camera({.h264 = h264(), .more = sound, .refusal = [](const std::string& request) {
                       return is_setup(request, "audio") ? "461 Unsupported Transport" : "";
                     }});
  const auto source = open_source(config_of(camera, "", RtspTransport::automatic), never);
  EXPECT_EQ(source->stream().audio, nullptr);
  EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
}

TEST_F(RtspRefusals, TheSoundIsLeftOutByUdpAsWell) {
  for (const std::string status : {"500 Internal Server Error", "461 Unsupported Transport"}) {
    for (const RtspTransport transport : {RtspTransport::udp, RtspTransport::automatic}) {
      RtspCamera camera({.h264 = h264(), .more = sound, .udp = true, .refusal = [&](const std::string& request) {
                           return is_setup(request, "audio") ? status : "";
                         }});
      const auto source = open_source(config_of(camera, "", transport), never);
      EXPECT_EQ(source->stream().audio, nullptr);
      EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
      EXPECT_THAT(source->remark(), HasSubstr("answers SETUP of that with " + status));
    }
  }
}

TEST_F(RtspRefusals, ACameraThatHangsUpOverItsSoundIsUsedWithoutIt) {
  RtspCamera camera({.h264 = h264(), .more = sound, .refusal = [](const std::string& request) {
                       return is_setup(request, "audio") ? "hangs up" : "";
                     }});
  for (const RtspTransport transport : {RtspTransport::tcp, RtspTransport::automatic}) {
    const auto source = open_source(config_of(camera, "", transport), never);
    EXPECT_EQ(source->stream().audio, nullptr);
    EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
    EXPECT_THAT(source->remark(), HasSubstr("without its audio (PCMU): it closes the connection at SETUP"));
  }
}

// Each answer makes the one before it stale, and counts.
TEST_F(RtspRefusals, ADigestThatGetsStale) {
  std::atomic<int> nonce{1};
  RtspCamera camera({.h264 = h264(), .refusal = [&](const std::string& request) -> std::string {
                       const auto answers = read_challenges(header_of(request, "Authorization"));
                       const std::string now = "n" + std::to_string(nonce);
                       const bool fresh = !answers.empty() && answers[0].fields.at("nonce") == now;
                       if (fresh) ++nonce;
                       return fresh ? ""
                                    : "401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"cam\", nonce=\"" + now +
                                          "\", algorithm=SHA-256, qop=\"auth\"" +
                                          (answers.empty() ? "" : ", stale=true") + "\r\n";
                     }});
  const auto source = open_source(config_of(camera, "ad%40min:se%2Fcret@"), never);
  EXPECT_EQ(count_packets(*source, {10, 0}).video, 10);
  EXPECT_GE(nonce, 4);
}

// Cameras whose nonces last for minutes do that again and again, and not all say that the one before was right.
TEST_F(RtspRefusals, ALoginIsAskedForAnewWhileItPlays) {
  for (const bool offers_two : {false, true}) {
    for (const bool says_stale : {true, false}) {
      std::atomic<int> accepted{0};
      const auto refusal = [&](const std::string& request) -> std::string {
        const bool plays = request.starts_with("GET_PARAMETER");
        const std::string nonce = plays ? "n2" : "n1";
        const auto answers = read_challenges(header_of(request, "Authorization"));
        if (!answers.empty() && answers[0].fields.at("nonce") == nonce) {
          accepted += plays ? 1 : 0;
          return "";
        }
        const std::string rest = "WWW-Authenticate: Digest realm=\"cam\", nonce=\"" + nonce +
                                 (plays && says_stale ? "\", stale=true" : "\"");
        return "401 Unauthorized\r\n" + rest + ", algorithm=MD5\r\n" +
               (offers_two ? rest + ", algorithm=SHA-256\r\n" : "");
      };
      RtspCamera camera({.h264 = h264(), .refusal = refusal, .writes = [](const std::string& answer) {
                           return replaced(answer, "Session: 1\r\n", "Session: 1; timeout=2\r\n");
                         }});
      const auto source = open_source(config_of(camera, "admin:secret@"), never);
      const AvPacket packet = make_av_packet();
      const auto asks = [&] { return camera.requests("GET_PARAMETER").size(); };
      for (int i = 0; i < 2000 && accepted == 0 && asks() < 3; ++i) {
        av_packet_unref(packet.get());
        ASSERT_EQ(source->read(*packet), ReadResult::packet);
      }
      EXPECT_EQ(accepted, 1) << offers_two << says_stale;
      EXPECT_EQ(asks(), 2U) << "the second one at once";
      EXPECT_EQ(camera.connections(), 1);
    }
  }
}

TEST_F(RtspRefusals, WithoutItsVideoThereIsNoCamera) {
  for (const std::string status : {"461 Unsupported Transport", "500 Internal Server Error"}) {
    RtspCamera camera({.h264 = h264(), .more = sound, .refusal = [&](const std::string& request) {
                         return is_setup(request, "video") ? status : "";
                       }});
    const Failure failure = failure_of(config_of(camera));
    EXPECT_EQ(failure.kind, Kind::refused);
    EXPECT_THAT(failure.text, HasSubstr("answers SETUP of its video (H264) with " + status));
  }
}

TEST_F(RtspRefusals, OneOfTwoVideosIsLeftOut) {
  const std::string other = "m=video 0 RTP/AVP 98\r\na=rtpmap:98 H264/90000\r\na=control:other\r\n";
  const auto refuses_other = [](const std::string& request) {
    return is_setup(request, "other") ? "454 Session Not Found" : "";
  };
  RtspCamera camera({.h264 = h264(), .before = other, .refusal = refuses_other});
  SourceConfig config = config_of(camera);
  for (const std::optional<int> wanted : {std::optional<int>(), std::optional<int>(1)}) {
    config.stream = wanted;
    EXPECT_EQ(count_packets(*open_source(config, never), {10, 0}).video, 10);
  }
  config.stream = 0;
  EXPECT_THAT(failure_of(config).text, HasSubstr("answers SETUP of its video (H264) with 454 Session Not Found"));
}

// Answers with 401 until there is a right answer to one of `algorithms`.
auto guarded(const std::vector<std::string>& challenges, const std::string& accepted) {
  return [challenges, accepted](const std::string& request) -> std::string {
    const std::string given = header_of(request, "Authorization");
    const std::string method = request.substr(0, request.find(' '));
    std::string refusal = "401 Unauthorized\r\n";
    for (const std::string& challenge : challenges) refusal += "WWW-Authenticate: " + challenge + "\r\n";
    if (given.empty()) return refusal;
    const auto answers = read_challenges(given);
    if (answers.size() != 1 || answers[0].algorithm() != accepted) return refusal;
    const auto& fields = answers[0].fields;
    for (const char* name : {"uri", "response", "nonce", "realm"}) {
      if (!fields.contains(name)) return refusal;
    }
    // The quality that was used, not all that were offered.
    LoginChallenge challenge{"digest", {{"realm", "cam"}, {"nonce", "n1"}, {"algorithm", accepted}}};
    if (fields.contains("qop")) challenge.fields["qop"] = fields.at("qop");
    const unsigned number = fields.contains("nc") ? static_cast<unsigned>(std::stoul(fields.at("nc"), nullptr, 16)) : 1;
    const std::string right = answer_digest(challenge, {"ad@min", "se/cret"}, method, fields.at("uri"), number,
                                            fields.contains("cnonce") ? fields.at("cnonce") : "");
    return read_challenges(right).at(0).fields.at("response") == fields.at("response") ? "" : refusal;
  };
}

TEST_F(RtspRefusals, DigestWithWhateverIsOffered) {
  const std::string rest = "realm=\"cam\", nonce=\"n1\"";
  const std::string md5 = "Digest " + rest + ", algorithm=MD5";
  const std::string sha = "Digest " + rest + ", algorithm=SHA-256";
  struct Case {
    std::vector<std::string> offered;
    std::string accepted;
  };
  for (const Case& c : {Case{{md5}, "MD5"},
                        {{sha}, "SHA-256"},
                        {{md5, sha}, "MD5"},
                        {{sha, md5}, "MD5"},
                        {{sha + ", qop=\"auth\""}, "SHA-256"},
                        {{sha + ", qop=\"auth,auth-int\""}, "SHA-256"},
                        {{sha + ", qop=\"auth-int\""}, "SHA-256"},
                        {{"Digest " + rest + ", algorithm=SHA-512-256, qop=\"auth\""}, "SHA-512-256"},
                        {{"Digest " + rest + ", algorithm=SHA-256-sess, qop=\"auth\""}, "SHA-256-SESS"},
                        {{md5 + ", " + sha}, "MD5"},
                        {{"Basic realm=\"cam\"", sha}, "SHA-256"}}) {
    RtspCamera camera({.h264 = h264(), .more = sound, .refusal = guarded(c.offered, c.accepted)});
    SCOPED_TRACE(testing::PrintToString(c.offered));
    auto source = open_source(config_of(camera, "ad%40min:se%2Fcret@"), never);
    EXPECT_EQ(count_packets(*source, {10, 10}).video >= 10, true);
    source.reset();
    // Each request behind the first was logged in; the good-bye, too.
    for (const char* method : {"SETUP", "PLAY", "TEARDOWN"}) {
      for (const std::string& request : camera.requests(method))
        EXPECT_THAT(header_of(request, "Authorization"), HasSubstr("Digest")) << request;
    }
    EXPECT_EQ(camera.connections(), 1);
  }
}

TEST_F(RtspRefusals, WhyALoginFailsIsTold) {
  const std::string sha = "Digest realm=\"cam\", nonce=\"n1\", algorithm=SHA-256";
  struct Case {
    std::string user;
    std::vector<std::string> offered;
    std::string text;
  };
  for (const Case& c :
       {Case{"ad%40min:wrong@",
             {sha},
             "rejected the user name or the password (Digest with SHA-256; it answers OPTIONS with 401 Unauthorized)"},
        {"ad%40min:wrong@",
         {"Digest realm=\"cam\", nonce=\"n1\""},
         "rejected the user name or the password (Digest with MD5"},
        {"",
         {sha},
         "asks for a user name and a password (Digest with SHA-256; it answers OPTIONS with 401 Unauthorized), and "
         "the source gives none: rtsp://USER:PASSWORD@"},
        {"ad%40min:wrong@",
         {"Digest realm=\"cam\", nonce=\"n1\", algorithm=SHA-3"},
         "asks for a login by Digest with SHA-3 (it answers OPTIONS with 401 Unauthorized), which campipe does not "
         "know"},
        {"ad%40min:wrong@", {}, "asks for a login and does not say which"}}) {
    RtspCamera camera({.h264 = h264(), .refusal = guarded(c.offered, "SHA-256")});
    const Failure failure = failure_of(config_of(camera, c.user));
    EXPECT_EQ(failure.kind, Kind::unauthorized);
    EXPECT_THAT(failure.text, AllOf(HasSubstr(c.text), Not(HasSubstr("wrong"))));
  }
}

TEST_F(RtspRefusals, AnAnswerIsToldAsItCame) {
  struct Case {
    std::string method, status;
    Kind kind;
    std::string text;
  };
  for (const Case& c :
       {Case{"DESCRIBE", "404 Stream Not Found", Kind::not_found, "answers DESCRIBE with 404 Stream Not Found"},
        {"DESCRIBE", "403 Forbidden", Kind::unauthorized, "answers DESCRIBE with 403 Forbidden (may this user"},
        {"PLAY", "453 Not Enough Bandwidth", Kind::refused, "answers PLAY with 453 Not Enough Bandwidth"},
        {"SETUP", "500 Internal Server Error", Kind::refused,
         "answers SETUP of its video (H264) with 500 Internal Server Error"},
        {"OPTIONS", "402 Not\x1b[31m Allowed", Kind::refused, "answers OPTIONS with 402 Not?[31m Allowed"}}) {
    RtspCamera camera({.h264 = h264(), .refusal = [&](const std::string& request) {
                         return request.starts_with(c.method) ? c.status : "";
                       }});
    const Failure failure = failure_of(config_of(camera));
    EXPECT_EQ(name_of(failure.kind), std::string(name_of(c.kind))) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(c.text));
  }
}

TEST_F(RtspRefusals, WhatIsNoAnswerIsToldToo) {
  const Server closes([](int fd, const std::atomic<bool>&) { read_request(fd); });
  EXPECT_THAT(failure_of(source_of(local("rtsp", closes.port(), "/s"))).text,
              HasSubstr("closes the connection without an answer to OPTIONS"));
  // Nobody waits for more of it: that would take longer than a test may.
  const Server other(answering("220 mail.example ESMTP\r\n"));
  const Failure failure = failure_of(source_of(local("rtsp", other.port(), "/s"), seconds(600)));
  EXPECT_THAT(failure.text, HasSubstr("OPTIONS"));
}

// RFC 2326, C.1.1, and RFC 3986, 5.2.
TEST_F(RtspRefusals, TracksHaveTheUrlsThatAreDescribed) {
  const std::vector<std::pair<std::string, std::string>> urls{
      {"video", "rtsp://HOST/s/video"},
      {"video?profile=1", "rtsp://HOST/s/video?profile=1"},
      {"*", "rtsp://HOST/s"},
      {"/other/video", "rtsp://HOST/other/video"},
      {"?track=video", "rtsp://HOST/s?track=video"},
      {"rtsp://10.0.0.1/s/video?a=b", "rtsp://10.0.0.1/s/video?a=b"},
  };
  for (const auto& [control, url] : urls) {
    SCOPED_TRACE(control);
    std::string host;
    RtspCamera camera({.h264 = h264(), .more = sound, .control = control, .refusal = [&](const std::string& request) {
                         const bool of_sound = is_setup(request, "audio");
                         if (!request.starts_with("SETUP") || of_sound) return "";
                         return request.starts_with("SETUP " + replaced(url, "HOST", host) + " ") ? ""
                                                                                                  : "404 Not Found";
                       }});
    host = "127.0.0.1:" + std::to_string(camera.port());
    const auto source = open_source(config_of(camera), never);
    EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
    EXPECT_EQ(camera.connections(), 1);
  }
}

// By what most clients make of it.
TEST_F(RtspRefusals, ATrackThatIsNotWhereItIsDescribedIsLookedForBehindTheBase) {
  RtspCamera camera({.h264 = h264(), .control = "/video", .refusal = [](const std::string& request) {
                       const bool wrong =
                           request.starts_with("SETUP") && request.find("/s//video ") == std::string::npos;
                       return wrong ? "404 Not Found" : "";
                     }});
  const auto source = open_source(config_of(camera), never);
  EXPECT_EQ(count_packets(*source, {30, 0}).video, 30);
  EXPECT_EQ(camera.connections(), 2);
}

// An answer may come in pieces of any size.
TEST_F(RtspRefusals, AnAnswerThatComesByteByByte) {
  const std::string challenge = "Digest realm=\"cam\", nonce=\"n1\", algorithm=SHA-256";
  const Server slow([&](int fd, const std::atomic<bool>&) {
    for (std::string request = read_request(fd); !request.empty(); request = read_request(fd)) {
      const std::string refusal = guarded({challenge}, "SHA-256")(request);
      const std::string status = refusal.empty() ? "404 Not Here\r\n" : refusal;
      const std::string answer = "RTSP/1.0 " + status + "CSeq: " + header_of(request, "CSeq") + "\r\n\r\n";
      for (const char c : answer) {
        if (!send_all(fd, std::string(1, c))) return;
      }
    }
  });
  const Failure failure =
      failure_of(source_of("rtsp://ad%40min:se%2Fcret@127.0.0.1:" + std::to_string(slow.port()) + "/s"));
  EXPECT_THAT(failure.text, HasSubstr("404 Not Here"));
}

TEST(RtspText, TracksOfADescription) {
  const auto tracks = read_tracks(
      "v=0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\na=control:rtsp://h/s/track1\r\n"
      "m=audio 0 RTP/AVP 8\na=control:track2\nm=application 0 RTP/AVP 107\r\na=rtpmap:107 "
      "vnd.onvif.metadata/90000\r\n");
  ASSERT_EQ(tracks.size(), 3U);
  EXPECT_EQ(tracks[0].text(), "video (H265)");
  EXPECT_EQ(tracks[0].control, "rtsp://h/s/track1");
  EXPECT_EQ(tracks[1].text(), "audio (PCMA)");
  EXPECT_EQ(tracks[2].text(), "application (vnd.onvif.metadata)");
}

TEST(RtspText, SizesOfADescription) {
  const auto size_of = [](const std::string& line) {
    const RtspTrack track = read_tracks("v=0\r\nm=video 0 RTP/AVP 26\r\n" + line + "\r\n").at(0);
    return std::pair(track.width, track.height);
  };
  EXPECT_EQ(size_of("a=x-dimensions: 2592,1944"), std::pair(2592, 1944));
  EXPECT_EQ(size_of("a=x-dimensions:2592, 1944"), std::pair(0, 0)) << "nobody writes that";
  EXPECT_EQ(size_of("a=framesize:26 2592-1944"), std::pair(2592, 1944));
  EXPECT_EQ(size_of("a=framesize:26 2592"), std::pair(0, 0));
  EXPECT_EQ(size_of("a=framesize:26 99999999999-1"), std::pair(0, 0));
}

TEST(RtspText, ControlsOfADescriptionBecomeWhole) {
  const auto whole = [](const std::string& control, const std::string& base) {
    const std::string text =
        with_whole_controls("a=control:*\r\nm=video 0 RTP/AVP 26\na=control:" + control + "\n", base);
    const std::string before = "a=control:*\r\nm=video 0 RTP/AVP 26\na=control:";
    EXPECT_TRUE(text.starts_with(before)) << text;
    return text.substr(before.size(), text.find_last_not_of("\r\n") + 1 - before.size());
  };
  EXPECT_EQ(whole("track1", "rtsp://h/a/b/"), "track1");
  EXPECT_EQ(whole("*", "rtsp://h/a/b/"), "rtsp://h/a/b/");
  EXPECT_EQ(whole(" * ", "rtsp://h/a"), "rtsp://h/a");
  EXPECT_EQ(whole("/t?x=1", "rtsp://h:554/a/b?c=d/"), "rtsp://h:554/t?x=1");
  EXPECT_EQ(whole("/t", "rtsp://h"), "rtsp://h/t");
  EXPECT_EQ(whole("/t", "rtsp://h?q"), "rtsp://h/t");
  EXPECT_EQ(whole("//i:1/t", "rtsps://h/a"), "rtsps://i:1/t");
  EXPECT_EQ(whole("?t=1", "rtsp://h/a?b=c"), "rtsp://h/a?t=1");
  EXPECT_EQ(whole("rtsp://i/t", "rtsp://h/a"), "rtsp://i/t");
  EXPECT_EQ(whole("*", "no URL"), "*");
  EXPECT_EQ(with_whole_controls("", "rtsp://h"), "");
  EXPECT_EQ(with_whole_controls("a=control:/all\nm=video\na=control:one\n", "rtsp://h/a"),
            "a=control:rtsp://h/all\r\nm=video\na=control:rtsp://h/a/one\r\n")
      << "names are of the base, whatever the whole session's URL is";
}

TEST(RtspText, HeadersAreReplaced) {
  std::string text = "RTSP/1.0 401 No\r\nCSeq: 3\r\nwww-authenticate: A\r\nWWW-Authenticate:B\r\nDate: x\r\n\r\nbody";
  replace_rtsp_header(text, "WWW-Authenticate", "C");
  EXPECT_EQ(text, "RTSP/1.0 401 No\r\nCSeq: 3\r\nWWW-Authenticate: C\r\nDate: x\r\n\r\nbody");
  EXPECT_EQ(size_of_head("a\r\nb\r\n\r\nc"), 8U);
  EXPECT_EQ(size_of_head("a\nb\n\nc"), 5U);
  EXPECT_EQ(size_of_head("a\r\nb\r\n\r"), 0U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
