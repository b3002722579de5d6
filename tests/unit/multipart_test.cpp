// The heads of a multipart stream's parts, in whatever pieces they come.
#include "stages/sources/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace campipe {
namespace CAMPIPE_FILE {

std::string passed(std::string_view stream, std::size_t piece) {
  PartHeads heads;
  std::string text;
  for (std::size_t at = 0; at < stream.size(); at += piece) text += heads.take(stream.substr(at, piece));
  return text + heads.rest();
}

void expect_passed(const std::string& stream, const std::string& as) {
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 64U, 100'000U}) EXPECT_EQ(passed(stream, piece), as) << piece;
}

TEST(PartHeads, SayJpegWhereThatIsMeant) {
  const std::string picture("\xff\xd8\n--\n-\r\n--x\xff\xd9", 13);
  const auto part = [&](const std::string& type) {
    return "--b\r\n" + type + "Content-Length: 13\r\n\r\n" + picture + "\r\n";
  };
  const std::string usual = part("Content-Type: image/jpeg\r\n");
  for (const char* type : {"Content-Type: image/jpeg\r\n", "content-TYPE:image/JPG\r\n",
                           "Content-Type: image/pjpeg\r\n", "Content-Type: image/jpeg; size=1\r\n"}) {
    SCOPED_TRACE(type);
    const bool is_usual = std::string_view(type) == "Content-Type: image/jpeg\r\n";
    expect_passed("\r\n" + part(type) + part(type), "\r\n" + usual + usual);
    EXPECT_EQ(is_usual, part(type) == usual);
  }
  expect_passed(part(""), "--b\r\nContent-Length: 13\r\nContent-Type: image/jpeg\r\n\r\n" + picture + "\r\n");
}

TEST(PartHeads, LeaveAllElseAsItIs) {
  std::string heads;
  for (int i = 0; i < 300; ++i) heads += "X-Line: " + std::string(20, 'a') + "\n";
  for (const std::string& stream :
       {std::string("--b\nContent-Type: text/plain\n\nhello\n"), std::string("no parts at all\n-- \n--"),
        "--b\n" + heads + "\nx", std::string("--b--\r\n\r\n"), std::string("--b\n\x01\x02\n\n"), std::string()}) {
    expect_passed(stream, stream);
  }
}

TEST(PartHeads, OfStrangersTakeATimeThatGrowsAsTheyDo) {
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += "\n--";
  PartHeads heads;
  std::size_t size = 0;
  for (std::size_t at = 0; at < many.size(); at += 16'384)
    size += heads.take(std::string_view(many).substr(at, 16'384)).size();
  EXPECT_EQ(size + heads.rest().size(), many.size());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
