#include "app/publisher/server/access.h"

#include <sodium.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "app/config/password_hash.h"
#include "app/config/secrets.h"
#include "app/config/token_hash.h"
#include "app/publisher/server/login_limit.h"
#include "core/random_bytes.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto remembered_for = 1min;
constexpr auto longest_queue = 10s;  // for a password to be checked

std::optional<std::string> from_base64(const std::string& text, int variant) {
  std::vector<unsigned char> bytes(text.size() + 1);
  std::size_t size = 0;
  if (::sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size, nullptr, variant) != 0)
    return std::nullopt;
  return std::string(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
}

// Without padding there is one variant less to try.
std::optional<std::string> decode(const std::string& scheme, std::string text) {
  while (text.ends_with('=')) text.pop_back();
  return from_base64(
      text, scheme == "basic" ? sodium_base64_VARIANT_ORIGINAL_NO_PADDING : sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

struct Authorization {
  std::string scheme;  // in small letters
  std::string credentials;
};

Authorization split_authorization(const std::string& header) {
  const auto space = header.find(' ');
  if (space == std::string::npos) return {};
  std::string scheme = header.substr(0, space);
  std::ranges::transform(scheme, scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  return {scheme, header.substr(header.find_last_of(' ') + 1)};
}

std::optional<BasicLogin> login_in(const Authorization& authorization) {
  const auto& [scheme, credentials] = authorization;
  if (scheme != "basic" && scheme != "bearer") return std::nullopt;
  const auto text = decode(scheme, credentials);
  const auto colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return BasicLogin{text->substr(0, colon), text->substr(colon + 1)};
}

// What `before` may do, `now` may, too.
bool may_all(const UserConfig& now, const UserConfig& before) {
  if (now.may < before.may) return false;
  if (now.cameras.empty()) return true;
  return !before.cameras.empty() && std::ranges::all_of(before.cameras, [&](const std::string& camera) {
    return std::ranges::find(now.cameras, camera) != now.cameras.end();
  });
}

}  // namespace

std::optional<BasicLogin> decode_basic(const std::string& credentials) { return login_in({"basic", credentials}); }

Identity Identity::of(std::shared_ptr<const UserConfig> user) {
  std::string name = user->name;
  return {.kind = Kind::user, .user = std::move(name), .config = std::move(user)};
}

bool Identity::may(Permission permission, const std::string& camera) const {
  if (kind == Kind::owner) return true;
  if (kind == Kind::node) return permission <= Permission::view;
  if (kind == Kind::visitor) return permission != Permission::administer || !camera.empty();
  if (kind == Kind::unknown || !config) return false;
  if (config->may < permission) return false;
  if (config->cameras.empty()) return true;
  if (camera.empty()) return permission <= Permission::view;
  return std::ranges::find(config->cameras, camera) != config->cameras.end();
}

struct Access::State {
  explicit State(const std::function<Clock::time_point()>& clock) : now(clock), sessions(clock) {}

  const std::function<Clock::time_point()> now;
  // What is looked up is looked up by its keyed hash: how long that takes then reveals nothing.
  std::vector<unsigned char> key = random_bytes(crypto_generichash_KEYBYTES);
  std::mutex mutex;
  std::string owner_token;  // empty: there is none
  Sessions::Users users;
  std::map<std::string, Clock::time_point> remembered;  // until then
  Sessions sessions;
  std::function<void()> on_logout;  // may be empty
  LoginLimit limit;
  struct Turn {};
  std::list<Turn> turns;  // the first one's password is being checked
  std::condition_variable checked;

  // Only one at a time; false: too many others wait.
  bool begin_check() {
    std::unique_lock lock(mutex);
    const auto turn = turns.emplace(turns.end());
    if (checked.wait_until(lock, Clock::now() + longest_queue, [&] { return turns.begin() == turn; })) return true;
    turns.erase(turn);
    return false;
  }
  void end_check() {
    const std::lock_guard lock(mutex);
    turns.pop_front();
    checked.notify_all();
  }

  [[nodiscard]] bool is_owner_token(const std::string& text) {
    const std::lock_guard lock(mutex);
    return !owner_token.empty() && equal_secrets(text, owner_token);
  }
  [[nodiscard]] std::string keyed_hash(const std::string& text) const {
    std::string hash(crypto_generichash_BYTES, '\0');
    std::vector<unsigned char> out(hash.size());
    const std::vector<unsigned char> in(text.begin(), text.end());
    ::crypto_generichash(out.data(), out.size(), in.data(), in.size(), key.data(), key.size());
    std::copy(out.begin(), out.end(), hash.begin());
    return hash;
  }

  // The rest is called with the mutex held.
  [[nodiscard]] std::optional<Identity> identity(const std::string& user) const {
    const auto found = users.find(user);
    return found == users.end() ? std::nullopt : std::optional(Identity::of(found->second));
  }
  // The same one as of now; nothing: what was found does not hold any more.
  [[nodiscard]] std::optional<Identity> renew(const Identity& before) {
    if (before.kind == Identity::Kind::owner || before.kind == Identity::Kind::node) return before;
    if (before.kind == Identity::Kind::visitor) return users.empty() ? std::optional(before) : std::nullopt;
    const auto now_is = identity(before.user);
    if (!now_is || !before.config) return std::nullopt;
    const bool is_same = before.session.empty()
                             ? now_is->config->password == before.config->password &&
                                   now_is->config->rtsp_secret == before.config->rtsp_secret
                             : sessions.find(before.session, users) != nullptr;  // of the same password or token
    return is_same ? now_is : std::nullopt;
  }
  [[nodiscard]] std::string memory_of(const UserConfig& user, const std::string& password) const {
    return keyed_hash(user.name + '\0' + user.password + '\0' + password);
  }
  // What needs no argon2id. Empty: it does. Users who sent the right password a moment ago come in also from where
  // others guess; but who guesses must not find out quickly what is remembered.
  [[nodiscard]] std::optional<Result> known(const std::string& user, const std::string& password,
                                            const std::string& address) {
    if (users.empty()) return Result{Identity::visitor()};
    const int wait = limit.wait_s(address, now());
    const auto found = users.find(user);
    const bool may_ask = found != users.end() && (wait == 0 || limit.may_ask_memory(address, user));
    if (may_ask && remembers(*found->second, password)) return Result{Identity::of(found->second)};
    if (wait == 0) return std::nullopt;
    if (may_ask) limit.forgot(address, user);
    return Result{std::nullopt, Refusal::too_many, wait};
  }
  bool remembers(const UserConfig& user, const std::string& password) {
    const auto memory = remembered.find(memory_of(user, password));
    if (memory == remembered.end() || memory->second <= now()) return false;
    memory->second = now() + remembered_for;
    return true;
  }
};

Access::Access(const ServerConfig& config, const std::function<Clock::time_point()>& now)
    : state_(std::make_unique<State>(now)) {
  update(config);
}
Access::~Access() = default;

bool Access::required() const {
  const std::lock_guard lock(state_->mutex);
  return !state_->users.empty();
}

std::optional<Access::Result> Access::check_quickly(const std::string& user, const std::string& password,
                                                    const std::string& address) {
  const std::lock_guard lock(state_->mutex);
  return state_->known(user, password, address);
}

Access::Result Access::check_password(const std::string& user, const std::string& password,
                                      const std::string& address) {
  if (auto result = check_quickly(user, password, address)) return std::move(*result);
  if (!state_->begin_check()) return {std::nullopt, Refusal::too_many, 1};
  struct Ending {
    State& state;
    ~Ending() { state.end_check(); }
  } const ending{*state_};
  // Others may just have tried the same.
  if (auto result = check_quickly(user, password, address)) return std::move(*result);

  std::unique_lock lock(state_->mutex);
  if (state_->users.empty()) return {Identity::visitor()};
  auto found = state_->users.find(user);
  const auto has_password = [](const auto& entry) { return !entry.second->password.empty(); };
  const bool exists = found != state_->users.end() && has_password(*found);
  // For one who does not exist, or has a token only, some other's: so the time does not reveal who does.
  if (!exists) found = std::ranges::find_if(state_->users, has_password);
  const auto config = found != state_->users.end() ? found->second : nullptr;
  lock.unlock();
  const bool fits = config && password_fits(config->password, password);
  lock.lock();
  const auto time = state_->now();
  if (!exists || !fits) {
    state_->limit.failed(address, time);
    return {};
  }
  std::erase_if(state_->remembered, [time](const auto& entry) { return entry.second <= time; });
  state_->remembered[state_->memory_of(*config, password)] = time + remembered_for;
  return {Identity::of(config)};
}

Access::Result Access::check_authorization(const std::string& header, const std::string& address) {
  if (auto result = check_authorization_quickly(header, address)) return std::move(*result);
  const BasicLogin login = login_in(split_authorization(header)).value_or(BasicLogin{});
  return check_password(login.user, login.password, address);
}

std::optional<Access::Result> Access::check_authorization_quickly(const std::string& header,
                                                                  const std::string& address) {
  const Authorization authorization = split_authorization(header);
  if (authorization.scheme == "bearer" && state_->is_owner_token(authorization.credentials))
    return Result{Identity::owner()};
  const auto login = login_in(authorization);
  if (!login) return Result{};
  return check_quickly(login->user, login->password, address);
}

std::string Access::key_of(const std::string& header) const { return state_->keyed_hash(header); }

Access::Session Access::open_session(const Identity& identity, SessionKind kind) {
  const UserConfig nobody;
  const std::lock_guard lock(state_->mutex);
  const std::string token = state_->sessions.open(identity.config ? *identity.config : nobody, kind);
  return {token, Sessions::csrf_of(token), identity.user, state_->sessions.longest(kind)};
}

std::chrono::seconds Access::longest_session(SessionKind kind) const {
  const std::lock_guard lock(state_->mutex);
  return state_->sessions.longest(kind);
}

std::optional<Identity> Access::check_token(const std::string& token) const {
  const std::string hash = hash_token(token);
  const std::lock_guard lock(state_->mutex);
  const auto found =
      std::ranges::find_if(state_->users, [&](const auto& entry) { return equal_secrets(entry.second->token, hash); });
  return found == state_->users.end() ? std::nullopt : state_->identity(found->first);
}

bool Access::is_wall(const Identity& identity) {
  const std::lock_guard lock(state_->mutex);
  const OpenSession* const session = state_->sessions.find(identity.session, state_->users);
  return session != nullptr && session->kind == SessionKind::wall;
}

std::optional<Identity> Access::find_session(const std::string& token) {
  const std::string id = Sessions::id_of(token);
  const std::lock_guard lock(state_->mutex);
  const OpenSession* found = state_->sessions.find(id, state_->users);
  if (found == nullptr) return std::nullopt;
  auto identity = state_->identity(found->user);
  if (identity) identity->session = id;
  return identity;
}

std::string Access::csrf_token(const std::string& session) {
  return find_session(session) ? Sessions::csrf_of(session) : std::string();
}

bool Access::is_csrf_token(const std::string& session, const std::string& csrf) {
  const std::string right = csrf_token(session);
  return !right.empty() && equal_secrets(right, csrf);
}

void Access::close_session(const std::string& token) {
  std::unique_lock lock(state_->mutex);
  state_->sessions.close(Sessions::id_of(token));
  const auto wait = state_->on_logout;
  lock.unlock();
  if (wait) wait();
}

void Access::on_logout(std::function<void()> wait) {
  const std::lock_guard lock(state_->mutex);
  state_->on_logout = std::move(wait);
}

std::uint64_t Access::session_changes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->sessions.changes();
}

std::vector<KeptSession> Access::kept_sessions() const {
  const std::lock_guard lock(state_->mutex);
  return state_->sessions.kept();
}

void Access::restore_sessions(const std::vector<KeptSession>& kept) {
  const std::lock_guard lock(state_->mutex);
  state_->sessions.restore(kept, state_->users);
}

std::optional<std::string> Access::rtsp_secret(const std::string& user) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->users.find(user);
  if (found == state_->users.end() || found->second->rtsp_secret.empty()) return std::nullopt;
  return found->second->rtsp_secret;
}

