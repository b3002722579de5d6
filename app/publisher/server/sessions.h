// The sessions of users who logged in through a page, each known by the token in its cookie. Of the token only a hash
// is kept, so that what is stored (app/publisher/server/session_file.h) lets nobody in.
//
// Not thread-safe: Access has the mutex.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/config/server_config.h"
#include "core/clock.h"

namespace campipe {

// login: with a password; it ends after SessionConfig's times. wall: with a user's token, on a screen that nobody sits
// at; it ends with the token, or after 30 days without a request.
enum class SessionKind : std::uint8_t { login, wall };

struct OpenSession {
  std::string user;
  std::string proof;  // a hash of the password's or token's hash: another one in the configuration ends the session
  SessionKind kind = SessionKind::login;
  Clock::time_point opened;
  Clock::time_point used;
};

// As it outlives the program: its times are how long ago something was.
struct KeptSession {
  std::string id;  // a hash of the token
  std::string user;
  std::string proof;
  SessionKind kind = SessionKind::login;
  std::chrono::seconds opened_ago{};
  std::chrono::seconds used_ago{};
  friend bool operator==(const KeptSession&, const KeptSession&) = default;
};

class Sessions {
 public:
  using Users = std::map<std::string, std::shared_ptr<const UserConfig>>;

  explicit Sessions(std::function<Clock::time_point()> now) : now_(std::move(now)) {}

  static constexpr std::size_t most_of_a_user = 64;
  // Returns the token. Where the user has the most, the session that was used longest ago ends, if that is a minute
  // ago; else none is opened, and the token is empty.
  std::string open(const UserConfig& user, SessionKind kind);
  static std::string id_of(const std::string& token);
  // What must come back with everything that changes something; only who has the token can know it.
  static std::string csrf_of(const std::string& token);
  // Null: there is none, it has ended, or it is of another password than the user has. It counts as used now.
  const OpenSession* find(const std::string& id, const Users& users);
  void close(const std::string& id);
  // Ends those of users who are gone or have another password or token.
  void update(const SessionConfig& config, const Users& users);

  // How long its cookie is of use.
  [[nodiscard]] std::chrono::seconds longest(SessionKind kind) const;

  // Counts sessions that were opened or ended.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] std::vector<KeptSession> kept() const;
  // Those of a program before. What is there already stays.
  void restore(const std::vector<KeptSession>& kept, const Users& users);

 private:
  [[nodiscard]] bool has_ended(const OpenSession& session) const;
  void drop_ended();
  bool make_room_for(const std::string& user);

  const std::function<Clock::time_point()> now_;
  SessionConfig config_;
  std::map<std::string, OpenSession> sessions_;  // by id
  std::uint64_t changes_ = 0;
};

}  // namespace campipe
