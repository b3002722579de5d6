// Outputs of a camera, and what they inherit; codecs, `copy` above all.
#include <gmock/gmock.h>

#include "app/config/config.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

TEST_P(OneMistake, IsToldOnceWithItsPlace) {
  EXPECT_EQ(errors(with_camera(GetParam().keys)), Strings{"rig.yaml:" + GetParam().error});
}

const std::string name_text =
    "an output's name has 1 to 64 of the characters A-Z, a-z, 0-9, _ and -, and begins with a letter or a digit";

INSTANTIATE_TEST_SUITE_P(
    Outputs, OneMistake,
    ::testing::Values(
        Mistake{"    outputs: [a]\n", "4:14: cameras.dock.outputs: expected a map, got a list"},
        Mistake{"    outputs: {a: 1}\n", "4:18: cameras.dock.outputs.a: expected a map, got '1'"},
        Mistake{"    outputs: {a/b: {}}\n", "4:15: cameras.dock.outputs.a/b: " + name_text},
        Mistake{"    outputs: {main: {}}\n",
                "4:15: cameras.dock.outputs.main: 'main' is the camera's own stream, an output needs another name"},
        Mistake{"    outputs: {a: {}, b: {}, c: {}, d: {}, e: {}}\n",
                "4:43: cameras.dock.outputs.e: more than 4 outputs"},
        Mistake{"    outputs: {a: {source: b.mp4}}\n",
                "4:19: cameras.dock.outputs.a.source: unknown key, expected filters, rate, encode, record, push or "
                "snapshot"},
        Mistake{"    outputs: {a: {filters: [{resize: {width: 1, height: 48}}]}}\n",
                "4:46: cameras.dock.outputs.a.filters[0].resize.width: expected an integer from 16 to 8192 "
                "(samples), got '1'"},
        Mistake{"    outputs: {a: {encode: {crf: 99}}}\n",
                "4:33: cameras.dock.outputs.a.encode.crf: expected a number from 0 to 51, got '99'"},
        Mistake{"    record: {path: a.mp4}\n    outputs: {a: {record: {path: a.mp4}}}\n",
                "5:34: cameras.dock.outputs.a.record.path: output 'a' of camera 'dock' records to the same file as "
                "camera 'dock'"},
        Mistake{"    outputs: {a: {record: {path: '%s.mp4', when: motion}}}\n",
                "4:50: cameras.dock.outputs.a.record.when: no filter looks for motion in camera 'dock'; add `motion` "
                "to its `filters`"}));

const std::string copy_text =
    "does not go with codec `copy`, for which nothing is decoded or encoded; remove it, or move it to one of `outputs` "
    "with another codec";

// Of a camera with a file, which has something to copy.
class CopyMistake : public OneMistake {};

TEST_P(CopyMistake, IsToldOnceWithItsPlace) {
  write("clip.mp4", "");
  EXPECT_EQ(errors(with_source("clip.mp4", GetParam().keys)), Strings{"rig.yaml:" + GetParam().error});
}

INSTANTIATE_TEST_SUITE_P(
    Copy, CopyMistake,
    ::testing::Values(
        Mistake{"    encode: {codec: copy, bitrate: 4M}\n", "4:27: cameras.dock.encode.bitrate: " + copy_text},
        Mistake{"    encode: {codec: copy, options: {bf: 0}}\n", "4:27: cameras.dock.encode.options: " + copy_text},
        Mistake{"    encode: {codec: copy, gop: 2s}\n", "4:27: cameras.dock.encode.gop: " + copy_text},
        Mistake{"    filters: [motion, sharpen]\n    encode: {codec: copy}\n",
                "4:5: cameras.dock.filters: codec `copy` goes with no filter but `motion`; remove the others, or move "
                "them to one of `outputs` with another codec"},
        Mistake{"    rate: 5\n    encode: {codec: copy}\n", "4:5: cameras.dock.rate: " + copy_text},
        Mistake{"    on_corrupt: skip\n    encode: {codec: copy}\n", "4:5: cameras.dock.on_corrupt: " + copy_text},
        Mistake{"    encode: {codec: copy}\n    snapshot: {path: a.jpg}\n",
                "5:16: cameras.dock.snapshot.path: " + copy_text},
        Mistake{"    outputs: {a: {rate: 5, encode: {codec: copy}}}\n",
                "4:19: cameras.dock.outputs.a.rate: " + copy_text},
        // What an output inherits is the camera's, and good there.
        Mistake{"    filters: [motion]\n    encode: {bitrate: 1M}\n"
                "    outputs: {a: {encode: {codec: copy}, record: {path: '%s.mp4', when: motion}}}\n",
                "6:73: cameras.dock.outputs.a.record.when: no filter looks for motion in what is copied; add `motion` "
                "to the output's own `filters`"},
        Mistake{"    encode: {codec: copy}\n    record: {path: '%s.mp4', when: motion}\n",
                "5:36: cameras.dock.record.when: no filter looks for motion in camera 'dock'; add `motion` to its "
                "`filters`"}));

