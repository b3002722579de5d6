#include "app/publisher/server/http/door.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace campipe {
namespace {

namespace asio = boost::asio;

constexpr int most_places = 32;
constexpr int most_first_places = 64;  // of networks that had none
constexpr int most_of_a_network = 8;

}  // namespace

HttpDoor::Place::Place(HttpDoor& door, const std::string& address) : door_(door), network_(network_of(address)) {
  int all = 0;
  for (const auto& [network, count] : door.places_) all += count;
  const auto own = door.places_.find(network_);
  const bool is_first = own == door.places_.end();
  taken_ = is_first ? all < most_first_places : all < most_places && own->second < most_of_a_network;
  if (taken_) ++door.places_[network_];
}

HttpDoor::Place::~Place() {
  if (taken_ && --door_.places_[network_] == 0) door_.places_.erase(network_);
}

// Known to those with the same key for as long as it lives; they are woken at its end.
class HttpDoor::Running {
 public:
  Running(HttpDoor& door, const std::string& key, const asio::any_io_executor& executor)
      : door_(door), entry_(door.checks_.emplace(key, std::make_shared<Check>(executor)).first) {}
  ~Running() {
    entry_->second->done.cancel();
    door_.checks_.erase(entry_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Check& operator*() { return *entry_->second; }

 private:
  HttpDoor& door_;
  const std::map<std::string, std::shared_ptr<Check>>::iterator entry_;
};

asio::awaitable<std::optional<Access::Result>> HttpDoor::check(const std::string& key, const std::string& address,
                                                               const std::function<Access::Result()>& look) {
  const std::string same = key + '\0' + network_of(address);  // failures count by network
  if (const auto found = checks_.find(same); found != checks_.end()) {
    const std::shared_ptr<Check> other = found->second;
    boost::system::error_code ended;
    co_await other->done.async_wait(asio::redirect_error(asio::use_awaitable, ended));
    co_return other->result;
  }
  const auto executor = co_await asio::this_coro::executor;
  Running running(*this, same, executor);
  (*running).result = co_await run(address, [&look] { return look(); });
  co_return (*running).result;
}

}  // namespace campipe
