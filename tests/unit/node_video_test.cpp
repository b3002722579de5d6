// Real video of a camera on another node, for players: by HTTP and by RTSP, over the door of its node.
#include <filesystem>
#include <thread>

#include "core/clock.h"
#include "tests/unit/encoded_clip.h"
#include "tests/unit/live_client.h"
#include "tests/unit/node_test_support.h"
#include "tests/unit/rtsp_wire.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/tls_peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;

class NodeVideoTest : public testing::Test {
 protected:
  NodeVideoTest() {
    west_.show("gate", gate_);
    west_.serve_rtsp();
    introduce(east_, west_, {{"dock", "east"}, {"gate", "west"}});
    const Deadline deadline = Clock::now() + 60s;
    while (!gate_.stream()->parameters() && Clock::now() < deadline) std::this_thread::sleep_for(10ms);
  }
  // Waits for east's RTSP, too.
  void serve(const std::optional<TlsConfig>& tls = {}) {
    east_.serve_rtsp(tls);
    const Deadline deadline = Clock::now() + 60s;
    while (!tls && RtspWire(west_.rtsp_port()).ask("OPTIONS", "/gate").status == 0 && Clock::now() < deadline)
      std::this_thread::sleep_for(10ms);
    while (!tls && RtspWire(east_.rtsp_port()).ask("OPTIONS", "/gate").status == 0 && Clock::now() < deadline)
      std::this_thread::sleep_for(10ms);
  }
  [[nodiscard]] std::string url(const std::string& user, const std::string& scheme = "rtsp") const {
    return scheme + "://" + user + ":hunter2@127.0.0.1:" + std::to_string(east_.rtsp_port()) + "/gate";
  }
  // FFmpeg's exit status when it wants so many frames.
  static int ffmpeg(std::vector<std::string> source) {
    std::vector<std::string> command{"ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error"};
    command.insert(command.end(), source.begin(), source.end());
    command.insert(command.end(), {"-frames:v", "20", "-f", "null", "-"});
    return Program(command).wait();
  }
  LiveCamera gate_{encode(Latency::low, steady(50))};
  NodeAuthority authority_;
  TestNode east_{"east",
                 {node_user("ann", Permission::administer), node_user("ben", Permission::view, {"dock"}),
                  node_user("eve", Permission::view)},
                 {"dock"},
                 authority_.make("east", "IP:127.0.0.1")};
  TestNode west_{"west",
                 {node_user("ann", Permission::view), node_user("ben", Permission::view)},
                 {"gate"},
                 authority_.make("west", "IP:127.0.0.1")};
};

// Each node's cameras in one answer, with the rights of both nodes.
TEST_F(NodeVideoTest, ManyStreamsInOneAnswerAreOfBothNodes) {
  LiveCamera dock(encode(Latency::low, steady(50)));
  east_.show("dock", dock);
  LiveClient page(east_.port(), "dock,gate,yard", login_of("ann"));
  ASSERT_EQ(page.head().status, 200);
  EXPECT_FALSE(page.next_text(0, "init").is_null());
  EXPECT_EQ(page.next_of(1, LiveClient::video).substr(4, 4), "ftyp");
  for (int frames = 0; frames < 25; ++frames) EXPECT_NE(page.next_of(1, LiveClient::video), "");
  const json hidden{{"type", "unplayable"}, {"reason", "there is no such camera or output"}};
  EXPECT_EQ(LiveClient(east_.port(), "gate", login_of("ben")).next_text(0, "unplayable"), hidden) << "not here";
  LiveClient eves(east_.port(), "gate", login_of("eve"));
  EXPECT_EQ(eves.next_text(0, "unplayable")["reason"], "node 'west' answers with status 403") << "not there";
}

TEST_F(NodeVideoTest, OneOfManyStreamsGoesOnWhereItsCameraMovesTo) {
  LiveClient page(east_.port(), "gate", login_of("ann"));
  EXPECT_FALSE(page.next_text(0, "init").is_null());
  west_.close_door();
  EXPECT_EQ(page.next_text(0, "unplayable")["reason"].get<std::string>().substr(0, 11), "node 'west'");
  east_.set_cameras({"dock", "gate"});
  east_.show("gate", gate_);
  east_.see({{"east", east_.address()}}, {{"dock", "east"}, {"gate", "east"}});
  EXPECT_FALSE(page.next_text(0, "init").is_null());
  EXPECT_EQ(page.next_of(0, LiveClient::video).substr(4, 4), "ftyp");
}

