// Keys about real cameras and lasting files: sources, recordings, push targets, snapshots, events.
#include <gmock/gmock.h>

#include <map>

#include "app/config/config.h"
#include "app/config/units.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Strings = std::vector<std::string>;

// --- values ------------------------------------------------------------------------------------------------------

TEST_P(OneMistake, IsToldOnceWithItsPlace) {
  EXPECT_EQ(errors(with_camera(GetParam().keys)), Strings{"rig.yaml:" + GetParam().error});
}

INSTANTIATE_TEST_SUITE_P(
    Sources, OneMistake,
    ::testing::Values(
        Mistake{"    stream: -1\n", "4:13: cameras.dock.stream: expected an integer from 0 to 63, got '-1'"},
        Mistake{"    audio: on\n", "4:12: cameras.dock.audio: expected copy or off, got 'on'"},
        Mistake{"    on_corrupt: hide\n", "4:17: cameras.dock.on_corrupt: expected show or skip, got 'hide'"},
        Mistake{"    decode: {isolation: often}\n",
                "4:25: cameras.dock.decode.isolation: expected auto, always or never, got 'often'"},
        Mistake{"    read_timeout: 10\n",
                "4:19: cameras.dock.read_timeout: expected a time from 100ms to 10m (units ms, s, m, h, d), got '10'"},
        Mistake{"    retry_interval: 0s\n",
                "4:21: cameras.dock.retry_interval: expected a time from 100ms to 1h (units ms, s, m, h, d), got '0s'"},
        Mistake{"    retry_interval: 10s\n    retry_max: 5s\n",
                "5:16: cameras.dock.retry_max: expected at least `retry_interval`, which is '10s', got '5s'"},
        Mistake{"    tls: {verfy: true}\n", "4:11: cameras.dock.tls.verfy: unknown key, did you mean 'verify'?"},
        Mistake{"    capture: {format: \"a b\"}\n",
                "4:23: cameras.dock.capture.format: expected FFmpeg's name of a pixel format or codec, such as "
                "yuyv422 or mjpeg, got 'a b'"},
        Mistake{"    use_absolute_timestamp: 1\n",
                "4:29: cameras.dock.use_absolute_timestamp: expected true or false, got '1'"},
        Mistake{"    rate: -1\n", "4:11: cameras.dock.rate: expected a number from 0 to 1000, got '-1'"}));

const std::string segment_text = "expected 0 (one file) or a time from 1s to 1d (units ms, s, m, h, d), got ";
const std::string size_text = "expected bytes from 1M to 1000T (units k, M, G, T), such as 20G, got ";
const std::string second_text =
    "expected a path with the time to the second, such as {camera}/%Y-%m-%d_%H-%M-%S.mp4, since with ";
const std::string push_text = "expected a URL of rtsp, rtsps, srt, udp, rtmp or rtmps";

INSTANTIATE_TEST_SUITE_P(
    Record, OneMistake,
    ::testing::Values(
        Mistake{"    record: {path: '%s.mp4', segment_duration: 1}\n",
                "4:48: cameras.dock.record.segment_duration: " + segment_text + "'1'"},
        Mistake{"    record: {path: '%s.mp4', segment_duration: 25h}\n",
                "4:48: cameras.dock.record.segment_duration: " + segment_text + "'25h'"},
        Mistake{"    record: {path: '%Y-%m-%d.mp4', segment_duration: 1h}\n",
                "4:20: cameras.dock.record.path: " + second_text +
                    "`segment_duration` there is a file for each start, got '%Y-%m-%d.mp4'"},
        Mistake{"    filters: [motion]\n    record: {path: '%H%M.mkv', when: motion}\n",
                "5:20: cameras.dock.record.path: " + second_text +
                    "`when: motion` there is a file for each start, got '%H%M.mkv'"},
        Mistake{"    record: {path: '%T.mkv', when: motion}\n",
                "4:36: cameras.dock.record.when: no filter looks for motion in camera 'dock'; add `motion` to its "
                "`filters`"},
        Mistake{"    record: {path: '%s.mp4', when: often}\n",
                "4:36: cameras.dock.record.when: expected always or motion, got 'often'"},
        Mistake{"    record: {path: a.mp4, delete_after: 7}\n",
                "4:41: cameras.dock.record.delete_after: expected a time from 1s to 3650d (units ms, s, m, h, d), got "
                "'7'"},
        Mistake{"    record: {path: a.mp4, max_size: 500K}\n",
                "4:37: cameras.dock.record.max_size: " + size_text + "'500K'"},
        Mistake{"    record: {path: a.mp4, max_size: 999k}\n",
                "4:37: cameras.dock.record.max_size: " + size_text + "'999k'"},
        Mistake{"    record: {path: a.mp4, keep_free: 5%}\n",
                "4:38: cameras.dock.record.keep_free: " + size_text + "'5%'"},
        Mistake{"    record: {path: a.mp4, after: 0s}\n",
                "4:34: cameras.dock.record.after: expected a time from 1s to 1h (units ms, s, m, h, d), got '0s'"},
        Mistake{"    record: {path: a.mp4, before: 6m}\n",
                "4:35: cameras.dock.record.before: expected a time from 0s to 5m (units ms, s, m, h, d), got '6m'"}));

