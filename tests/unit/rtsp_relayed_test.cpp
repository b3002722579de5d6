// What of an RTSP client's requests goes on to another node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/publisher/server/rtsp/local_pair.h"
#include "app/publisher/server/rtsp/relayed_request.h"

#include <sys/socket.h>

namespace campipe {
namespace CAMPIPE_FILE {

std::string request(const std::string& line, const std::string& headers = "") {
  return line + " RTSP/1.0\r\nCSeq: 3\r\n" + headers + "\r\n";
}

TEST(RelayedRtsp, LeavesTheLoginHere) {
  EXPECT_EQ(request_for_node(request("DESCRIBE rtsp://10.0.0.1:8554/gate",
                                     "Authorization: Basic c2VjcmV0\r\naUTHORIZATION : Digest x\r\nAccept: a/b\r\n"),
                             "gate"),
            request("DESCRIBE rtsp://10.0.0.1:8554/gate", "Accept: a/b\r\n"));
}

TEST(RelayedRtsp, IsAboutOneCamera) {
  for (const char* line : {"OPTIONS *", "OPTIONS rtsp://h/gate", "SETUP rtsp://h:1/gate/small/stream=0",
                           "PLAY rtsp://h/gate/", "PLAY rtsp://h/gate?x", "PLAY /gate", "PLAY\trtsp://h/gate"})
    EXPECT_TRUE(request_for_node(request(line), "gate")) << line;
  for (const char* line : {"DESCRIBE rtsp://h/dock", "DESCRIBE rtsp://h/gate2", "DESCRIBE rtsp://h", "DESCRIBE gate",
                           "DESCRIBE rtsp://h//gate", "DESCRIBE rtsp://h/%67ate", "DESCRIBE rtsp://h/gate@i/dock",
                           "DESCRIBE rtsp://gate/dock", "DESCRIBE\trtsp://h/dock /gate", " X/gate rtsp://h/dock"})
    EXPECT_FALSE(request_for_node(request(line), "gate")) << line;
}

TEST(RelayedRtsp, HasItsOwnConnectionAlone) {
  const auto setup = [](const std::string& transport) {
    return request_for_node(request("SETUP rtsp://h/gate/stream=0", "transport: " + transport + "\r\n"), "gate");
  };
  const auto with = [](const std::string& transport) {
    return request("SETUP rtsp://h/gate/stream=0", "Transport: " + transport + "\r\n");
  };
  EXPECT_EQ(setup("RTP/AVP/TCP;unicast;interleaved=0-1"), with("RTP/AVP/TCP;unicast;interleaved=0-1"));
  EXPECT_EQ(setup("RTP/AVP;unicast;client_port=5000-5001, RTP/AVP/TCP;interleaved=0-1,RTP/AVP/UDP;unicast"),
            with("RTP/AVP/TCP;interleaved=0-1"));
  EXPECT_EQ(setup("RTP/AVP;unicast;client_port=5000-5001"), with("none"));
  EXPECT_EQ(setup("RTP/AVP;x=/TCP"), with("none"));
}

TEST(RelayedRtsp, KeepsBodiesAndFrames) {
  const std::string body = "SET_PARAMETER rtsp://h/gate RTSP/1.0\r\nContent-Length: 16\r\n\r\nAuthorization: x";
  EXPECT_EQ(request_for_node(body, "gate"), body);
  const std::string frame("$\0\0\3abc", 7);
  EXPECT_EQ(request_for_node(frame, "gate"), frame);
}

TEST(RelayedRtsp, AnswersTheRequest) {
  EXPECT_EQ(rtsp_answer("DESCRIBE rtsp://h/gate RTSP/1.0\r\ncseq:  7\r\n\r\n", 503, "Service Unavailable"),
            "RTSP/1.0 503 Service Unavailable\r\nCSeq: 7\r\n\r\n");
}

TEST(LocalPair, IsConnected) {
  const auto pair = local_pair();
  ASSERT_TRUE(pair);
  char letter = 'x';
  EXPECT_EQ(::send(pair->first.get(), &letter, 1, 0), 1);
  letter = 0;
  EXPECT_EQ(::recv(pair->second.get(), &letter, 1, 0), 1);
  EXPECT_EQ(letter, 'x');
  EXPECT_EQ(::recv(pair->first.get(), &letter, 1, 0), -1) << "it does not block";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
