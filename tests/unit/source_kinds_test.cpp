// The registry of kinds of sources: what the others read from it, and that people can read of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "stages/sources/source_config.h"
#include "stages/sources/source_kind.h"
#include "tests/paths.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// How sources are written, in docs/configuration.md.
std::string documented() {
  constexpr std::string_view title = "\n### Sources\n\n";
  std::ifstream file(std::string(test::source_folder) + "/docs/configuration.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const auto begin = all.find(title) + title.size();
  return all.substr(begin, all.find("\n\n", begin) - begin);
}

TEST(SourceKinds, TakeTheirOwnAddresses) {
  for (const SourceKind& kind : source_kinds()) {
    for (const SourceScheme& scheme : kind.schemes) {
      const std::string example(scheme.example.substr(0, scheme.example.find(',')));
      EXPECT_EQ(source_kind_of(example).name, kind.name) << example;
      EXPECT_EQ(check_source(example), std::nullopt) << example;
      EXPECT_EQ(find_source_scheme(scheme.name), &scheme);
    }
  }
  for (const char* path : {"clip.mp4", "img%d.png", "", "a/dev/video0", "rtsp:/cam", "nonsense://a"})
    EXPECT_EQ(source_kind_of(path).name, "file") << path;
  EXPECT_EQ(source_kind_of("/dev/video0").name, "capture device");
  EXPECT_EQ(source_kind_of("RTSPS://cam").name, "RTSP");
}

TEST(SourceKinds, AreComplete) {
  for (const SourceKind& kind : source_kinds()) {
    EXPECT_NE(kind.check, nullptr) << kind.name;
    EXPECT_NE(kind.open, nullptr) << kind.name;
    EXPECT_FALSE(kind.live && kind.tried_at_check) << kind.name << ": a camera is not asked by --check";
  }
}

// A source without a codec has nothing that a decoder could take.
TEST(SourceKinds, KnowWhichAreNotDecoded) {
  EXPECT_TRUE(source_kind_of("test://pattern").painted);
  EXPECT_EQ(open_source({.url = "test://pattern"}, [] { return false; })->stream().codec, nullptr);
  for (const SourceKind& kind : source_kinds()) EXPECT_EQ(kind.painted, kind.name == "test pattern") << kind.name;
}

TEST(SourceKinds, AreDocumented) {
  const std::string text = documented();
  for (const SourceKind& kind : source_kinds()) {
    for (const SourceScheme& scheme : kind.schemes)
      EXPECT_THAT(text, HasSubstr("`" + std::string(scheme.name) + "://")) << kind.name;
    EXPECT_THAT(text, HasSubstr(kind.written)) << kind.name;
  }
}

// Not the whole texts, of which a new kind becomes a part.
TEST(SourceKinds, AreNamedToPeople) {
  const std::string unknown = *check_source("rstp://u:hunter2@cam");
  EXPECT_THAT(unknown, StartsWith("there is no kind of source 'rstp://', did you mean 'rtsp'? (files are given as "
                                  "paths; there are rtsp, rtsps, http, https, "));
  EXPECT_THAT(unknown, HasSubstr(", /dev/videoN"));
  for (const SourceKind& kind : source_kinds()) {
    for (const SourceScheme& scheme : kind.schemes) EXPECT_THAT(unknown, HasSubstr(std::string(scheme.name)));
    for (const SourceKeysOf& of : kind.keys)
      EXPECT_THAT(sources_with(of.keys), HasSubstr(std::string(of.whom))) << kind.name;
  }
  EXPECT_THAT(sources_with(SourceKeys::playback), StartsWith("files"));
  EXPECT_EQ(sources_with(SourceKeys::rtsp), "sources of rtsp:// and rtsps://");
  EXPECT_THAT(sources_with(SourceKeys::tls), StartsWith("sources of rtsps://"));
}

TEST(SourceKinds, HaveTheKeysThatMeanSomethingForThem) {
  EXPECT_TRUE(has_keys("rtsps://cam", SourceKeys::tls));
  EXPECT_FALSE(has_keys("rtsp://cam", SourceKeys::tls));
  EXPECT_TRUE(has_keys("HTTPS://cam", SourceKeys::tls));
  EXPECT_FALSE(has_keys("http://cam", SourceKeys::tls));
  EXPECT_TRUE(has_keys("http://cam", SourceKeys::redirects));
  EXPECT_FALSE(has_keys("srt://cam:1", SourceKeys::redirects));
  EXPECT_TRUE(has_keys("img%d.png", SourceKeys::rate));
  EXPECT_FALSE(has_keys("clip.mp4", SourceKeys::rate));
  EXPECT_TRUE(has_keys("clip.mp4", SourceKeys::playback));
  EXPECT_FALSE(has_keys("/dev/video0", SourceKeys::playback));
}

TEST(SourceKinds, SayWhatCanBeCopied) {
  EXPECT_TRUE(copied_by_default({.url = "rtsp://cam"}));
  EXPECT_FALSE(copied_by_default({.url = "test://pattern"}));
  EXPECT_FALSE(copied_by_default({.url = "/dev/video0"}));
  EXPECT_TRUE(copied_by_default({.url = "/dev/video0", .capture = {.format = "h264"}}));
  EXPECT_THAT(source_kind_of("/dev/video0").no_copy, IsEmpty());
  EXPECT_THAT(source_kind_of("test://pattern").no_copy, Not(IsEmpty()));
}

TEST(SourceKinds, ShareNoNameAndNoAddress) {
  constexpr std::array rtsp{SourceScheme{"rtsp", "rtsp://a"}};
  EXPECT_THROW(SourceKindRegistration({.name = "mine", .schemes = rtsp}), std::logic_error);
  EXPECT_THROW(SourceKindRegistration({.name = "RTSP", .takes = [](const std::string&) { return false; }}),
               std::logic_error);
  EXPECT_THROW(SourceKindRegistration({.name = "other files"}), std::logic_error);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