TEST_F(NodeVideoTest, PlaysByHttp) {
  const std::string stream = "http://ann:hunter2@127.0.0.1:" + std::to_string(east_.port()) + "/cameras/gate/stream.";
  for (const char* form : {"ts", "mp4"})
    EXPECT_EQ(ffmpeg({"-analyzeduration", "500000", "-probesize", "50000", "-i", stream + form}), 0) << form;
}

TEST_F(NodeVideoTest, PlaysByRtsp) {
  serve();
  EXPECT_EQ(ffmpeg({"-rtsp_transport", "tcp", "-timeout", "20000000", "-i", url("ann")}), 0);
  EXPECT_EQ(ffmpeg({"-timeout", "20000000", "-i", url("ann")}), 0) << "it tries UDP first";
  // Its exit status may be that of an end in which its own PAUSE and CLOSE met.
  const TemporaryFolder folder;
  const auto received = folder.path() / "received.h264";
  Program({"timeout", "60", "gst-launch-1.0", "-q", "rtspsrc", "location=" + url("ann"), "!", "rtph264depay", "!",
           "identity", "eos-after=20", "!", "filesink", "location=" + received.string()})
      .wait();
  EXPECT_GT(std::filesystem::file_size(received), 0U);
  EXPECT_NE(ffmpeg({"-rtsp_transport", "udp", "-timeout", "5000000", "-i", url("ann")}), 0) << "and that alone fails";
  EXPECT_NE(ffmpeg({"-rtsp_transport", "tcp", "-timeout", "5000000", "-i", url("ben")}), 0) << "not here";
  EXPECT_NE(ffmpeg({"-rtsp_transport", "tcp", "-timeout", "5000000", "-i", url("eve")}), 0) << "not there";
}

TEST_F(NodeVideoTest, PlaysByRtspOverTls) {
  const TemporaryFolder folder;
  serve(make_certificate(folder));
  EXPECT_EQ(ffmpeg({"-rtsp_transport", "tcp", "-timeout", "20000000", "-i", url("ann", "rtsps")}), 0);
}

TEST_F(NodeVideoTest, OneRtspReaderDoesNotHurtAnother) {
  serve();
  RtspWire stuck(east_.rtsp_port(), 4096);
  ASSERT_EQ(stuck.play("/gate", login_of("ann")), 200);  // and reads no more
  EXPECT_EQ(ffmpeg({"-rtsp_transport", "tcp", "-timeout", "20000000", "-i", url("ann")}), 0);
  RtspWire other(east_.rtsp_port());
  EXPECT_EQ(other.ask("DESCRIBE", "/gate", login_of("ann")).status, 200);
  EXPECT_EQ(other.ask("DESCRIBE", "/gate/../dock", login_of("ann")).status, 404);
  static_cast<void>(other.send("DESCRIBE rtsp://127.0.0.1/dock RTSP/1.0\r\nCSeq: 9\r\n\r\n"));
  EXPECT_TRUE(other.is_closed(Clock::now() + 20s)) << "it is about another camera";
}

TEST_F(NodeVideoTest, RtspEndsWhenItIsTakenBack) {
  serve();
  RtspWire here(east_.rtsp_port());
  RtspWire there(east_.rtsp_port());
  ASSERT_EQ(here.play("/gate", login_of("ann")), 200);
  east_.set_users({node_user("ben", Permission::view)});
  EXPECT_TRUE(here.is_closed(Clock::now() + 20s));
  east_.set_users({node_user("ann", Permission::view)});
  ASSERT_EQ(there.play("/gate", login_of("ann")), 200);
  west_.set_users({node_user("ben", Permission::view)});
  EXPECT_TRUE(there.is_closed(Clock::now() + 20s));
}

TEST_F(NodeVideoTest, RtspSaysWhenTheNodeIsGone) {
  serve();
  west_.close_door();
  EXPECT_EQ(RtspWire(east_.rtsp_port()).ask("DESCRIBE", "/gate", login_of("ann")).status, 503);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
