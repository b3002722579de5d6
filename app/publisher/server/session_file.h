// The sessions' file in the state folder, so that a restart logs nobody out: for each port one, which only the account
// that runs the rig can read. A disk that does not answer holds up nobody but who logs out.
//
// For the publisher's main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/publisher/server/access.h"
#include "core/clock.h"

namespace campipe {

class SessionFile {
 public:
  // `access` must outlive it.
  explicit SessionFile(Access& access) : access_(access) {}
  // Writes what is new, for which it waits a moment.
  ~SessionFile();
  SessionFile(const SessionFile&) = delete;
  SessionFile& operator=(const SessionFile&) = delete;

  // The server has just taken this port: its sessions come back, now or when the disk answers.
  void open(std::uint16_t port);
  // To be called several times a second. Sessions that were opened or ended are written at once, when others were used
  // last once a minute.
  void tick();

 private:
  struct Shared;  // with threads that may outlive this

  Access& access_;
  std::shared_ptr<Shared> shared_;  // null: no port yet, or no place for a file
  bool restored_ = false;
  std::uint64_t written_ = 0;  // Access::session_changes() of what was handed to the thread
  Clock::time_point next_write_;
};

// The file's text, for tests; and what is in one. `utc`: seconds now, by the wall clock. What is damaged is no session.
std::string session_text(const std::vector<KeptSession>& sessions, std::int64_t utc);
std::vector<KeptSession> sessions_in(const std::string& text, std::int64_t utc);

}  // namespace campipe
