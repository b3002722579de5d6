// What the processes that have ends of links tell and are told of them: which transports the machine has, and the keys.
#pragma once

#include <optional>

#include "app/link/zeromq_wire.h"

namespace campipe {

namespace messages {
struct LinkIdentity;
struct LinkTransports;
}  // namespace messages

// The best first.
messages::LinkTransports usable_transports();

// Throws BadMessage for keys that are none.
LinkKeys link_keys(const messages::LinkIdentity& identity);
// Of a link to that peer; nothing: it is not encrypted. Throws likewise.
template <typename Link>
std::optional<LinkKeys> keys_for(const LinkKeys& own, const Link& link);

}  // namespace campipe
