#include "app/config/config.h"

#include <gmock/gmock.h>

#include <map>

#include "app/config/key_table.h"
#include "app/config/loaded_json.h"
#include "app/config/values.h"
#include "stages/sources/source.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Strings = std::vector<std::string>;

// --- one mistake each: its place and its words -------------------------------------------------------------------

TEST_P(OneMistake, IsToldOnceWithItsPlace) {
  EXPECT_EQ(errors(with_camera(GetParam().keys)), Strings{"rig.yaml:" + GetParam().error});
}

const std::string all_keys = alternatives(key_names<CameraConfig>());
const std::string bitrate_text = "expected bits a second from 10k to 1G (units k, M, G), such as 4M, got ";
const std::string gop_text =
    "expected frames from 1 to 100000, or a time from 1ms to 10m (units ms, s, m, h, d), such as 2s, got ";
const std::string filter_text = "expected one filter: `name` or `name: {parameter: value}`, got ";
const std::string ending_text = "expected a path that ends in .mp4 or .mkv, got ";

INSTANTIATE_TEST_SUITE_P(
    Keys, OneMistake,
    ::testing::Values(Mistake{"    queue-size: 8\n",
                              "4:5: cameras.dock.queue-size: unknown key, did you mean 'queue_size'?"},
                      Mistake{"    decode: {htreads: 2}\n",
                              "4:14: cameras.dock.decode.htreads: unknown key, did you mean 'threads'?"},
                      Mistake{"    decode: {zebra: 2}\n",
                              "4:14: cameras.dock.decode.zebra: unknown key, expected threads, gpu or isolation"},
                      Mistake{"    'é': 1\n    loop: true\n", "4:5: cameras.dock.é: unknown key, expected " + all_keys},
                      Mistake{"    loop: true\n    pace: fast\n    loop: false\n",
                              "6:5: cameras.dock.loop: duplicate key, first given at line 4, column 5"},
                      Mistake{"    rtsp_transprot: tcp\n",
                              "4:5: cameras.dock.rtsp_transprot: unknown key, did you mean 'rtsp_transport'?"},
                      Mistake{"    loop: !!bool true\n", "4:11: cameras.dock.loop: YAML tags (!…) are not read"}));

