#include "app/publisher/server/rtsp/logins.h"

#include <glib.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "app/config/secrets.h"
#include "app/publisher/server/rtsp/gst_handles.h"

namespace campipe {
namespace {

constexpr auto remembered_for = std::chrono::minutes(5);  // a player comes back, and another one next to it guesses

// The value of the first header of that name.
std::optional<std::string> find_header(std::string_view message, std::string_view name) {
  for (auto end = message.find("\r\n"); end != std::string_view::npos; end = message.find("\r\n")) {
    const std::string_view line = message.substr(0, end);
    if (line.empty()) break;
    message.remove_prefix(end + 2);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    while (key.ends_with(' ')) key.remove_suffix(1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (std::ranges::equal(key, name, {}, g_ascii_tolower, g_ascii_tolower)) return std::string(value);
  }
  return std::nullopt;
}

std::optional<BasicLogin> find_login(std::string_view message) {
  const auto authorization = find_header(message, "Authorization");
  if (!authorization) return std::nullopt;
  GstRTSPMessage request{};
  gst_rtsp_message_init_request(&request, GST_RTSP_OPTIONS, "*");
  gst_rtsp_message_add_header(&request, GST_RTSP_HDR_AUTHORIZATION, authorization->c_str());
  auto login = basic_login(request);
  gst_rtsp_message_unset(&request);
  return login;
}

}  // namespace

std::optional<BasicLogin> basic_login(const GstRTSPMessage& request) {
  const std::unique_ptr<GstRTSPAuthCredential*, GRelease<gst_rtsp_auth_credentials_free>> credentials(
      gst_rtsp_message_parse_auth_credentials(const_cast<GstRTSPMessage*>(&request), GST_RTSP_HDR_AUTHORIZATION));
  const GstRTSPAuthCredential* first = credentials ? *credentials : nullptr;
  const bool is_basic = first != nullptr && first->scheme == GST_RTSP_AUTH_BASIC && first->authorization != nullptr;
  return is_basic ? decode_basic(first->authorization) : std::nullopt;
}

RtspLogins::RtspLogins(Access& access, std::function<void()> wake, std::function<Clock::time_point()> now)
    : access_(access),
      wake_(std::move(wake)),
      now_(std::move(now)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

RtspLogins::~RtspLogins() {
  thread_.request_stop();
  thread_.join();
}

std::shared_ptr<const RtspLogin> RtspLogins::check(std::string_view message, const std::string& address) {
  if (!access_.required()) return nullptr;
  auto given = find_login(message);
  if (!given) return nullptr;
  auto login = std::make_shared<RtspLogin>(std::move(*given), address);
  login->retry_after_s = secret_wait_s(address);
  if (has_secret(*login)) {
    login->identity = access_.identity_of(login->given.user);
    login->done = true;
  } else if (const auto result = access_.check_quickly(login->given.user, login->given.password, address)) {
    finish(*login, *result);
  } else {
    enqueue(login);
  }
  return login;
}

// Users with and without a secret get the same answer.
bool RtspLogins::has_secret(const RtspLogin& login) {
  const auto secret = access_.rtsp_secret(login.given.user);
  const bool fits = equal_secrets(secret.value_or(nobodys_secret), login.given.password);
  return login.retry_after_s == 0 && secret && fits;
}

void RtspLogins::finish(RtspLogin& login, const Access::Result& result) {
  login.identity = result.identity;
  if (!login.identity) {
    if (result.refusal == Access::Refusal::too_many) {
      login.retry_after_s = std::max({login.retry_after_s, result.retry_after_s, 1});
    } else {
      secret_failed(login.address);
    }
  }
  login.done = true;
}

void RtspLogins::enqueue(const std::shared_ptr<RtspLogin>& login) {
  const std::string network = network_of(login->address);
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [](const auto& entry) { return entry.second.login.expired(); });
  const auto before = std::ranges::count_if(waiting_, [&](const auto& each) { return each.second.network == network; });
  const std::uint64_t turn = turn_ + static_cast<std::uint64_t>(before) + (checking_ == network ? 1 : 0);
  waiting_.emplace(turn, Waiting{login, network});
  changed_.notify_one();
}

std::shared_ptr<RtspLogin> RtspLogins::take_next() {
  const auto next = waiting_.extract(waiting_.begin());
  turn_ = next.key();
  auto login = next.mapped().login.lock();
  checking_ = login ? next.mapped().network : "";
  return login;
}

void RtspLogins::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "rtsp-logins");
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); }) && !stop.stop_requested()) {
    const auto login = take_next();
    if (!login) continue;
    lock.unlock();
    try {
      finish(*login, access_.check_password(login->given.user, login->given.password, login->address));
    } catch (const std::exception& error) {
      spdlog::error("rtsp: a password cannot be checked: {}", error.what());
      login->retry_after_s = 1;
      login->done = true;
    }
    wake_();
    lock.lock();
    checking_.clear();
  }
}

int RtspLogins::secret_wait_s(const std::string& address) {
  const std::lock_guard lock(mutex_);
  return secrets_.wait_s(address, now_());
}

void RtspLogins::secret_failed(const std::string& address) {
  const std::lock_guard lock(mutex_);
  secrets_.failed(address, now_());
}

int RtspLogins::digest_wait_s(const std::string& address, const std::string& user) {
  const std::lock_guard lock(mutex_);
  const auto now = now_();
  const auto right = right_.find({network_of(address), user});
  const bool known = right != right_.end() && now - right->second <= remembered_for;
  return known && secrets_.may_ask_memory(address, user) ? 0 : secrets_.wait_s(address, now);
}

void RtspLogins::digest_was(bool right, const std::string& address, const std::string& user) {
  const std::lock_guard lock(mutex_);
  const auto now = now_();
  if (right) {
    std::erase_if(right_, [now](const auto& entry) { return now - entry.second > remembered_for; });
    right_[{network_of(address), user}] = now;
  } else if (secrets_.wait_s(address, now) > 0) {
    secrets_.forgot(address, user);  // one of the few that may be tried during a wait
  } else {
    secrets_.failed(address, now);
  }
}

}  // namespace campipe
