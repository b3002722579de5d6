#include "app/publisher/server/nodes/request.h"

#include <algorithm>

#include "core/error.h"

namespace campipe {
namespace {

// Whoever read it let no such thing in; this does not depend on it.
const std::string& checked(const std::string& part, bool may_have_spaces) {
  const auto is_wrong = [may_have_spaces](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 32 && c != '\t') || byte == 127 || (!may_have_spaces && (c == ' ' || c == '\t'));
  };
  if (part.empty() || std::ranges::any_of(part, is_wrong)) throw Error("a request that cannot be passed on to a node");
  return part;
}

}  // namespace

HeaderLine header_for(const Identity& identity, bool has_users) {
  if (identity.kind == Identity::Kind::unknown) throw Error("nobody is asked for");
  if (identity.kind == Identity::Kind::user) return {node_user_header, identity.user};
  if (!has_users) return {node_visitor_header, "1"};
  return {node_own_header, "1"};
}

std::string request_head(const std::string& method, const std::string& target, unsigned version,
                         const std::vector<HeaderLine>& headers) {
  std::string head =
      checked(method, false) + " " + checked(target, false) + (version >= 11 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
  for (const auto& [name, value] : headers) head += checked(name, false) + ": " + checked(value, true) + "\r\n";
  return head + "\r\n";
}

}  // namespace campipe
