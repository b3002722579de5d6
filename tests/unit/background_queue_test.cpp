// Of what waits for a disk or a terminal only so much is kept, and what was left out is counted.
#include "app/control/background_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <utility>
#include <vector>

namespace campipe {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::Pair;

// Writes nothing behind the first text until release().
class HeldQueue {
 public:
  explicit HeldQueue(const BackgroundQueue::Limit& limit)
      : queue_(limit, [this](const std::string& text, std::size_t left_out) {
          if (written_.empty()) {
            begun_.set_value();
            held_.get_future().wait();
          }
          written_.emplace_back(text, left_out);
        }) {
    queue_.put("first");
    begun_.get_future().wait();
  }
  void put(const std::string& text) { queue_.put(text); }
  const std::vector<std::pair<std::string, std::size_t>>& release() {
    held_.set_value();
    EXPECT_TRUE(queue_.finish(Clock::now() + std::chrono::seconds(20)));
    return written_;
  }

 private:
  std::promise<void> begun_;
  std::promise<void> held_;
  std::vector<std::pair<std::string, std::size_t>> written_;
  BackgroundQueue queue_;
};

TEST(BackgroundQueue, KeepsTheNewestTexts) {
  HeldQueue queue({.texts = 2});
  for (const char* text : {"a", "b", "c", "d"}) queue.put(text);
  EXPECT_THAT(queue.release(), ElementsAre(Pair("first", 0U), Pair("c", 2U), Pair("d", 0U)));
}

TEST(BackgroundQueue, KeepsTheNewestBytes) {
  HeldQueue queue({.bytes = 10});
  for (const char* text : {"aaaa", "bbbb", "cc", "dddd"}) queue.put(text);
  EXPECT_THAT(queue.release(), ElementsAre(Pair("first", 0U), Pair("bbbb", 1U), Pair("cc", 0U), Pair("dddd", 0U)));
}

TEST(BackgroundQueue, TakesATextThatIsLongerThanItsLimit) {
  HeldQueue queue({.bytes = 10});
  queue.put("aaaa");
  queue.put(std::string(20, 'b'));
  EXPECT_THAT(queue.release(), ElementsAre(Pair("first", 0U), Pair(std::string(20, 'b'), 1U)));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