INSTANTIATE_TEST_SUITE_P(
    PushAndSnapshot, OneMistake,
    ::testing::Values(
        Mistake{"    push: rtsp://a/b\n", "4:11: cameras.dock.push: expected a list, got 'rtsp://a/b'"},
        Mistake{"    push: [/live/secret]\n",
                "4:12: cameras.dock.push[0]: " + push_text + ", such as rtsp://10.0.0.9:8554/dock"},
        Mistake{"    push: [[a]]\n", "4:12: cameras.dock.push[0]: " + push_text + ", got a list"},
        Mistake{"    push: [udp://a:1, udp://a:2, udp://a:3, udp://a:4, udp://a:5, udp://a:6, udp://a:7, udp://a:8,\n"
                "      udp://a:9]\n",
                "5:7: cameras.dock.push[8]: more than 8 targets"},
        Mistake{"    push: [rtsp://a/b, udp://a:1]\n    encode: {codec: mjpeg}\n",
                "4:24: cameras.dock.push[1]: udp:// does not carry mjpeg; choose another codec"},
        Mistake{"    push: ['udp://127.0.0.1:99999']\n",
                "4:12: cameras.dock.push[0]: 'udp://127.0.0.1:99999' has no port from 1 to 65535, expected something "
                "like udp://239.0.0.1:5000"},
        Mistake{"    push: ['rtsp://a:0/b']\n",
                "4:12: cameras.dock.push[0]: 'rtsp://a:0/b' has no port from 1 to 65535, expected something like "
                "rtsp://10.0.0.9:8554/dock"},
        Mistake{"    push: [udp://a:1, udp://a:1]\n",
                "4:23: cameras.dock.push[1]: camera 'dock' pushes to the same target as camera 'dock'"},
        Mistake{"    snapshot: {path: a.png}\n",
                "4:22: cameras.dock.snapshot.path: expected a path that ends in .jpg, got 'a.png'"},
        Mistake{"    snapshot: {path: '%Y.jpg'}\n",
                "4:22: cameras.dock.snapshot.path: a snapshot is one file: no time fields, and no '%'"},
        Mistake{"    snapshot: {path: '{name}.jpg'}\n",
                "4:22: cameras.dock.snapshot.path: unknown field '{name}', expected {camera} or {output}"},
        Mistake{"    snapshot: {every: 1s}\n", "4:5: cameras.dock.snapshot: missing key 'path'"},
        Mistake{"    snapshot: {path: a.jpg, every: 50ms}\n",
                "4:36: cameras.dock.snapshot.every: expected a time from 100ms to 1h (units ms, s, m, h, d), got "
                "'50ms'"},
        Mistake{"    snapshot: {path: /proc/a.jpg}\n",
                "4:22: cameras.dock.snapshot.path: the folder '/proc' is of a file system that takes no files"}));

