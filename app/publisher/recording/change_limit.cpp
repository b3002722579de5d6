#include "app/publisher/recording/change_limit.h"

#include <chrono>
#include <string>

#include "stages/sinks/recorder.h"

namespace campipe {
namespace {

constexpr std::size_t most_changes = 10;
constexpr auto changes_in = std::chrono::seconds(20);

}  // namespace

void ChangeLimit::check(const StreamParameters& stream) {
  if (!newest_ || newest_ == stream) return;
  const auto now = Clock::now();
  while (!changes_.empty() && now - changes_.front() > changes_in) changes_.pop_front();
  if (changes_.size() >= most_changes) {
    throw RecordFileError(
        std::to_string(most_changes) + " new files within " + std::to_string(changes_in.count()) +
        " s, since the stream changes (size, codec, …) again and again; look at the camera's settings");
  }
  changes_.push_back(now);
}

}  // namespace campipe