INSTANTIATE_TEST_SUITE_P(
    Values, OneMistake,
    ::testing::Values(
        Mistake{"    loop: yes\n", "4:11: cameras.dock.loop: expected true or false, got 'yes'"},
        Mistake{"    loop: True\n",
                "4:11: cameras.dock.loop: expected true or false, got 'True', did you mean 'true'?"},
        Mistake{"    loop:\n\n    pace: fast\n", "4:5: cameras.dock.loop: expected true or false, got nothing"},
        Mistake{"    pace: raltime\n",
                "4:11: cameras.dock.pace: expected realtime or fast, got 'raltime', did you mean 'realtime'?"},
        Mistake{"    pace: [fast]\n", "4:11: cameras.dock.pace: expected realtime or fast, got a list"},
        Mistake{"    gpu: -1\n",
                "4:10: cameras.dock.gpu: expected auto, cpu, or a GPU by its index or UUID, such as 0, GPU-5f0c… "
                "or MIG-5f0c… (campipe --devices lists them), got '-1'"},
        Mistake{"    decode: {gpu: GPU-5f0c}\n",
                "4:19: cameras.dock.decode.gpu: expected auto, cpu, or a GPU by its index or UUID, such as 0, "
                "GPU-5f0c… or MIG-5f0c… (campipe --devices lists them), got 'GPU-5f0c'"},
        Mistake{"    gpu: cpu\n    decode: {gpu: 1}\n",
                "5:19: cameras.dock.decode.gpu: expected auto or cpu, since the camera runs on the CPU (gpu: cpu), "
                "got '1'"},
        Mistake{"    ipc_memory: cuda_vm\n",
                "4:17: cameras.dock.ipc_memory: expected auto, host, cuda_vmm, cuda_legacy or cuda_fabric, got "
                "'cuda_vm', did you mean 'cuda_vmm'?"},
        Mistake{"    ready_signal: immediate\n",
                "4:19: cameras.dock.ready_signal: expected auto, ipc_event or timeline, got 'immediate'"},
        Mistake{"    drop_policy: blok\n",
                "4:18: cameras.dock.drop_policy: expected auto, drop or block, got 'blok', did you mean 'block'?"},
        Mistake{"    queue_size: 0\n", "4:17: cameras.dock.queue_size: expected an integer from 1 to 32, got '0'"},
        Mistake{"    queue_size: 33\n", "4:17: cameras.dock.queue_size: expected an integer from 1 to 32, got '33'"},
        Mistake{"    queue_size: 32\n    decode: {threads: 7}\n",
                "4:17: cameras.dock.queue_size: the frames of camera 'dock' would take a ring of up to 65 slots, and a "
                "ring has at most 64: lower queue_size (now 32) or decode.threads (now 7)"},
        Mistake{"    queue_size: 1.5\n", "4:17: cameras.dock.queue_size: expected an integer from 1 to 32, got '1.5'"},
        Mistake{"    queue_size: 8x\n", "4:17: cameras.dock.queue_size: expected an integer from 1 to 32, got '8x'"},
        Mistake{"    queue_size: 1e999\n",
                "4:17: cameras.dock.queue_size: expected an integer from 1 to 32, got '1e999'"},
        Mistake{"    queue_size: \"a\\tb\"\n",
                "4:17: cameras.dock.queue_size: expected an integer from 1 to 32, got 'a\\x09b'"},
        Mistake{"    placement: {filter: [gpu0]}\n",
                "4:26: cameras.dock.placement.filter[0]: expected cpu, cpu:0 to cpu:14 (a worker on the CPU), a GPU by "
                "its index or UUID (campipe --devices lists them), or one of these on another node of the cluster, "
                "such as node-b/0 or node-b/cpu, got 'gpu0'"},
        Mistake{"    filters: [sharpen]\n    placement: {tiles: [cpu, b/cpu:1]}\n",
                "5:30: cameras.dock.placement.tiles[1]: expected cpu, cpu:0 to cpu:14 (a worker on the CPU), a GPU by "
                "its index or UUID (campipe --devices lists them), or one of these on another node of the cluster, "
                "such as node-b/0 or node-b/cpu, got 'b/cpu:1'"},
        Mistake{"    filters: [sharpen]\n    placement: {tiles: [cpu, b/0]}\n",
                "5:24: cameras.dock.placement.tiles: expected GPUs alone, or places on the CPU alone"},
        Mistake{"    filters: [sharpen]\n    placement: {filter: [b/0]}\n    outputs: {small: {}}\n",
                "5:25: cameras.dock.placement.filter: camera 'dock' has `outputs` that are encoded: they are made "
                "where its first filter runs, which therefore has to be on the camera's own node"},
        Mistake{"    placement: {filter: []}\n",
                "4:25: cameras.dock.placement.filter: expected at least one place; without this key it is where it is "
                "encoded"},
        Mistake{"    placement: {encode: cpu:32}\n",
                "4:25: cameras.dock.placement.encode: expected cpu, cpu:0 to cpu:14 (a worker on the CPU), or a GPU by "
                "its index or UUID (campipe --devices lists them), got 'cpu:32'"},
        Mistake{
            "    filters: [sharpen, motion, sharpen]\n    placement: {filter: [0, 1]}\n",
            "5:25: cameras.dock.placement.filter: expected one place for all filters, or one for each of the 3 that "
            "camera 'dock' has, got 2"},
        Mistake{"    filters: [sharpen]\n    placement: {tiles: 9}\n",
                "5:24: cameras.dock.placement.tiles: expected an integer from 1 to 8, got '9'"},
        Mistake{"    filters: [sharpen]\n    placement: {tiles: []}\n",
                "5:24: cameras.dock.placement.tiles: expected 1 to 8 tiles, got 0"},
        Mistake{"    filters: [sharpen]\n    placement: {tiles: [auto, node-b/cpu]}\n",
                "5:24: cameras.dock.placement.tiles: expected a place for each tile: `auto` cannot be beside "
                "places on other nodes, which have to know how many tiles there are"},
        Mistake{"    filters: [sharpen]\n    placement: {tiles: [0, cpu]}\n",
                "5:24: cameras.dock.placement.tiles: expected GPUs alone, or places on the CPU alone"},
        Mistake{"    filters: [sharpen, motion, sharpen]\n    placement: {tiles: 2}\n",
                "5:24: cameras.dock.placement.tiles: camera 'dock': filter 'motion' needs whole frames: with tiles it "
                "must come after all others"},
        Mistake{"    placement: {tiles: 2}\n",
                "4:24: cameras.dock.placement.tiles: camera 'dock': no filter can be tiled"},
        Mistake{"    gpu: \"cpu\\0\"\n", "4:10: cameras.dock.gpu: a NUL character"},
        Mistake{"    encode: {options: {\"bf\\0\": 1}}\n",
                "4:32: cameras.dock.encode.options.bf\\x00: a NUL character"},
        Mistake{"    decode: 4\n", "4:13: cameras.dock.decode: expected a map, got '4'"},
        Mistake{"    decode:\n      threads: 17\n",
                "5:16: cameras.dock.decode.threads: expected an integer from 1 to 16, got '17'"}));

