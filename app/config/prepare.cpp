// What is done to the tree before it is read: variables, paths, duplicate keys.
#include <cstdlib>
#include <unordered_map>

#include "app/config/reader.h"

namespace campipe {
namespace {

bool is_variable_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return !name.empty() && digits.find(name.front()) == std::string_view::npos &&
         name.find_first_not_of(allowed) == std::string_view::npos;
}

// The value of what stands between `${` and `}`; sets the node's problem when there is none.
std::string variable_value(std::string_view reference, YamlNode& node) {
  const auto colon = reference.find(':');
  const std::string name(reference.substr(0, colon));
  if (!is_variable_name(name)) {
    node.problem = "expected ${NAME} or ${NAME:default}, got " + in_quotes("${" + std::string(reference) + "}");
    return {};
  }
  const char* value = std::getenv(name.c_str());
  if (value != nullptr && is_utf8(value)) {
    node.variables.push_back({name, value});
    return value;
  }
  if (value != nullptr) {
    node.problem = "the environment variable " + name + " is not valid UTF-8";
  } else if (colon == std::string_view::npos) {
    node.problem = "the environment variable " + name + " is not set, and ${" + name + "} has no default";
  } else {
    return std::string(reference.substr(colon + 1));
  }
  return {};
}

// What comes out of a variable is not looked at again: a password may contain `${`.
void fill_in_variables(YamlNode& node) {
  std::string text;
  std::string_view rest = node.written;
  for (auto begin = rest.find("${"); begin != std::string_view::npos; begin = rest.find("${")) {
    const auto end = rest.find('}', begin);
    if (end == std::string_view::npos) {
      node.problem = "'${' without '}'";
      return;
    }
    text += rest.substr(0, begin);
    text += variable_value(rest.substr(begin + 2, end - begin - 2), node);
    rest.remove_prefix(end + 1);
    if (!node.problem.empty()) return;
  }
  node.text = text + std::string(rest);
}

// "\\0" in quotes is valid YAML, and ends the text for every C function that gets it.
void refuse_nul(YamlNode& node) {
  const bool has_nul = node.text.find('\0') != std::string::npos || node.key.find('\0') != std::string::npos;
  if (has_nul && node.problem.empty()) node.problem = "a NUL character";
}

void remove_duplicates(YamlNode& map, Report& report) {
  std::unordered_map<std::string, Mark> seen;
  std::vector<YamlNode> kept;
  for (YamlNode& child : map.children) {
    const auto [first, is_new] = seen.try_emplace(child.key, child.key_mark);
    if (is_new) {
      kept.push_back(std::move(child));
    } else {
      report.add(child.key_mark, join_path(map.path, child.key),
                 "duplicate key, first given at line " + std::to_string(first->second.line) + ", column " +
                     std::to_string(first->second.column));
    }
  }
  map.children = std::move(kept);
}

}  // namespace

void prepare_tree(YamlNode& root, Report& report) {
  if (root.kind == YamlNode::Kind::scalar && root.problem.empty()) fill_in_variables(root);
  refuse_nul(root);
  if (root.kind == YamlNode::Kind::map) remove_duplicates(root, report);
  for (std::size_t i = 0; i < root.children.size(); ++i) {
    YamlNode& child = root.children[i];
    child.path =
        root.kind == YamlNode::Kind::map ? join_path(root.path, child.key) : root.path + "[" + std::to_string(i) + "]";
    prepare_tree(child, report);
  }
}

}  // namespace campipe
