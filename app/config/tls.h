// Whether a certificate and a key can be used by the servers.
#pragma once

#include <string>

namespace campipe {

struct TlsProblem {
  std::string what;  // empty: there is none; else it goes on behind "the file 'x' "
  bool of_key = false;
};

// Both files (PEM) can be read. They must parse, and belong together.
TlsProblem check_certificate(const std::string& certificate, const std::string& key);

}  // namespace campipe
