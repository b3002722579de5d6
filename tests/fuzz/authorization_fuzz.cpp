// The header Authorization: nobody comes in but with a user's name and the right password.
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/quiet.h"
#include "tests/fuzz/users.h"

namespace campipe::fuzz {
namespace {

std::string base64(const std::string& text, int variant) {
  std::string out(sodium_base64_encoded_len(text.size(), variant), '\0');
  const std::vector<unsigned char> bytes(text.begin(), text.end());
  ::sodium_bin2base64(out.data(), out.size(), bytes.data(), bytes.size(), variant);
  out.pop_back();  // the NUL
  return out;
}

bool is_right(const std::string& text) {
  return text == std::string("ann:") + right_password || text == std::string("ben:") + right_password;
}

// What stands behind the scheme is one of the two that are right.
bool holds_right(const std::string& header) {
  std::string last = header.substr(header.find_last_of(' ') + 1);
  while (last.ends_with('=')) last.pop_back();
  for (const std::string user : {"ann:", "ben:"}) {
    for (const int variant : {sodium_base64_VARIANT_ORIGINAL_NO_PADDING, sodium_base64_VARIANT_URLSAFE_NO_PADDING}) {
      if (last == base64(user + right_password, variant)) return true;
    }
  }
  return false;
}

void check(const std::string& input) {
  static Access access(server_with_users(), hurried_clock());
  be_silent();
  const auto lets_in = [](const std::string& header) {
    return access.check_authorization(header, "10.0.0.5").identity.has_value();
  };
  require(!lets_in(input) || holds_right(input), "who comes in has the right password", input);
  // And as what somebody wrote into a login dialogue.
  require(lets_in("Basic " + base64(input, sodium_base64_VARIANT_ORIGINAL)) == is_right(input), "Basic is exact",
          input);
  require(lets_in("bearer " + base64(input, sodium_base64_VARIANT_URLSAFE)) == is_right(input), "Bearer is exact",
          input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
