// The source of random bytes.
#include "core/random_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::MatchesRegex;

TEST(RandomBytes, FillsMoreThanTheKernelReturnsAtOnce) {
  constexpr std::size_t size = 100'000;
  const std::vector<unsigned char> bytes = random_bytes(size);
  ASSERT_EQ(bytes.size(), size);
  const std::set<unsigned char> last(bytes.end() - 4096, bytes.end());
  EXPECT_GT(last.size(), 200U) << "the end was not filled";
}

TEST(RandomBytes, AreHexadecimalDigits) {
  EXPECT_EQ(hex_of(std::vector<unsigned char>{0x00, 0x0f, 0xf0, 0xff}), "000ff0ff");
  EXPECT_THAT(random_hex(16), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(random_hex(16), random_hex(16));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