TEST_F(ConfigTest, KeysOfSourcesAreRead) {
  write("ca.pem", "");
  const auto all = cameras(
      "cameras:\n"
      "  a: {source: 'rtsps://u:p@host/s', stream: 1, audio: off, rtsp_transport: tcp, read_timeout: 5s,\n"
      "      retry_interval: 2s, retry_max: 1m, tls: {verify: false, ca_file: ca.pem}, on_corrupt: skip,\n"
      "      timestamps: arrival, use_absolute_timestamp: false, rate: 12.5, allow_redirects: true}\n"
      "  b: {source: 'http://host/v.mjpg', retry_interval: 10m}\n"
      "  c: {source: 'udp://:5000', retry_max: 500ms, drop_policy: block, decode: {isolation: always}}\n");
  SourceConfig source;
  source.url = "rtsps://u:p@host/s";
  source.stream = 1;
  source.audio = Audio::off;
  source.rtsp_transport = RtspTransport::tcp;
  source.read_timeout = 5s;
  source.verify_certificate = false;
  source.ca_file = "ca.pem";
  source.allow_redirects = true;
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].source, source);
  EXPECT_TRUE(all[0].retry_interval == 2s && all[0].retry_max == 1min);
  EXPECT_TRUE(all[0].on_corrupt == OnCorrupt::skip && !all[0].use_absolute_timestamp && all[0].rate == 12.5);
  EXPECT_TRUE(all[0].timestamps == Timestamps::arrival && all[1].timestamps == Timestamps::camera);
  EXPECT_TRUE(all[1].decode_isolation == DecodeIsolation::automatic);
  EXPECT_TRUE(all[2].decode_isolation == DecodeIsolation::always);
  // One of the two alone moves the other's default out of its way.
  EXPECT_TRUE(all[1].retry_interval == 10min && all[1].retry_max == 10min);
  EXPECT_TRUE(all[2].retry_interval == 500ms && all[2].retry_max == 500ms);
  // Live sources cannot wait; who says so gets what he asks for.
  EXPECT_EQ(all[0].drop_policy, DropPolicy::drop);
  EXPECT_EQ(all[2].drop_policy, DropPolicy::block);
}

TEST_F(ConfigTest, TargetsAreRead) {
  const LoadedConfig loaded =
      load("defaults: {record: {segment_duration: 10m, max_size: 20G, path: 'r/{camera}/%s.mp4'}}\n" +
           with_camera(
               "    filters: [motion]\n"
               "    record: {delete_after: 7d, keep_free: 50G, overwrite: true, when: motion, before: 0s, after: 1m}\n"
               "    push: ['rtsp://10.0.0.9/a', 'srt://10.0.0.9:9000']\n"
               "    snapshot: {path: 's/{camera}.jpg', every: 250ms}\n"
               "events: log/events.jsonl\n"));
  ASSERT_EQ(formatted(loaded), Strings());
  const CameraConfig& camera = loaded.rig.cameras.at(0);
  const RecordConfig record{"r/{camera}/%s.mp4", 10min, 168h, 20'000'000'000, 50'000'000'000, true,
                            RecordWhen::motion,  0s,    1min};
  EXPECT_EQ(camera.record, record);
  EXPECT_EQ(camera.push, (std::vector<PushUrl>{{"rtsp://10.0.0.9/a"}, {"srt://10.0.0.9:9000"}}));
  EXPECT_EQ(camera.snapshot, (SnapshotConfig{"s/{camera}.jpg", 250ms}));
  EXPECT_EQ(loaded.rig.events, "log/events.jsonl");
  EXPECT_EQ(load(with_camera("    record: {path: a.mp4, segment_duration: 0}\n")).rig.cameras.at(0).record,
            (RecordConfig{"a.mp4"}));
}

// --- keys that mean nothing for such a source --------------------------------------------------------------------

TEST_F(ConfigTest, KeysOfOtherSourcesAreRefusedOnTheCamera) {
  const std::string live = with_source("rtsp://host/s", "    loop: true\n    pace: fast\n    tls: {verify: false}\n");
  EXPECT_EQ(errors(live),
            (Strings{"rig.yaml:4:5: cameras.dock.loop: is only for files and test patterns, and this source is none; "
                     "remove the key",
                     "rig.yaml:5:5: cameras.dock.pace: is only for files and test patterns, and this source is none; "
                     "remove the key",
                     "rig.yaml:6:11: cameras.dock.tls.verify: is only for sources of rtsps:// and https://, and this "
                     "source is none; remove the key"}));
  EXPECT_THAT(errors(with_camera("    rtsp_transport: tcp\n")),
              ElementsAre(HasSubstr("4:5: cameras.dock.rtsp_transport: is only for sources of rtsp://")));
  EXPECT_THAT(errors(with_source("srt://host:9000", "    capture: {width: 640, rate: 10}\n")),
              ElementsAre(HasSubstr("4:15: cameras.dock.capture.width: is only for capture devices (/dev/videoN),"),
                          HasSubstr("4:27: cameras.dock.capture.rate: is only for pictures at a URL (http(s)), capture "
                                    "devices (/dev/videoN) and numbered pictures,")));
  // A scheme that is not known says nothing about the other keys.
  EXPECT_EQ(errors(with_source("rstp://host/s", "    rtsp_transport: tcp\n")).size(), 1U);
}

