// Certificates for those who have no authority of their own: an authority, and what it signs for nodes of a cluster
// and members of etcd. As PEM, in memory; ECDSA on P-256. All of them throw Error where OpenSSL fails.
#pragma once

#include <string>
#include <vector>

namespace campipe {

struct PemPair {
  std::string certificate;
  std::string key;  // not encrypted
};

// Signs for ten years, and no other authorities.
PemPair make_authority();

// Empty: the host is a DNS name or an IP address. Else what is wrong, behind "'HOST' ".
std::string host_problem(const std::string& host);

// For a server and a client. The common name is the node's name, by which other nodes know it; the hosts, which have
// no host_problem(), are where it is reached. It must end before the authority does.
PemPair sign_certificate(const PemPair& authority, const std::string& node, const std::vector<std::string>& hosts,
                         int days);

}  // namespace campipe
