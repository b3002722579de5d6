// An authority of a cluster, and certificates that it signs, for tests of what nodes show one another.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/config/cluster_config.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

class NodeAuthority {
 public:
  NodeAuthority() {
    run({"req", "-batch", "-x509", "-days", "2", "-subj", "/CN=authority", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", at("ca.key"), "-out", at("ca.pem")});
  }

  // `names`: "IP:127.0.0.1", "DNS:east.lan".
  [[nodiscard]] ClusterTlsConfig make(const std::string& common_name, const std::string& names) const {
    const std::string file = at(common_name);
    run({"req", "-batch", "-subj", "/CN=" + common_name, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", file + ".key", "-out", file + ".csr"});
    replace_file(file + ".ext", "subjectAltName=" + names);
    run({"x509", "-req", "-days", "2", "-in", file + ".csr", "-CA", at("ca.pem"), "-CAkey", at("ca.key"),
         "-CAcreateserial", "-extfile", file + ".ext", "-out", file + ".pem"});
    return {at("ca.pem"), file + ".pem", file + ".key"};
  }

 private:
  [[nodiscard]] std::string at(const std::string& file) const { return (folder_.path() / file).string(); }
  static void run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "openssl");
    EXPECT_EQ(Program(arguments).wait(), 0) << arguments.at(1);
  }

  TemporaryFolder folder_;
};

}  // namespace campipe::test