TEST_F(ConfigTest, APictureAnHourIsTheLeastRate) {
  const std::string url = "http://10.0.0.11/snapshot.jpg";
  EXPECT_THAT(errors(with_source(url, "    capture: {rate: 0.000278}\n")), ElementsAre());
  EXPECT_THAT(errors(with_source(url, "    capture: {rate: 0.0002}\n")),
              ElementsAre(HasSubstr("4:21: cameras.dock.capture.rate: expected a number from 0.000277")));
}

TEST_F(ConfigTest, ADeviceIsAskedForAWholeSize) {
  EXPECT_THAT(errors(with_source("/dev/video0", "    capture: {width: 640}\n")),
              ElementsAre(HasSubstr("4:15: cameras.dock.capture.width: needs `height` beside it")));
  EXPECT_THAT(errors(with_source("/dev/video0", "    capture: {rate: 5, height: 480}\n")),
              ElementsAre(HasSubstr("4:24: cameras.dock.capture.height: needs `width` beside it")));
  EXPECT_THAT(errors(with_source("/dev/video0", "    capture: {width: 640, height: 480}\n")), ElementsAre());
}

TEST_F(ConfigTest, TheOwnerOfFilesIsNotKeptOut) {
  for (const std::string mask : {"0100", "0777", "77", "0088"}) {
    EXPECT_THAT(errors("umask: '" + mask + "'\n" + with_camera("")),
                ElementsAre(HasSubstr("umask: expected four octal digits from 0000 to 0077")))
        << mask;
  }
  EXPECT_THAT(errors("umask: '0077'\n" + with_camera("")), ElementsAre());
}

TEST_F(ConfigTest, InDefaultsTheySimplyDoNotApply) {
  write("shot1.png", "");
  const auto all = cameras(
      "defaults: {loop: true, pace: fast, rtsp_transport: udp, tls: {verify: false}, capture: {width: 640, rate: 5}}\n"
      "cameras: {a: {source: 'rtsp://host/s'}, b: {source: '" +
      pattern + "'}, c: {source: 'shot%d.png'}}\n");
  ASSERT_EQ(all.size(), 3U);
  SourceConfig a;
  a.url = "rtsp://host/s";
  a.rtsp_transport = RtspTransport::udp;
  EXPECT_EQ(all[0].source, a);
  SourceConfig b;
  b.url = pattern;
  b.loop = true;
  b.pace = Pace::fast;
  EXPECT_EQ(all[1].source, b);
  EXPECT_EQ(all[2].source.capture, (CaptureConfig{0, 0, 5, ""}));
}

TEST_F(ConfigTest, RetriesThatDisagreeAreToldWhereTheNearerOneStands) {
  EXPECT_THAT(errors("defaults: {retry_max: 5s}\n" + with_camera("    retry_interval: 10s\n")),
              ElementsAre(HasSubstr("5:21: cameras.dock.retry_interval: expected at most `retry_max`, which is '5s'")));
  EXPECT_THAT(errors("defaults: {retry_interval: 10s, retry_max: 5s}\ncameras: {a: {source: '" + pattern +
                     "'}, b: {source: '" + pattern + "'}}\n"),
              ElementsAre(HasSubstr("1:44: defaults.retry_max: expected at least")));
}

TEST_F(ConfigTest, FilesMustBeThereOrPossible) {
  EXPECT_THAT(
      conditions(with_source("https://host/s", "    tls: {ca_file: nowhere.pem}\n")),
      ElementsAre("rig.yaml:4:20: cameras.dock.tls.ca_file: the file 'nowhere.pem' cannot be read: No such file "
                  "or directory"));
  EXPECT_THAT(errors(with_camera("events: /proc/a.jsonl\n")),
              ElementsAre(HasSubstr("4:9: events: the folder '/proc' is of a file system that takes no files")));
}

