#include "app/link/ucx_library.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "core/error.h"

namespace campipe {
namespace {

// It reads them when it is loaded: without handlers for signals that are this process's, and with a port that can be
// listened at again at once. What the user has set is left alone, but for a protocol that aborts the process, and for
// PUT over TCP: with it the peer's bytes are written to the address that the peer names, also when the connection was
// closed by force and the memory is something else's by now, and an acknowledgement that comes then aborts the process.
void prepare_environment() {
  ::setenv("UCX_HANDLE_ERRORS", "none", 0);
  ::setenv("UCX_DEBUG_SIGNO", "0", 0);
  ::setenv("UCX_CM_REUSEADDR", "y", 0);
  ::setenv("UCX_LOG_LEVEL", "fatal", 0);
  ::unsetenv("UCX_PROTO_ENABLE");
  ::setenv("UCX_TCP_PUT_ENABLE", "n", 1);
}

template <typename Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) throw Error(std::string("this UCX has no ") + name);
}

UcxLibrary load() {
  prepare_environment();
  void* const library = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error("UCX cannot be loaded: libucp.so.0 is not installed (Debian: libucx0)");
  UcxLibrary found{};
  look_up(library, "ucp_get_version_string", found.ucp_get_version_string);
  look_up(library, "ucp_init_version", found.ucp_init_version);
  look_up(library, "ucp_context_print_info", found.ucp_context_print_info);
  look_up(library, "ucp_config_read", found.ucp_config_read);
  look_up(library, "ucp_config_modify", found.ucp_config_modify);
  look_up(library, "ucp_config_release", found.ucp_config_release);
  look_up(library, "ucp_cleanup", found.ucp_cleanup);
  look_up(library, "ucp_worker_create", found.ucp_worker_create);
  look_up(library, "ucp_worker_destroy", found.ucp_worker_destroy);
  look_up(library, "ucp_worker_get_efd", found.ucp_worker_get_efd);
  look_up(library, "ucp_worker_arm", found.ucp_worker_arm);
  look_up(library, "ucp_worker_progress", found.ucp_worker_progress);
  look_up(library, "ucp_worker_set_am_recv_handler", found.ucp_worker_set_am_recv_handler);
  look_up(library, "ucp_listener_create", found.ucp_listener_create);
  look_up(library, "ucp_listener_query", found.ucp_listener_query);
  look_up(library, "ucp_listener_reject", found.ucp_listener_reject);
  look_up(library, "ucp_listener_destroy", found.ucp_listener_destroy);
  look_up(library, "ucp_ep_create", found.ucp_ep_create);
  look_up(library, "ucp_ep_flush_nbx", found.ucp_ep_flush_nbx);
  look_up(library, "ucp_ep_close_nbx", found.ucp_ep_close_nbx);
  look_up(library, "ucp_am_send_nbx", found.ucp_am_send_nbx);
  look_up(library, "ucp_am_recv_data_nbx", found.ucp_am_recv_data_nbx);
  look_up(library, "ucp_request_check_status", found.ucp_request_check_status);
  look_up(library, "ucp_request_free", found.ucp_request_free);
  return found;
}

}  // namespace

const UcxLibrary& ucx_library() {
  static const UcxLibrary library = load();
  return library;
}

}  // namespace campipe
