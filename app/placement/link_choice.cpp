#include "app/placement/link_choice.h"
#include "app/config/cluster_config.h"
#include "app/config/link_transport.h"

#include <algorithm>

namespace campipe {
namespace {

bool has(const std::vector<LinkTransport>& transports, LinkTransport transport) {
  return std::ranges::find(transports, transport) != transports.end();
}

}  // namespace

LinkOptions link_options(const ClusterLinksConfig& config, const std::vector<LinkTransport>& usable, bool rdma) {
  LinkOptions options{config.transports, rdma, config.transports.empty()};
  if (options.is_auto) options.transports = usable;
  std::erase_if(options.transports, [&](LinkTransport transport) {
    return !has(usable, transport) || (transport == LinkTransport::ucx && config.encrypt);
  });
  return options;
}

std::optional<LinkTransport> link_transport(const LinkOptions& to, const LinkOptions& from) {
  std::vector<LinkTransport> order = to.transports;
  // Over TCP it is no better than ZeroMQ (docs/decisions/0020).
  const bool ucx_is_last = to.is_auto && !(to.rdma && from.rdma);
  if (ucx_is_last)
    std::ranges::stable_partition(order, [](LinkTransport transport) { return transport != LinkTransport::ucx; });
  const auto found = std::ranges::find_if(order, [&](LinkTransport each) { return has(from.transports, each); });
  return found == order.end() ? std::nullopt : std::optional(*found);
}

std::string names_of(const std::vector<LinkTransport>& transports) {
  std::string text;
  for (const LinkTransport transport : transports)
    text += (text.empty() ? "" : ", ") + std::string(choice_name(transport));
  return text.empty() ? "none" : text;
}

}  // namespace campipe