// What is there may be another thing later; what is written so is a folder for ever.
TEST_F(ConfigTest, AFolderWhereAFileIsExpectedIsACondition) {
  std::filesystem::create_directory("clips");
  EXPECT_THAT(conditions(with_source("clips", "")),
              ElementsAre(HasSubstr("cameras.dock.source: 'clips' is a folder, not a video file")));
  EXPECT_THAT(conditions(with_source("/dev/null", "")), ElementsAre(HasSubstr("is a pipe or a device")));
  for (const std::string path : {"clips/", ".", "clips/.."})
    EXPECT_THAT(errors(with_source(path, "")), ElementsAre(HasSubstr("is a folder, not a video file"))) << path;
}

TEST_F(ConfigTest, EveryFieldThatTellsTheSecondIsGoodForSegments) {
  for (const std::string field : {"%S", "%s", "%T"}) {
    EXPECT_EQ(errors(with_camera("    record: {path: '" + field + ".mp4', segment_duration: 1s}\n")), Strings());
  }
  for (const std::string field : {"%F", "%H-%M", "%%S", "{camera}"}) {
    EXPECT_EQ(errors(with_camera("    record: {path: '" + field + ".mp4', segment_duration: 1s}\n")).size(), 1U);
  }
}

TEST_F(ConfigTest, SnapshotsMustNotShareAFile) {
  EXPECT_THAT(
      errors("defaults: {source: '" + pattern + "', snapshot: {path: a.jpg}}\ncameras: {a: {}, b: {}}\n"),
      ElementsAre(HasSubstr("defaults.snapshot.path: camera 'b' writes snapshots to the same file as camera 'a', "
                            "use {camera} in the path")));
}

// --- secrets -----------------------------------------------------------------------------------------------------

TEST_F(ConfigTest, SecretsOfUrlsAreNotPrinted) {
  ::setenv("CAMPIPE_TEST_SECRET", "hunter2", 1);
  const Strings rigs{with_source("rtsps://user:hunter2@:99999/s", ""),
                     with_source("srt://host?passphrase=hunter2&mode=caller", ""),
                     with_source("rtsp://user:${CAMPIPE_TEST_SECRET}@", ""),
                     with_source("rtsp://user:hunter2@host/s", "    loop: true\n"),
                     with_camera("    gpu: http://host/s?token=hunter2\n"),
                     with_camera("    push: ['rtmp:/host/live/hunter2']\n"),
                     with_camera("    push: ['srt://host?streamid=hunter2']\n"),
                     with_camera("    push: ['rtsp://user:hunter2@']\n"),
                     with_camera("    push: ['foo://user:hunter2@host']\n"),
                     with_camera("    push: ['srt://user:${CAMPIPE_TEST_SECRET}@host']\n"),
                     with_camera("    push: [${CAMPIPE_TEST_SECRET}]\n"),
                     with_camera("    push: ['${CAMPIPE_TEST_SECRET}://host/a']\n"),
                     with_camera("    push: ['rtsp:///${CAMPIPE_TEST_SECRET}/a']\n"),
                     with_camera("    push: ['rtmp://host/live/hunter2', 'rtmp://host/live/hunter2']\n"),
                     with_camera("    snapshot: {path: '/proc/${CAMPIPE_TEST_SECRET}.jpg'}\n"),
                     with_camera("events: '/proc/${CAMPIPE_TEST_SECRET}'\n")};
  for (const std::string& rig : rigs) EXPECT_THAT(errors(rig), ElementsAre(Not(HasSubstr("hunter2")))) << rig;
  EXPECT_THAT(conditions(with_source("https://host/", "    tls: {ca_file: '${CAMPIPE_TEST_SECRET}'}\n")),
              ElementsAre(Not(HasSubstr("hunter2"))));
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

TEST(ConfigUnits, SizesAndTimesAreWrittenAsTheyAreRead) {
  EXPECT_EQ(parse_size("500M"), 500'000'000);
  EXPECT_EQ(parse_size("1.5T"), 1'500'000'000'000);
  EXPECT_EQ(parse_size("123"), 123);
  EXPECT_EQ(parse_size("1.5"), std::nullopt);
  EXPECT_EQ(parse_size("20GB"), std::nullopt);
  for (const std::string text : {"100ms", "0s", "90s", "10m", "23h", "7d"}) {
    EXPECT_EQ(time_text(*parse_time(text)), text);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