INSTANTIATE_TEST_SUITE_P(
    Filters, OneMistake,
    ::testing::Values(
        Mistake{"    filters: blur\n", "4:14: cameras.dock.filters: expected a list, got 'blur'"},
        Mistake{"    filters: [{blur: {sigma: 1}}, {blurr: {sigma: 1}}]\n",
                "4:36: cameras.dock.filters[1].blurr: unknown filter 'blurr', did you mean 'blur'?"},
        Mistake{"    filters:\n      - sharpenn\n",
                "5:9: cameras.dock.filters[0]: unknown filter 'sharpenn', did you mean 'sharpen'?"},
        Mistake{"    filters:\n      - blur\n", "5:9: cameras.dock.filters[0]: missing parameter 'sigma'"},
        Mistake{"    filters:\n      - blur:\n", "5:9: cameras.dock.filters[0].blur: missing parameter 'sigma'"},
        Mistake{"    filters:\n      - resize: {widht: 64, height: 64}\n",
                "5:18: cameras.dock.filters[0].resize.widht: unknown key, did you mean 'width'?"},
        Mistake{"    filters:\n      - resize: {width: 64.5, height: 64}\n",
                "5:25: cameras.dock.filters[0].resize.width: expected an integer from 16 to 8192 (samples), got "
                "'64.5'"},
        Mistake{"    filters:\n      - crop: {x: 3, width: 64, height: 64}\n",
                "5:19: cameras.dock.filters[0].crop.x: expected a multiple of 2 from 0 to 8190 (samples), got '3'"},
        Mistake{"    filters:\n      - denoise: {window: 8}\n",
                "5:27: cameras.dock.filters[0].denoise.window: expected an odd number from 3 to 15 (samples), got '8'"},
        Mistake{"    filters:\n      - blur: {sigma: nan}\n",
                "5:23: cameras.dock.filters[0].blur.sigma: expected a number from 0.1 to 20 (samples), got 'nan'"},
        Mistake{"    filters:\n      - blur: {sigma: 21}\n",
                "5:23: cameras.dock.filters[0].blur.sigma: expected a number from 0.1 to 20 (samples), got '21'"},
        Mistake{"    filters:\n      - blur: 1.5\n", "5:15: cameras.dock.filters[0].blur: expected a map, got '1.5'"},
        Mistake{"    filters: [{blur: {sigma: 1}, sharpen: {}}]\n",
                "4:15: cameras.dock.filters[0]: " + filter_text + "a map"},
        Mistake{"    filters:\n      -\n", "5:7: cameras.dock.filters[0]: " + filter_text + "nothing"}));

INSTANTIATE_TEST_SUITE_P(
    Encode, OneMistake,
    ::testing::Values(
        Mistake{"    encode: {codec: h265}\n",
                "4:21: cameras.dock.encode.codec: expected auto, h264, hevc, mjpeg or copy, got 'h265', did you mean "
                "'hevc'?"},
        Mistake{"    encode: {bitrate: 4MB}\n", "4:23: cameras.dock.encode.bitrate: " + bitrate_text + "'4MB'"},
        Mistake{"    encode: {bitrate: 9k}\n", "4:23: cameras.dock.encode.bitrate: " + bitrate_text + "'9k'"},
        Mistake{"    encode: {bitrate: 1.1G}\n", "4:23: cameras.dock.encode.bitrate: " + bitrate_text + "'1.1G'"},
        Mistake{"    encode: {bitrate: -4M}\n", "4:23: cameras.dock.encode.bitrate: " + bitrate_text + "'-4M'"},
        Mistake{"    encode: {crf: 52}\n", "4:19: cameras.dock.encode.crf: expected a number from 0 to 51, got '52'"},
        Mistake{"    encode: {crf: 20, bitrate: 4M}\n",
                "4:23: cameras.dock.encode.bitrate: `bitrate` and `crf` exclude one another"},
        Mistake{"    encode: {gop: 0}\n", "4:19: cameras.dock.encode.gop: " + gop_text + "'0'"},
        Mistake{"    encode: {gop: 2.5}\n", "4:19: cameras.dock.encode.gop: " + gop_text + "'2.5'"},
        Mistake{"    encode: {gop: 11m}\n", "4:19: cameras.dock.encode.gop: " + gop_text + "'11m'"},
        Mistake{"    encode: {gop: 2 weeks}\n", "4:19: cameras.dock.encode.gop: " + gop_text + "'2 weeks'"},
        Mistake{"    encode: {latency: lo}\n",
                "4:23: cameras.dock.encode.latency: expected low or normal, got 'lo', did you mean 'low'?"},
        Mistake{"    encode: {threads: all}\n",
                "4:23: cameras.dock.encode.threads: expected auto or an integer from 1 to 64, got 'all'"},
        Mistake{"    encode: {options: {bf: [1]}}\n",
                "4:28: cameras.dock.encode.options.bf: expected a value for the encoder, got a list"}));

