// What strangers send is read in a time that grows as it does: twice as much takes about twice as long. Strangers are
// clients of the servers, cameras, other nodes, who writes to etcd, and who edits a file. A function that goes through
// its text for each of the text's pieces takes four times as long, and a few hundred kilobytes then hold a thread for
// minutes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" {
#include <libavformat/avio.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
}

#include "app/cluster/assignment.h"
#include "app/cluster/duties.h"
#include "app/cluster/etcd_json.h"
#include "app/cluster/node_offer.h"
#include "app/cluster/plan_store.h"
#include "app/config/config.h"
#include "app/config/report.h"
#include "app/config/yaml.h"
#include "app/publisher/recording/record_index.h"
#include "app/publisher/server/api/request.h"
#include "app/publisher/server/http/gate.h"
#include "app/publisher/server/http/reader.h"
#include "app/publisher/server/http/rules.h"
#include "app/publisher/server/rtsp/framing.h"
#include "core/libav_log.h"
#include "core/line_buffer.h"
#include "core/line_reader.h"
#include "core/log.h"
#include "core/nearest_name.h"
#include "core/passwords.h"
#include "core/printable.h"
#include "core/shallow_json.h"
#include "core/srt_address.h"
#include "core/unescaped_password.h"
#include "core/url_text.h"
#include "stages/sources/jpeg_picture.h"
#include "stages/sources/login_challenge.h"
#include "stages/sources/playlist_guard.h"
#include "stages/sources/rtsp_dialogue.h"
#include "stages/sources/rtsp_text.h"
#include "stages/sources/source_address.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;

constexpr std::size_t first_size = std::size_t{64} << 10U;
constexpr std::size_t largest_size = std::size_t{8} << 20U;
constexpr double long_enough = 0.003;  // seconds
constexpr double most = 3;             // times as long for twice as much
constexpr int runs = 3;
constexpr int tries = 4;  // something else may disturb one

// What is measured, when it has been prepared.
using Work = std::function<void()>;

struct Case {
  const char* name;
  std::function<Work(std::size_t size)> prepare;  // for so many bytes
  std::size_t largest = largest_size;             // more is not read at all
  friend void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }
};

// "unit, unit, unit, …" of `size` bytes, between `begin` and `end`.
std::string repeated(const std::string& unit, std::size_t size, const std::string& begin = "",
                     const std::string& end = "") {
  std::string text = begin;
  while (text.size() + unit.size() <= size) text += unit;
  return text + end;
}

// Each with its number: "k0=0&", "k1=1&", …
std::string numbered(const std::string& before, const std::string& behind, std::size_t size,
                     const std::string& begin = "", const std::string& end = "") {
  std::string text = begin;
  for (int i = 0; text.size() < size; ++i) text += before + std::to_string(i) + behind;
  return text + end;
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double shortest(const Work& work) {
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run < runs; ++run) {
    const double begin = cpu_seconds();
    work();
    best = std::min(best, cpu_seconds() - begin);
  }
  return best;
}

// On a text of this form.
template <typename Function>
Case on_text(const char* name, std::string unit, Function function, std::string begin = "", std::string end = "",
             std::size_t largest = largest_size) {
  return {
      name,
      [=](std::size_t size) -> Work { return [text = repeated(unit, size, begin, end), function] { function(text); }; },
      largest};
}
template <typename Function>
Case on_numbered(const char* name, std::string before, std::string behind, Function function, std::string begin = "",
                 std::string end = "", std::size_t largest = largest_size) {
  return {name,
          [=](std::size_t size) -> Work {
            return [text = numbered(before, behind, size, begin, end), function] { function(text); };
          },
          largest};
}

class LinearTime : public testing::TestWithParam<Case> {
 protected:
  // Memory that goes back to the kernel has to be cleared anew: for large texts, and not for small ones.
  static void SetUpTestSuite() {
    ::mallopt(M_MMAP_MAX, 0);
    ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  }
};

