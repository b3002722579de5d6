// The rig's own token (core/rig_token.h), as long as its API is served. Without it the rig runs all the same. For one
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>

#include "app/publisher/server/access.h"
#include "core/rig_token.h"

namespace campipe {

class OwnerToken {
 public:
  // `access`, which must outlive it, gets the token.
  explicit OwnerToken(Access& access) : access_(access) {}

  // A new one for the server that has just taken this port, in place of the one before. Its file is written by another
  // thread, for which this one waits a moment.
  void issue(std::uint16_t port);
  // To be called several times a second: the file may be written later.
  void tick();

 private:
  void take(std::chrono::milliseconds patience);

  Access& access_;
  std::shared_ptr<RigToken> token_;
  std::future<std::shared_ptr<RigToken>> issued_;
};

}  // namespace campipe