INSTANTIATE_TEST_SUITE_P(
    Record, OneMistake,
    ::testing::Values(
        Mistake{"    record: {}\n", "4:5: cameras.dock.record: missing key 'path'"},
        Mistake{"    record: {pth: a.mp4}\n", "4:14: cameras.dock.record.pth: unknown key, did you mean 'path'?"},
        Mistake{"    record: a.mp4\n", "4:13: cameras.dock.record: expected a map, got 'a.mp4'"},
        Mistake{"    record: {path: a.avi}\n", "4:20: cameras.dock.record.path: " + ending_text + "'a.avi'"},
        Mistake{"    record: {path: \"{name}/a.mp4\"}\n",
                "4:20: cameras.dock.record.path: unknown field '{name}', expected {camera}, {output} or a time field "
                "such as %Y"},
        Mistake{
            "    record: {path: \"%Q.mp4\"}\n",
            "4:20: cameras.dock.record.path: unknown time field '%Q', expected one such as %Y, %m, %d, %H, %M or %S "
            "(%% for a percent sign)"},
        Mistake{"    record: {path: \"rec/%Y/../../%S.mp4\"}\n",
                "4:20: cameras.dock.record.path: '..' behind a time field, expected folders that lead down from there"},
        Mistake{"    record: {path: /proc/campipe/a.mp4}\n",
                "4:20: cameras.dock.record.path: the folder '/proc' is of a file system that takes no files"}));

// --- the file as a whole -----------------------------------------------------------------------------------------

TEST_F(ConfigTest, FileWithoutCamerasIsRefused) {
  const std::map<std::string, Strings> files{
      {"", {"rig.yaml: the file is empty, expected `cameras`"}},
      {"# nothing\n", {"rig.yaml: the file is empty, expected `cameras`"}},
      {"workers: {count: 2}\n", {"rig.yaml: missing key 'cameras'"}},
      {"camera: {}\n", {"rig.yaml:1:1: camera: unknown key, did you mean 'cameras'?"}},
      {"cameras: {}\n", {"rig.yaml:1:10: cameras: expected at least one camera"}},
      {"cameras:\n", {"rig.yaml:1:1: cameras: expected a map, got nothing"}},
      {"- a\n", {"rig.yaml:1:1: expected a map, got a list"}},
      {"cameras: {dock: }\n", {"rig.yaml:1:11: cameras.dock: expected a map, got nothing"}},
      {"cameras: {dock: !a {source: b}}\n", {"rig.yaml:1:17: cameras.dock: YAML tags (!…) are not read"}},
      {"cameras: {dock: {loop: true}}\n", {"rig.yaml:1:11: cameras.dock: missing key 'source'"}},
      {"cameras: {dock: {sorce: a.mp4}}\n", {"rig.yaml:1:18: cameras.dock.sorce: unknown key, did you mean 'source'?"}},
  };
  for (const auto& [yaml, expected] : files) EXPECT_EQ(errors(yaml), expected) << yaml;
}

