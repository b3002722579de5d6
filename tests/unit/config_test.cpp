#include "app/config.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/config_settings.h"
#include "app/config_units.h"
#include "core/error.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Strings = std::vector<std::string>;

// --- one mistake each: its place and its words -------------------------------------------------------------------

struct Mistake {
  std::string keys;  // of the camera, from line 4
  std::string error;
};

class OneMistake : public ConfigTest, public ::testing::WithParamInterface<Mistake> {};

TEST_P(OneMistake, IsToldOnceWithItsPlace) {
  EXPECT_EQ(errors(with_camera(GetParam().keys)), Strings{"rig.yaml:" + GetParam().error});
}

const std::string bitrate_text = "expected bits a second from 10k to 1G (units k, M, G), such as 4M, got ";
const std::string gop_text =
    "expected frames from 1 to 100000, or a time from 1ms to 10m (units ms, s, m, h, d), such as 2s, got ";
const std::string filter_text = "expected one filter: `name` or `name: {parameter: value}`, got ";
const std::string ending_text = "expected a path that ends in .mp4 or .mkv, got ";

INSTANTIATE_TEST_SUITE_P(
    Keys, OneMistake,
    ::testing::Values(
        Mistake{"    queue-size: 8\n", "4:5: cameras.dock.queue-size: unknown key, did you mean 'queue_size'?"},
        Mistake{"    decode: {htreads: 2}\n",
                "4:14: cameras.dock.decode.htreads: unknown key, did you mean 'threads'?"},
        Mistake{"    decode: {zebra: 2}\n", "4:14: cameras.dock.decode.zebra: unknown key, expected threads"},
        Mistake{"    'é': 1\n    loop: true\n",
                "4:5: cameras.dock.é: unknown key, expected source, loop, pace, gpu, drop_policy, queue_size, decode, "
                "filters, encode or record"},
        Mistake{"    loop: true\n    pace: fast\n    loop: false\n",
                "6:5: cameras.dock.loop: duplicate key, first given at line 4, column 5"},
        Mistake{"    rtsp_transport: tcp\n",
                "4:5: cameras.dock.rtsp_transport: unknown key, expected source, loop, pace, gpu, drop_policy, "
                "queue_size, decode, filters, encode or record"},
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
        Mistake{"    gpu: 0\n",
                "4:10: cameras.dock.gpu: expected auto or cpu (this version runs cameras on the CPU only), got '0'"},
        Mistake{"    drop_policy: blok\n",
                "4:18: cameras.dock.drop_policy: expected auto, drop or block, got 'blok', did you mean 'block'?"},
        Mistake{"    queue_size: 0\n", "4:17: cameras.dock.queue_size: expected a whole number from 1 to 32, got '0'"},
        Mistake{"    queue_size: 33\n",
                "4:17: cameras.dock.queue_size: expected a whole number from 1 to 32, got '33'"},
        Mistake{"    queue_size: 1.5\n",
                "4:17: cameras.dock.queue_size: expected a whole number from 1 to 32, got '1.5'"},
        Mistake{"    queue_size: 8x\n",
                "4:17: cameras.dock.queue_size: expected a whole number from 1 to 32, got '8x'"},
        Mistake{"    queue_size: 1e999\n",
                "4:17: cameras.dock.queue_size: expected a whole number from 1 to 32, got '1e999'"},
        Mistake{"    queue_size: \"a\\tb\"\n",
                "4:17: cameras.dock.queue_size: expected a whole number from 1 to 32, got 'a\\x09b'"},
        Mistake{"    gpu: \"cpu\\0\"\n", "4:10: cameras.dock.gpu: a NUL character"},
        Mistake{"    encode: {options: {\"bf\\0\": 1}}\n",
                "4:32: cameras.dock.encode.options.bf\\x00: a NUL character"},
        Mistake{"    decode: 4\n", "4:13: cameras.dock.decode: expected a map, got '4'"},
        Mistake{"    decode:\n      threads: 17\n",
                "5:16: cameras.dock.decode.threads: expected a whole number from 1 to 16, got '17'"}));

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
                "5:25: cameras.dock.filters[0].resize.width: expected a whole number from 16 to 8192 (samples), got "
                "'64.5'"},
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
                "4:21: cameras.dock.encode.codec: expected h264, got 'h265', did you mean 'h264'?"},
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
                "4:23: cameras.dock.encode.threads: expected auto or a whole number from 1 to 64, got 'all'"},
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
                "4:20: cameras.dock.record.path: unknown field '{name}', expected {camera} or a time field such as %Y"},
        Mistake{
            "    record: {path: \"%Q.mp4\"}\n",
            "4:20: cameras.dock.record.path: unknown time field '%Q', expected one such as %Y, %m, %d, %H, %M or %S "
            "(%% for a percent sign)"},
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
  EXPECT_THAT(errors("cameras:\n  dock: [1, 2\n"), ElementsAre(HasSubstr("rig.yaml:3:1: not valid YAML: ")));
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
                   "  a: {source: nowhere.mp4, sped: 1}\n"
                   "  b: {source: rtsp://u:p@host/s}\n"),
            (Strings{"rig.yaml:1:18: workers.count: expected auto or a whole number from 1 to 15, got '16'",
                     "rig.yaml:3:17: defaults.encode.crf: expected a number from 0 to 51, got 'high'",
                     "rig.yaml:4:9: defaults.loop: expected true or false, got 'on'",
                     "rig.yaml:6:15: cameras.a.source: " + *check_source("nowhere.mp4"),
                     "rig.yaml:6:28: cameras.a.sped: unknown key, expected source, loop, pace, gpu, drop_policy, "
                     "queue_size, decode, filters, encode or record",
                     "rig.yaml:7:15: cameras.b.source: " + *check_source("rtsp://host/s")}));
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
  EXPECT_EQ(errors("\xEF\xBB\xBF{\"übung\": 1, cameras: {a: {source: '" + pattern + "'}}}\n"),
            Strings{"rig.yaml:1:2: übung: unknown key, expected defaults, cameras or workers"});
  EXPECT_EQ(errors("{cameras: {a: {source: '" + pattern + "'}}, workers: {\"é\": 1}}\n"),
            Strings{"rig.yaml:1:83: workers.é: unknown key, expected count"});
  EXPECT_EQ(errors("{workers: {\"é\": 1, count: 0}, cameras: {a: {source: '" + pattern + "'}}}\r\n").at(1),
            "rig.yaml:1:27: workers.count: expected auto or a whole number from 1 to 15, got '0'");
}

