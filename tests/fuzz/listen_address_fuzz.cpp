// An address to listen at: what is read is the same when it is written again.
#include "app/config/address.h"

#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::string& text) {
  const auto address = split_listen_address(text);
  if (!address) return;
  const bool is_ipv6 = contains(address->host, ":");
  const std::string written =
      (is_ipv6 ? "[" + address->host + "]" : address->host) + ":" + std::to_string(address->port);
  const auto again = split_listen_address(written);
  require(again && again->host == address->host && again->port == address->port, "the same when written again", text);
  require(!is_loopback(*address) || !address->host.empty(), "all addresses are not only this machine's", text);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