TEST_F(ConfigTest, BadYamlIsToldWithItsPlace) {
  EXPECT_THAT(errors("cameras:\n\tdock:\n\t\tsource: a.mp4\n"), ElementsAre(HasSubstr("rig.yaml:2:1: a tab ")));
  EXPECT_THAT(errors("cameras:\n  dock:\n  \tsource: a.mp4\n"), ElementsAre(HasSubstr("rig.yaml:3:3: a tab ")));
  for (const char* quote : {"\"", "'"})
    EXPECT_THAT(
        errors(std::string("cameras:\n  dock:\n    source: ") + quote + "a.mp4\n    record: {path: \"b.mp4\"}\n"),
        ElementsAre(HasSubstr("rig.yaml:3:13: the quote ")));
  EXPECT_THAT(errors("cameras:\n  dock: [1, 2\n"), ElementsAre(HasSubstr("rig.yaml:3:1: not valid YAML: ")));
  EXPECT_THAT(errors("cameras: \"a\\\x1b[2J\"\n"), ElementsAre(AllOf(HasSubstr("\\x1b"), Not(HasSubstr("\x1b")))));
  EXPECT_THAT(errors("cameras: {}\n---\na: b\n"), ElementsAre(HasSubstr("a second document")));
  EXPECT_THAT(errors("? [a]\n: b\n"), ElementsAre("rig.yaml:1:3: a list or map as a key, expected a name"));
}

TEST_F(ConfigTest, NamesOfCamerasAreChecked) {
  const Strings good{"a", "Z9", "0_-", std::string(64, 'a')};
  for (const std::string& name : good) {
    EXPECT_EQ(errors("cameras: {" + name + ": {source: '" + pattern + "'}}\n"), Strings()) << name;
  }
  const Strings bad{"_a", "-a", "a.b", "\"a/b\"", "\"\"", "ä", std::string(65, 'a')};
  for (const std::string& name : bad) {
    EXPECT_THAT(errors("cameras: {" + name + ": {source: '" + pattern + "'}}\n"),
                ElementsAre(HasSubstr(": a camera's name has 1 to 64 of")))
        << name;
  }
}

std::string many_cameras(int count) {
  std::string yaml = "defaults: {source: '" + pattern + "'}\ncameras:\n";
  for (int i = 0; i < count; ++i) yaml += "  c" + std::to_string(i) + ": {}\n";
  return yaml;
}

TEST_F(ConfigTest, AtMost256Cameras) {
  EXPECT_EQ(cameras(many_cameras(256)).size(), 256U);
  EXPECT_THAT(errors(many_cameras(257)), ElementsAre("rig.yaml:259:3: cameras.c256: more than 256 cameras"));
}

TEST_F(ConfigTest, AllMistakesComeAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(errors("workers: {count: 16}\n"
                   "defaults:\n"
                   "  encode: {crf: high}\n"
                   "  loop: on\n"
                   "cameras:\n"
                   "  a: {source: ../../, sped: 1}\n"
                   "  b: {source: rtps://u:p@host/s}\n"),
            (Strings{"rig.yaml:1:18: workers.count: expected auto or an integer from 1 to 15, got '16'",
                     "rig.yaml:3:17: defaults.encode.crf: expected a number from 0 to 51, got 'high'",
                     "rig.yaml:4:9: defaults.loop: expected true or false, got 'on'",
                     "rig.yaml:6:15: cameras.a.source: " + *check_source("../../"),
                     "rig.yaml:6:23: cameras.a.sped: unknown key, expected " + all_keys,
                     "rig.yaml:7:15: cameras.b.source: " + *check_source("rtps://host/s")}));
}

TEST_F(ConfigTest, WhatTheEncoderRefusesIsToldOncePerPlace) {
  const std::string bad = "{encoder: no_such_encoder}";
  const std::string source = "{source: '" + pattern + "'}";
  EXPECT_THAT(errors("defaults: {encode: " + bad + "}\ncameras: {a: " + source + ", b: " + source + "}\n"),
              ElementsAre(StartsWith("rig.yaml:1:30: defaults.encode.encoder: ")));
  EXPECT_THAT(errors("defaults: {encode: " + bad + "}\n" + with_camera("    encode: {crf: 20}\n")),
              ElementsAre(StartsWith("rig.yaml:1:30: defaults.encode.encoder: ")));
  EXPECT_THAT(errors(with_camera("    encode: {options: {no_such_option: 1}}\n")),
              ElementsAre(StartsWith("rig.yaml:4:40: cameras.dock.encode.options.no_such_option: ")));
}