// --- values and defaults -----------------------------------------------------------------------------------------

TEST_F(ConfigTest, NothingGivenMeansTheDocumentedDefaults) {
  const auto all = cameras(with_camera(""));
  CameraConfig expected;
  expected.name = "dock";
  expected.source = {pattern, false, Pace::realtime};
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
  expected.source = {pattern, true, Pace::fast};
  expected.gpu = "cpu";
  expected.drop_policy = DropPolicy::drop;
  expected.queue_size = 32;
  expected.decode_threads = 3;
  expected.filters = {{"sharpen", {{"amount", 1.0}}}, {"resize", {{"width", 64}, {"height", 48}}}};
  expected.encode = {"h264", "libx264", "fast", std::nullopt, 20.5, 50, Latency::normal, 4, {{"bf", "1"}}};
  expected.record = RecordConfig{"x/{camera}.mkv"};
  EXPECT_EQ(loaded.rig.cameras.at(0), expected);
  EXPECT_EQ(loaded.rig.worker_count, 3);
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
  EXPECT_EQ(c.encode.gop, EncodeSettings::Gop(std::chrono::nanoseconds(std::chrono::milliseconds(250))));
  EXPECT_EQ(b.encode.options, (EncodeSettings::Options{{"bf", "0"}, {"weightp", "0"}, {"refs", "2"}}));
  EXPECT_EQ(a.record->path, "{camera}.mp4");
  EXPECT_EQ(c.record->path, "c.mkv");
}

