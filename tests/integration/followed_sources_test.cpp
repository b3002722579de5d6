// Copies of sources that go on with another stream: a camera whose size changes, HLS whose pieces have other headers, a
// programme map that moves the video. What is recorded can be decoded from each key frame on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/command_output.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* quiet = "http_address: off\nrtsp_address: off\nworkers: {count: 1}\n";

void run(const std::string& command) {
  Program program({"sh", "-c", command});
  ASSERT_EQ(program.wait(), 0) << command;
}

// The width that ffprobe finds.
int width_of(const std::string& url, const std::string& options = "") {
  const std::string text =
      output_of("timeout 20 ffprobe -v error " + options +
                " -select_streams v:0 -show_entries stream=width -of default=nk=1:nw=1 '" + url + "'");
  return text.empty() ? 0 : std::stoi(text);
}

void write_file(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

class FollowedSources : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::set<fs::path> recordings(const RigRun& rig, const std::string& camera) {
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(rig.folder())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(camera) && name.ends_with(".mp4")) files.insert(entry.path());
    }
    return files;
  }

  TemporaryFolder folder_;
};

// The size of the running stream changes; RTSP announces nothing.
TEST_F(FollowedSources, OfACameraBeginNewFilesAndViewersGetTheNewHeader) {
  if (const std::string why = TestCamera::missing(); !why.empty()) GTEST_SKIP() << why;
  TestCamera camera({"--width", "320", "--height", "240"});
  const std::string http = std::to_string(free_port());
  const std::string rtsp = std::to_string(free_port());
  RigRun rig("http_address: 127.0.0.1:" + http + "\nrtsp_address: 127.0.0.1:" + rtsp +
             "\nworkers: {count: 1}\ncameras:\n  cam:\n    source: \"" + camera.url() +
             "\"\n    rtsp_transport: tcp\n    record: {path: cam.mp4}\n");
  ASSERT_TRUE(rig.wait_for_growth("cam.mp4", 5000)) << rig.log();
  camera.command("resize 640x360");
  ASSERT_TRUE(rig.wait_for_growth("cam-1.mp4", 5000)) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("its frames are 640x360 now"));
  EXPECT_EQ(width_of("http://127.0.0.1:" + http + "/cameras/cam/stream.mp4"), 640);
  EXPECT_EQ(width_of("rtsp://127.0.0.1:" + rtsp + "/cam", "-rtsp_transport tcp"), 640);
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const auto files = recordings(rig, "cam");
  EXPECT_EQ(files.size(), 2U) << rig.log();
  for (const fs::path& file : files) EXPECT_EQ(check_key_frames(file), "");
  EXPECT_EQ(read_video(rig.file("cam.mp4")).width, 320);
  EXPECT_EQ(read_video(rig.file("cam-1.mp4")).width, 640);
}

// Pieces of two encoders, in one playlist: seconds 0 and 1 of the one, 2 and 3 of the other.
class FollowedHls : public FollowedSources {
 protected:
  void make_pieces(const std::string& name, const std::string& size, const std::string& options) {
    run("cd '" + folder_.path().string() + "' && ffmpeg -v error -y -f lavfi -i testsrc2=size=" + size +
        ":rate=25 -t 4 -c:v libx264 -pix_fmt yuv420p -preset ultrafast -g 25 -bf 0 " + options +
        " -f hls -hls_time 1 -hls_list_size 0 " + name + ".m3u8");
  }
  // Both halves are recorded, in two files that can be played. Returns the frames of the first one.
  std::size_t record(const std::string& lines) {
    write_file(path("all.m3u8"), "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n" + lines + "#EXT-X-ENDLIST\n");
    const std::string port = std::to_string(free_port());
    Program server({"python3", "-u", "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", folder_.path()});
    EXPECT_THAT(server.first_line(), HasSubstr("Serving"));
    RigRun rig(std::string(quiet) + "cameras: {cam: {source: \"http://127.0.0.1:" + port +
               "/all.m3u8\", record: {path: cam.mp4}}}\n");
    EXPECT_EQ(rig.wait(), 0) << rig.log();
    EXPECT_EQ(check_accounting(rig.report()), "");
    for (const char* file : {"cam.mp4", "cam-1.mp4"}) {
      if (!fs::exists(rig.file(file))) {
        ADD_FAILURE() << file << " is missing\n" << rig.log();
        return 0;
      }
      EXPECT_EQ(check_key_frames(rig.file(file)), "") << rig.log();
    }
    const VideoFile first = read_video(rig.file("cam.mp4"));
    const VideoFile second = read_video(rig.file("cam-1.mp4"));
    EXPECT_EQ(first.width, 320);
    EXPECT_EQ(second.width, 192);
    EXPECT_EQ(second.pictures.size(), 50U) << rig.log();
    return first.pictures.size();
  }
  // The playlist names two pieces of encoder a, then `third` and `fourth` of encoder b. The pieces are fragmented MP4,
  // and each encoder has its own init segment. Returns how many frames the first file has.
  std::size_t record_fragments(const std::string& third, const std::string& fourth) {
    const std::string fragments = "-hls_segment_type fmp4 -hls_fmp4_init_filename ";
    make_pieces("a", "320x240", fragments + "a.mp4 -hls_segment_filename a%d.m4s");
    make_pieces("b", "192x160", fragments + "b.mp4 -hls_segment_filename b%d.m4s");
    return record(
        "#EXT-X-MAP:URI=\"a.mp4\"\n#EXTINF:1,\na0.m4s\n#EXTINF:1,\na1.m4s\n#EXT-X-DISCONTINUITY\n"
        "#EXT-X-MAP:URI=\"b.mp4\"\n#EXTINF:1,\n" +
        third + "\n#EXTINF:1,\n" + fourth + "\n");
  }
};