TEST_F(ConfigTest, ATestPatternCannotBeCopied) {
  EXPECT_THAT(
      errors(with_camera("    encode: {codec: copy}\n")),
      ElementsAre("rig.yaml:4:21: cameras.dock.encode.codec: a test pattern has nothing to copy, since no camera "
                  "encoded it"));
}

TEST_F(ConfigTest, WhatIsCopiedHasOnlyItsOwnMotion) {
  write("clip.mp4", "");
  const auto all = cameras(
      "defaults: {source: clip.mp4, filters: [sharpen, {motion: {y: 1}}]}\n"
      "cameras:\n"
      "  a: {encode: {codec: copy}, outputs: {small: {filters: [sharpen], encode: {codec: h264}}}}\n"
      "  b: {outputs: {raw: {filters: [{motion: {y: 2}}], encode: {codec: copy}, record: {path: '%s.mp4', when: "
      "motion}},\n"
      "      other: {encode: {codec: copy}}}}\n"
      "  c: {filters: [{motion: {y: 3}}], encode: {codec: copy}, record: {path: 'c%s.mp4', when: motion}}\n");
  ASSERT_EQ(all.size(), 3U);
  const auto motions = [](const StreamConfig& config) {
    std::vector<double> edges;
    for (const FilterConfig& filter : config.filters) edges.push_back(filter.parameters.at("y"));
    return edges;
  };
  EXPECT_THAT(motions(all[0]), ElementsAre(1));
  EXPECT_EQ(resolved_outputs(all[0]).at(1).filters, all[0].outputs[0].filters);
  EXPECT_EQ(all[1].filters.size(), 2U);
  EXPECT_THAT(motions(resolved_outputs(all[1]).at(1)), ElementsAre(2));
  EXPECT_THAT(motions(resolved_outputs(all[1]).at(2)), testing::IsEmpty());
  EXPECT_THAT(motions(all[2]), ElementsAre(3));
}

TEST_F(ConfigTest, ACopyingCameraTakesNothingOfDefaults) {
  write("clip.mp4", "");
  const auto all = cameras(
      "defaults: {source: clip.mp4, filters: [sharpen], rate: 5, encode: {preset: fast, crf: 20}, snapshot: {path: "
      "'{camera}.jpg'}}\n"
      "cameras:\n"
      "  a: {encode: {codec: copy}, outputs: {small: {filters: [motion], encode: {codec: h264, bitrate: 1M}}}}\n"
      "  b: {}\n");
  ASSERT_EQ(all.size(), 2U);
  EncoderConfig copy;
  copy.codec = "copy";
  EXPECT_EQ(all[0].encode, copy);
  EXPECT_TRUE(all[0].filters.empty() && all[0].rate == 0 && !all[0].snapshot);
  EXPECT_EQ(resolved_outputs(all[0]).at(1).filters, (std::vector<FilterConfig>{all[0].outputs[0].filters}));
  EXPECT_EQ(all[0].outputs[0].encode.bitrate, 1'000'000);
  EXPECT_TRUE(all[1].filters.size() == 1 && all[1].rate == 5 && all[1].snapshot);
}

TEST_F(ConfigTest, OutputsAreRead) {
  const auto all =
      cameras(with_camera("    encode: {preset: fast, bitrate: 6M, gop: 1s, options: {bf: 0}}\n"
                          "    filters: [motion]\n"
                          "    rate: 20\n"
                          "    record: {path: '{camera}/{output}/%s.mp4', segment_duration: 1m}\n"
                          "    push: ['udp://a:1']\n"
                          "    snapshot: {path: '{camera}.jpg'}\n"
                          "    outputs:\n"
                          "      small:\n"
                          "        filters: [{resize: {width: 64, height: 48}}]\n"
                          "        rate: 5\n"
                          "        encode: {crf: 30, options: {refs: 1}}\n"
                          "        record: {path: '{camera}/{output}/%s.mp4', when: motion, max_size: 1G}\n"
                          "        push: ['udp://a:2']\n"
                          "        snapshot: {path: '{camera}-{output}.jpg', every: 5s}\n"
                          "      plain: {}\n"));
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].outputs.size(), 2U);
  OutputConfig small;
  small.name = "small";
  small.filters = {{"resize", {{"width", 64}, {"height", 48}}}};
  small.rate = 5;
  small.encode = {
      "h264", "auto", "fast", std::nullopt, 30, 1000000000ns, Latency::low, 0, {{"bf", "0"}, {"refs", "1"}}};
  small.record = RecordConfig{"{camera}/{output}/%s.mp4", 0s, std::nullopt, 1'000'000'000, std::nullopt, false,
                              RecordWhen::motion};
  small.push = {{"udp://a:2"}};
  small.snapshot = SnapshotConfig{"{camera}-{output}.jpg", 5s};
  EXPECT_EQ(all[0].outputs[0], small);
  OutputConfig plain;  // nothing but `encode` is inherited
  plain.name = "plain";
  plain.encode = all[0].encode;
  EXPECT_EQ(all[0].outputs[1], plain);
}

