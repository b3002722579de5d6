// Live video of several streams in one answer: what stands in it, who gets what, and what becomes of the slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <fstream>

#include "app/config/password_hash.h"
#include "tests/unit/command_output.h"
#include "tests/unit/cookie_line.h"
#include "tests/unit/http_live_test_support.h"
#include "tests/unit/live_client.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;
using test::ask;
using test::clip;
using test::LiveClient;
using test::Reply;
using testing::HasSubstr;

class HttpLiveManyTest : public test::HttpLiveTest {
 protected:
  HttpLiveManyTest() {
    show({"dock", "gate"});
    rig_.add_stream("gate", gate_);
  }
  void show(const std::vector<std::string>& cameras) {
    json status{{"cameras", json::object()}};
    for (const std::string& camera : cameras) status["cameras"][camera] = camera_state("running");
    rig_.set_status(std::move(status));
  }
  void send_gate(int pictures) {
    for (int i = 0; i < pictures; ++i)
      gate_->offer(clip().packets.at(static_cast<std::size_t>(i)).view(), clip().parameters);
  }

  std::shared_ptr<LiveStream> gate_ = std::make_shared<LiveStream>();
};

TEST_F(HttpLiveManyTest, HasTheMessagesOfEachStream) {
  send(25);
  send_gate(3);
  LiveClient page(port(), "dock,gate");
  ASSERT_EQ(page.head().status, 200);
  EXPECT_EQ(page.head().headers.at("transfer-encoding"), "chunked");
  EXPECT_EQ(page.head().headers.at("x-accel-buffering"), "no");
  EXPECT_EQ(page.head().headers.count("content-encoding"), 0);
  std::map<std::size_t, std::string> files;
  std::map<std::size_t, std::vector<std::string>> said;
  std::map<std::size_t, int> pieces;
  wait_for_viewers(1);  // else it would begin with the newest group of these
  send(15);
  while (pieces[0] < 21 || pieces[1] < 4) {  // a header, and frames
    const LiveClient::Message message = page.next();
    ASSERT_THAT(message.kind, testing::AnyOf(LiveClient::text, LiveClient::video));
    ASSERT_LT(message.stream, 2);
    if (message.kind == LiveClient::text) {
      said[message.stream].push_back(json::parse(message.bytes)["type"]);
    } else {
      ++pieces[message.stream];
      files[message.stream] += message.bytes;
    }
  }
  for (const std::size_t stream : {0, 1}) {
    EXPECT_THAT(said[stream], testing::ElementsAre("state", "init"));
    const test::TemporaryFolder folder;
    const std::string file = folder.path() / "live.mp4";
    std::ofstream(file, std::ios::binary) << files[stream];
    EXPECT_EQ(test::output_of("ffprobe -v error -count_frames -of csv=p=0 -show_entries stream=nb_read_frames " + file +
                              " 2>&1"),
              stream == 0 ? "20\n" : "3\n");
  }
  const json viewers = server_.viewers();
  ASSERT_EQ(viewers.size(), 2);
  EXPECT_EQ(viewers[1]["camera"], "gate");
  EXPECT_EQ(viewers[1]["form"], "fmp4");
  EXPECT_EQ(viewers[1]["sent"], 3);
}

TEST_F(HttpLiveManyTest, HasSoundBesideFrames) {
  const test::Sent sent = test::spoken_clip();
  send_gate(1);
  LiveClient page(port(), "gate,gate?sound=1,dock?sound=1");
  EXPECT_EQ(page.next_text(1, "unplayable")["reason"], "this camera sends no sound");
  gate_->set_audio(sent.audio_parameters);
  test::offer(*gate_, sent);
  EXPECT_EQ(page.next_text(1, "init")["mime"], "audio/mp4; codecs=\"mp4a.40.2\"");
  EXPECT_EQ(page.next_of(1, LiveClient::video).substr(4, 4), "ftyp");
  EXPECT_EQ(page.next_of(1, LiveClient::video).substr(4, 4), "moof");
  std::vector<std::string> watched;
  for (const json& viewer : server_.viewers())
    watched.push_back(viewer["camera"].get<std::string>() + " " + viewer["form"].get<std::string>());
  EXPECT_THAT(watched, testing::UnorderedElementsAre("gate fmp4", "gate sound", "dock sound"));
}

TEST_F(HttpLiveManyTest, SaysThatItLivesWhenNothingElseIsToBeSaid) {
  LiveClient page(port(), "gate");
  EXPECT_EQ(page.next().kind, LiveClient::text);
  const LiveClient::Message message = page.next();
  EXPECT_EQ(message.kind, LiveClient::beat);
  EXPECT_EQ(message.bytes, "");
}

