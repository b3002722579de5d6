#include "app/publisher/server/served_tls.h"

#include <utility>

#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto files_retry_interval = std::chrono::seconds(5);

}  // namespace

void ServedTls::renew(const TlsFiles& files) {
  if (!files_) return;
  files_ = files;
  reader_.begin(*files_);
}

bool ServedTls::tick() {
  if (!files_) return false;
  try {
    if (!newest_ && !reader_.reads() && Clock::now() >= next_try_) reader_.begin(*files_);
    auto read = reader_.take();
    if (!read) {
      log_late();
      return false;
    }
    newest_ = std::move(read);
    problem_.clear();
    return true;
  } catch (const Error& error) {
    next_try_ = Clock::now() + files_retry_interval;
    if (newest_) {
      spdlog::error("the certificate before stays: {}", error.what());
    } else if (problem_ != error.what()) {
      problem_ = error.what();
      spdlog::error("nothing is served yet, which is tried again: {}", problem_);
    }
    return false;
  }
}

void ServedTls::log_late() {
  if (newest_ || !problem_.empty() || !reader_.is_late()) return;
  problem_ = "the disk of '" + files_->certificate + "' or of its key does not answer";
  spdlog::error("nothing is served yet: {}; a reload tries it anew", problem_);
}

}  // namespace campipe
