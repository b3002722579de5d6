// What `campipe cluster certificates` writes, as OpenSSL's own program reads it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "app/cluster/certificate_files.h"
#include "app/cluster/certificates.h"
#include "core/error.h"
#include "tests/unit/peers.h"
#include "tests/unit/temporary_folder.h"

namespace campipe {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using test::Program;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Certificates : public testing::Test {
 protected:
  std::vector<fs::path> write(const std::vector<std::string>& nodes, bool replace = false, int days = 825) const {
    CertificateOptions options{folder(), {}, days, replace};
    for (const std::string& node : nodes) options.nodes.push_back(parse_certificate_request(node));
    return write_certificates(options);
  }
  fs::path folder() const { return temporary_.path() / "certificates"; }
  std::string at(const std::string& file) const { return (folder() / file).string(); }
  std::string text_of(const std::string& file) const {
    std::ifstream in(at(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  bool is_good(const std::string& node, const std::string& purpose, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command{"openssl", "verify", "-x509_strict", "-CAfile", at("ca.pem"), "-purpose", purpose};
    command.insert(command.end(), more.begin(), more.end());
    command.push_back(at(node + ".pem"));
    return Program(command).wait() == 0;
  }
  bool still_good_in(const std::string& file, int days) const {
    return Program({"openssl", "x509", "-noout", "-in", at(file), "-checkend", std::to_string(days * 86'400L)})
               .wait() == 0;
  }
  int mode_of(const std::string& file) const {
    struct stat about {};
    return ::stat(at(file).c_str(), &about) == 0 ? static_cast<int>(about.st_mode & 0777) : -1;
  }

 private:
  test::TemporaryFolder temporary_;
};

TEST_F(Certificates, AreForServersAndClientsOfTheirNames) {
  EXPECT_THAT(write({"east=east.example,10.0.0.1,fd00::1"}),
              ElementsAre(at("ca.pem"), at("ca.key"), at("east.pem"), at("east.key")));
  EXPECT_TRUE(is_good("east", "sslclient"));
  for (const char* address : {"10.0.0.1", "fd00::1"})
    EXPECT_TRUE(is_good("east", "sslserver", {"-verify_ip", address}));
  EXPECT_TRUE(is_good("east", "sslserver", {"-verify_hostname", "east.example"}));
  EXPECT_FALSE(is_good("east", "sslserver", {"-verify_hostname", "west.example"}));
  EXPECT_FALSE(is_good("east", "sslserver", {"-verify_ip", "10.0.0.2"}));

  Program shown({"openssl", "x509", "-noout", "-subject", "-nameopt", "RFC2253", "-in", at("east.pem")});
  EXPECT_EQ(shown.first_line(), "subject=CN=east");
  EXPECT_EQ(mode_of("ca.key"), 0600);
  EXPECT_EQ(mode_of("east.key"), 0600);
  EXPECT_TRUE(still_good_in("east.pem", 824));
  EXPECT_FALSE(still_good_in("east.pem", 826));
  EXPECT_TRUE(still_good_in("ca.pem", 3649));
}

TEST_F(Certificates, OfALaterRunAreOfTheSameAuthority) {
  write({"east=east.example"});
  const std::string authority = text_of("ca.pem");
  const std::string east = text_of("east.pem");
  EXPECT_THAT(write({"west=west.example"}), ElementsAre(at("west.pem"), at("west.key")));
  EXPECT_EQ(text_of("ca.pem"), authority);
  EXPECT_TRUE(is_good("west", "sslserver"));

  EXPECT_THAT(
      [&] {
        write({"north=north.example", "east=east.example"});
      },
      ThrowsMessage<Error>(at("east.pem") + " is there already, and nothing was written; --replace replaces it"));
  EXPECT_FALSE(fs::exists(at("north.pem")));
  EXPECT_EQ(text_of("east.pem"), east);
  write({"east=10.0.0.1"}, true);
  EXPECT_TRUE(is_good("east", "sslserver", {"-verify_ip", "10.0.0.1"}));
  EXPECT_EQ(mode_of("east.key"), 0600);
  EXPECT_EQ(text_of("ca.pem"), authority);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 6) << "nothing else is left";
}

TEST_F(Certificates, NeedTheWholeAuthority) {
  write({"east=east.example"});
  fs::rename(at("ca.key"), at("away.key"));
  EXPECT_THAT([&] { write({"west=west.example"}); },
              ThrowsMessage<Error>(HasSubstr(at("ca.key") + " is missing, and " + at("ca.pem") + " is there")));
  fs::copy_file(at("east.key"), at("ca.key"));
  EXPECT_THAT([&] { write({"west=west.example"}); },
              ThrowsMessage<Error>(HasSubstr("the authority's key does not belong to its certificate")));
  fs::remove(at("ca.key"));
  fs::rename(at("ca.pem"), at("away.pem"));
  fs::copy_file(at("east.pem"), at("ca.pem"));
  fs::copy_file(at("east.key"), at("ca.key"));
  EXPECT_THAT([&] { write({"west=west.example"}); },
              ThrowsMessage<Error>("the authority's certificate is none that may sign others"));
  EXPECT_FALSE(fs::exists(at("west.key")));
}

TEST_F(Certificates, DoNotOutliveTheirAuthority) {
  EXPECT_THAT([&] { write({"east=east.example"}, false, 3651); },
              ThrowsMessage<Error>(HasSubstr("the authority's certificate ends before that: use --days 36")));
}

TEST_F(Certificates, NeedAFolderThatCanBeMade) {
  std::ofstream(folder()) << "a file";
  EXPECT_THAT([&] { write({"east=east.example"}); }, ThrowsMessage<Error>(HasSubstr(folder().string())));
}

TEST(CertificateRequests, OfAnotherFormAreMistakes) {
  const auto mistake = [](const std::string& text) -> std::string {
    try {
      parse_certificate_request(text);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  for (const char* good : {"a=b", "east=east.example,10.0.0.1,::1", "e-1.x=a_b.example", "n=xn--bcher-kva.example"})
    EXPECT_EQ(mistake(good), "") << good;
  EXPECT_EQ(mistake("east"), "'east' is not of the form NODE=HOST[,HOST…]");
  EXPECT_THAT(mistake("=east"), HasSubstr("'' is no node's name"));
  EXPECT_THAT(mistake("../east=east"), HasSubstr("'../east' is no node's name"));
  EXPECT_THAT(mistake("ca=east"), HasSubstr("no node can be called 'ca'"));
  for (const char* host : {"", "10.0.0.300", "a b", "-a", "a..b", "a.", "*.example", "DNS:a", "a/b"})
    EXPECT_THAT(mistake(std::string("east=east.example,") + host), HasSubstr("is no DNS name and no IP address"))
        << host;
  EXPECT_EQ(
      mistake("east=10.0.0.1:8443"),
      "node east: '10.0.0.1:8443' is no DNS name and no IP address; it stands without a port and without brackets");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
