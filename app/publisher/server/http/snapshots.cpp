#include "app/publisher/server/http/snapshots.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/frame_age.h"

namespace campipe {
namespace {

constexpr auto remembered_for = std::chrono::milliseconds(500);
// Those who ask for it again and again would keep the decoders busy.
constexpr auto failure_remembered_for = std::chrono::seconds(5);

}  // namespace

std::optional<Snapshot> HttpSnapshots::take(const std::string& name, const LiveStream& stream,
                                            std::chrono::nanoseconds max_age) {
  std::unique_lock lock(mutex_);
  std::erase_if(pictures_, [](const auto& entry) { return entry.second->of.expired(); });
  auto& place = pictures_[name];
  if (!place || place->of.lock().get() != &stream) {
    place = std::make_shared<Picture>();
    place->of = stream.weak_from_this();
  }
  const auto picture = place;
  lock.unlock();
  const std::lock_guard making(picture->mutex);
  const auto age = Clock::now() - picture->made;
  const auto& remembered = picture->snapshot;
  if (remembered && age < remembered_for && since_arrival(remembered->times) <= max_age.count()) return remembered;
  if (!picture->failure.empty() && age < failure_remembered_for) throw Error(picture->failure);
  const auto group = stream.newest_group();
  if (group.empty()) return std::nullopt;
  picture->snapshot.reset();
  picture->failure.clear();
  try {
    DecodedSnapshot decoded = decode_apart(group, stop_);
    picture->snapshot = {std::make_shared<const std::vector<std::uint8_t>>(std::move(decoded.jpeg)),
                         group[decoded.packet].times};
  } catch (const Error& error) {
    picture->failure = error.what();
  }
  picture->made = Clock::now();
  if (!picture->snapshot) throw Error(picture->failure);
  return picture->snapshot;
}

}  // namespace campipe
