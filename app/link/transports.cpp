#include "app/link/transports.h"

#include "app/control/link_keys.h"
#include "app/control/message_dispatch.h"
#include "app/control/messages/links.h"
#include "app/control/messages/links_found.h"
#include "app/link/ucx_found.h"

namespace campipe {
namespace {

LinkKeys::Key key_in(const std::string& digits) {
  const auto key = link_key_from(digits);
  if (!key) throw BadMessage("a key that is none");
  return *key;
}

}  // namespace

// Over TCP, UCX is no better than ZeroMQ (docs/decisions/0020).
messages::LinkTransports usable_transports() {
  messages::LinkTransports transports;
  const messages::LinksFound found = find_ucx();
  transports.problem_of_ucx = found.problem_of_ucx;
  transports.rdma = !found.rdma.empty();
  if (!found.ucx.empty()) transports.usable.push_back(LinkTransport::ucx);
  transports.usable.push_back(LinkTransport::zeromq);
  return transports;
}

LinkKeys link_keys(const messages::LinkIdentity& identity) {
  LinkKeys keys;
  keys.public_key = key_in(identity.public_key);
  keys.secret_key = key_in(identity.secret_key);
  return keys;
}

template <typename Link>
std::optional<LinkKeys> keys_for(const LinkKeys& own, const Link& link) {
  if (!link.encrypted) return std::nullopt;
  LinkKeys keys = own;
  keys.peer = key_in(link.peer_key);
  return keys;
}
template std::optional<LinkKeys> keys_for(const LinkKeys& own, const messages::SendLink& link);
template std::optional<LinkKeys> keys_for(const LinkKeys& own, const messages::ReceiveLink& link);

}  // namespace campipe
