// How large a request by RTSP may be, as docs/operations.md has it.
#include "app/publisher/server/rtsp/framing.h"

#include <gtest/gtest.h>

#include <string>

namespace campipe {
namespace CAMPIPE_FILE {

std::string request_with(std::size_t body) {
  return "SET_PARAMETER * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n" +
         std::string(body, 'x');
}

TEST(RtspFraming, ABodyHasEightKibibytesAtMost) {
  RtspFraming longest;
  longest.add(request_with(8 * 1024));
  EXPECT_TRUE(longest.whole());
  EXPECT_EQ(longest.refusal(), "");
  RtspFraming longer;
  longer.add(request_with(8 * 1024 + 1));
  EXPECT_FALSE(longer.whole());
  EXPECT_NE(longer.refusal(), "");
}

// GStreamer would lose memory with each.
TEST(RtspFraming, PipelinedRequestsAreRefused) {
  for (const std::string name : {"Pipelined-Requests", "PIPELINED-REQUESTS", "pipelined-requests "}) {
    RtspFraming framing;
    framing.add("PLAY rtsp://h/dock RTSP/2.0\r\nCSeq: 1\r\n" + name + ": 1\r\n\r\n");
    EXPECT_EQ(framing.refusal(), "its requests are pipelined") << name;
    EXPECT_FALSE(framing.whole()) << name;
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
