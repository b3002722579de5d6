// Stages and tiles on other nodes of a cluster, as configurations name them.
#include "app/config/remote_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/rig_config.h"
#include "core/error.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// With three filters.
CameraConfig staged(const std::vector<std::string>& places) {
  CameraConfig camera;
  camera.name = "dock";
  for (const char* filter : {"denoise", "sharpen", "motion"}) camera.filters.emplace_back().name = filter;
  camera.placement.emplace().filter = places;
  return camera;
}

TEST(RemoteParts, AreWhatTheOtherNodeFindsAlike) {
  CameraConfig camera = staged({"cpu", "b/0", "b/0"});
  ASSERT_THAT(camera.filters, SizeIs(3));
  const auto parts = remote_parts(camera);
  ASSERT_THAT(parts, SizeIs(1));
  EXPECT_EQ(parts[0].name, "filter 1");
  EXPECT_EQ(parts[0].at, (RemotePlace{"b", "0"}));
  EXPECT_EQ(parts[0].filters.size(), 2U);
  make_own_places_local(camera, "b");
  EXPECT_THAT(camera.placement->filter, ElementsAre("cpu", "0", "0"));
  EXPECT_THAT(remote_parts(camera), IsEmpty());
  camera.placement = StagePlacement{.filter = {}, .tiles = {"cpu", "b/cpu", "c/cpu"}};
  const auto tiles = remote_parts(camera);
  ASSERT_THAT(tiles, SizeIs(2));
  EXPECT_EQ(tiles[1].name, "tile 2");
  EXPECT_EQ(tiles[1].tile, 2U);
  EXPECT_EQ(tiles[1].tiles, 3U);
}

TEST(RemoteParts, NeedACluster) {
  RigConfig rig;
  rig.cameras = {staged({"b/cpu"})};
  EXPECT_THROW(require_cluster(rig), Error);
  rig.cluster.emplace();
  EXPECT_NO_THROW(require_cluster(rig));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
