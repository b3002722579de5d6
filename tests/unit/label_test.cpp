// Text on mosaics: what is drawn for which bytes, where it is cut, and that labels and cards stay where they belong.
#include "stages/compose/label.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/log.h"
#include "stages/compose/card.h"
#include "tests/unit/allocation_count.h"
#include "tests/unit/filter_test_support.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int any_width = 10'000;

const Font& font() {
  const Font* const loaded = label_font();
  if (loaded == nullptr) throw Error("install fonts-dejavu-core");
  return *loaded;
}

std::vector<std::uint8_t> drawn(std::string_view text) { return font().line(text, 20, any_width).coverage; }

bool has_ink(const TextMask& mask) {
  return std::ranges::any_of(mask.coverage, [](std::uint8_t covered) { return covered > 200; });
}

TEST(Font, DrawsLettersOfManyScripts) {
  const auto missing = drawn("\uE123");  // for private use: the font has none
  EXPECT_TRUE(has_ink(font().line("\uE123", 20, any_width))) << "the box for what is missing";
  std::vector<std::vector<std::uint8_t>> all{missing};
  for (const char* letter : {"A", "a", "ä", "Ü", "ß", "Ж", "щ", "Ω", "ł", "…", "8"}) {
    ASSERT_TRUE(has_ink(font().line(letter, 20, any_width))) << letter;
    all.push_back(drawn(letter));
  }
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "two letters look the same";
}

TEST(Font, IsAsHighForAnyText) {
  const int height = font().line_height(20);
  for (const char* text : {"a", "Äy", "…", "."}) EXPECT_EQ(font().line(text, 20, any_width).height, height) << text;
  EXPECT_GT(font().line_height(40), 3 * height / 2);
}

TEST(Font, ReplacesWhatIsNoText) {
  for (const char* bytes : {"\xFF", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    const auto mask = font().line(std::string("a") + bytes, 20, any_width);
    EXPECT_EQ(mask.coverage.size() % static_cast<std::size_t>(mask.width), 0U);
    EXPECT_GT(mask.width, font().line("a", 20, any_width).width) << bytes;
  }
  EXPECT_EQ(drawn("\xFF"), drawn("\uFFFD"));
  EXPECT_EQ(drawn("\xC3"
                  "a"),
            drawn("\uFFFD"
                  "a"));
  EXPECT_EQ(drawn("a\n\tb\x7F"
                  "c"),
            drawn("a  b c"));
}

TEST(Font, CutsWhatIsTooLong) {
  const std::string name = "a camera with a long name";
  const int whole = font().line(name, 20, any_width).width;
  EXPECT_EQ(font().line(name, 20, whole).width, whole) << "exactly what it needs";
  for (int width = 20; width < whole; ++width) {
    const TextMask mask = font().line(name, 20, width);
    ASSERT_TRUE(has_ink(mask)) << width;
    ASSERT_LE(mask.width, width);
    ASSERT_GT(mask.width, width - 45) << "much less than fits";
  }
  const int of_cut = font().line("a camera…", 20, any_width).width;
  EXPECT_EQ(font().line(name, 20, of_cut).coverage, drawn("a camera…"));
  EXPECT_EQ(font().line(name, 20, of_cut + 4).coverage, drawn("a camera…")) << "no space before the ellipsis";
  EXPECT_TRUE(font().line(name, 20, 3).coverage.empty());
  EXPECT_TRUE(font().line(name, 20, -3).coverage.empty());
  EXPECT_TRUE(font().line("", 20, any_width).coverage.empty());
}

TEST(Font, WrapsAtSpaces) {
  const int width = font().line("one two", 20, any_width).width;
  const auto wrapped = [&](const char* text, int lines) { return font().wrapped(text, 20, width, lines); };
  EXPECT_THAT(wrapped("one two six ten", 5), ElementsAre("one two", "six ten"));
  EXPECT_THAT(wrapped("one two six ten", 1), ElementsAre("one two six ten"));
  EXPECT_THAT(wrapped("overlongword one two", 5), ElementsAre("overlongword", "one two"));
  EXPECT_THAT(wrapped("one", 5), ElementsAre("one"));
  EXPECT_THAT(wrapped("one", 0), ElementsAre());
  EXPECT_THAT(wrapped("", 5), ElementsAre());
  EXPECT_THAT(wrapped("one\ntwo six\tten", 5), ElementsAre("one\ntwo", "six\tten"));
  const std::string endless(1'000'000, 'x');
  EXPECT_THAT(wrapped(endless.c_str(), 2), ElementsAre(testing::SizeIs(1024)));
}

TEST(Font, ThatIsMissingIsAnErrorWithARemedy) {
  test::TemporaryFolder folder;
  const std::string text_file = folder.path() / "not-a-font.ttf";
  std::ofstream(text_file) << "this is no font";
  EXPECT_THROW(Font("/nowhere/font.ttf"), Error);
  EXPECT_THROW(Font{text_file}, Error);
  EXPECT_THROW(Font{folder.path().string()}, Error);

  const auto before = spdlog::default_logger();
  std::ostringstream log;
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  EXPECT_EQ(load_font_or_log("/nowhere/font.ttf"), nullptr);
  spdlog::set_default_logger(before);
  EXPECT_THAT(log.str(), HasSubstr("/nowhere/font.ttf: No such file or directory; install fonts-dejavu-core"));
}

Picture grey(PixelFormat pixels, int width, int height) {
  Picture picture(format_of(pixels, width, height), 130);
  picture.each([](std::uint8_t& sample, int plane, int, int) { sample = plane == 0 ? 130 : 90; });
  return picture;
}

TEST(Label, IsLightOnDarkInItsBoxAndNowhereElse) {
  for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
    Picture picture = grey(pixels, 480, 270);
    const Label label = make_label(font(), "dock", picture.view.format);
    draw_label(label, picture.view);
    const FrameRegion& box = label.region;
    ASSERT_TRUE(box.width > 40 && box.height > 16 && box.width < 120 && box.height < 40);
    EXPECT_LT(box.x, 16);
    EXPECT_GT(box.y + box.height, 270 - 16);
    EXPECT_LE(box.y + box.height, 270);
    int light = 0, dark = 0;
    picture.each([&](std::uint8_t& sample, int plane, int x, int y) {
      const int across = plane == 0 || pixels == PixelFormat::nv12 ? 1 : 2, down = plane == 0 ? 1 : 2;
      const bool inside = x >= box.x / across && x < (box.x + box.width) / across && y >= box.y / down &&
                          y < (box.y + box.height) / down;
      if (!inside) {
        ASSERT_EQ(sample, plane == 0 ? 130 : 90) << plane << ": " << x << ", " << y;
      } else if (plane == 0) {
        light += sample > 220;
        dark += sample < 70;
      } else {
        ASSERT_TRUE(sample > 90 && sample <= 128) << "less colour";
      }
    });
    EXPECT_GT(light, box.width * box.height / 40);
    EXPECT_GT(dark, box.width * box.height / 2);
    EXPECT_TRUE(picture.padding_untouched());
  }
}

