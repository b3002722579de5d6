// The functions of UCX that links use, looked up when they are needed: only processes that carry links load it.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

namespace campipe {

struct UcxLibrary {
  decltype(&::ucp_get_version_string) ucp_get_version_string;
  decltype(&::ucp_init_version) ucp_init_version;
  decltype(&::ucp_context_print_info) ucp_context_print_info;
  decltype(&::ucp_config_read) ucp_config_read;
  decltype(&::ucp_config_modify) ucp_config_modify;
  decltype(&::ucp_config_release) ucp_config_release;
  decltype(&::ucp_cleanup) ucp_cleanup;
  decltype(&::ucp_worker_create) ucp_worker_create;
  decltype(&::ucp_worker_destroy) ucp_worker_destroy;
  decltype(&::ucp_worker_get_efd) ucp_worker_get_efd;
  decltype(&::ucp_worker_arm) ucp_worker_arm;
  decltype(&::ucp_worker_progress) ucp_worker_progress;
  decltype(&::ucp_worker_set_am_recv_handler) ucp_worker_set_am_recv_handler;
  decltype(&::ucp_listener_create) ucp_listener_create;
  decltype(&::ucp_listener_query) ucp_listener_query;
  decltype(&::ucp_listener_reject) ucp_listener_reject;
  decltype(&::ucp_listener_destroy) ucp_listener_destroy;
  decltype(&::ucp_ep_create) ucp_ep_create;
  decltype(&::ucp_ep_flush_nbx) ucp_ep_flush_nbx;
  decltype(&::ucp_ep_close_nbx) ucp_ep_close_nbx;
  decltype(&::ucp_am_send_nbx) ucp_am_send_nbx;
  decltype(&::ucp_am_recv_data_nbx) ucp_am_recv_data_nbx;
  decltype(&::ucp_request_check_status) ucp_request_check_status;
  decltype(&::ucp_request_free) ucp_request_free;
};

// Loads it, for as long as the process lives. Throws Error where it is not there.
const UcxLibrary& ucx_library();

}  // namespace campipe
