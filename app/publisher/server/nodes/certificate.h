// Whom a certificate that the cluster's authority signed stands for.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "app/publisher/server/nodes/places.h"

namespace campipe {

// After the handshake: the peer's certificate has the node's name as its common name, or is for the host of its
// address.
bool is_certificate_of(SSL* tls, const std::string& node, const std::string& address);
// Of some node.
bool is_node_certificate(SSL* tls, const NodePlaces& places);

}  // namespace campipe
