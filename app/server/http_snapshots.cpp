#include "app/server/http_snapshots.h"

#include <algorithm>
#include <utility>

#include "app/server/snapshot_decoder.h"

namespace campipe {
namespace {

constexpr auto remembered_for = std::chrono::milliseconds(500);

}  // namespace

std::shared_ptr<const std::vector<std::uint8_t>> HttpSnapshots::take(const std::string& name,
                                                                     const LiveStream& stream) {
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
  if (picture->jpeg && Clock::now() - picture->made < remembered_for) return picture->jpeg;
  const auto group = stream.newest_group();
  if (group.empty()) return nullptr;
  picture->jpeg = std::make_shared<const std::vector<std::uint8_t>>(decode_apart(group));
  picture->made = Clock::now();
  return picture->jpeg;
}

}  // namespace campipe
