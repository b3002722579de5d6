// What C libraries call throws nothing at them.
#include "core/c_callback.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace campipe::test {
namespace CAMPIPE_FILE {

int halve(int number) {
  if (number % 2 != 0) throw std::runtime_error("odd");
  return number / 2;
}

std::string* give(const char* text) {
  throw 1;
  return new std::string(text);
}

TEST(CCallback, PassesOnWhatIsReturned) {
  int (*call)(int) = c_callback<halve, -1>;
  EXPECT_EQ(call(8), 4);
}

TEST(CCallback, ReportsAFailureForWhatIsThrown) {
  int (*call)(int) = c_callback<halve, -1>;
  EXPECT_EQ(call(7), -1);
  std::string* (*other)(const char*) = c_callback<give, nullptr>;
  EXPECT_EQ(other(""), nullptr);
  void (*nothing)(void*) = c_callback<[](void*) { throw std::runtime_error("in a lambda"); }>;
  nothing(nullptr);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
