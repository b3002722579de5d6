#include "app/config/report.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/cut_text.h"
#include "core/passwords.h"

namespace campipe {
namespace {

constexpr std::size_t max_errors = 1000;
constexpr std::size_t max_looked_at = 8192;  // bytes of a value
constexpr std::size_t max_shown = 60;        // bytes of it
constexpr std::size_t max_foreign = 500;     // bytes of others' text

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
    } else {
      out += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return out;
}

std::string shortened(std::string text, std::size_t size) {
  if (text.size() <= size) return text;
  return text.substr(0, cut_at(text, size)) + "…";
}

std::string display(std::string_view text) {
  // Masked before it is cut to what is shown, or the cut could hide the '@' that shows where a password is; of a text
  // that is longer than any name or address there is taken to be one behind it.
  std::string looked_at(text.substr(0, max_looked_at));
  if (looked_at.size() < text.size()) looked_at += '@';
  return shortened(printable(without_passwords(mask_password(looked_at))), max_shown);
}

struct Secret {
  std::string text;
  std::string shown_as;
};

void collect_secrets(const YamlNode& node, std::vector<Secret>& secrets) {
  for (const Variable& variable : node.variables) secrets.push_back({variable.value, "${" + variable.name + "}"});
  if (node.kind == YamlNode::Kind::scalar) secrets.push_back({node.text, mask_password(node.written)});
  for (const YamlNode& child : node.children) collect_secrets(child, secrets);
}

void sort_by_place(std::vector<ConfigError>& errors) {
  std::stable_sort(errors.begin(), errors.end(), [](const ConfigError& a, const ConfigError& b) {
    return std::tie(a.document, a.line, a.column) < std::tie(b.document, b.line, b.column);
  });
}

}  // namespace

void Report::add(Mark mark, std::string path, std::string message, bool contradicts) {
  if (errors_.size() == max_errors) {
    ++more_;
    return;
  }
  errors_.push_back({mark.line, mark.column, std::move(path), std::move(message), mark.document, contradicts});
}

void Report::not_now(const YamlNode& value, std::string message) {
  const ConfigError condition{value.mark.line, value.mark.column, value.path, std::move(message), value.mark.document};
  const auto is_same = [&](const ConfigError& other) {  // of `defaults`
    return std::tie(other.document, other.line, other.column, other.message) ==
           std::tie(condition.document, condition.line, condition.column, condition.message);
  };
  if (conditions_.size() < max_errors && std::ranges::none_of(conditions_, is_same)) conditions_.push_back(condition);
}

void Report::step(const YamlNode* key, std::string doing, std::string remedy) const {
  if (!on_step_) return;
  ConfigError place{0, 0, "", std::move(doing)};
  if (key != nullptr) {
    place = {key->key_mark.line, key->key_mark.column, key->path, std::move(place.message), key->key_mark.document};
  }
  on_step_({std::move(place), std::move(remedy)});
}

std::vector<ConfigError> Report::take() {
  sort_by_place(errors_);
  if (more_ > 0) errors_.push_back({0, 0, "", "and " + std::to_string(more_) + " more mistakes"});
  return std::move(errors_);
}

std::vector<ConfigError> Report::take_conditions() {
  sort_by_place(conditions_);
  return std::move(conditions_);
}

std::string join_path(const std::string& parent, std::string_view key) {
  return parent.empty() ? display(key) : parent + "." + display(key);
}

std::string in_quotes(std::string_view text) { return "'" + display(text) + "'"; }

std::string shown(const YamlNode& value) {
  switch (value.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::scalar:
      break;
  }
  std::string text = in_quotes(value.written);
  for (std::size_t i = 0; i < value.variables.size(); ++i) {
    text += (i == 0 ? " (from the environment: " : ", ") + value.variables[i].name;
  }
  return value.variables.empty() ? text : text + ")";
}

std::string mask_password(std::string_view text) {
  const auto scheme = text.find("://");
  const auto begin = scheme == std::string_view::npos ? 0 : scheme + 3;
  const auto colon = text.find(':', begin);
  const auto at = text.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon) return std::string(text);
  return std::string(text.substr(0, colon + 1)) + "***" + std::string(text.substr(at));
}

std::string scrub(std::string text, const YamlNode& value) {
  std::vector<Secret> secrets;
  collect_secrets(value, secrets);
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    const std::string masked = mask_password(secrets[i].text);
    if (masked == secrets[i].text) continue;
    const auto begin = masked.find("***");
    const auto length = secrets[i].text.size() - (masked.size() - 3);
    secrets.push_back({secrets[i].text.substr(begin, length), "***"});
  }
  // The longest first: one may be a part of another.
  std::stable_sort(secrets.begin(), secrets.end(),
                   [](const Secret& a, const Secret& b) { return a.text.size() > b.text.size(); });
  for (const Secret& secret : secrets) hide_text(text, secret.text, secret.shown_as);
  return shortened(printable(without_passwords(text)), max_foreign);
}

std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace campipe
