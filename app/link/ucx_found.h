// Whether UCX is here, and what it can use. It is loaded by that: see ucx_wire.h.
#pragma once

#include <string>
#include <vector>

#include "app/control/messages/links_found.h"

namespace campipe {

messages::LinksFound find_ucx();

// The RDMA ports in what ucp_context_print_info() prints, sorted, each once: they are named by no function of UCX's.
std::vector<std::string> rdma_ports_in(const std::string& info);

}  // namespace campipe