TEST_P(LinearTime, TwiceAsMuchTakesAboutTwiceAsLong) {
  const auto& [name, prepare, largest] = GetParam();
  // So large that it takes milliseconds, where it may be as large as that.
  std::size_t size = std::min(first_size, largest / 2);
  while (2 * size < largest && shortest(prepare(size)) < long_enough) size *= 2;
  double ratio = std::numeric_limits<double>::max();
  std::string measured;
  for (int attempt = 0; attempt < tries && ratio >= most; ++attempt) {
    const double seconds = shortest(prepare(size));
    const double doubled = shortest(prepare(2 * size));
    ratio = doubled < long_enough ? 0 : doubled / seconds;  // as fast as memory, which has steps of its own
    measured += std::to_string(size) + " bytes: " + std::to_string(seconds * 1e3) +
                " ms, twice as much: " + std::to_string(doubled * 1e3) + " ms\n";
    // There may be a step, where an index is rewritten, for example. What is not linear is so above it, too.
    if (4 * size <= largest) size *= 2;
  }
  EXPECT_LT(ratio, most) << name << ":\n" << measured;
  RecordProperty("ratio", std::to_string(ratio));
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

// --- Texts that are logged or shown
// ------------------------------------------------------------------------------------

const auto redact = [](const std::string& text) {
  static_cast<void>(redact_urls(text));
  static_cast<void>(without_passwords(text));
  static_cast<void>(holds_password(text));
};
const auto hide = [](std::string text) { hide_text(text, "secret", "***"); };

INSTANTIATE_TEST_SUITE_P(Passwords, LinearTime,
                         testing::Values(on_text("marks", "://", redact), on_text("marks of tests", "test://", redact),
                                         on_text("users", "a://b:c@d ", redact),
                                         on_text("users in one URL", "b:c@", redact, "a://"),
                                         on_text("marks in one word", "a://b:c", redact),
                                         on_text("marks and at the end a user", "a://b:", redact, "", "@"),
                                         on_text("fields", "password=a&", redact, "a://b?"),
                                         on_text("equals", "=", redact), on_text("empty secrets", "key=", redact),
                                         on_text("slashes", "/", redact, "a://b:c"), on_text("secrets", "secret", hide),
                                         on_text("secrets as words", "secret ", hide)),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    Logs, LinearTime,
    testing::Values(on_text("controls", "\x1b", [](const std::string& text) { static_cast<void>(printable(text)); }),
                    on_text("bad UTF8", "\xff",
                            [](const std::string& text) {
                              static_cast<void>(json_log_line(std::chrono::system_clock::now(), "info", "a", text));
                            }),
                    on_text("pieces of libav", "a",
                            [](const std::string& text) {
                              LibavMessages messages([](const std::string& line) { return redact_urls(line); });
                              for (std::size_t i = 0; i < text.size(); ++i)
                                messages.add(AV_LOG_ERROR, i % 2 == 0 ? "x" : "y\n");
                              static_cast<void>(messages.errors());
                              static_cast<void>(messages.find_any({"nothing", "else"}));
                            })),
    name_of);

// --- JSON
// ---------------------------------------------------------------------------------------------------------------

const auto parse = [](const std::string& text) { static_cast<void>(parse_shallow(text)); };
constexpr std::array<std::string_view, 2> body_keys{"cameras", "name"};
const auto body = [](const std::string& text) {
  HttpRequest request;
  request.body = text;
  try {
    static_cast<void>(read_body(request, body_keys));
  } catch (const ApiError&) {
    // Many are refused, in their own time.
  }
};

INSTANTIATE_TEST_SUITE_P(
    Json, LinearTime,
    testing::Values(on_text("objects", "{},", parse, "[", "{}]"), on_text("lists", "[],", parse, "[", "[]]"),
                    on_numbered("members", "\"k", "\":{},", parse, "{", "\"k\":0}"),
                    on_text("a member again", "\"k\":0,", parse, "{", "\"k\":0}"), on_text("digits", "1", parse),
                    on_text("digits of a fraction", "1", parse, "0.", "e-300"),
                    on_text("escapes", "\\u00e9", parse, "\"", "\""), on_text("open lists", "[", parse),
                    on_text("body of objects", "{},", body, "{\"cameras\":[", "{}]}"),
                    on_numbered("body of members", "\"k", "\":[],", body, "{\"cameras\":{", "\"k\":0}}"),
                    on_numbered("body of unknown keys", "\"k", "\":[],", body, "{", "\"k\":0}"),
                    on_text("body with a long name", "k", body, "{\"", "\":0}"),
                    on_text("body with a long name twice", "k=", body, "{\"a\":0,\"a\":0,\"", "\":0}")),
    name_of);

// --- HTTP
// ---------------------------------------------------------------------------------------------------------------

const auto target = [](const std::string& text) { static_cast<void>(parse_target(text)); };
const auto cookie = [](const std::string& text) { static_cast<void>(cookies_of(text, "campipe_session")); };
const auto host = [](const std::string& text) {
  static_cast<void>(is_own_host(text, {"rig.example"}));
  static_cast<void>(is_same_origin("http://" + text, text));
};
const auto wish = [](const std::string& text) { static_cast<void>(parse_viewer_wish(text)); };

const auto forwarded = [](const std::string& text) {
  static const ServerConfig config = [] {
    ServerConfig server;
    server.trusted_proxies = {"10.0.0.0/8"};
    return server;
  }();
  Access access(config);
  const std::vector<HttpServer::Route> routes;
  const HttpGate gate(config, access, routes, false);
  HttpFacts facts;
  facts.forwarded.addresses = text;
  gate.note_peer(facts, "10.0.0.1", false);
};

// Of one connection, one behind the other, as they come.
const auto http_requests = [](const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    HttpReader reader;
    const std::size_t used =
        reader.take(boost::asio::const_buffer(text.data() + at, std::min<std::size_t>(text.size() - at, 8192)));
    if (!reader.done() || reader.refusal() || used == 0) break;
    HttpMessage message = reader.release();
    static_cast<void>(facts_of(message));
    at += used;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Http, LinearTime,
    testing::Values(on_numbered("parameters", "k", "=v&", target, "/?"),
                    on_text("parameter again", "k=v&", target, "/?"), on_text("escapes of a path", "%41", target, "/"),
                    on_text("folders", "a/", target, "/"), on_text("broken escapes", "%", target, "/?"),
                    on_text("cookies", "a=b; ", cookie), on_text("spaces of cookies", " ", cookie),
                    on_text("semicolons of cookies", ";", cookie), on_text("dots of hosts", ".", host),
                    on_text("brackets of hosts", "[", host), on_text("colons of hosts", ":", host),
                    on_text("wishes", "{},", wish, "[", "{}]"), on_text("wish of lists", "[", wish),
                    on_text("proxies", "10.0.0.1,", forwarded, "", "1.2.3.4"),
                    on_text("spaces of proxies", " ", forwarded, "1.2.3.4,", "10.0.0.2"),
                    on_text("requests", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", http_requests)),
    name_of);

// --- What viewers see
// ---------------------------------------------------------------------------------------------------

const auto text_for_viewers = [](const std::string& text) { static_cast<void>(for_viewers(json(text))); };
const auto secrets = [](const std::string& text) { static_cast<void>(without_secrets(json(text))); };

Case reasons() {
  return {"paths in reasons", [](std::size_t size) -> Work {
            return [camera = json{{"source", "/a/b/clip.mp4"},
                                  {"recording", "/x/y/z.mp4"},
                                  {"reason", repeated("/a/b/clip.mp4 ", size)}}] {
              static_cast<void>(camera_for_viewers(camera));
            };
          }};
}
Case push_targets() {
  return {"push targets", [](std::size_t size) -> Work {
            json push = json::object();
            for (std::size_t i = 0; i < size / 32; ++i) push["rtmp://a/" + std::to_string(i)] = {{"reason", "x"}};
            return [camera = json{{"push", push}}] { static_cast<void>(camera_for_viewers(camera)); };
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Viewers, LinearTime,
    testing::Values(on_text("paths in lines", "/a\n", text_for_viewers), on_text("paths", "/a ", text_for_viewers),
                    on_text("file URLs in a word", "file:///a", text_for_viewers),
                    on_text("file URLs", "file:///a ", text_for_viewers),
                    on_text("paths before URLs", "/a x://b ", text_for_viewers),
                    on_text("paths and a quote at the end", "/a x://b ", text_for_viewers, "", "'"),
                    on_text("quotes", " '", text_for_viewers), on_text("quotes in words", "a'", text_for_viewers),
                    on_text("quoted paths", "'/a/b' ", text_for_viewers), on_text("brackets", "(/", text_for_viewers),
                    on_text("colons", "/a: ", text_for_viewers), on_text("colons of a path", "/a:", text_for_viewers),
                    on_text("spaces", " ", text_for_viewers), on_text("secret fields", "token=a ", secrets), reasons(),
                    push_targets()),
    name_of);

// --- RTSP, both as a server and of cameras
// ------------------------------------------------------------------------------

const auto frame = [](const std::string& text) {
  RtspFraming framing;
  std::array<char, 4096> room{};
  for (std::size_t at = 0; at < text.size() && framing.refusal().empty(); at += 16384) {
    const std::size_t size = std::min<std::size_t>(16384, text.size() - at);
    framing.add({text.data() + at, size});
    while (framing.whole()) framing.take(room);
  }
};
const auto answer = [](const std::string& text) {
  static_cast<void>(size_of_head(text));
  static_cast<void>(read_status_line(text));
  static_cast<void>(read_request_line(text));
  static_cast<void>(rtsp_headers(text, "WWW-Authenticate"));
  std::string changed = text;
  replace_rtsp_header(changed, "WWW-Authenticate", "Basic");
};
const auto sdp = [](const std::string& text) { static_cast<void>(read_tracks(text)); };
const auto challenge = [](const std::string& text) {
  const auto challenges = read_challenges(text);
  static_cast<void>(best_challenge(challenges));
  static_cast<void>(challenges_text(challenges));
  for (const LoginChallenge& each : challenges) static_cast<void>(challenge_value(each));
};

INSTANTIATE_TEST_SUITE_P(
    Rtsp, LinearTime,
    testing::Values(on_text("frames", std::string("$\0\0\0", 4), frame), on_text("ends of lines", "\r\n", frame),
                    on_text("requests", "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n", frame),
                    on_text("headers", "WWW-Authenticate: a\r\n", answer, "RTSP/1.0 401 No\r\n", "\r\n"),
                    on_text("blanks of a header", " ", answer, "RTSP/1.0 401 No\r\nA:", "\r\n\r\n"),
                    on_text("blanks of a status", " ", answer, "RTSP/1.0", "\r\n\r\n"),
                    on_text("tracks", "m=video 0 RTP/AVP 96\r\na=control:x\r\n", sdp),
                    on_text("lines of a track", "a\n", sdp, "m=video 0 RTP/AVP 96\r\n"),
                    Case{"lines of a track with a long type",
                         [](std::size_t size) -> Work {
                           return [text = "m=video 0 RTP/AVP " + std::string(size / 2, '9') + "\n" +
                                          repeated("a\n", size / 2)] { sdp(text); };
                         }},
                    on_text("challenges", "Digest realm=a,", challenge), on_text("commas", ",", challenge),
                    on_text("equals of challenges", "=", challenge),
                    on_numbered("fields of a challenge", "k", "=v,", challenge, "Digest "),
                    on_text("a quote", "\\", challenge, "Digest realm=\"")),
    name_of);

// --- Addresses, as redirects and answers name them
// ----------------------------------------------------------------------

const auto address = [](const std::string& text) {
  static_cast<void>(split_address(text));
  static_cast<void>(check_stream_url(text));
  static_cast<void>(likely_url(text));
  static_cast<void>(redirected("http://a/b", text));
  static_cast<void>(has_unescaped_password(text));
  static_cast<void>(percent_decoded(text));
  static_cast<void>(read_srt_address(text));
  static_cast<void>(login_of(text));
};

INSTANTIATE_TEST_SUITE_P(Addresses, LinearTime,
                         testing::Values(on_text("users", "a@", address, "http://"), on_text("marks", "://", address),
                                         on_text("folders", "/..", address, "http://a"),
                                         on_text("fields", "passphrase=a&", address, "srt://a:1?"),
                                         on_text("escapes", "%4", address, "http://"),
                                         on_text("dots", ".", address, "http://")),
                         name_of);

// --- Playlists and pictures
// ---------------------------------------------------------------------------------------------

// Opened as a playlist, or as a piece of one.
void admit(const std::string& text, bool is_piece) {
  struct At {
    const std::string* text;
    std::size_t at = 0;
  } at{&text};
  constexpr int buffer_size = 4096;
  AVIOContext* io = avio_alloc_context(
      static_cast<unsigned char*>(av_malloc(buffer_size)), buffer_size, 0, &at,
      [](void* opaque, std::uint8_t* buffer, int size) {
        auto& from = *static_cast<At*>(opaque);
        const std::size_t count = std::min(static_cast<std::size_t>(size), from.text->size() - from.at);
        std::copy_n(from.text->data() + from.at, count, buffer);
        from.at += count;
        return count > 0 ? static_cast<int>(count) : AVERROR_EOF;
      },
      nullptr, nullptr);
  try {
    PlaylistGuard("camera").admit(*io, "http://a/b.m3u8", is_piece);
  } catch (const SourceError&) {
    // It names too much, which is found out in its own time.
  }
  av_freep(&io->buffer);
  avio_context_free(&io);
}
const auto playlist = [](const std::string& text) { admit(text, false); };
const auto piece_of_playlist = [](const std::string& text) { admit(text, true); };
constexpr std::size_t largest_playlist = std::size_t{1} << 20U;

// As it comes, in packets of a network.
const auto picture = [](const std::string& text) {
  constexpr std::size_t piece = 1400;
  JpegFinder finder;
  for (std::size_t size = piece; size < text.size(); size += piece)
    static_cast<void>(finder.find(std::string_view(text).substr(0, size)));
};
// A scan, and behind it what looks like ends of pictures and is none: it lies in segments.
Case hidden_ends() {
  return {"hidden ends", [](std::size_t size) -> Work {
            const std::string scan("\xff\xda\0\x02", 4);
            const std::string segment = "\xff\xe1\x80\x01" + repeated("\xff\xd9", 0x8000 - 1, "", "x");
            const std::string text = "\xff\xd8" + scan + std::string(size / 2, 'a') + repeated(segment, size / 2);
            return [text] { picture(text); };
          }};
}

INSTANTIATE_TEST_SUITE_P(Media, LinearTime,
                         testing::Values(on_text("lines", "\n", playlist, "#EXTM3U\n", "", largest_playlist),
                                         on_text("pieces", "#EXTINF:1\na\n", playlist, "#EXTM3U\n", "",
                                                 largest_playlist),
                                         on_text("a line", "a", playlist, "#EXTM3U\n", "", largest_playlist),
                                         on_text("boxes",
                                                 std::string("\0\0\0\x08"
                                                             "free",
                                                             8),
                                                 piece_of_playlist,
                                                 std::string("\0\0\0\x08"
                                                             "styp",
                                                             8),
                                                 "", largest_playlist),
                                         on_text("scan", "a", picture, std::string("\xff\xd8\xff\xda\0\x02", 6)),
                                         on_text("fill bytes", "\xff", picture, "\xff\xd8"), hidden_ends()),
                         name_of);

// --- YAML
// ---------------------------------------------------------------------------------------------------------------

// As much as a file may have.
constexpr std::size_t largest_yaml = std::size_t{1} << 20U;

const auto yaml = [](const std::string& text) { static_cast<void>(parse_yaml(text)); };
const auto config = [](const std::string& text) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "rig.yaml";
  std::ofstream(file) << text;
  static_cast<void>(load_config(file));
};
const std::string word(40, 'a');  // there may be only so many nodes

INSTANTIATE_TEST_SUITE_P(
    Yaml, LinearTime,
    testing::Values(
        on_text("a list in a line", word + ",", yaml, "a: [", "]", largest_yaml),
        on_text("quoted texts in a line", "'" + word + "',", yaml, "a: [", "]", largest_yaml),
        on_text("maps in a line", "{" + word + ": b},", yaml, "a: [", "]", largest_yaml),
        on_numbered("keys in a line", word, ": b,", yaml, "{", "}", largest_yaml),
        on_numbered("keys", word, ": b\n", yaml, "", "", largest_yaml),
        on_text("items", "- " + word + "\n", yaml, "", "", largest_yaml),
        on_text("a text", "a", yaml, "a: ", "", largest_yaml),
        on_text("words of a text", "a ", yaml, "a: ", "", largest_yaml),
        on_text("lines of a text", "  a\n", yaml, "a:\n", "", largest_yaml),
        on_text("lines of a block", "  a\n", yaml, "a: |\n", "", largest_yaml),
        on_text("escapes", "\\x41", yaml, "a: \"", "\"", largest_yaml),
        on_text("an open quote", "a ", yaml, "a: '", "", largest_yaml),
        on_text("comments", "# a\n", yaml, "", "", largest_yaml),
        on_text("spaces", " ", yaml, "", "a: b", largest_yaml),
        on_text("empty lines", "\n", yaml, "a:\n", "", largest_yaml),
        on_text("tabs", "\t", yaml, "a: ", "", largest_yaml), on_text("open lists", "[", yaml, "a: ", "", largest_yaml),
        on_text("dashes", "- ", yaml, "", "", largest_yaml), on_text("questions", "? ", yaml, "", "", largest_yaml),
        on_text("colons", ": ", yaml, "", "", largest_yaml), on_text("anchors", "&a ", yaml, "a: ", "", largest_yaml),
        on_text("tags", "!a ", yaml, "a: ", "", largest_yaml), on_text("a tag", "a", yaml, "a: !", "", largest_yaml),
        on_text("percents", "%a\n", yaml, "", "", largest_yaml)),
    name_of);

INSTANTIATE_TEST_SUITE_P(Config, LinearTime,
                         testing::Values(on_numbered("unknown keys", word, ": b\n", config, "", "", largest_yaml),
                                         on_text("a key again", "cameras: 1\n", config, "", "", largest_yaml),
                                         on_numbered("cameras", "  " + word, ": {source: 'test://a'}\n", config,
                                                     "cameras:\n", "", largest_yaml),
                                         on_text("a long name", "queue-size=", config, "", ": 1\n", largest_yaml),
                                         on_text("a long value", "a://b:c", config, "cameras: ", "@\n", largest_yaml),
                                         on_text("variables", "${A:b}", config, "cameras: ", "\n", largest_yaml)),
                         name_of);

// --- Indexes of recordings
// ----------------------------------------------------------------------------------------------

struct File {
  test::TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "dock.index.jsonl";
};

Case index_of(const char* name, std::function<std::string(std::size_t size)> text, std::size_t largest = largest_size) {
  return {name,
          [text = std::move(text)](std::size_t size) -> Work {
            return [file = std::make_shared<File>(), all = text(size)] {
              test::replace_file(file->path, all);  // it is made shorter where much of it means nothing
              static_cast<void>(RecordIndex(file->path).files());
              LineReader lines(UniqueFd(::open(file->path.c_str(), O_RDONLY | O_CLOEXEC)));
              std::string line;
              while (lines.next(line) != LineReader::Next::end) continue;
            };
          },
          largest};
}
std::string ended(const std::string& file) {
  return R"({"event":"end","file":")" + file +
         R"(","start":"2026-11-21T10:15:30.250Z","end":"2026-11-21T10:16:30.250Z","written":"2026-11-21T10:16:30.250Z","bytes":5})"
         "\n";
}

INSTANTIATE_TEST_SUITE_P(
    Indexes, LinearTime,
    testing::Values(index_of("files",
                             [](std::size_t size) {
                               std::string text;
                               for (int i = 0; text.size() < size; ++i) text += ended(std::to_string(i) + ".mp4");
                               return text;
                             }),
                    index_of("a file again", [](std::size_t size) { return repeated(ended("a.mp4"), size); }),
                    // Each is damaged by itself, which takes longer than its byte.
                    index_of(
                        "empty lines", [](std::size_t size) { return std::string(size, '\n'); }, 32'768),
                    index_of("one line", [](std::size_t size) { return std::string(size, 'a'); }),
                    index_of("lists", [](std::size_t size) { return repeated("[[[[\n", size); })),
    name_of);

// --- etcd
// ---------------------------------------------------------------------------------------------------------------

const auto range = [](const std::string& text) {
  try {
    static_cast<void>(parse_range(text));
    static_cast<void>(parse_txn(text));
    static_cast<void>(parse_watch(text));
  } catch (const BadEtcdAnswer&) {
    // It is none of them, which is found out in its own time.
  }
};
const auto values = [](const std::string& text) {
  static_cast<void>(read_offer("a", text));
  static_cast<void>(read_assignment(text));
};
const std::string pair = R"({"key":"YQ==","value":"YQ==","mod_revision":"7"},)";

Case plan(const char* name, std::function<EtcdKeyValue(int number)> value) {
  return {name, [value = std::move(value)](std::size_t size) -> Work {
            EtcdNews news{true, {{false, {ClusterKeys("hall").plan(), R"({"schema":1,"generation":1})", 1, 1}}}, 7};
            for (int i = 0; std::cmp_less(i, size / 64); ++i) news.events.push_back({false, value(i)});
            auto mirror = std::make_shared<EtcdMirror>();
            mirror->apply(news);
            return [mirror] {
              const ClusterKeys keys("hall");
              DutyKeeper duties("a", {});
              static_cast<void>(duties.update(read_plan(*mirror, keys), *mirror, keys));
            };
          }};
}

Case etcd_lines(const char* name, std::string text) {
  return {name, [=](std::size_t size) -> Work {
            return [all = repeated(text, size)] {
              LineBuffer lines;
              for (std::size_t at = 0; at < all.size(); at += 16384) {
                lines.text().append(all, at, 16384);
                // What comes faster than it is taken is taken a line at a time.
                static_cast<void>(lines.next());
              }
              while (lines.next()) continue;
            };
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Etcd, LinearTime,
    testing::Values(
        on_text("keys", pair, range, "{\"kvs\":[", pair.substr(0, pair.size() - 1) + "]}"),
        on_text("a long value", "YWFh", range, R"({"kvs":[{"key":"YQ==","value":")", R"("}]})"),
        on_text("features", "\"a\",", values, R"({"schema":1,"instance":"a","features":[)", R"("a"]})"),
        on_numbered("labels", "\"k", "\":\"v\",", values, R"({"schema":1,"instance":"a","labels":{)", R"("a":"b"}})"),
        on_text("devices", "{},", values, R"({"schema":1,"instance":"a","devices":[)", "{}]}"),
        plan("generations",
             [](int i) {
               return EtcdKeyValue{ClusterKeys("hall").generation(static_cast<std::uint64_t>(i) + 2) + "a", "", 1, 1};
             }),
        plan("unreadable assignments",
             [](int i) {
               return EtcdKeyValue{ClusterKeys("hall").generation(1) + std::to_string(i), "{", 1, 1};
             }),
        plan("assignments",
             [](int i) {
               return EtcdKeyValue{ClusterKeys("hall").generation(1) + std::to_string(i),
                                   R"({"schema":1,"node":"a","epoch":1})", 1, 1};
             }),
        etcd_lines("lines", "a\n"), etcd_lines("a line without end", "a")),
    name_of);

}  // namespace CAMPIPE_FILE
}  // namespace campipe
