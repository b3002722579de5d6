// Certificates and keys of the servers.
#pragma once

#include <string>

namespace campipe {

class Report;
struct YamlNode;

// Whether a certificate and a key (PEM), which these nodes name, can be used by the servers now: they must parse, and
// belong together. They may be renewed, or come with a disk: what is wrong with them is a condition that passes. Of
// files that cannot be read nothing more is reported (read_file_name()).
void check_pair(const std::string& certificate, const YamlNode& certificate_node, const std::string& key,
                const YamlNode& key_node, Report& report);

}  // namespace campipe
