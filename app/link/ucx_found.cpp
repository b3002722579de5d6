#include "app/link/ucx_found.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "app/link/ucx_library.h"
#include "core/error.h"

namespace campipe {
namespace {

using Context = std::unique_ptr<ucp_context, decltype(&::ucp_cleanup)>;

Context make_context(const UcxLibrary& ucx) {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  const auto status = ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, nullptr, &context);
  if (status != UCS_OK) throw Error("UCX does not start: its status " + std::to_string(static_cast<int>(status)));
  return {context, ucx.ucp_cleanup};
}

std::string info_of(const UcxLibrary& ucx, const Context& context) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const stream = ::open_memstream(&text, &size);
  if (stream == nullptr) throw Error("there is no memory for what UCX prints");
  ucx.ucp_context_print_info(context.get(), stream);
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return {text, size};
}

}  // namespace

// "#      resource 6  :  md 4  dev 4  flags -- rc_mlx5/mlx5_0:1": transports of InfiniBand and RoCE begin so.
std::vector<std::string> rdma_ports_in(const std::string& info) {
  std::vector<std::string> ports;
  std::istringstream lines(info);
  for (std::string line; std::getline(lines, line);) {
    const auto begin = line.rfind("-- ");
    const auto slash = line.find('/', begin == std::string::npos ? line.size() : begin);
    if (line.find("resource") == std::string::npos || slash == std::string::npos) continue;
    const std::string transport = line.substr(begin + 3, slash - begin - 3);
    const bool is_rdma = transport.starts_with("rc_") || transport.starts_with("dc_") || transport.starts_with("ud_");
    std::string device = line.substr(slash + 1);
    device.erase(device.find_last_not_of(' ') + 1);
    if (is_rdma && std::ranges::find(ports, device) == ports.end()) ports.push_back(std::move(device));
  }
  std::ranges::sort(ports);
  return ports;
}

messages::LinksFound find_ucx() try {
  const UcxLibrary& ucx = ucx_library();
  const Context context = make_context(ucx);
  return {ucx.ucp_get_version_string(), "", rdma_ports_in(info_of(ucx, context))};
} catch (const Error& error) {
  return {"", error.what(), {}};
}

}  // namespace campipe