TEST_F(ConfigTest, OutputsOfDefaultsAreReplacedAsAWhole) {
  const auto all = cameras("defaults: {source: '" + pattern +
                           "', outputs: {a: {record: {path: '{camera}-{output}.mp4'}}}}\n"
                           "cameras: {x: {encode: {crf: 30}}, y: {outputs: {b: {}}}, z: {outputs: {}}}\n");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].outputs.at(0).name, "a");
  EXPECT_EQ(all[0].outputs[0].encode.crf, 30);
  EXPECT_EQ(all[1].outputs.at(0).name, "b");
  EXPECT_TRUE(all[2].outputs.empty());
  EXPECT_THAT(
      errors("defaults: {source: '" + pattern +
             "', outputs: {a: {record: {path: a.mp4}}}}\ncameras: {x: {}, y: "
             "{}}\n"),
      ElementsAre(HasSubstr("output 'a' of camera 'y' records to the same file as output 'a' of camera 'x', use "
                            "{camera} in the path")));
  EXPECT_THAT(errors("defaults: {source: '" + pattern +
                     "', outputs: {a: {push: ['udp://a:1']}}}\ncameras: {x: {}, y: "
                     "{}, z: {}}\n"),
              ElementsAre(HasSubstr("defaults.outputs.a.push[0]: camera 'y' pushes to the same target as camera 'x'")));
}

// --- codecs ------------------------------------------------------------------------------------------------------

TEST_F(ConfigTest, AnotherCodecDoesNotInheritWhatIsTheEncoders) {
  const auto all = cameras(with_camera(
      "    encode: {encoder: libx264, preset: fast, bitrate: 6M, gop: 1s, latency: normal, options: {bf: 0}}\n"
      "    outputs: {a: {encode: {codec: mjpeg}}, b: {encode: {codec: h264}}}\n"));
  EncoderConfig mjpeg;
  mjpeg.codec = "mjpeg";
  mjpeg.bitrate = 6'000'000;
  mjpeg.gop = 1000000000ns;
  mjpeg.latency = Latency::normal;
  EXPECT_EQ(all.at(0).outputs.at(0).encode, mjpeg);
  EXPECT_EQ(all[0].outputs.at(1).encode, all[0].encode);
}

TEST_F(ConfigTest, ACamerasOwnStreamIsAllThatIsWanted) {
  write("clip.mp4", "");
  const std::string copied = "    outputs: {a: {encode: {codec: copy}, record: {path: a.mp4}}}\n";
  for (const std::string& keys :
       Strings{"", "    encode: {}\n", "    encode: {codec: auto}\n", "    filters: []\n    rate: 0\n", copied,
               "    gpu: cpu\n    decode: {threads: 2}\n    record: {path: b.mp4}\n    push: ['udp://a:1']\n"}) {
    const auto all = cameras(with_source("clip.mp4", keys));
    EXPECT_TRUE(is_auto(all.at(0).encode)) << keys;
    EXPECT_TRUE(all[0].outputs.empty() || is_copy(all[0].outputs[0].encode)) << keys;
  }
  EXPECT_TRUE(is_auto(cameras(with_source("rtsp://host/s", "")).at(0).encode));
  EXPECT_TRUE(is_auto(cameras(with_source("/dev/video0", "    capture: {format: h264}\n")).at(0).encode));
}

