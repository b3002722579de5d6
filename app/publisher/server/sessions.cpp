#include "app/publisher/server/sessions.h"

#include <algorithm>
#include <utility>

#include "app/config/secrets.h"

namespace campipe {
namespace {

using std::chrono::seconds;

constexpr auto in_use_for = std::chrono::minutes(1);  // after a request; a page that is seen asks more often
constexpr auto longest_wall_pause = std::chrono::days(30);
constexpr auto longest_cookie = std::chrono::days(400);  // of any browser

std::string proof_of(const UserConfig& user, SessionKind kind) {
  return kind == SessionKind::login ? hash_of("campipe password", user.password)
                                    : hash_of("campipe wall token", user.token);
}

bool is_still_of(const OpenSession& session, const Sessions::Users& users) {
  const auto user = users.find(session.user);
  if (user == users.end()) return false;
  const bool has = session.kind == SessionKind::login ? !user->second->password.empty() : !user->second->token.empty();
  return has && proof_of(*user->second, session.kind) == session.proof;
}

}  // namespace

std::string Sessions::id_of(const std::string& token) { return hash_of("campipe session", token); }
std::string Sessions::csrf_of(const std::string& token) { return hash_of("campipe csrf", token); }

bool Sessions::has_ended(const OpenSession& session) const {
  const auto pause = now_() - session.used;
  if (session.kind == SessionKind::wall) return pause >= longest_wall_pause;
  return now_() - session.opened >= config_.longest || pause >= config_.idle;
}

void Sessions::drop_ended() {
  changes_ += std::erase_if(sessions_, [this](const auto& entry) { return has_ended(entry.second); });
}

bool Sessions::make_room_for(const std::string& user) {
  const auto is_older = [&](const auto& a, const auto& b) {
    return std::pair(a.second.user != user, a.second.used) < std::pair(b.second.user != user, b.second.used);
  };
  const auto of_user = std::ranges::count(sessions_, user, [](const auto& entry) { return entry.second.user; });
  if (static_cast<std::size_t>(of_user) < most_of_a_user) return true;
  const auto oldest = std::ranges::min_element(sessions_, is_older);
  if (now_() - oldest->second.used < in_use_for) return false;
  sessions_.erase(oldest);
  return true;
}

std::string Sessions::open(const UserConfig& user, SessionKind kind) {
  drop_ended();
  if (!make_room_for(user.name)) return "";
  std::string token = random_token();
  sessions_[id_of(token)] = {user.name, proof_of(user, kind), kind, now_(), now_()};
  ++changes_;
  return token;
}

const OpenSession* Sessions::find(const std::string& id, const Users& users) {
  drop_ended();
  const auto found = sessions_.find(id);
  // The password may have been changed after it was checked, and before the session was opened.
  if (found == sessions_.end() || !is_still_of(found->second, users)) return nullptr;
  found->second.used = now_();
  return &found->second;
}

seconds Sessions::longest(SessionKind kind) const {
  if (kind == SessionKind::wall) return longest_cookie;
  return std::min<seconds>(std::chrono::ceil<seconds>(config_.longest), longest_cookie);
}

void Sessions::close(const std::string& id) { changes_ += sessions_.erase(id); }

void Sessions::update(const SessionConfig& config, const Users& users) {
  config_ = config;
  changes_ += std::erase_if(sessions_, [&](const auto& entry) { return !is_still_of(entry.second, users); });
}

std::vector<KeptSession> Sessions::kept() const {
  const auto ago = [now = now_()](Clock::time_point time) { return std::chrono::duration_cast<seconds>(now - time); };
  std::vector<KeptSession> kept;
  for (const auto& [id, session] : sessions_) {
    if (has_ended(session)) continue;
    kept.push_back({id, session.user, session.proof, session.kind, ago(session.opened), ago(session.used)});
  }
  return kept;
}

void Sessions::restore(const std::vector<KeptSession>& kept, const Users& users) {
  for (const KeptSession& one : kept) {
    const OpenSession session{one.user, one.proof, one.kind, now_() - one.opened_ago, now_() - one.used_ago};
    if (!has_ended(session) && is_still_of(session, users)) sessions_.try_emplace(one.id, session);
  }
}

}  // namespace campipe
