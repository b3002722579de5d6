// What bands and join do, for chains of which that is known, and for any: bands lie side by side, and chains agree with
// the plan.
#include "stages/filters/tile_plan.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "core/error.h"
#include "stages/filters/chain.h"
#include "stages/filters/filter_sequence.h"
#include "tests/unit/band_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using Filters = std::vector<FilterConfig>;

const FrameFormat full_hd = format_of(PixelFormat::nv12, 1920, 1080);
const FilterConfig sharpen{"sharpen", {}}, motion{"motion", {}}, denoise{"denoise", {}};
const FilterConfig quarter{"rotate", {{"angle", 90}}}, half{"rotate", {{"angle", 180}}};

TEST(TilePlan, CutsTheOutputAtEvenRows) {
  const TilePlan plan = plan_tiles({sharpen}, full_hd, 0, 4);
  ASSERT_EQ(plan.bands.size(), 4U);
  EXPECT_EQ(plan.bands[0].output, (FrameRows{{0, 270}, {0, 135}}));
  EXPECT_EQ(plan.bands[0].inputs, (std::vector<FrameRows>{{{0, 272}, {0, 135}}}));
  EXPECT_EQ(plan.bands[1].output, (FrameRows{{270, 540}, {135, 270}}));
  EXPECT_EQ(plan.bands[1].inputs, (std::vector<FrameRows>{{{268, 542}, {135, 270}}}));
  EXPECT_EQ(plan.bands[3].inputs, (std::vector<FrameRows>{{{808, 1080}, {405, 540}}}));
  EXPECT_EQ(plan.format, full_hd);
  EXPECT_EQ(plan.computed, 1) << "nothing is computed twice: only the source is read twice";
  EXPECT_EQ(plan.tiled, Filters{sharpen});
  EXPECT_TRUE(plan.joined.empty() && plan.untiled.empty() && plan.refused.empty());
}

TEST(TilePlan, AddsUpWhatFiltersReach) {
  const Filters filters{denoise, sharpen, {"resize", {{"width", 960}, {"height", 540}}}};
  const TilePlan plan = plan_tiles(filters, full_hd, 0, 2);
  ASSERT_EQ(plan.bands.size(), 2U);
  const TileBand& lower = plan.bands[1];
  EXPECT_EQ(lower.output, (FrameRows{{270, 540}, {135, 270}}));
  EXPECT_EQ(lower.inputs[2], (FrameRows{{540, 1080}, {270, 540}})) << "of the resize";
  EXPECT_EQ(lower.inputs[1], (FrameRows{{538, 1080}, {270, 540}})) << "of the sharpening";
  EXPECT_EQ(lower.inputs[0], (FrameRows{{532, 1080}, {264, 540}})) << "4 for the window, 2 for the patch";
  EXPECT_GT(plan.computed, 1);
  EXPECT_LT(plan.computed, 1.01);
}

TEST(TilePlan, LeavesTheWholeFrameEndToTheJoin) {
  const TilePlan plan = plan_tiles({denoise, quarter, motion}, full_hd, 0, 3);
  EXPECT_EQ(plan.bands.size(), 3U);
  EXPECT_EQ(plan.tiled, Filters{denoise});
  EXPECT_EQ(plan.joined, (Filters{quarter, motion}));
  EXPECT_EQ(plan.format, full_hd) << "it is turned behind the join";
}

TEST(TilePlan, RefusesAWholeFrameFilterBeforeOthers) {
  const auto refused = [](const Filters& filters) {
    const TilePlan plan = plan_tiles(filters, full_hd, 0, 2);
    EXPECT_TRUE(plan.bands.empty() && plan.untiled.empty());
    EXPECT_EQ(plan.joined, filters);
    return plan.refused;
  };
  EXPECT_EQ(refused({sharpen, motion, denoise}),
            "filter 'motion' needs whole frames: with tiles it must come after all others");
  EXPECT_EQ(refused({motion, denoise}), "filter 'motion' needs whole frames: with tiles it must come after all others");
  EXPECT_EQ(refused({sharpen, quarter, denoise}),
            "filter 'rotate' needs whole frames: with tiles it must be the first filter or come after all others");
}

TEST(TilePlan, TurnsTheSourceInEachBand) {
  const TilePlan plan = plan_tiles({sharpen, motion}, full_hd, 270, 2);
  ASSERT_EQ(plan.bands.size(), 2U);
  EXPECT_EQ(plan.tiled, (Filters{{"rotate", {{"angle", 270}}}, sharpen}));
  EXPECT_EQ(plan.joined, Filters{motion});
  EXPECT_EQ(plan.format.height, 1920);
  EXPECT_EQ(plan.bands[0].output, (FrameRows{{0, 960}, {0, 480}}));
  EXPECT_EQ(plan.bands[0].inputs[0], (FrameRows{{0, 1080}, {0, 540}}));
  EXPECT_EQ(plan.bands[0].inputs[1], (FrameRows{{0, 962}, {0, 480}}));
  const TilePlan upside_down = plan_tiles({sharpen}, full_hd, 180, 2);
  EXPECT_EQ(upside_down.bands.at(0).inputs[0], (FrameRows{{538, 1080}, {270, 540}}));
}