TEST(Label, LiesInCellsOfAnySize) {
  int labelled = 0;
  for (const auto [width, height] : {std::array{16, 16}, {1920, 1080}, {64, 36}, {30, 600}, {600, 30}, {192, 108}}) {
    for (const char* text : {"", "a", "a camera with quite a long name", "камера"}) {
      Picture picture = grey(PixelFormat::nv12, width, height);
      const Label label = make_label(font(), text, picture.view.format);
      const FrameRegion& box = label.region;
      labelled += box.width > 0 ? 1 : 0;
      ASSERT_EQ((box.x | box.y | box.width | box.height) % 2, 0);
      ASSERT_TRUE(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height);
      draw_label(label, picture.view);
      EXPECT_TRUE(picture.padding_untouched());
    }
  }
  EXPECT_GE(labelled, 10);
  EXPECT_EQ(make_label(font(), "", format_of(PixelFormat::nv12, 640, 360)).region.width, 0);
  EXPECT_EQ(make_label(font(), "a", format_of(PixelFormat::nv12, 16, 16)).region.width, 0) << "nobody could read it";
}

TEST(Label, IsDrawnWithoutAllocating) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer owns malloc";
  Picture picture = grey(PixelFormat::nv12, 480, 270);
  const Label label = make_label(font(), "dock", picture.view.format);
  ASSERT_GT(label.region.width, 0);
  EXPECT_EQ(allocations_of([&] { draw_label(label, picture.view); }), 0);
}

// How much of a picture is light.
double light_part(Picture& picture, int from_row, int to_row) {
  int light = 0;
  for (int y = from_row; y < to_row; ++y)
    for (int x = 0; x < picture.view.format.width; ++x) light += picture.at(0, x, y) > 120;
  return light / (static_cast<double>(picture.view.format.width) * (to_row - from_row));
}

TEST(Card, FillsTheCellWithGreyAndText) {
  for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
    Picture picture = random_picture(format_of(pixels, 480, 270));
    draw_card(picture.view, &font(), {"dock", "no answer", "since 14:03"});
    EXPECT_TRUE(picture.padding_untouched());
    EXPECT_EQ(light_part(picture, 0, 60), 0);
    EXPECT_GT(light_part(picture, 100, 170), 0.01);
    EXPECT_EQ(light_part(picture, 210, 270), 0);
    picture.each([](std::uint8_t& sample, int plane, int, int) { ASSERT_TRUE(plane == 0 || sample == 128); });
  }
}

TEST(Card, ShowsWhatFits) {
  const CardText all{"a camera with a long name", "the source cannot be opened: connection refused by its host",
                     "since 14:03"};
  for (int width = 16; width <= 640; width += 52) {
    for (int height = 16; height <= 360; height += 43) {
      Picture picture = random_picture(format_of(PixelFormat::i420, width, height));
      draw_card(picture.view, &font(), all);
      ASSERT_TRUE(picture.padding_untouched()) << width << "x" << height;
      const bool has_room = width >= 64 && height >= 32;
      ASSERT_TRUE(!has_room || light_part(picture, 0, height) > 0) << width << "x" << height;
    }
  }
  Picture name_only = random_picture(format_of(PixelFormat::i420, 320, 180));
  Picture with_reason = random_picture(format_of(PixelFormat::i420, 320, 180));
  draw_card(name_only.view, &font(), {all.name, "", ""});
  draw_card(with_reason.view, &font(), all);
  EXPECT_GT(light_part(with_reason, 0, 180), light_part(name_only, 0, 180));
}

TEST(Card, NeedsNoFont) {
  Picture picture = random_picture(format_of(PixelFormat::nv12, 160, 90));
  draw_card(picture.view, nullptr, {"dock", "no answer", ""});
  EXPECT_EQ(light_part(picture, 0, 90), 0);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
