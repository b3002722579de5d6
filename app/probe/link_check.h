// What this machine has for links between nodes (docs/cluster.md): `campipe check-links` (app/link/link_check.h) finds
// out, so that UCX is loaded into no process that does anything else.
#pragma once

#include <optional>

#include "app/control/child_process.h"
#include "app/control/messages/links_found.h"

namespace campipe {

inline constexpr const char* check_links_role = "check-links";

class LinkCheck {
 public:
  // What the process logs goes to `log_fd`. Throws Error where it cannot be started.
  explicit LinkCheck(int log_fd);
  ~LinkCheck();  // kills it, and does not wait for its end
  LinkCheck(const LinkCheck&) = delete;
  LinkCheck& operator=(const LinkCheck&) = delete;

  // Never waits: nothing while the process is at it. One that fails has found that there is no UCX, and why.
  std::optional<messages::LinksFound> look();
  // Until there may be something to look at, at most a second.
  void wait() const;

 private:
  void read_messages();

  ChildProcess process_;
  std::optional<messages::LinksFound> found_;
  std::optional<ExitInfo> exit_;
};

// Waits for it. What it logs goes to standard error.
messages::LinksFound check_links();

}  // namespace campipe
