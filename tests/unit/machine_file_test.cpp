// Machines that are read from a file, as `campipe --devices --json` prints them.
#include "app/placement/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "app/placement/devices.h"
#include "core/gpu.h"
#include "tests/unit/invented_rigs.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

json file_of(const Machine& machine) {
  json file = json::parse(describe_devices_json(machine.devices));
  file["cpu"]["cpus"] = machine.cpus;
  return file;
}

std::vector<std::string> mistakes(const json& file) { return parse_machine(file.dump()).mistakes; }

TEST(MachineFile, OfWhatIsPrintedIsThatMachine) {
  Machine machine = gpu_machine(8);
  machine.devices.gpus[3].problem = "out of memory";
  json file = file_of(machine);
  file["limits"] = {{"descriptors", 1024}, {"memory", 1ULL << 40}, {"cgroup_cores", 2.5}, {"cgroup_memory", nullptr}};
  const MachineRead read = parse_machine(file.dump());
  EXPECT_THAT(read.mistakes, IsEmpty());
  EXPECT_EQ(to_json(read.machine.devices), to_json(machine.devices));
  EXPECT_EQ(read.machine.cpus, machine.cpus);
  EXPECT_EQ(read.machine.limits.descriptors, 1024U);
  EXPECT_EQ(read.machine.limits.memory, 1ULL << 40);
  EXPECT_EQ(read.machine.limits.cores, 2.5);
  EXPECT_EQ(read.machine.limits.cgroup_memory, std::nullopt);
  EXPECT_THAT(plan(rig_of(16), read.machine).workers, SizeIs(7));
}

TEST(MachineFile, NeedsLittle) {
  const MachineRead read = parse_machine(R"({"cpu": {"cpus": [0, 1]}, "gpus": [{"index": 0, "uuid": ")" +
                                         to_string(gpu_number(0)) + R"("}], "newer": {}})");
  EXPECT_THAT(read.mistakes, IsEmpty());
  ASSERT_THAT(read.machine.devices.gpus, SizeIs(1));
  EXPECT_EQ(plan(rig_of(1), read.machine).cameras[0].nodes.back().gpu, gpu_number(0));
}

TEST(MachineFile, EachMistakeIsNamed) {
  json file = file_of(gpu_machine(3));
  file["cpu"]["cpus"] = {0, 0};
  file["limits"]["memory"] = -1;
  file["gpus"][0]["index"] = 1.5;
  file["gpus"][1].erase("uuid");
  file["gpus"][2]["memory_mib"] = "80G";
  file["gpus"][2]["decoders"][0]["codec"] = 7;
  file["pairs"] = {{{"from", "GPU-1"}, {"to", to_string(gpu_number(2))}}, 5};
  EXPECT_THAT(mistakes(file),
              ElementsAre(HasSubstr("cpu.cpus: expected a list of numbers of cores"),
                          HasSubstr("limits.memory: expected a number from 0 to"),
                          "gpus[0].index: expected an integer, got 1.5", "gpus[1].uuid: it is missing",
                          HasSubstr("gpus[2].memory_mib: expected a number from 0 to"),
                          "gpus[2].decoders[0].codec: expected a string of at most 1024 bytes, got 7",
                          "pairs[1]: expected an object, got 5",
                          HasSubstr("pairs[0].from: expected the UUID of a GPU, such as GPU-5f0c…, got \"GPU-1\"")));
}

TEST(MachineFile, GpusDoNotShareNames) {
  json file = file_of(gpu_machine(2));
  file["pairs"].clear();
  file["gpus"][1] = file["gpus"][0];
  EXPECT_THAT(mistakes(file), ElementsAre("gpus[1].index: 0 is another GPU's",
                                          "gpus[1].uuid: " + to_string(gpu_number(0)) + " is another GPU's"));
}

TEST(MachineFile, WhatIsNoneIsRefusedAndWithinBounds) {
  EXPECT_THAT(parse_machine("gpus: []").mistakes, ElementsAre("it is no JSON, or is nested too deeply"));
  EXPECT_THAT(parse_machine(std::string(100'000, '[')).mistakes, SizeIs(1));
  EXPECT_THAT(parse_machine("[]").mistakes, ElementsAre(HasSubstr("the file: expected what campipe --devices")));
  EXPECT_THAT(parse_machine("{}").mistakes, ElementsAre("cpu: it is missing", "gpus: it is missing"));
  json file = file_of(gpu_machine(1));
  for (int i = 0; i < 60; ++i) file["gpus"].push_back(i);
  EXPECT_THAT(mistakes(file), SizeIs(21));
  EXPECT_EQ(mistakes(file).back(), "and 40 more mistakes");
  for (int i = 0; i < 60; ++i) file["gpus"].push_back(i);
  EXPECT_THAT(mistakes(file), testing::Contains(HasSubstr("gpus: expected a list of at most 64, got [{")));
}

TEST(MachineFile, IsReadUpToABound) {
  test::TemporaryFolder folder;
  const auto file = folder.path() / "machine.json";
  EXPECT_THAT(read_machine_file(file).mistakes, ElementsAre("it cannot be opened: No such file or directory"));
  std::ofstream(file) << file_of(gpu_machine(1));
  EXPECT_THAT(read_machine_file(file).mistakes, IsEmpty());
  std::ofstream(file) << std::string((4 << 20) + 1, ' ');
  EXPECT_THAT(read_machine_file(file).mistakes, ElementsAre("it is larger than 4 MiB"));
  EXPECT_THAT(read_machine_file(folder.path()).mistakes, ElementsAre("it cannot be read"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
