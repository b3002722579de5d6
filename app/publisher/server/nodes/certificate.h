// Whom a certificate that the cluster's authority signed stands for: the node that its common name names. Hosts in it
// do not count, since several programs of one machine have certificates for the same ones.
#pragma once

#include <openssl/ssl.h>

#include <string>

namespace campipe {

// After the handshake: the common name of the peer's certificate, all of it; empty: it has none, or the authority did
// not sign it.
std::string certified_name(SSL* tls);

}  // namespace campipe
