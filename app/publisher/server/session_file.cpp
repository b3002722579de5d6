#include "app/publisher/server/session_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/own_folders.h"
#include "core/replace_file.h"
#include "core/unique_handle.h"

namespace campipe {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto patience = milliseconds(300);  // less than a main thread may be silent
constexpr auto logout_patience = milliseconds(2000);
constexpr auto write_interval = seconds(60);      // of when sessions were used last
constexpr std::size_t largest_file = 16U << 20U;  // 256 users with 64 sessions each take a third of it

std::int64_t utc_seconds() { return utc_now_ns() / 1'000'000'000; }

// A clock that was set back has opened nothing in the future.
seconds ago(std::int64_t then, std::int64_t utc) { return seconds(std::max<std::int64_t>(0, utc - then)); }

std::optional<KeptSession> session_in(const json& entry, std::int64_t utc) {
  const auto text = [&](const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto time = [&](const char* key) {
    const auto found = entry.find(key);
    return found != entry.end() && found->is_number_unsigned() ? std::optional(found->get<std::int64_t>())
                                                               : std::nullopt;
  };
  if (!entry.is_object()) return std::nullopt;
  const auto opened = time("opened_utc");
  const auto used = time("used_utc");
  const std::string kind = text("kind");
  if (text("id").empty() || !opened || !used || (kind != "login" && kind != "wall")) return std::nullopt;
  return KeptSession{.id = text("id"),
                     .user = text("user"),
                     .proof = text("proof"),
                     .kind = kind == "wall" ? SessionKind::wall : SessionKind::login,
                     .opened_ago = ago(*opened, utc),
                     .used_ago = ago(*used, utc)};
}

// Empty: there is none.
std::string read_text(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return {};
  if (!fd) throw system_error("cannot read " + file.string(), errno);
  std::string text;
  std::array<char, 64 * 1024> bytes{};
  ssize_t size = 0;
  while (text.size() < largest_file && (size = ::read(fd.get(), bytes.data(), bytes.size())) > 0)
    text.append(bytes.data(), static_cast<std::size_t>(size));
  if (size < 0) throw system_error("cannot read " + file.string(), errno);
  return text;
}

}  // namespace

std::string session_text(const std::vector<KeptSession>& sessions, std::int64_t utc) {
  json list = json::array();
  for (const KeptSession& session : sessions) {
    list.push_back({{"id", session.id},
                    {"user", session.user},
                    {"proof", session.proof},
                    {"kind", session.kind == SessionKind::wall ? "wall" : "login"},
                    {"opened_utc", std::max<std::int64_t>(0, utc - session.opened_ago.count())},
                    {"used_utc", std::max<std::int64_t>(0, utc - session.used_ago.count())}});
  }
  return json{{"schema", 1}, {"sessions", std::move(list)}}.dump() + "\n";
}

std::vector<KeptSession> sessions_in(const std::string& text, std::int64_t utc) {
  std::vector<KeptSession> sessions;
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object() || all.value("schema", json()) != 1 || !all.contains("sessions")) return sessions;
  for (const json& entry : all["sessions"]) {
    if (auto session = session_in(entry, utc)) sessions.push_back(std::move(*session));
  }
  return sessions;
}

struct SessionFile::Shared {
  explicit Shared(std::uint16_t number) : port(number) {}

  const std::uint16_t port;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::vector<KeptSession>> read;  // once, when the disk has answered
  std::string text;                              // to be written
  std::uint64_t wanted = 0;                      // the sessions' changes that `text` has
  std::uint64_t kept = 0;                        // and the file
  bool failed = false;                           // the newest attempt did
  bool is_due = false;
  bool over = false;

  // What is newer than what another thread has handed over.
  // Returns Access::session_changes() of what is there now.
  std::uint64_t hand_over(const Access& access) {
    const std::uint64_t changes = access.session_changes();
    std::string newest = session_text(access.kept_sessions(), utc_seconds());
    const std::lock_guard lock(mutex);
    if (changes < wanted) return changes;
    is_due = is_due || newest != text || failed;
    text = std::move(newest);
    wanted = changes;
    if (!is_due) kept = wanted;
    changed.notify_all();
    return changes;
  }
  // False: not in time.
  bool wait_until_kept(std::uint64_t changes, Deadline deadline) {
    std::unique_lock lock(mutex);
    return changed.wait_until(lock, deadline, [&] { return kept >= changes || (failed && !is_due); }) && !failed;
  }
  void work();
  void write_newest(const std::filesystem::path& file, std::unique_lock<std::mutex>& lock);
};

void SessionFile::Shared::work() {
  std::filesystem::path file;
  std::vector<KeptSession> before;
  try {
    const auto folder = state_folder();
    if (!folder) throw Error("neither XDG_STATE_HOME nor HOME names a folder");
    make_own_folder(*folder);
    file = *folder / ("sessions-" + std::to_string(port));
    before = sessions_in(read_text(file), utc_seconds());
  } catch (const Error& error) {
    spdlog::warn("after a restart users have to log in again: {}", error.what());
  }
  std::unique_lock lock(mutex);
  read = std::move(before);
  changed.notify_all();
  while (true) {
    changed.wait(lock, [&] { return is_due || over; });
    if (!is_due) return;
    write_newest(file, lock);
  }
}

void SessionFile::Shared::write_newest(const std::filesystem::path& file, std::unique_lock<std::mutex>& lock) {
  is_due = false;
  const std::string newest = text;
  const std::uint64_t changes = wanted;
  const bool had_failed = failed;
  lock.unlock();
  std::string problem = file.empty() ? "there is no folder for them" : "";
  try {
    if (problem.empty()) replace_file(file, newest);
  } catch (const Error& error) {
    problem = error.what();
  }
  if (!problem.empty() && !had_failed) spdlog::warn("the sessions of users are not kept: {}", problem);
  lock.lock();
  failed = !problem.empty();
  if (!failed) kept = changes;
  changed.notify_all();
}

void SessionFile::open(std::uint16_t port) {
  shared_ = std::make_shared<Shared>(port);
  restored_ = false;
  std::thread([shared = shared_] { shared->work(); }).detach();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, patience, [&] { return shared_->read.has_value(); });
  lock.unlock();
  tick();
  access_.on_logout([shared = shared_, &access = access_] {
    if (!shared->wait_until_kept(shared->hand_over(access), Clock::now() + logout_patience))
      spdlog::warn("a logout is not on the disk yet: a restart of the rig before it is would undo it");
  });
}

// Nothing is written before what was there has been read.
void SessionFile::tick() {
  if (!shared_) return;
  if (!restored_) {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->read) return;
    access_.restore_sessions(*shared_->read);
    restored_ = true;
  }
  if (access_.session_changes() == written_ && Clock::now() < next_write_) return;
  next_write_ = Clock::now() + write_interval;
  written_ = shared_->hand_over(access_);
}

SessionFile::~SessionFile() {
  if (!shared_) return;
  access_.on_logout({});
  next_write_ = {};
  tick();
  shared_->wait_until_kept(written_, Clock::now() + patience);
  const std::lock_guard lock(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_all();
}

}  // namespace campipe
