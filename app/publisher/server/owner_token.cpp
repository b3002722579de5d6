#include "app/publisher/server/owner_token.h"

#include <thread>
#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto token_patience = std::chrono::milliseconds(300);  // less than a main thread may be silent

}  // namespace

// Only when the port is taken, and another one for each server: whoever listened at the port before, or took it when a
// publisher died, has been sent no token that is accepted. A disk that does not answer is not waited for.
void OwnerToken::issue(std::uint16_t port) {
  std::packaged_task<std::shared_ptr<RigToken>()> task([port] { return std::make_shared<RigToken>(port); });
  issued_ = task.get_future();
  std::thread(std::move(task)).detach();
  take(token_patience);
}

void OwnerToken::tick() { take(std::chrono::milliseconds(0)); }

void OwnerToken::take(std::chrono::milliseconds patience) {
  if (!issued_.valid() || issued_.wait_for(patience) != std::future_status::ready) return;
  try {
    token_ = issued_.get();
    access_.set_owner_token(token_->text());
  } catch (const Error& error) {
    spdlog::warn("cameras can be changed through the API only by users who administer all of them: {}", error.what());
  }
}

}  // namespace campipe
