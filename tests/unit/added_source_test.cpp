// A kind of source that is in this file alone: nothing else has to know of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "stages/sources/source_config.h"
#include "stages/sources/source_end.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

class Nothing final : public Source {
 public:
  [[nodiscard]] const SourceStream& stream() const override { return stream_; }
  ReadResult read(AVPacket& /*packet*/) override { return ReadResult::end; }
  void rewind() override {}
  void seek(std::int64_t /*pts*/) override {}

 private:
  SourceStream stream_;
};

constexpr std::array schemes{SourceScheme{"nothing", "nothing://at/all"}};
constexpr std::array keys{SourceKeysOf{SourceKeys::playback, "nothing"}};

const SourceKindRegistration registration{
    {.name = "nothing",
     .place = 100,
     .schemes = schemes,
     .keys = keys,
     .check = [](const std::string& url) -> std::optional<std::string> {
       return url == "nothing://at/all" ? std::nullopt : std::optional("something");
     },
     .open = [](const SourceConfig& /*config*/, const Source::Interrupt& /*interrupt*/) -> std::unique_ptr<Source> {
       return std::make_unique<Nothing>();
     },
     .live = true,
     .can_end = [](const SourceConfig& config) { return config.loop; },
     .hides_query = true}};

TEST(AddedSource, IsCheckedOpenedAndShown) {
  EXPECT_EQ(check_source("nothing://at/all"), std::nullopt);
  EXPECT_EQ(check_source("nothing://"), "something");
  AvPacket packet = make_av_packet();
  EXPECT_EQ(open_source({.url = "Nothing://at/all"}, [] { return false; })->read(*packet), ReadResult::end);
  EXPECT_TRUE(is_live("nothing://"));
  EXPECT_TRUE(can_end({.url = "nothing://", .loop = true}));
  EXPECT_FALSE(can_end({.url = "nothing://"}));
  EXPECT_EQ(shown_url("nothing://a:b@c/d?e=f"), "nothing://c/d");
}

TEST(AddedSource, IsNamedToPeople) {
  EXPECT_THAT(*check_source("nothin://"), HasSubstr("did you mean 'nothing'?"));
  EXPECT_THAT(*check_source("nothin://"), HasSubstr("test://pattern and nothing)"));
  EXPECT_TRUE(has_keys("nothing://", SourceKeys::playback));
  EXPECT_FALSE(has_keys("nothing://", SourceKeys::tls));
  EXPECT_EQ(sources_with(SourceKeys::playback), "files, test patterns and nothing");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