// A source announces it when it runs: too late for an error.
TEST(TilePlan, DoesNotTileWhatOnlyARotationForbids) {
  const TilePlan plan = plan_tiles({quarter, denoise}, full_hd, 90, 2);
  EXPECT_TRUE(plan.bands.empty() && plan.refused.empty());
  EXPECT_EQ(plan.untiled,
            "filter 'rotate' needs whole frames: with tiles it must be the first filter or come after all others");
  EXPECT_EQ(plan_tiles({quarter, denoise}, full_hd, 0, 2).bands.size(), 2U);
}

TEST(TilePlan, DoesNotTileWhatWouldBeComputedTooOften) {
  const FilterConfig wide{"blur", {{"sigma", 20}}};
  EXPECT_EQ(plan_tiles({wide}, full_hd, 0, 8).bands.size(), 8U) << "of the source all is there";
  const TilePlan plan = plan_tiles({wide, wide, wide, wide}, full_hd, 0, 8);
  EXPECT_TRUE(plan.bands.empty() && plan.refused.empty() && plan.tiled.empty());
  EXPECT_EQ(plan.joined.size(), 4U);
  EXPECT_GT(plan.computed, most_computed);
  EXPECT_EQ(plan.untiled.substr(0, 22), "8 tiles would compute ");
  EXPECT_EQ(plan_tiles({wide, wide}, full_hd, 0, 2).bands.size(), 2U);
}

TEST(TilePlan, SaysWhereThereIsNothingToTile) {
  for (const Filters& filters : {Filters{}, Filters{motion}}) {
    const TilePlan plan = plan_tiles(filters, full_hd, 0, 2);
    EXPECT_EQ(plan.untiled, "no filter can be tiled");
    EXPECT_EQ(plan.joined, filters);
    EXPECT_TRUE(plan.bands.empty());
  }
}

TEST(TilePlan, MakesFewerBandsOfFewRows) {
  const TilePlan plan = plan_tiles({sharpen}, format_of(PixelFormat::i420, 16, 5), 0, 8);
  ASSERT_EQ(plan.bands.size(), 3U);
  EXPECT_EQ(plan.bands[2].output, (FrameRows{{4, 5}, {2, 3}}));
}

TEST(TilePlan, ThrowsWhatFiltersThrow) {
  EXPECT_THROW(plan_tiles({{"crop", {{"width", 64}, {"height", 64}}}}, format_of(PixelFormat::i420, 32, 32), 0, 2),
               Error);
  EXPECT_THROW(plan_tiles({{"negate", {}}}, full_hd, 0, 2), Error);
}

TEST(TilePlan, IsWhatChainsDo) {
  std::minstd_rand random = seeded_random();
  int tiled = 0, untiled = 0, refused = 0;
  for (int i = 0; i < 400; ++i) {
    const FrameFormat format = format_of(PixelFormat::i420, pick(random, 16, 400), pick(random, 16, 600));
    const auto filters = random_filters(format, pick(random, 1, 4), random);
    const int tiles = pick(random, 1, 8);
    SCOPED_TRACE(testing::Message() << "chain " << i << ":" << text_of(filters) << " of " << format.width << "x"
                                    << format.height << " in " << tiles);
    const TilePlan plan = plan_tiles(filters, format, 0, tiles);
    ASSERT_EQ(plan.bands.empty() ? 1 : 0, (plan.untiled.empty() ? 0 : 1) + (plan.refused.empty() ? 0 : 1));
    Filters all = plan.tiled;
    all.insert(all.end(), plan.joined.begin(), plan.joined.end());
    ASSERT_EQ(all, filters);
    tiled += plan.bands.empty() ? 0 : 1;
    untiled += plan.untiled.empty() ? 0 : 1;
    refused += plan.refused.empty() ? 0 : 1;
    int row = 0;
    for (const TileBand& band : plan.bands) {
      FilterChain chain(plan.tiled);
      EXPECT_EQ(chain.configure(format, band.output.luma), plan.format);
      EXPECT_EQ(chain.needs(), band.inputs.at(0));
      EXPECT_EQ(band.inputs.size(), plan.tiled.size());
      EXPECT_EQ(band.output.luma.begin, row);
      EXPECT_EQ(band.output.luma.begin % 2, 0);
      row = band.output.luma.end;
    }
    EXPECT_TRUE(plan.bands.empty() || row == plan.format.height);
    EXPECT_TRUE(plan.bands.empty() || plan.computed <= most_computed);
    FilterChain joined(plan.joined);
    EXPECT_NO_THROW(joined.configure(plan.format));
    if (HasFailure()) return;
  }
  EXPECT_GT(tiled, 100);
  EXPECT_GT(untiled, 5);
  EXPECT_GT(refused, 20);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
