// What libav says while it is called, and the options that it is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

extern "C" {
#include <libavutil/log.h>
}

#include "core/libav_log.h"
#include "core/libav_options.h"

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Pair;

TEST(LibavCapture, CollectsLinesOfPieces) {
  LibavMessages messages;
  {
    const LibavCapture capture(messages);
    av_log(nullptr, AV_LOG_WARNING, "half ");
    av_log(nullptr, AV_LOG_WARNING, "a warning\r\n");
    av_log(nullptr, AV_LOG_INFO, "no matter\n");
    av_log(nullptr, AV_LOG_ERROR, "\n");
    av_log(nullptr, AV_LOG_ERROR, "one error\n");
    av_log(nullptr, AV_LOG_ERROR, "another, without an end");
  }
  av_log(nullptr, AV_LOG_ERROR, "for nobody\n");
  EXPECT_THAT(messages.lines(), ElementsAre(Field(&LibavMessages::Line::text, "half a warning"),
                                            Field(&LibavMessages::Line::text, "one error"),
                                            Field(&LibavMessages::Line::text, "another, without an end")));
  EXPECT_EQ(messages.errors(), "one error; another, without an end");
  EXPECT_EQ(messages.find_any({"nothing", "warn"}), "half a warning");
  EXPECT_FALSE(messages.has("nobody"));
  messages.clear();
  EXPECT_THAT(messages.lines(), IsEmpty());
}

TEST(LibavCapture, KeepsNoMoreThanItMay) {
  LibavMessages messages;
  const LibavCapture capture(messages);
  for (int i = 0; i < 100'000; ++i) av_log(nullptr, AV_LOG_ERROR, "%d\n", i);
  EXPECT_LT(messages.lines().size(), 16384U / 2);
  EXPECT_TRUE(messages.errors().ends_with("; 15")) << messages.errors();  // the first sixteen
  messages.clear();
  av_log(nullptr, AV_LOG_ERROR, "again\n");
  EXPECT_EQ(messages.errors(), "again");
}

TEST(LibavCapture, TakesSecretsOutOfWhatItLogs) {
  std::vector<std::string> logged;
  LibavMessages messages([&](const std::string& line) {
    logged.push_back(line);
    return "nothing to see";
  });
  const LibavCapture capture(messages);
  av_log(nullptr, AV_LOG_ERROR, "a ");
  EXPECT_THAT(logged, IsEmpty());
  av_log(nullptr, AV_LOG_ERROR, "secret \n");
  EXPECT_THAT(logged, ElementsAre("a secret"));
}

TEST(LibavOptions, AreThoseThatWereSet) {
  LibavOptions options;
  EXPECT_THAT(options.entries(), IsEmpty());
  options.set("size", 3);
  options.set("name", "a b");
  LibavOptions copy = LibavOptions::copy_of(*options.get());
  copy.set("size", 4);
  const LibavOptions moved = std::move(options);
  EXPECT_THAT(moved.entries(), ElementsAre(Pair("size", "3"), Pair("name", "a b")));
  EXPECT_THAT(copy.entries(), testing::UnorderedElementsAre(Pair("size", "4"), Pair("name", "a b")));
  EXPECT_THAT(LibavOptions::parse("a='x:y':b=\\=").entries(), ElementsAre(Pair("a", "x:y"), Pair("b", "=")));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