TEST_F(ConfigTest, APresetThatTheEncoderDoesNotHaveIsRefused) {
  EXPECT_THAT(errors(with_camera("    encode: {preset: no_such}\n")),
              ElementsAre(StartsWith("rig.yaml:4:22: cameras.dock.encode.preset: ")));
  ::setenv("CAMPIPE_TEST_SECRET", "hunter2", 1);
  EXPECT_THAT(errors(with_camera("    encode: {preset: \"x${CAMPIPE_TEST_SECRET}\"}\n")),
              ElementsAre(Not(HasSubstr("hunter2"))));
}

TEST_F(ConfigTest, ColumnsCountCharactersAndAByteOrderMarkIsNone) {
  EXPECT_EQ(errors("\xEF\xBB\xBF{\"workers\": {\"übung\": 1}, cameras: {a: {source: '" + pattern + "'}}}\n"),
            Strings{"rig.yaml:1:14: workers.übung: unknown key, expected count"});
  EXPECT_EQ(errors("{cameras: {a: {source: '" + pattern + "'}}, workers: {\"é\": 1}}\n"),
            Strings{"rig.yaml:1:83: workers.é: unknown key, expected count"});
  EXPECT_EQ(errors("{workers: {\"é\": 1, count: 0}, cameras: {a: {source: '" + pattern + "'}}}\r\n").at(1),
            "rig.yaml:1:27: workers.count: expected auto or an integer from 1 to 15, got '0'");
}

// --- values and defaults -----------------------------------------------------------------------------------------

TEST_F(ConfigTest, NothingGivenMeansTheDocumentedDefaults) {
  const auto all = cameras(with_camera(""));
  CameraConfig expected;
  expected.name = "dock";
  expected.source.url = pattern;
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0], expected);
  EXPECT_EQ(all[0].drop_policy, DropPolicy::block);
  EXPECT_EQ(all[0].encode, EncoderConfig());
  EXPECT_FALSE(load("cameras: {a: {source: '" + pattern + "'}}\nworkers: {count: auto}\n").rig.worker_count);
}

TEST_F(ConfigTest, EveryKeyIsRead) {
  const LoadedConfig loaded =
      load(with_camera("    loop: true\n    pace: fast\n    gpu: cpu\n    drop_policy: drop\n"
                       "    queue_size: 32\n    decode: {threads: 3}\n"
                       "    filters: [sharpen, {resize: {width: 64, height: 48}}]\n"
                       "    encode: {codec: h264, encoder: libx264, preset: fast, crf: 20.5,\n"
                       "      gop: 50, latency: normal, threads: 4, options: {bf: 1}}\n"
                       "    record: {path: 'x/{camera}.mkv'}\n"
                       "workers: {count: 3}\n"));
  ASSERT_EQ(formatted(loaded), Strings());
  CameraConfig expected;
  expected.name = "dock";
  expected.source.url = pattern;
  expected.source.loop = true;
  expected.source.pace = Pace::fast;
  expected.gpu = "cpu";
  expected.drop_policy = DropPolicy::drop;
  expected.queue_size = 32;
  expected.decode_threads = 3;
  expected.filters = {{"sharpen", {{"amount", 1.0}}}, {"resize", {{"width", 64}, {"height", 48}}}};
  expected.encode = {"h264", "libx264", "fast", std::nullopt, 20.5, 50, Latency::normal, 4, {{"bf", "1"}}};
  expected.record.emplace().path = "x/{camera}.mkv";
  EXPECT_EQ(loaded.rig.cameras.at(0), expected);
  EXPECT_EQ(loaded.rig.worker_count, 3);
}

TEST_F(ConfigTest, KeysAboutGpusAreReadWithTheirPlaces) {
  const LoadedConfig loaded =
      load("defaults: {gpu: 1, ready_signal: timeline, ipc_memory: cuda_legacy}\ncameras:\n  a: {source: '" + pattern +
           "', decode: {gpu: cpu}}\n  b:\n    source: '" + pattern +
           "'\n    gpu: GPU-00112233-4455-6677-8899-AABBCCDDEEFF\n    ipc_memory: auto\n    ready_signal: ipc_event\n"
           "mps: off\n");
  ASSERT_EQ(formatted(loaded), Strings());
  const auto& all = loaded.rig.cameras;
  EXPECT_EQ(all[0].gpu, "1");
  EXPECT_EQ(all[0].decode_gpu, "cpu");
  EXPECT_EQ(all[0].ipc_memory, MemoryKind::cuda_legacy);
  EXPECT_EQ(all[0].ready_signal, ReadySignal::timeline);
  EXPECT_EQ(all[1].gpu, "GPU-00112233-4455-6677-8899-AABBCCDDEEFF");
  EXPECT_EQ(all[1].decode_gpu, "auto");
  EXPECT_EQ(all[1].ipc_memory, std::nullopt);
  EXPECT_EQ(all[1].ready_signal, ReadySignal::ipc_event);
  EXPECT_EQ(loaded.rig.mps, Mps::off);
  ASSERT_EQ(loaded.gpu_places.size(), 2U);
  EXPECT_EQ(loaded.gpu_places[0].gpu.path, "defaults.gpu");
  EXPECT_EQ(loaded.gpu_places[0].gpu.shown, "'1'");
  EXPECT_EQ(loaded.gpu_places[1].gpu.line, 6);
  EXPECT_EQ(loaded.gpu_places[1].gpu.column, 10);
  EXPECT_EQ(loaded.gpu_places[1].decode_gpu.line, 0);
}