TEST_F(FollowedHls, HasAnotherInitSegment) { EXPECT_EQ(record_fragments("b2.m4s", "b3.m4s"), 50U); }

TEST_F(FollowedHls, HasTimesThatBeginAnew) { EXPECT_EQ(record_fragments("b0.m4s", "b1.m4s"), 50U); }

TEST_F(FollowedHls, HasItsVideoInOtherStreams) {
  make_pieces("a", "320x240", "-hls_segment_options mpegts_start_pid=256 -hls_segment_filename a%d.ts");
  make_pieces("b", "192x160", "-hls_segment_options mpegts_start_pid=512 -hls_segment_filename b%d.ts");
  EXPECT_GE(
      record("#EXTINF:1,\na0.ts\n#EXTINF:1,\na1.ts\n#EXT-X-DISCONTINUITY\n#EXTINF:1,\nb2.ts\n#EXTINF:1,\nb3.ts\n"), 48U)
      << "the change costs what libavformat holds back";
}

// The programme map moves the video, and sound, to other streams.
class FollowedProgramme : public FollowedSources {
 protected:
  std::string make_part(const std::string& name, const std::string& pids, int begin, const std::string& size) {
    run("ffmpeg -v error -y -f lavfi -i testsrc2=size=" + size +
        ":rate=25 -f lavfi -i sine=sample_rate=48000 -t 2 "
        "-c:v libx264 -pix_fmt yuv420p -preset ultrafast -g 10 -c:a aac " +
        pids + " -output_ts_offset " + std::to_string(begin) + " -f mpegts '" + path(name) + "'");
    return read_text(path(name));
  }
};

TEST_F(FollowedProgramme, IsRecordedBeyondTheChange) {
  const std::string first = make_part("a.ts", "-streamid 0:257 -streamid 1:258 -tables_version 1", 0, "320x240");
  const std::string second = make_part("b.ts", "-streamid 0:513 -streamid 1:514 -tables_version 2", 2, "320x240");
  const std::string third = make_part("c.ts", "-streamid 0:257 -streamid 1:258 -tables_version 3", 4, "192x160");
  write_file(path("all.ts"), first + second + third);
  RigRun rig(std::string(quiet) + "defaults: {source: \"" + path("all.ts") +
             "\", pace: fast}\ncameras:\n  own: {record: {path: own.mp4}}\n"
             "  encoded: {encode: {codec: h264}, record: {path: encoded.mp4}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_THAT(rig.log(), HasSubstr("goes on with another stream"));
  EXPECT_EQ(recordings(rig, "own").size(), 2U) << "where nothing but the stream's number changes, the file goes on";
  EXPECT_EQ(read_video(rig.file("own-1.mp4")).width, 192);
  for (const std::string name : {"own", "encoded"}) {
    std::size_t frames_shown = 0;
    int sounds = 0;
    for (const fs::path& file : recordings(rig, name)) {
      EXPECT_EQ(check_key_frames(file), "");
      const VideoFile video = read_video(file);
      EXPECT_EQ(video.complaints, 0) << video.text;
      frames_shown += video.pictures.size();
      sounds += static_cast<int>(sound_times(file).size());
    }
    EXPECT_GE(frames_shown, 150U - 4) << name << ": each change costs what libavformat holds back\n" << rig.log();
    EXPECT_THAT(rig.log(), HasSubstr(std::to_string(150 - frames_shown) + " frames of the one before are lost"))
        << name;
    EXPECT_GE(sounds, 250) << name;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