TEST_F(ConfigTest, WhatTakesFramesHasTheCameraEncoded) {
  write("clip.mp4", "");
  for (const std::string& keys :
       Strings{"    filters: [motion]\n", "    rate: 5\n", "    snapshot: {path: a.jpg}\n", "    on_corrupt: skip\n",
               "    encode: {bitrate: 2M}\n", "    encode: {codec: auto, gop: 1s}\n", "    encode: {codec: h264}\n"}) {
    const auto all = cameras(with_source("clip.mp4", keys));
    EXPECT_EQ(all.at(0).encode.codec, "h264") << keys;
  }
  const CameraConfig beside = cameras(with_source("clip.mp4", "    outputs: {a: {rate: 5}}\n")).at(0);
  EXPECT_EQ(beside.encode.codec, "auto") << "an output takes nothing from the camera's own stream";
  EXPECT_EQ(beside.outputs.at(0).encode.codec, "h264");
  EXPECT_EQ(cameras(with_camera("")).at(0).encode, EncoderConfig());
  EXPECT_EQ(cameras(with_source("/dev/video0", "")).at(0).encode, EncoderConfig());
  // What is said of all cameras is said of this one.
  const auto all = cameras(
      "defaults: {source: clip.mp4, encode: {encoder: libx264, bitrate: 2M}}\n"
      "cameras: {a: {}, b: {encode: {codec: auto}}, c: {encode: {codec: copy}}}\n");
  EXPECT_EQ(all.at(0).encode.bitrate, 2'000'000);
  EXPECT_EQ(all.at(1).encode, all[0].encode);
  EXPECT_TRUE(is_copy(all.at(2).encode));
  EXPECT_THAT(errors(with_source("clip.mp4", "    outputs: {a: {encode: {codec: auto}}}\n")),
              ElementsAre("rig.yaml:4:35: cameras.dock.outputs.a.encode.codec: expected h264, hevc, mjpeg or copy, got "
                          "auto, which is for a camera's own stream only"));
}

TEST_F(ConfigTest, WhatBrowsersDoNotPlayHasAnOutputThatTheyDo) {
  const std::string hevc = "    encode: {codec: hevc}\n";
  const LoadedConfig loaded = load(with_camera(hevc + "    outputs: {a: {}}\n"));
  ASSERT_EQ(formatted(loaded), Strings());
  const CameraConfig& dock = loaded.rig.cameras.at(0);
  ASSERT_EQ(dock.outputs.size(), 2U);
  EXPECT_FALSE(dock.outputs[0].on_demand);
  EXPECT_EQ(dock.outputs[1].name, browser_output);
  EXPECT_TRUE(dock.outputs[1].on_demand);
  EXPECT_EQ(dock.outputs[1].encode, EncoderConfig());
  EXPECT_TRUE(resolved_outputs(dock).at(2).on_demand);
  EXPECT_EQ(loaded.gpu_places.at(0).output_encoders.size(), 2U);
  EXPECT_EQ(cameras(with_camera("    encode: {codec: mjpeg}\n")).at(0).outputs.size(), 1U);
  EXPECT_TRUE(cameras(with_camera("    encode: {codec: h264}\n")).at(0).outputs.empty());
  EXPECT_TRUE(cameras("http_address: off\n" + with_camera(hevc)).at(0).outputs.empty());
  const auto own = cameras(with_camera(hevc + "    outputs: {browser: {rate: 5}}\n"));
  ASSERT_EQ(own.at(0).outputs.size(), 1U);
  EXPECT_FALSE(own[0].outputs[0].on_demand);
}

TEST_F(ConfigTest, AnEncoderMustBeOfTheCodec) {
  EXPECT_THAT(errors(with_camera("    encode: {codec: h264, encoder: mjpeg}\n")),
              ElementsAre(AllOf(HasSubstr("4:36: cameras.dock.encode.encoder: "), HasSubstr("mjpeg"))));
  EXPECT_THAT(
      errors(with_camera("    outputs: {a: {encode: {codec: hevc, encoder: h264_nvenc}}}\n")),
      ElementsAre(HasSubstr("4:50: cameras.dock.outputs.a.encode.encoder: 'h264_nvenc' is not an encoder of hevc")));
  // What an output inherits is told once, and where it stands.
  EXPECT_THAT(errors(with_camera("    encode: {encoder: nonsense}\n    outputs: {a: {}, b: {encode: {crf: 20}}}\n")),
              ElementsAre(HasSubstr("4:23: cameras.dock.encode.encoder: ")));
  EXPECT_THAT(errors(with_camera("    outputs: {a: {encode: {preset: nonsense}}}\n")),
              ElementsAre(HasSubstr("4:36: cameras.dock.outputs.a.encode.preset: ")));
}

TEST_F(ConfigTest, PlacesOfGpuEncodersOfOutputsAreKept) {
  const LoadedConfig loaded =
      load(with_camera("    outputs: {a: {encode: {encoder: h264_nvenc}}, b: {encode: {codec: hevc, encoder: "
                       "hevc_nvenc}}}\n"));
  ASSERT_EQ(formatted(loaded), Strings());
  const auto& places = loaded.gpu_places.at(0);
  EXPECT_EQ(places.encoder.line, 0);
  ASSERT_EQ(places.output_encoders.size(), 2U);
  EXPECT_EQ(places.output_encoders[0].path, "cameras.dock.outputs.a.encode.encoder");
  EXPECT_EQ(places.output_encoders[1].shown, "'hevc_nvenc'");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