bool Access::has_rtsp_secrets() const {
  const std::lock_guard lock(state_->mutex);
  return std::ranges::any_of(state_->users, [](const auto& user) { return !user.second->rtsp_secret.empty(); });
}

std::optional<Identity> Access::identity_of(const std::string& user) const {
  const std::lock_guard lock(state_->mutex);
  return state_->identity(user);
}

bool Access::still_valid(const Identity& identity) { return renew(identity).has_value(); }

std::optional<Identity> Access::renew(const Identity& identity) {
  const std::lock_guard lock(state_->mutex);
  return state_->renew(identity);
}

bool Access::still_may_all(const Identity& identity) {
  const auto renewed = renew(identity);
  return renewed && (!identity.config || may_all(*renewed->config, *identity.config));
}

bool Access::still_may(const Identity& identity, Permission permission, const std::string& camera) {
  const auto renewed = renew(identity);
  return renewed && renewed->may(permission, camera);
}

void Access::set_owner_token(const std::string& token) {
  const std::lock_guard lock(state_->mutex);
  state_->owner_token = token;
}

void Access::update(const ServerConfig& config) {
  Sessions::Users users;
  for (const UserConfig& user : config.users) users[user.name] = std::make_shared<UserConfig>(user);
  const std::lock_guard lock(state_->mutex);
  state_->users = std::move(users);
  state_->sessions.update(config.sessions, state_->users);
}

}  // namespace campipe
