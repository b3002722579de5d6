// Files of certificates: ca.pem and ca.key of an authority, and NODE.pem and NODE.key of each node, in one folder. Keys
// are for their owner only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace campipe {

struct CertificateRequest {
  std::string node;
  std::vector<std::string> hosts;
};

// "NODE=HOST[,HOST…]". Throws Error with what is wrong.
CertificateRequest parse_certificate_request(const std::string& text);

struct CertificateOptions {
  std::filesystem::path folder = "certificates";
  std::vector<CertificateRequest> nodes{};
  int days = 825;
  bool replace = false;  // certificates of nodes; an authority never
};

// By the authority in the folder, which is made where there is none. Returns the files that were written. Throws Error
// where one cannot be, or is there already.
std::vector<std::filesystem::path> write_certificates(const CertificateOptions& options);

}  // namespace campipe
