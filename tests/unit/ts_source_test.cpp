// Transport streams from a network: each frame is there when its last packet is, with FFmpeg and GStreamer as senders
// and one that sends a frame only when the one before has been read.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <fstream>
#include <mutex>

#include "core/clock.h"
#include "core/libav_log.h"
#include "tests/integration/frame_hashes.h"
#include "tests/unit/live_test_support.h"
#include "tests/unit/transport_stream.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace test;
using testing::Ge;
using testing::SizeIs;

constexpr unsigned video_pid = 256;
constexpr std::size_t analyzed = 150;  // frames that are sent for the analysis without waiting

std::string read_file(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(input), {}};
}

// Sends a stream frame by frame: the first ones without waiting, each of the others when those before were read.
class Lockstep {
 public:
  // Where the end of a frame is not to be seen, the next one is sent, too. `first`: how many are not waited for.
  explicit Lockstep(std::vector<TsPart> parts, std::size_t first = analyzed)
      : parts_(std::move(parts)), first_(first) {}

  // Returns when all was sent, or `send` could not, or nothing was read for long.
  void run(const std::function<bool(const std::string& packets)>& send) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i >= first_ && parts_[i - 1].stuffed) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, patience, [&] { return read_ >= i; })) return;
      }
      if (!send(parts_[i].packets)) return;
    }
  }
  // One more frame.
  void was_read() {
    {
      const std::lock_guard lock(mutex_);
      ++read_;
    }
    changed_.notify_all();
  }
  [[nodiscard]] std::size_t frames() const { return parts_.size() - (parts_.back().stuffed ? 0 : 1); }

 private:
  std::vector<TsPart> parts_;
  std::size_t first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t read_ = 0;
};

sockaddr_in here(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A socket that sends datagrams to that port, when somebody receives there.
UniqueFd connected_to(int port) {
  const sockaddr_in address = here(port);
  const auto* const to = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  for (const Deadline deadline = Clock::now() + patience; Clock::now() < deadline; std::this_thread::yield()) {
    UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::bind(fd.get(), to, sizeof(address)) == 0) continue;
    ::connect(fd.get(), to, sizeof(address));
    return fd;
  }
  ADD_FAILURE() << "nobody receives at port " << port;
  return {};
}

// In datagrams of seven packets, from a socket that is connected.
bool send_datagrams(int fd, const std::string& packets) {
  constexpr std::size_t size = 7 * ts_packet_size;
  for (std::size_t i = 0; i < packets.size(); i += size) {
    const std::string datagram = packets.substr(i, size);
    if (::send(fd, datagram.data(), datagram.size(), MSG_NOSIGNAL) < 0) return false;
  }
  return true;
}

