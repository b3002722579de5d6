#include "app/cluster/certificates.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string_view>

#include "core/error.h"

namespace campipe {
namespace {

constexpr int authority_days = 3650;
// The clocks of two machines need not agree to the second when a certificate is used at once.
constexpr long starts_before_s = 3600;

template <auto release>
struct Freeing {
  template <typename Handle>
  void operator()(Handle* handle) const {
    release(handle);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<&::EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<&::X509_free>>;
using Bio = std::unique_ptr<BIO, Freeing<&::BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freeing<&::X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, Freeing<&::BN_free>>;
using Octets = std::unique_ptr<ASN1_OCTET_STRING, Freeing<&::ASN1_OCTET_STRING_free>>;

void require(bool done, const std::string& what) {
  if (done) return;
  const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  ::ERR_clear_error();
  throw Error(what + (reason != nullptr ? std::string(": OpenSSL reports '") + reason + "'" : ""));
}

Key make_key() {
  Key key(::EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  require(key != nullptr, "cannot make a key");
  return key;
}

std::string text_of(BIO& bio) {
  char* data = nullptr;
  const long size = ::BIO_get_mem_data(&bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

PemPair to_pem(const Certificate& certificate, const Key& key) {
  const Bio first(::BIO_new(::BIO_s_mem()));
  const Bio second(::BIO_new(::BIO_s_secmem()));
  require(first && second && ::PEM_write_bio_X509(first.get(), certificate.get()) == 1 &&
              ::PEM_write_bio_PrivateKey(second.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "cannot write a certificate");
  return {text_of(*first), text_of(*second)};
}

// Without it, OpenSSL asks at the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* /*user*/) { return -1; }

Bio reader_of(const std::string& text) { return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

Certificate read_authority(const PemPair& authority) {
  Certificate read(::PEM_read_bio_X509(reader_of(authority.certificate).get(), nullptr, no_password, nullptr));
  require(read != nullptr, "the authority's certificate cannot be read");
  if (::X509_check_ca(read.get()) != 1) throw Error("the authority's certificate is none that may sign others");
  return read;
}

Key read_key(const PemPair& authority, const Certificate& certificate) {
  Key read(::PEM_read_bio_PrivateKey(reader_of(authority.key).get(), nullptr, no_password, nullptr));
  require(read != nullptr, "the authority's key cannot be read (it must be PEM, and not encrypted)");
  require(::X509_check_private_key(certificate.get(), read.get()) == 1,
          "the authority's key does not belong to its certificate");
  return read;
}

// Nobody can guess it, and no two are the same.
void set_serial(X509& certificate) {
  std::array<unsigned char, 16> bytes{};
  require(::RAND_bytes(bytes.data(), bytes.size()) == 1, "no random numbers");
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, and of full length
  const Number number(::BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  require(number && ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(&certificate)) != nullptr,
          "cannot set a serial number");
}

Certificate begin_certificate(const std::string& name, const Key& key, int days) {
  Certificate made(::X509_new());
  require(made && ::X509_set_version(made.get(), X509_VERSION_3) == 1, "cannot make a certificate");
  set_serial(*made);
  X509_NAME* const subject = ::X509_get_subject_name(made.get());
  const auto* text = reinterpret_cast<const unsigned char*>(name.data());  // OpenSSL's type of text
  require(
      ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -starts_before_s) != nullptr &&
          ::X509_time_adj_ex(::X509_getm_notAfter(made.get()), days, 0, nullptr) != nullptr &&
          ::X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text, static_cast<int>(name.size()), -1, 0) == 1 &&
          ::X509_set_pubkey(made.get(), key.get()) == 1,
      "cannot make a certificate for '" + name + "'");
  return made;
}

void add_extension(X509& certificate, X509& issuer, int what, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const Extension extension(::X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  require(extension && ::X509_add_ext(&certificate, extension.get(), -1) == 1,
          "cannot write '" + value + "' into a certificate");
}

void sign(X509& certificate, X509& issuer, const Key& key) {
  require(::X509_set_issuer_name(&certificate, ::X509_get_subject_name(&issuer)) == 1 &&
              ::X509_sign(&certificate, key.get(), ::EVP_sha256()) > 0,
          "cannot sign a certificate");
}

bool is_address(const std::string& host) { return Octets(::a2i_IPADDRESS(host.c_str())) != nullptr; }

bool is_label(std::string_view label) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, fits);
}

void require_authority_outlives(const X509& authority, const X509& certificate) {
  const ASN1_TIME* const end = ::X509_get0_notAfter(&authority);
  if (::ASN1_TIME_compare(::X509_get0_notAfter(&certificate), end) <= 0) return;
  int days = 0;
  int seconds = 0;
  require(::ASN1_TIME_diff(&days, &seconds, nullptr, end) == 1, "the authority's certificate has no end");
  throw Error(days < 1 ? "the authority's certificate has ended, or ends today: make a new one in another folder"
                       : "the authority's certificate ends before that: use --days " + std::to_string(days) +
                             " or less, or a new authority in another folder");
}

}  // namespace

PemPair make_authority() {
  const Key key = make_key();
  const Certificate made = begin_certificate("campipe cluster authority", key, authority_days);
  add_extension(*made, *made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(*made, *made, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(*made, *made, NID_subject_key_identifier, "hash");
  sign(*made, *made, key);
  return to_pem(made, key);
}

std::string host_problem(const std::string& host) {
  if (is_address(host)) return {};
  const std::string wanted = "is no DNS name and no IP address";
  if (host.find(':') != std::string::npos) return wanted + "; it stands without a port and without brackets";
  if (host.empty() || host.size() > 253) return wanted;
  std::string_view rest = host;
  std::string_view label;
  do {
    label = rest.substr(0, rest.find('.'));
    if (!is_label(label)) return wanted;
    rest.remove_prefix(std::min(rest.size(), label.size() + 1));
  } while (!rest.empty());
  // "10.0.0.300", and a name that ends with a dot.
  const bool is_number = std::ranges::all_of(label, [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number || host.back() == '.' ? wanted : "";
}

PemPair sign_certificate(const PemPair& authority, const std::string& node, const std::vector<std::string>& hosts,
                         int days) {
  const Certificate issuer = read_authority(authority);
  const Key issuer_key = read_key(authority, issuer);
  const Key key = make_key();
  const Certificate made = begin_certificate(node, key, days);
  require_authority_outlives(*issuer, *made);
  std::string names;
  for (const std::string& host : hosts)
    names += (names.empty() ? "" : ",") + (is_address(host) ? "IP:" + host : "DNS:" + host);
  add_extension(*made, *issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(*made, *issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(*made, *issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(*made, *issuer, NID_subject_alt_name, names);
  add_extension(*made, *issuer, NID_subject_key_identifier, "hash");
  add_extension(*made, *issuer, NID_authority_key_identifier, "keyid:always");
  sign(*made, *issuer, issuer_key);
  return to_pem(made, key);
}

}  // namespace campipe
