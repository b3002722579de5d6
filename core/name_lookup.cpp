#include "core/name_lookup.h"

#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace campipe {
namespace {

constexpr auto asking = std::chrono::milliseconds(50);  // how often `stop` is asked

bool resolves(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

struct Lookup {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<bool> known;
};

}  // namespace

bool can_resolve(const std::string& host, const std::function<bool()>& stop) {
  if (host.empty() || resolves(host, AI_NUMERICHOST)) return true;
  const auto lookup = std::make_shared<Lookup>();
  // Nothing waits for it where it takes too long: it owns all that it needs, and ends by itself.
  std::thread([host, lookup] {
    const bool known = resolves(host, 0);
    const std::lock_guard lock(lookup->mutex);
    lookup->known = known;
    lookup->done.notify_one();
  }).detach();
  std::unique_lock lock(lookup->mutex);
  while (!lookup->done.wait_for(lock, asking, [&] { return lookup->known.has_value(); })) {
    if (stop()) return false;
  }
  return *lookup->known;
}

}  // namespace campipe
