#include "core/unescaped_password.h"

#include <string_view>

#include "core/url_text.h"

namespace campipe {
namespace {

bool has_only(std::string_view text, std::string_view letters) {
  return text.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

bool has_unescaped_password(const std::string& url) {
  const auto mark = url.find("://");
  if (mark == std::string::npos) return false;
  const std::string_view rest = std::string_view(url).substr(mark + 3);
  const auto end = rest.find_first_of("/?#");
  if (end == std::string_view::npos || rest.find('@', end) == std::string_view::npos) return false;
  const std::string_view authority = rest.substr(0, end);
  const auto colon = authority.find(':');
  if (authority.starts_with('[') || authority.find('@') != std::string_view::npos || colon == std::string_view::npos ||
      colon == 0) {
    return false;
  }
  const std::string_view host = authority.substr(0, colon);
  const std::string_view port = authority.substr(colon + 1);
  if (port.empty() || !has_only(port, "0123456789") || is_host_in_numbers(host) || host == "localhost") return false;
  // A name with a dot is rather a host's, but where a better one follows.
  const std::string_view behind = rest.substr(rest.rfind('@') + 1);
  return host.find('.') == std::string_view::npos || behind.starts_with('[') ||
         is_host_in_numbers(behind.substr(0, behind.find_first_of(":/?#")));
}

}  // namespace campipe
