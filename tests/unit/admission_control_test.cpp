// What a change brings that is short: of uses that are invented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/supervisor/life/admission.h"
#include "tests/unit/invented_rigs.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::IsEmpty;
using testing::SizeIs;

ResourceUse use(Resource resource, double needs, double has, const std::string& where = "") {
  return {resource, where, needs, has};
}

TEST(NewShortages, AreWhatWasNotShortBefore) {
  const std::vector<ResourceUse> before{use(Resource::cores, 1, 2), use(Resource::memory, 1, 2)};
  const auto found = new_shortages(before, {use(Resource::cores, 3, 2), use(Resource::memory, 1.5, 2)});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].resource, Resource::cores);
}

TEST(NewShortages, AreWhatIsShorterThanBefore) {
  const std::vector<ResourceUse> before{use(Resource::cores, 3, 2)};
  EXPECT_THAT(new_shortages(before, {use(Resource::cores, 3, 2)}), IsEmpty());
  EXPECT_THAT(new_shortages(before, {use(Resource::cores, 2.5, 2)}), IsEmpty()) << "it has become less";
  EXPECT_THAT(new_shortages(before, {use(Resource::cores, 3.5, 2)}), SizeIs(1));
}

TEST(NewShortages, AreOfTheSamePlace) {
  const std::vector<ResourceUse> before{use(Resource::thread, 3, 1, "a: decoding")};
  EXPECT_THAT(new_shortages(before, {use(Resource::thread, 3, 1, "b: decoding")}), SizeIs(1));
}

TEST(StartShortage, IsOfWhatTheConfigurationAnnounces) {
  Machine machine = cpu_machine(cpus(0, 2));
  machine.limits.memory = 8ULL << 30;
  RigConfig rig = quiet_rig_of(2);
  rig.cameras[0].source.url = "rtsp://host/a";
  rig.cameras[1].source.url = "test://pattern?width=320&height=240&rate=10";
  const MachineCosts costs = machine_costs({}, {}, {"cpu", "", "", ""});
  EXPECT_EQ(start_shortage(rig, machine, costs), "");
  rig.cameras[1].source.url = "test://pattern?width=8192&height=8192&rate=1000";
  const std::string lacking = start_shortage(rig, machine, costs);
  EXPECT_THAT(lacking, testing::StartsWith("needs "));
  EXPECT_THAT(lacking, testing::HasSubstr(" cores (decoding "));
  EXPECT_THAT(lacking, testing::HasSubstr("cam1: filters and encoding needs "));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
