#include "app/publisher/server/http/snapshots.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace campipe {
namespace {

constexpr auto remembered_for = std::chrono::milliseconds(500);
// Those who ask for it again and again would keep the decoders busy.
constexpr auto failure_remembered_for = std::chrono::seconds(5);

}  // namespace

HttpSnapshots::Jpeg HttpSnapshots::take(const std::string& name, const LiveStream& stream) {
  std::unique_lock lock(mutex_);
  std::erase_if(pictures_, [](const auto& entry) { return entry.second->of.expired(); });
  auto& place = pictures_[name];
  if (!place || place->of.lock().get() != &stream) {
    place = std::make_shared<Picture>();
    place->of = stream.weak_from_this();
  }
  const auto snapshot = place;
  lock.unlock();
  const std::lock_guard making(snapshot->mutex);
  const auto age = Clock::now() - snapshot->made;
  if (snapshot->jpeg && age < remembered_for) return snapshot->jpeg;
  if (!snapshot->failure.empty() && age < failure_remembered_for) throw Error(snapshot->failure);
  const auto group = stream.newest_group();
  if (group.empty()) return nullptr;
  snapshot->jpeg = nullptr;
  snapshot->failure.clear();
  try {
    snapshot->jpeg = std::make_shared<const std::vector<std::uint8_t>>(decode_apart(group, stop_));
  } catch (const Error& error) {
    snapshot->failure = error.what();
  }
  snapshot->made = Clock::now();
  if (!snapshot->jpeg) throw Error(snapshot->failure);
  return snapshot->jpeg;
}

}  // namespace campipe