class TransportStream : public testing::Test {
 protected:
  static void SetUpTestSuite() { install_libav_log(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  // 8 s at 25 frames a second, with sound, small enough for any buffer.
  std::string make_clip(const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"-f", "lavfi", "-i",       "testsrc2=size=96x64:rate=25",
                                       "-f", "lavfi", "-i",       "sine=sample_rate=48000",
                                       "-t", "8",     "-pix_fmt", "yuv420p",
                                       "-g", "25"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back(file("clip.ts"));
    run_ffmpeg(arguments);
    return read_file(file("clip.ts"));
  }
  std::string make_h264_clip() { return make_clip({"-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"}); }

  // All frames of what is sent come, though the sender waits for each.
  static void expect_all(Lockstep& sender, Source& source) {
    const AvPacket packet = make_av_packet();
    for (std::size_t count = 0; count < sender.frames();) {
      const ReadResult result = source.read(*packet);
      av_packet_unref(packet.get());
      if (result == ReadResult::audio) continue;
      ASSERT_EQ(result, ReadResult::packet) << count;
      sender.was_read();
      ++count;
    }
  }

  // The first key frame that comes, and those behind it, up to `count` or the end: hashes of what is decoded of them.
  // `extension`: of a file that has the video alone.
  [[nodiscard]] std::vector<std::string> decoded(Source& source, int count, const std::string& extension) const {
    const std::string name = file("received." + extension);
    std::ofstream units(name, std::ios::binary);
    const AvPacket packet = make_av_packet();
    try {
      for (int taken = 0; taken < count; av_packet_unref(packet.get())) {
        const ReadResult result = source.read(*packet);
        const bool key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
        if (result != ReadResult::packet || (taken == 0 && !key)) continue;
        units.write(static_cast<const char*>(static_cast<const void*>(packet->data)), packet->size);
        ++taken;
      }
    } catch (const SourceError& error) {
      EXPECT_EQ(error.kind, SourceError::Kind::lost) << error.what();
    }
    units.close();
    return video_hashes(name, whole);
  }
  [[nodiscard]] std::vector<std::string> frames_of_clip() const { return video_hashes(file("clip.ts"), whole); }

  static constexpr const char* whole = "-fps_mode passthrough";
  TemporaryFolder folder_;
};

struct Clip {
  std::string name;
  std::string extension;
  std::vector<std::string> options;
};

class TransportStreamOf : public TransportStream, public testing::WithParamInterface<Clip> {};

TEST_P(TransportStreamOf, GivesEachFrameBeforeTheNextIsSent) {
  Lockstep sender(split_at_ends(make_clip(GetParam().options), video_pid));
  const Server server([&](int fd, const std::atomic<bool>& /*over*/) {
    sender.run([fd](const std::string& packets) { return send_all(fd, packets); });
  });
  const auto source = open_source(source_of(local("tcp", server.port())), never);
  expect_all(sender, *source);
}

TEST_P(TransportStreamOf, GivesTheFramesThatFFmpegDecodes) {
  make_clip(GetParam().options);
  const int port = free_port();
  const Program sender({"ffmpeg", "-hide_banner", "-loglevel", "fatal", "-i", file("clip.ts"), "-c", "copy", "-f",
                        "mpegts", local("tcp", port, "?listen=1")});
  const auto source = open_soon(source_of(local("tcp", port)));
  const auto frames = frames_of_clip();
  EXPECT_THAT(frames, SizeIs(200));
  EXPECT_EQ(decoded(*source, 1000, GetParam().extension), frames);
}

INSTANTIATE_TEST_SUITE_P(
    Codecs, TransportStreamOf,
    testing::Values(
        Clip{"H264", "h264", {"-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"}},
        Clip{"H264_b_frames", "h264", {"-c:v", "libx264", "-preset", "fast", "-bf", "2", "-c:a", "mp2"}},
        Clip{"H264_slices", "h264", {"-c:v", "libx264", "-preset", "ultrafast", "-slices", "3", "-c:a", "ac3"}},
        Clip{"HEVC",
             "hevc",
             {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:bframes=2", "-c:a", "aac"}},
        Clip{"MPEG2", "m2v", {"-c:v", "mpeg2video", "-bf", "2", "-b:v", "300k", "-c:a", "mp2"}}),
    [](const auto& test) { return test.param.name; });

TEST_F(TransportStream, ByUdpGivesEachFrameBeforeTheNextIsSent) {
  if (!udp_is_closed) GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
  Lockstep sender(split_at_ends(make_h264_clip(), video_pid));
  const int port = free_port(SOCK_DGRAM);
  const std::jthread sending([&] {
    const UniqueFd fd = connected_to(port);
    sender.run([&](const std::string& packets) { return send_datagrams(fd.get(), packets); });
  });
  const auto source = open_source(source_of(local("udp", port)), never);
  expect_all(sender, *source);
}

// GStreamer passes on what it gets. SRT has a second to send again what was lost; it delays each frame by that.
TEST_F(TransportStream, BySrtGivesEachFrameBeforeTheNextIsSent) {
  constexpr std::size_t waited_for = 6;
  const auto parts = split_at_ends(make_h264_clip(), video_pid);
  Lockstep sender(parts, parts.size() - waited_for);
  const Server server([&](int fd, const std::atomic<bool>& over) {
    sender.run([fd](const std::string& packets) { return send_all(fd, packets); });
    stay_silent(fd, over);
  });
  const int port = free_port(SOCK_DGRAM);
  const Program relay({"gst-launch-1.0", "-q", "tcpclientsrc", "host=127.0.0.1",
                       "port=" + std::to_string(server.port()), "!", "srtsink", "sync=false", "latency=1000",
                       "uri=srt://127.0.0.1:" + std::to_string(port) + "?mode=listener"});
  const auto source = open_soon(source_of(local("srt", port)));
  expect_all(sender, *source);
}

// The clip by a peer's own muxer, in its own time.
class TransportStreamBy : public TransportStream, public testing::WithParamInterface<bool> {
 protected:
  // `to`: a URL. GStreamer's or FFmpeg's.
  [[nodiscard]] std::vector<std::string> sender(const std::string& scheme, int port) const {
    const std::string url = local(scheme, port, scheme == "srt" ? "?mode=listener" : "");
    if (!GetParam()) {
      return {"ffmpeg", "-hide_banner", "-loglevel",     "fatal",
              "-re",    "-i",           file("clip.ts"), "-c",
              "copy",   "-f",           "mpegts",        scheme == "udp" ? url + "?pkt_size=1316" : url};
    }
    std::vector<std::string> command{"gst-launch-1.0", "-q",          "filesrc",   "location=" + file("clip.mp4"), "!",
                                     "qtdemux",        "!",           "h264parse", "config-interval=-1",           "!",
                                     "mpegtsmux",      "alignment=7", "!"};
    if (scheme == "udp") command.insert(command.end(), {"udpsink", "host=127.0.0.1", "port=" + std::to_string(port)});
    if (scheme == "srt") command.insert(command.end(), {"srtsink", "sync=true", "uri=" + url});
    return command;
  }
  void SetUp() override {
    make_h264_clip();
    run_ffmpeg({"-i", file("clip.ts"), "-c", "copy", "-an", file("clip.mp4")});
  }
  void expect_part(const std::vector<std::string>& frames) const {
    EXPECT_THAT(frames, SizeIs(75));
    const auto all = frames_of_clip();
    EXPECT_FALSE(std::ranges::search(all, frames).empty()) << "they are not frames of the clip, one after the other";
  }
};

TEST_P(TransportStreamBy, UdpIsWhatFFmpegDecodes) {
  if (!udp_is_closed) GTEST_SKIP() << "ThreadSanitizer ends the program where UDP is closed";
  const int port = free_port(SOCK_DGRAM);
  const Program program(sender("udp", port));
  const auto source = open_source(source_of(local("udp", port)), never);
  expect_part(decoded(*source, 75, "h264"));
}

TEST_P(TransportStreamBy, SrtIsWhatFFmpegDecodes) {
  const int port = free_port(SOCK_DGRAM);
  const Program program(sender("srt", port));
  const auto source = open_soon(source_of(local("srt", port)));
  expect_part(decoded(*source, 75, "h264"));
}

INSTANTIATE_TEST_SUITE_P(Peers, TransportStreamBy, testing::Bool(),
                         [](const auto& test) { return test.param ? "GStreamer" : "FFmpeg"; });

// Such as packets of 192 bytes, which the next connection finds.
TEST_F(TransportStream, IsLostWhereNoMorePacketsCome) {
  const std::string clip = make_h264_clip();
  std::string timed;
  for (std::size_t i = 0; i < clip.size(); i += ts_packet_size)
    timed += std::string(4, '\0') + clip.substr(i, ts_packet_size);
  const Server server([&](int fd, const std::atomic<bool>& over) {
    if (send_all(fd, clip) && send_all(fd, timed)) stay_silent(fd, over);
  });
  SourceConfig config = source_of(local("tcp", server.port()));
  config.read_timeout = 2 * patience;
  const auto source = open_source(config, never);
  const AvPacket packet = make_av_packet();
  try {
    for (;; av_packet_unref(packet.get())) source->read(*packet);
  } catch (const SourceError& error) {
    EXPECT_EQ(error.kind, SourceError::Kind::lost) << error.what();
  }
}

// The programme map moves video and sound to other streams, and back.
class MovedByTheMap : public TransportStream {
 protected:
  // `repack`: the video's packets.
  void expect_no_loss(const std::string& options,
                      const std::function<std::string(const std::string&, unsigned)>& repack) {
    std::string stream;
    int version = 0;
    for (const unsigned pid : {256U, 512U, 256U}) {
      const std::string part =
          make_clip({"-c:v", "libx264", "-preset", "ultrafast", "-x264-params", options, "-c:a", "aac", "-streamid",
                     "0:" + std::to_string(pid), "-streamid", "1:" + std::to_string(pid + 1), "-tables_version",
                     std::to_string(++version), "-output_ts_offset", std::to_string(8 * version)});
      stream += repack(part, pid);
    }
    const Server server([&](int fd, const std::atomic<bool>& /*over*/) { send_all(fd, stream); });
    const auto source = open_source(source_of(local("tcp", server.port())), never);
    const AvPacket packet = make_av_packet();
    std::vector<std::int64_t> shown;
    std::int64_t decoded = AV_NOPTS_VALUE;
    try {
      for (;; av_packet_unref(packet.get())) {
        if (source->read(*packet) != ReadResult::packet) continue;
        const std::size_t at = shown.size();
        EXPECT_EQ(packet->duration, 3600) << at;
        if (at > 0) {
          EXPECT_EQ(packet->dts - decoded, 3600) << at;
        }
        EXPECT_EQ((packet->flags & AV_PKT_FLAG_KEY) != 0, at % 10 == 0) << at;
        decoded = packet->dts;
        shown.push_back(packet->pts);
      }
    } catch (const SourceError& error) {
      EXPECT_EQ(error.kind, SourceError::Kind::lost);
    }
    EXPECT_THAT(shown, SizeIs(3 * 200));
    std::ranges::sort(shown);
    for (std::size_t i = 1; i < shown.size(); ++i) EXPECT_EQ(shown[i] - shown[i - 1], 3600) << i;
    EXPECT_EQ(source->stream().serial, 2);
  }
};

TEST_F(MovedByTheMap, LosesNoFrame) {
  for (const char* options : {"bframes=0:keyint=10", "bframes=2:keyint=10:b-adapt=0:open-gop=0"})
    expect_no_loss(options, [](const std::string& part, unsigned) { return part; });
}

// In the same stream, which libavformat does not follow.
TEST_F(TransportStream, ThatGoesOnWithAnotherCodecIsOpenedAnew) {
  std::string stream;
  int version = 0;
  for (const char* codec : {"libx264", "mpeg2video"}) {
    stream += make_clip({"-c:v", codec, "-bf", "0", "-c:a", "aac", "-tables_version", std::to_string(++version),
                         "-output_ts_offset", std::to_string(8 * version)});
  }
  const Server server([&](int fd, const std::atomic<bool>& over) {
    send_all(fd, stream);
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  const auto source = open_source(source_of(local("tcp", server.port())), never);
  const AvPacket packet = make_av_packet();
  int frames = 0;
  try {
    for (;; av_packet_unref(packet.get())) frames += source->read(*packet) == ReadResult::packet ? 1 : 0;
  } catch (const SourceError& error) {
    EXPECT_EQ(error.kind, SourceError::Kind::lost);
    EXPECT_THAT(error.what(), testing::HasSubstr("of another codec now"));
  }
  EXPECT_NEAR(frames, 200, 2);
}

// Where the end of a PES packet is not to be seen, libavformat's parser has its frame when the map comes.
TEST_F(MovedByTheMap, LosesNoFrameWhoseEndIsNotToBeSeen) {
  expect_no_loss("bframes=0:keyint=10", [](const std::string& part, unsigned pid) {
    TsPacker packer(pid);
    std::string all;
    for (const TsPiece& piece : take_apart(part, pid)) {
      all += piece.packet;
      if (!piece.packet.empty()) continue;
      const std::size_t field = piece.field.empty() ? 0 : piece.field.size() + 1;
      for (const std::string& one : packer.pack(filled(piece.pes, field), piece.field)) all += one;
    }
    return all;
  });
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