TEST_F(ConfigTest, SourcesAndFiltersAreReadWithTheirPlaces) {
  const LoadedConfig read =
      load("defaults: {filters: [denoise]}\ncameras:\n  a: {source: '" + pattern + "'}\n  b:\n    source: '" + pattern +
           "'\n    filters:\n      - sharpen\n      - crop: {width: 64, height: 64}\n"
           "    outputs: {c: {filters: [denoise]}}\n");
  ASSERT_EQ(formatted(read), Strings());
  const LoadedConfig loaded = loaded_from_json(nlohmann::json::parse(to_json(read).dump()));
  EXPECT_EQ(loaded.gpu_places.at(0).filters.at(0).path, "defaults.filters[0]");
  const GpuPlaces& places = loaded.gpu_places.at(1);
  EXPECT_EQ(places.source.line, 5);
  ASSERT_EQ(places.filters.size(), 2U);
  EXPECT_EQ(places.filters[0].path, "cameras.b.filters[0]");
  EXPECT_EQ(places.filters[1].path, "cameras.b.filters[1].crop");
  EXPECT_EQ(places.filters[1].line, 8);
  EXPECT_EQ(places.filters[1].column, 9);
  EXPECT_EQ(places.output_filters.at(0).at(0).path, "cameras.b.outputs.c.filters[0]");
}

// Whoever looks at a cluster has no passwords of cameras.
TEST_F(ConfigTest, TheSectionClusterGoesAlongWithoutTheRest) {
  const auto goes_along = [](const std::string& yaml) {
    const LoadedConfig read = load(yaml);
    EXPECT_FALSE(read.errors.empty());
    const LoadedConfig loaded = loaded_from_json(nlohmann::json::parse(to_json(read).dump()));
    EXPECT_EQ(loaded.errors.size(), read.errors.size());
    EXPECT_TRUE(loaded.rig.cameras.empty());
    return loaded.rig.cluster.has_value();
  };
  const std::string cameras = "cameras: {a: {source: '" + pattern + "'}}\n";
  const std::string no_source = "cameras: {a: {source: '${CAMPIPE_TEST_NO_SUCH_VARIABLE}'}}\n";
  const std::string cluster = "cluster: {name: hall, etcd: ['http://127.0.0.1:1'], node: n, address: '127.0.0.1:2'";
  EXPECT_TRUE(goes_along(no_source + cluster + "}\n"));
  EXPECT_FALSE(goes_along(no_source + cluster + ", on_etcd_missing: no}\n"));
  EXPECT_FALSE(goes_along(cameras + cluster + ", no_such_key: 1}\n"));
  EXPECT_FALSE(goes_along(no_source));
  EXPECT_FALSE(goes_along(cluster));
}

TEST_F(ConfigTest, AdmissionIsOneOfTwoWords) {
  const std::string rig = "cameras: {a: {source: '" + pattern + "'}}\n";
  EXPECT_EQ(load(rig).rig.admission, Admission::warn);
  EXPECT_EQ(load(rig + "admission: refuse\n").rig.admission, Admission::refuse);
  EXPECT_EQ(errors(rig + "admission: off\n"), Strings{"rig.yaml:2:12: admission: expected warn or refuse, got 'off'"});
}

TEST_F(ConfigTest, BalanceIsAutoOrOff) {
  const std::string rig = "cameras: {a: {source: '" + pattern + "'}}\n";
  EXPECT_EQ(load(rig).rig.balance, Balance::automatic);
  EXPECT_EQ(load(rig + "balance: off\n").rig.balance, Balance::off);
  EXPECT_EQ(load(rig + "balance: auto\n").rig.balance, Balance::automatic);
  EXPECT_EQ(errors(rig + "balance: on\n"), Strings{"rig.yaml:2:10: balance: expected auto or off, got 'on'"});
}

