// What this machine has for links between nodes (docs/cluster.md): `campipe check-links` (app/link/link_check.h) finds
// out, so that UCX is loaded into no process that does anything else.
#pragma once

#include <memory>
#include <optional>

#include "app/control/child_process.h"
#include "app/control/messages/links_found.h"

namespace campipe {

inline constexpr const char* check_links_role = "check-links";

class LinkCheck {
 public:
  // Throws Error where the process cannot be started.
  explicit LinkCheck(const StartProcess& start);
  ~LinkCheck();  // kills it, and does not wait for its end
  LinkCheck(const LinkCheck&) = delete;
  LinkCheck& operator=(const LinkCheck&) = delete;

  // Never waits: nothing while the process is at it. One that fails has found that there is no UCX, and why.
  std::optional<messages::LinksFound> look();
  void add_waits(Waits& waits) const { process_->add_waits(waits); }

 private:
  void read_messages();

  std::unique_ptr<ChildProcess> process_;
  std::optional<messages::LinksFound> found_;
  std::optional<ExitInfo> exit_;
};

// Waits for it. What it logs goes to standard error.
messages::LinksFound check_links();

}  // namespace campipe