TEST_F(ConfigTest, ABitrateGoesOverACrfOfDefaults) {
  const auto all = cameras("defaults: {encode: {crf: 20}}\n" + with_camera("    encode: {bitrate: 1M}\n"));
  EXPECT_TRUE(all.at(0).encode.bitrate == 1'000'000 && !all.at(0).encode.crf);
}

TEST(ConfigUnits, AreReadWholeOrNotAtAll) {
  using std::chrono::nanoseconds;
  const std::map<std::string, std::optional<std::int64_t>> rates{{"4M", 4'000'000},
                                                                 {"1.1M", 1'100'000},
                                                                 {"800k", 800'000},
                                                                 {"1G", 1'000'000'000},
                                                                 {"64000", 64'000},
                                                                 {"1.5", {}},
                                                                 {"4 M", {}},
                                                                 {"4m", {}},
                                                                 {"4K", {}},
                                                                 {"M", {}},
                                                                 {"", {}},
                                                                 {"infM", {}},
                                                                 {"nan", {}},
                                                                 {"1000000.5", {}},
                                                                 {"99999999999G", {}},
                                                                 {"0x10", {}},
                                                                 {"+4M", {}},
                                                                 {" 4M", {}}};
  for (const auto& [text, bits] : rates) EXPECT_EQ(parse_bitrate(text), bits) << text;
  const std::map<std::string, std::optional<nanoseconds>> times{{"250ms", nanoseconds(250'000'000)},
                                                                {"2s", nanoseconds(2'000'000'000)},
                                                                {"1.5s", nanoseconds(1'500'000'000)},
                                                                {"10m", std::chrono::minutes(10)},
                                                                {"1h", std::chrono::hours(1)},
                                                                {"7d", std::chrono::hours(168)},
                                                                {"2", {}},
                                                                {"s", {}},
                                                                {"2 s", {}},
                                                                {"2S", {}},
                                                                {"2sm", {}},
                                                                {"99999999999d", {}},
                                                                {"infs", {}}};
  for (const auto& [text, time] : times) EXPECT_EQ(parse_time(text), time) << text;
}

// --- the environment, and secrets --------------------------------------------------------------------------------

TEST_F(ConfigTest, VariablesAreFilledIn) {
  ::setenv("CAMPIPE_TEST_SIZE", "12", 1);
  ::setenv("CAMPIPE_TEST_EMPTY", "", 1);
  ::setenv("CAMPIPE_TEST_NESTED", "${CAMPIPE_TEST_SIZE}", 1);
  ::unsetenv("CAMPIPE_TEST_UNSET");
  const auto all =
      cameras(with_camera("    queue_size: ${CAMPIPE_TEST_SIZE}\n"
                          "    decode: {threads: \"${CAMPIPE_TEST_UNSET:3}\"}\n"
                          "    record: {path: \"a${CAMPIPE_TEST_EMPTY:b}$c${CAMPIPE_TEST_UNSET:}.mp4\"}\n"));
  EXPECT_EQ(all.at(0).queue_size, 12);
  EXPECT_EQ(all.at(0).decode_threads, 3);
  EXPECT_EQ(all.at(0).record->path, "a$c.mp4");
  EXPECT_THAT(errors(with_camera("    record: {path: \"${CAMPIPE_TEST_NESTED}.mp4\"}\n")),
              ElementsAre(HasSubstr("no fields but {camera}")));  // a value is not looked at for variables again
}

TEST_F(ConfigTest, BadVariablesAreToldByName) {
  ::unsetenv("CAMPIPE_TEST_UNSET");
  ::setenv("CAMPIPE_TEST_BINARY", "\xFF", 1);
  const std::map<std::string, std::string> messages{
      {"${CAMPIPE_TEST_UNSET}",
       "the environment variable CAMPIPE_TEST_UNSET is not set, and ${CAMPIPE_TEST_UNSET} has no default"},
      {"${CAMPIPE_TEST_BINARY}", "the environment variable CAMPIPE_TEST_BINARY is not valid UTF-8"},
      {"${CAMPIPE_TEST_UNSET", "'${' without '}'"},
      {"${1A}", "expected ${NAME} or ${NAME:default}, got '${1A}'"},
      {"${}", "expected ${NAME} or ${NAME:default}, got '${}'"}};
  for (const auto& [value, message] : messages) {
    EXPECT_EQ(errors(with_camera("    queue_size: \"" + value + "\"\n")),
              Strings{"rig.yaml:4:17: cameras.dock.queue_size: " + message});
  }
}

TEST_F(ConfigTest, WhatAVariableHoldsIsNeverPrinted) {
  ::setenv("CAMPIPE_TEST_SECRET", "hunter2", 1);
  const Strings places{"    queue_size: ${CAMPIPE_TEST_SECRET}\n",
                       "    pace: ${CAMPIPE_TEST_SECRET}\n",
                       "    gpu: ${CAMPIPE_TEST_SECRET}\n",
                       "    filters: [\"${CAMPIPE_TEST_SECRET}\"]\n",
                       "    encode: {encoder: \"${CAMPIPE_TEST_SECRET}\"}\n",
                       "    encode: {options: {no_such: \"${CAMPIPE_TEST_SECRET}\"}}\n",
                       "    record: {path: \"/proc/${CAMPIPE_TEST_SECRET}.mp4\"}\n",
                       "    record: {path: \"rig.yaml/${CAMPIPE_TEST_SECRET}/a.mp4\"}\n",
                       "    record: {path: \"{${CAMPIPE_TEST_SECRET}}.mp4\"}\n"};
  for (const std::string& keys : places) {
    const Strings lines = errors(with_camera(keys));
    ASSERT_EQ(lines.size(), 1U) << keys;
    EXPECT_THAT(lines[0], Not(HasSubstr("hunter2"))) << keys;
  }
  ::setenv("CAMPIPE_TEST_FOLDER", "/proc/hunter2", 1);
  EXPECT_THAT(
      errors(with_camera("    record: {path: \"${CAMPIPE_TEST_FOLDER}/a.mp4\"}\n")),
      ElementsAre("rig.yaml:4:20: cameras.dock.record.path: the folder of '${CAMPIPE_TEST_FOLDER}/a.mp4' (from the "
                  "environment: CAMPIPE_TEST_FOLDER) is of a file system that takes no files"));
  EXPECT_THAT(errors("cameras: {a: {source: '${CAMPIPE_TEST_SECRET}/b.mp4'}}\n"),
              ElementsAre(Not(HasSubstr("hunter2"))));
  EXPECT_THAT(errors(with_camera("    queue_size: ${CAMPIPE_TEST_SECRET}\n")),
              ElementsAre(HasSubstr("got '${CAMPIPE_TEST_SECRET}' (from the environment: CAMPIPE_TEST_SECRET)")));
}

TEST_F(ConfigTest, APasswordIsNeverPrintedWhereverItStands) {
  const std::string yaml = "cameras:\n  a:\n    source: \"rtsp://user:hunter2@host/s\"\n    loop: true\n";
  ASSERT_FALSE(errors(yaml).empty());
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < yaml.size(); ++i) {
    std::string mutant = yaml;
    mutant.erase(i, 1);
    for (const std::string& line : errors(mutant)) {
      EXPECT_THAT(line, Not(HasSubstr("hunter2"))) << mutant;
      kinds.insert(line.substr(line.rfind(':')));
    }
  }
  EXPECT_GT(kinds.size(), 5U);  // the mutants do run into different messages
  EXPECT_THAT(errors(with_camera("    gpu: rtsp://user:hunter2@host\n")),
              ElementsAre(HasSubstr("'rtsp://user:***@host'")));
  EXPECT_THAT(errors("rtsp://user:hun@ter2@host: 1\n"), Contains(HasSubstr(" rtsp://user:***@host: unknown key")));
}

// --- recordings --------------------------------------------------------------------------------------------------

std::string two_recordings(const std::string& first, const std::string& second) {
  return "defaults: {source: '" + pattern + "'}\ncameras:\n  a: {record: {path: \"" + first + "\"}}\n" +
         "  b: {record: {path: \"" + second + "\"}}\n";
}

TEST_F(ConfigTest, TwoCamerasMustNotRecordToOneFile) {
  const std::string here = folder().string();
  const std::vector<std::pair<std::string, std::string>> same{
      {"x.mp4", "x.mp4"},         {"x.mp4", "./y/../x.mp4"}, {"o//x.mp4", "o/x.mp4"},   {"x.mp4", here + "/x.mp4"},
      {"%Y-%m.mp4", "%Y-%m.mp4"}, {"{camera}.mp4", "a.mp4"}, {"%F.mp4", "%Y-%m-%d.mp4"}};
  for (const auto& [first, second] : same) {
    EXPECT_EQ(errors(two_recordings(first, second)),
              Strings{"rig.yaml:4:22: cameras.b.record.path: camera 'b' records to the same file as camera 'a'"})
        << first << " " << second;
  }
  EXPECT_EQ(errors(two_recordings("{camera}/x.mp4", "{camera}/x.mp4")), Strings());
  EXPECT_EQ(errors(two_recordings("%m.mp4", "%d.mp4")), Strings());
  EXPECT_EQ(
      errors("defaults: {record: {path: a.mp4}, source: '" + pattern + "'}\ncameras: {a: {}, b: {}, c: {}}\n"),
      Strings{"rig.yaml:1:27: defaults.record.path: camera 'b' records to the same file as camera 'a', use {camera} "
              "in the path"});
}

TEST_F(ConfigTest, AFolderThatCannotBeWrittenIsRefused) {
  write("file", "");
  std::filesystem::create_symlink("nowhere", "link");
  const std::map<std::string, std::string> bad{{"file/a.mp4", "/file' is not a folder"},
                                               {"file/b/c/a.mp4", "/file' is not a folder"},
                                               {"link/a.mp4", "/link' cannot be used: No such file or directory"},
                                               {"/sys/a.mp4", "'/sys'"},
                                               {std::string(256, 'n') + ".mp4", "a file name may have 255 bytes"},
                                               {"{camera}/" + std::string(300, 'n') + "/a.mp4", "255 bytes"}};
  for (const auto& [path, message] : bad) {
    EXPECT_THAT(errors(with_camera("    record: {path: \"" + path + "\"}\n")),
                ElementsAre(::testing::AllOf(HasSubstr("4:20: cameras.dock.record.path: "), HasSubstr(message))));
  }
}

TEST_F(ConfigTest, AFolderOfOthersIsRefused) {
  std::filesystem::permissions(folder(), std::filesystem::perms(0755));
  ASSERT_EQ(::mkdir("closed", 0555), 0);
  write("rig.yaml", with_camera("    record: {path: closed/new/a.mp4}\n"));
  const uid_t self = ::geteuid();
  if (self == 0) {
    ASSERT_EQ(::seteuid(65534), 0);  // root may write everywhere
  }
  const LoadedConfig loaded = load_config("rig.yaml");  // in this thread: the change of user is for all, its end too
  ASSERT_EQ(::seteuid(self), 0);
  EXPECT_THAT(formatted(loaded), ElementsAre(HasSubstr("/closed' cannot be written: Permission denied")));
}

TEST_F(ConfigTest, CheckingCreatesNothing) {
  EXPECT_EQ(errors(with_camera("    record: {path: new/folder/a.mp4}\n")), Strings());
  Strings names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) names.push_back(entry.path().filename());
  EXPECT_EQ(names, Strings{"rig.yaml"});
}

TEST(RecordPath, IsFilledIn) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(expand_record_path("{camera}/%Y-%m-%d_%H-%M-%S/{camera}%%.mp4", "dock", 1'000'000'000),
            "dock/2001-09-09_01-46-40/dock%.mp4");
  EXPECT_EQ(expand_record_path("a.mp4", "dock", 0), "a.mp4");
}

// --- hostile files -----------------------------------------------------------------------------------------------

std::string repeated(const std::string& text, std::size_t size) {
  std::string out;
  while (out.size() + text.size() <= size) out += text;
  return out;
}

TEST_F(ConfigTest, HostileTextIsRefusedSoon) {
  constexpr std::size_t most = 1 << 20;
  const Strings parts{"[",    "{", "- ",  "? ",    "{a: ", "[a, ", "a: ",  "&a ",   "*a ",   "'",  "\"", "|\n", "!",
                      "!!a ", "%", "a\n", "- a\n", "[],",  "[\n",  "a,\n", "[a,\n", "---\n", "\\", "\t", "x"};
  for (const std::string& part : parts) {
    EXPECT_FALSE(errors(repeated(part, most)).empty()) << part;
  }
  std::string keys;
  for (int i = 0; i < 20'000; ++i) keys += "k" + std::to_string(i) + ": ${\n";
  const Strings lines = errors(keys);
  EXPECT_EQ(lines.size(), 1001U);
  EXPECT_EQ(lines.back(), "rig.yaml: and 19001 more mistakes");
}

TEST_F(ConfigTest, DeepNestingAndAliasesAreRefusedInWords) {
  const std::string deep = repeated("[", 100) + repeated("]", 100);
  EXPECT_THAT(errors("a: " + deep + "\n"), ElementsAre("rig.yaml:1:19: nested more deeply than any rig needs"));
  const std::string bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
  EXPECT_THAT(errors(bomb), ElementsAre(::testing::AllOf(HasSubstr("rig.yaml:1:4: anchors"), HasSubstr("`defaults`"))));
  EXPECT_THAT(errors("a: 1\nb: *x\n"), ElementsAre(HasSubstr("rig.yaml:2:4: anchors")));
  EXPECT_THAT(errors("a: [" + repeated("1,", 200'000) + "]\n"), ElementsAre(HasSubstr("more keys and values")));
}

TEST_F(ConfigTest, BinaryIsRefusedWithItsPlace) {
  const std::map<std::string, std::string> files{
      {std::string("a: 1\nb:\0", 8), "rig.yaml:2:3: a NUL byte"}, {"\xFF\xFE", "rig.yaml:1:1: not valid UTF-8"},
      {"a: \xC0\x80", "rig.yaml:1:4: not valid UTF-8"},           {"a: \xED\xA0\x80", "rig.yaml:1:4: not valid UTF-8"},
      {"a: \xF4\x90\x80\x80", "rig.yaml:1:4: not valid UTF-8"},   {"\na: \xE2\x82", "rig.yaml:2:4: not valid UTF-8"}};
  for (const auto& [text, message] : files) EXPECT_THAT(errors(text), ElementsAre(HasSubstr(message)));
}

TEST_F(ConfigTest, OnlyARegularFileOfOneMebibyteIsRead) {
  const std::string good = with_camera("");
  EXPECT_EQ(errors(good + "#" + repeated("x", (1 << 20) - good.size() - 1)), Strings());
  EXPECT_THAT(errors(good + "#" + repeated("x", (1 << 20) - good.size())), ElementsAre(HasSubstr("larger than 1 MiB")));
  std::filesystem::resize_file("rig.yaml", 100 << 20);
  EXPECT_THAT(formatted(load_file("rig.yaml")), ElementsAre(HasSubstr("larger than 1 MiB")));
  ASSERT_EQ(::mkfifo("pipe", 0600), 0);
  EXPECT_THAT(formatted(load_file("pipe")), ElementsAre("rig.yaml: is a pipe, expected a regular file"));
  EXPECT_THAT(formatted(load_file(".")), ElementsAre("rig.yaml: is a directory, expected a regular file"));
  EXPECT_THAT(formatted(load_file("/dev/zero")), ElementsAre("rig.yaml: is a device, expected a regular file"));
  EXPECT_THAT(formatted(load_file("nothing")), ElementsAre("rig.yaml: cannot be opened: No such file or directory"));
}

// --- JSON --------------------------------------------------------------------------------------------------------

TEST(CameraJson, ComesBackEqual) {
  CameraConfig camera;
  EXPECT_EQ(camera_from_json(to_json(camera)), camera);
  camera.name = "dock";
  camera.source = {"a \"b\" ü.mp4", true, Pace::fast};
  camera.gpu = "cpu";
  camera.drop_policy = DropPolicy::drop;
  camera.queue_size = 3;
  camera.decode_threads = 5;
  camera.filters = {{"blur", {{"sigma", 0.1}}}, {"sharpen", {}}};
  camera.encode = {"h264", "libx264", "slow", 123'456'789, 0.1, 50, Latency::normal, 7, {{"b", "2"}, {"a", "1"}}};
  camera.record = RecordConfig{"{camera}/%Y.mp4"};
  EXPECT_EQ(camera_from_json(nlohmann::json::parse(to_json(camera).dump())), camera);
}

TEST(CameraJson, AnythingElseIsAnError) {
  const nlohmann::json good = to_json(CameraConfig());
  for (const auto& [key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    EXPECT_THROW(camera_from_json(bad), Error) << key;
  }
  nlohmann::json bad = good;
  bad["drop_policy"] = "later";
  EXPECT_THROW(camera_from_json(bad), Error);
  EXPECT_THROW(camera_from_json(nlohmann::json::array()), Error);
}

// --- the documentation -------------------------------------------------------------------------------------------

// Found before the tests change the folder.
const std::filesystem::path page =
    std::filesystem::absolute(std::filesystem::path(__FILE__).parent_path() / "../../docs/configuration.md");

std::string page_text() {
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// heading → key → its row, from all tables whose first column is a key
std::map<std::string, std::map<std::string, std::string>> documented_keys() {
  std::map<std::string, std::map<std::string, std::string>> sections;
  std::istringstream lines(page_text());
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("##")) heading = line.substr(line.find(' ') + 1);
    if (line.starts_with("| `")) sections[heading].emplace(line.substr(3, line.find('`', 3) - 3), line);
  }
  return sections;
}

template <typename Names>
std::set<std::string> as_set(const Names& names) {
  std::set<std::string> all;
  for (const auto& name : names) all.emplace(name);
  return all;
}

std::set<std::string> keys_of(const std::map<std::string, std::string>& rows) {
  std::set<std::string> keys;
  for (const auto& [key, row] : rows) keys.insert(key);
  return keys;
}

TEST(ConfigurationPage, HasEveryKeyAndNoOther) {
  auto documented = documented_keys();
  for (const ConfigSection& section : config_sections()) {
    const std::string heading = section.name.empty() ? "The file" : "`" + std::string(section.name) + "`";
    EXPECT_EQ(keys_of(documented[heading]), as_set(section.keys)) << heading;
    documented.erase(heading);
  }
  for (const FilterInfo& filter : filter_registry()) {
    const std::string heading = "`" + std::string(filter.name) + "`";
    std::set<std::string> names;
    for (const ParameterInfo& parameter : filter.parameters) {
      names.emplace(parameter.name);
      const std::string kind = parameter.whole ? "whole number" : "number";
      const std::string row = "| `" + std::string(parameter.name) + "` | " + kind + " | " +
                              std::string(parameter.unit) + (parameter.unit.empty() ? "| " : " | ") +
                              number_text(parameter.min) + " to " + number_text(parameter.max) + " | " +
                              (parameter.fallback ? number_text(*parameter.fallback) : "required") + " | ";
      EXPECT_THAT(documented[heading][std::string(parameter.name)], StartsWith(row));
    }
    EXPECT_EQ(keys_of(documented[heading]), names) << heading;
    EXPECT_THAT(page_text(), HasSubstr("### " + heading + "\n"));
    documented.erase(heading);
  }
  EXPECT_TRUE(documented.empty()) << documented.begin()->first << " is no section of the file, and no filter";
}

TEST_F(ConfigTest, TheExampleOfThePageLoads) {
  ::unsetenv("BELT_RATE");
  const std::string text = page_text();
  const auto begin = text.find("```yaml\n") + 8;
  const auto all = cameras(text.substr(begin, text.find("```", begin) - begin));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "belt");
  EXPECT_THAT(all[1].source.url, HasSubstr("rate=30"));
}

}  // namespace
}  // namespace campipe