// It may be started later; no GPU is used until then.
TEST_F(ConfigTest, AnMpsDaemonThatIsAwayIsACondition) {
  const std::string rig = "cameras: {a: {source: '" + pattern + "'}}\nmps: use\n";
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "pipes", 1);
  EXPECT_THAT(conditions(rig),
              ElementsAre("rig.yaml:2:6: mps: no MPS daemon can be reached: 'pipes/control': No such file "
                          "or directory; start one with nvidia-cuda-mps-control -d, or set "
                          "CUDA_MPS_PIPE_DIRECTORY to its folder"));
  std::filesystem::create_directory("pipes");
  write("pipes/control", "");
  EXPECT_THAT(conditions(rig), ElementsAre());
  EXPECT_EQ(load(rig).rig.mps, Mps::use);
  ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

TEST_F(ConfigTest, ACameraGoesOverDefaults) {
  const auto all = cameras(
      "cameras:\n"
      "  a: {}\n"
      "  b: {encode: {crf: 30, options: {refs: 2, bf: 0}}, filters: [], decode: {}, loop: false}\n"
      "  c: {encode: {bitrate: 1.5M}, record: {path: c.mkv}, filters: [sharpen]}\n"
      "defaults:\n"
      "  source: " +
      pattern +
      "\n"
      "  loop: true\n"
      "  decode: {threads: 4}\n"
      "  filters: [{blur: {sigma: 2}}]\n"
      "  encode: {bitrate: 2M, gop: 250ms, options: {bf: 1, weightp: 0}}\n"
      "  record: {path: '{camera}.mp4'}\n");
  ASSERT_EQ(all.size(), 3U);
  const auto& [a, b, c] = std::tie(all[0], all[1], all[2]);
  EXPECT_EQ(a.source.url, pattern);
  EXPECT_TRUE(a.source.loop && c.source.loop && !b.source.loop);
  EXPECT_EQ(b.decode_threads, 4);
  EXPECT_EQ(a.filters.at(0).name, "blur");
  EXPECT_TRUE(b.filters.empty());
  EXPECT_EQ(c.filters.at(0).name, "sharpen");
  EXPECT_EQ(a.encode.bitrate, 2'000'000);
  EXPECT_TRUE(b.encode.crf == 30.0 && !b.encode.bitrate);
  EXPECT_EQ(c.encode.bitrate, 1'500'000);
  EXPECT_EQ(c.encode.gop, Gop(std::chrono::nanoseconds(std::chrono::milliseconds(250))));
  EXPECT_EQ(b.encode.options, (EncoderOptions{{"bf", "0"}, {"weightp", "0"}, {"refs", "2"}}));
  EXPECT_EQ(a.record->path, "{camera}.mp4");
  EXPECT_EQ(c.record->path, "c.mkv");
}

TEST_F(ConfigTest, ABitrateGoesOverACrfOfDefaults) {
  const auto all = cameras("defaults: {encode: {crf: 20}}\n" + with_camera("    encode: {bitrate: 1M}\n"));
  EXPECT_TRUE(all.at(0).encode.bitrate == 1'000'000 && !all.at(0).encode.crf);
}

TEST_F(ConfigTest, StagesAreForWhatIsEncoded) {
  EXPECT_THAT(
      errors("cameras:\n  a:\n    source: rtsp://10.0.0.1/s\n    encode: {codec: copy}\n"
             "    placement: {encode: 1}\n"),
      ElementsAre("rig.yaml:5:16: cameras.a.placement: is for a camera's own stream that is encoded, and camera 'a' "
                  "has codec `copy`"));
  const auto loaded = cameras(
      "defaults: {placement: {filter: [cpu:1], encode: 0}}\ncameras:\n  a:\n"
      "    source: rtsp://10.0.0.1/s\n  b:\n    source: rtsp://10.0.0.2/s\n"
      "    placement: {encode: cpu}\n");
  EXPECT_EQ(loaded[0].placement, (StagePlacement{"auto", {"cpu:1"}, "0"}));
  EXPECT_EQ(loaded[0].encode.codec, "h264") << "what is placed is encoded, and not passed on";
  EXPECT_EQ(loaded[1].placement, (StagePlacement{"auto", {"cpu:1"}, "cpu"}));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