TEST_F(HttpLiveManyTest, OneThatIsNotThereIsRefusedForItselfUntilItComes) {
  send(5);
  LiveClient page(port(), "yard,dock/none,dock");
  const json refusal{{"type", "unplayable"}, {"reason", "there is no such camera or output"}};
  EXPECT_EQ(page.next_text(0, "unplayable"), refusal);
  EXPECT_EQ(page.next_text(1, "unplayable"), refusal);
  EXPECT_FALSE(page.next_text(2, "init").is_null());
  show({"dock", "yard"});
  EXPECT_EQ(page.next_text(0, "state")["state"], "running");
  show({"yard"});
  rig_.remove_stream("dock");
  EXPECT_EQ(page.next_text(2, "unplayable"), refusal);
}

TEST_F(HttpLiveManyTest, BadRequestsAreRefused) {
  for (const std::string wrong :
       {"/live", "/live?streams=", "/live?streams=dock&stream=gate", "/live?streams=dock,gate,dock"})
    EXPECT_EQ(ask(port(), "GET " + wrong).status, 400) << wrong;
  std::string many = "dock";
  for (int i = 1; i < 256; ++i) many += "," + std::to_string(i);
  const Reply head = ask(port(), "HEAD /live?streams=" + many);
  EXPECT_EQ(head.status, 200);
  EXPECT_FALSE(head.headers.contains("content-length")) << "the answer has no end";
  const Reply refusal = ask(port(), "GET /live?streams=gate," + many);
  EXPECT_EQ(refusal.status, 400);
  EXPECT_THAT(refusal.body, HasSubstr("256 streams at most"));
  EXPECT_EQ(ask(port(), "POST /live?streams=dock").status, 405);
}

TEST_F(HttpLiveManyTest, TheSlowLoseFramesAndAreToldSo) {
  LiveClient slow(port(), "dock,gate", "", 4096);
  wait_for_viewers(1);
  const Deadline deadline = Clock::now() + test::patience;
  while (stream_->counts().dropped == 0 && Clock::now() < deadline) send(1, 100'000);
  EXPECT_GT(stream_->counts().dropped, 0);
  EXPECT_GT(slow.next_text(0, "dropped")["pieces"], 0);
}

TEST_F(HttpLiveManyTest, EndsForOneWhoLeaves) {
  {
    LiveClient page(port(), "dock,gate");
    wait_for_viewers(1);
  }
  wait_for_viewers(0);
}

// Of users: ben may see dock alone.
class HttpLiveManyUsersTest : public HttpLiveManyTest {
 protected:
  HttpLiveManyUsersTest() {
    users_.users = {{"anna", hash_password("a"), "", Permission::view, {}},
                    {"ben", hash_password("b"), "", Permission::view, {"dock"}}};
    access_.update(users_);
    send(5);
    send_gate(5);
  }
  ServerConfig users_ = config();
  const std::string ben_ = "Authorization: Basic YmVuOmI=\r\n";
};

TEST_F(HttpLiveManyUsersTest, EachSeesItsCamerasOnly) {
  EXPECT_EQ(ask(port(), "GET /live?streams=dock").status, 401);
  LiveClient page(port(), "gate,yard,dock", ben_);
  const json hidden = page.next_text(0, "unplayable");
  EXPECT_EQ(hidden["reason"], "there is no such camera or output");
  EXPECT_EQ(page.next_text(1, "unplayable"), hidden) << "what may not be seen does not exist";
  EXPECT_FALSE(page.next_text(2, "init").is_null());
  users_.users[1].cameras = {"gate"};
  access_.update(users_);
  EXPECT_EQ(page.next_text(2, "unplayable"), hidden);
  EXPECT_FALSE(page.next_text(0, "init").is_null());
  wait_for_viewers(0);
}

// More would leave a browser no connection for anything else.
TEST_F(HttpLiveManyUsersTest, ABrowserHasFour) {
  const Access::Session session = access_.open_session(*access_.identity_of("anna"));
  const std::string cookie = test::cookie_line(session.token);
  std::deque<LiveClient> pages;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pages.emplace_back(port(), "dock", cookie).head().status, 200);
  const Reply refused = ask(port(), "GET /live?streams=dock", cookie);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("this browser has four pages that watch over HTTP"));
  EXPECT_EQ(refused.headers.at("retry-after"), "10");
  const Access::Session other = access_.open_session(*access_.identity_of("anna"));
  EXPECT_EQ(LiveClient(port(), "dock", test::cookie_line(other.token)).head().status, 200);
  pages.pop_back();
  wait_for_viewers(3);
  EXPECT_EQ(LiveClient(port(), "dock", cookie).head().status, 200);
}

TEST_F(HttpLiveManyUsersTest, EndsWithTheLogoutAlsoForOneWhoReadsNothing) {
  const Access::Session session = access_.open_session(*access_.identity_of("anna"));
  const std::string cookie = test::cookie_line(session.token);
  LiveClient page(port(), "dock,gate", cookie);
  LiveClient slow(port(), "dock,gate", cookie, 4096);
  LiveClient bens(port(), "dock", ben_);
  wait_for_viewers(3);
  send(400, 20'000);  // more than the kernel keeps for one who does not read
  access_.close_session(session.token);
  EXPECT_TRUE(page.next_text(0, "none").is_null());
  wait_for_viewers(1);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
