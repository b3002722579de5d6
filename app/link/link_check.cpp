#include "app/link/link_check.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "app/control/child.h"
#include "app/control/message_dispatch.h"
#include "app/link/ucx_found.h"
#include "core/log.h"

namespace campipe {

int run_link_check() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(child_channel_fd, F_SETFD, FD_CLOEXEC);
  init_logging("link check", "warning");
  Channel channel{UniqueFd(child_channel_fd)};
  send(channel, find_ucx());
  ::_exit(EXIT_SUCCESS);  // what UCX does at the end tells nothing more
}

}  // namespace campipe
