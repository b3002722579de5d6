// Who may see and do what, for the pages, the API and RTSP alike.
//
// Thread-safe. A password is checked by argon2id, which takes tens of milliseconds on purpose; what was right is
// remembered until a minute after it was sent last (as a keyed hash, not as the password), so that players that send
// it with every request do not cost that each time. Failed attempts are limited for each address: after
// the fifth, and each further one, the next is refused unseen for 1, 2, 4 … 60 s (app/publisher/server/login_limit.h);
// what is remembered still comes in. One password is checked at a time, so that strangers can take one core and 64 MiB,
// and no more.
//
// A result holds only for a moment: whatever serves a user for longer asks still_may() at least twice a second.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/server_config.h"
#include "app/publisher/server/sessions.h"
#include "core/clock.h"

namespace campipe {

struct BasicLogin {
  std::string user;
  std::string password;
  friend bool operator==(const BasicLogin&, const BasicLogin&) = default;
};
// What follows "Basic" in a header Authorization; nothing: it is no such thing.
std::optional<BasicLogin> decode_basic(const std::string& credentials);

// What the sender of a request was found to be.
struct Identity {
  enum class Kind : std::uint8_t {
    unknown,  // may do nothing
    visitor,  // there are no users: every visitor may watch, record, enable and disable its cameras
    node,     // another node of the cluster, for itself: may view
    user,     // as in `config`
    owner     // who can read the rig's own token, as only the account that runs it can: may do everything
  };
  Kind kind = Kind::unknown;
  std::string user = {};                          // of a user
  std::shared_ptr<const UserConfig> config = {};  // of a user
  std::string session = {};                       // not its token; empty: known by a password, or not at all

  static Identity visitor() { return {.kind = Kind::visitor}; }
  static Identity node() { return {.kind = Kind::node}; }
  static Identity owner() { return {.kind = Kind::owner}; }
  static Identity of(std::shared_ptr<const UserConfig> user);
  // `camera`: the camera's name; empty: the rig as a whole, for which only users of all cameras may do more than view.
  [[nodiscard]] bool may(Permission permission, const std::string& camera) const;
  // May do everything; others are not shown the rig's paths, addresses and processes.
  [[nodiscard]] bool administers() const { return may(Permission::administer, ""); }
};

class Access {
 public:
  enum class Refusal : std::uint8_t { wrong, too_many };
  struct Result {
    std::optional<Identity> identity;
    Refusal refusal = Refusal::wrong;
    int retry_after_s = 0;  // of too_many
  };
  struct Session {
    std::string token;  // for the cookie: 256 random bits, base64url
    std::string csrf;   // must come back in the header X-CSRF-Token with everything that changes something
    std::string user;
    std::chrono::seconds longest;  // how long the cookie is of use
  };

  // `now`: the clock by which sessions and waits end.
  explicit Access(const ServerConfig& config, const std::function<Clock::time_point()>& now = Clock::now);
  ~Access();

  [[nodiscard]] bool required() const;  // there are users
  // `address`: the peer's, for the limit. Waits while others' passwords are checked, ten seconds at most (too_many).
  // Without users everything is right, and makes a visitor.
  Result check_password(const std::string& user, const std::string& password, const std::string& address);
  // The same where that needs no argon2id, as what was right a moment ago or comes from where it has to wait, at once.
  // Nothing: check_password() is needed.
  std::optional<Result> check_quickly(const std::string& user, const std::string& password, const std::string& address);
  // The value of an HTTP header Authorization, Basic or Bearer (a bearer token is the rig's own, or "user:password" in
  // base64url).
  Result check_authorization(const std::string& header, const std::string& address);
  // As check_quickly().
  std::optional<Result> check_authorization_quickly(const std::string& header, const std::string& address);
  // A keyed hash of such a value: equal for equal ones, and it reveals nothing of them.
  [[nodiscard]] std::string key_of(const std::string& header) const;
  // For pages. How long sessions last, and how many there are: app/publisher/server/sessions.h. Its token is empty
  // where there is no room for one.
  Session open_session(const Identity& identity, SessionKind kind = SessionKind::login);
  [[nodiscard]] std::chrono::seconds longest_session(SessionKind kind) const;  // of its cookie
  // Returns the user whose token for a wall this is; nothing: it is nobody's.
  [[nodiscard]] std::optional<Identity> check_token(const std::string& token) const;
  // Its session is one that a wall's token has opened.
  [[nodiscard]] bool is_wall(const Identity& identity);
  [[nodiscard]] std::optional<Identity> find_session(const std::string& token);
  [[nodiscard]] std::string csrf_token(const std::string& session);  // empty: there is no such session
  [[nodiscard]] bool is_csrf_token(const std::string& session, const std::string& csrf);
  // A logout: returns when a restart does not undo it, or after two seconds.
  void close_session(const std::string& token);
  // Called by close_session(), with no lock held: it waits for that.
  void on_logout(std::function<void()> wait);
  // For RTSP Digest: the user's stored secret, where there is one.
  [[nodiscard]] std::optional<std::string> rtsp_secret(const std::string& user) const;
  [[nodiscard]] bool has_rtsp_secrets() const;  // some user does
  [[nodiscard]] std::optional<Identity> identity_of(const std::string& user) const;
  // Whether that is still so: false after a logout, at the end of the session, and when the user is gone or has another
  // password or secret. A session that is asked for is one in use.
  [[nodiscard]] bool still_valid(const Identity& identity);
  // The same one with the permissions that the user has now; nothing: it does not hold any more.
  [[nodiscard]] std::optional<Identity> renew(const Identity& identity);
  // Whether it holds, and may still do all that it could when it was found.
  [[nodiscard]] bool still_may_all(const Identity& identity);
  // Whether it holds, and has that permission now.
  [[nodiscard]] bool still_may(const Identity& identity, Permission permission, const std::string& camera);
  // What outlives the program (app/publisher/server/session_file.h). `session_changes` counts what was opened and
  // ended.
  [[nodiscard]] std::uint64_t session_changes() const;
  [[nodiscard]] std::vector<KeptSession> kept_sessions() const;
  void restore_sessions(const std::vector<KeptSession>& kept);
  // From now on who sends this (core/rig_token.h) is the owner. Without it there is none.
  void set_owner_token(const std::string& token);
  // The configuration was reloaded. Sessions of users that are gone, or have another password or token, end.
  void update(const ServerConfig& config);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace campipe
