// From text to tree, by yaml-cpp's events: its own tree would expand aliases, and hide where keys stand.
#include "app/config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "app/config/report.h"

namespace campipe {
namespace {

// A rig of 256 cameras, each with four outputs, needs a depth of 9 and some 40,000 nodes.
constexpr std::size_t max_depth = 16;
constexpr std::size_t max_nodes = 50'000;

// Stops the parser. yaml-cpp lets what its handler throws through.
struct Refusal {
  Mark mark;
  std::string message;
};

constexpr const char* no_aliases = "anchors (&) and aliases (*) are not read; put what cameras share into `defaults`";

// yaml-cpp counts from 0, and columns in bytes. Looked up, not counted: a hostile file is one long line.
class Positions {
 public:
  explicit Positions(std::string_view text) {
    int characters = 0;
    characters_.reserve(text.size() + 1);
    for (std::size_t i = 0; i < text.size(); ++i) {
      characters_.push_back(characters);
      characters += (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80 ? 1 : 0;
      if (text[i] == '\n') line_starts_.push_back(i + 1);
    }
    characters_.push_back(characters);
  }

  [[nodiscard]] Mark operator()(const YAML::Mark& mark) const {
    if (mark.is_null()) return {};
    const std::size_t start = line_starts_[std::min(static_cast<std::size_t>(mark.line), line_starts_.size() - 1)];
    const std::size_t place = byte(mark);
    return {mark.line + 1, characters_[place] - characters_[start] + 1};
  }
  [[nodiscard]] std::size_t byte(const YAML::Mark& mark) const {
    const std::size_t start = line_starts_[std::min(static_cast<std::size_t>(mark.line), line_starts_.size() - 1)];
    return std::min(start + static_cast<std::size_t>(mark.column), characters_.size() - 1);
  }

 private:
  std::vector<std::size_t> line_starts_{0};
  std::vector<int> characters_;  // before each byte of the text, and in all of it
};

// The first line up to `last` that is indented with a tab: YAML's own message names another place, and not the reason.
std::optional<Mark> tab_in_indentation(std::string_view text, int last) {
  for (int number = 1; number <= last && !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const auto place = line.find_first_not_of(' ');
    if (place != std::string_view::npos && line[place] == '\t') return Mark{number, static_cast<int>(place) + 1};
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

// YAML allows a quoted text to continue in the next line; in a rig's file its closing quote was forgotten. The search
// ends with the text, since a line may hold many.
bool is_unclosed(std::string_view text) {
  const char quote = text.empty() ? '\0' : text.front();
  if (quote != '"' && quote != '\'') return false;
  for (std::size_t i = 1; i < text.size() && text[i] != '\n'; ++i) {
    if (quote == '"' && text[i] == '\\' && text.substr(i + 1, 1) != "\n")
      ++i;
    else if (text[i] == quote)
      return false;
  }
  return true;
}

class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const Positions& positions) : text_(text), positions_(positions) {}

  [[nodiscard]] YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw Refusal{positions_(mark), "a second document (after `---`), expected only one"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(make(YamlNode::Kind::null, mark, "?")); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { throw Refusal{positions_(mark), no_aliases}; }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { throw Refusal{positions_(mark), no_aliases}; }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    if (!mark.is_null() && is_unclosed(text_.substr(positions_.byte(mark))))
      throw Refusal{positions_(mark), "the quote that begins here is not closed in this line"};
    YamlNode node = make(YamlNode::Kind::scalar, mark, tag);
    node.text = node.written = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::list, mark, tag));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(make(YamlNode::Kind::map, mark, tag));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;  // of a map: read, and waiting for its value
  };

  YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag) {
    YamlNode node;
    node.kind = kind;
    node.mark = node.key_mark = positions_(mark);
    if (++nodes_ > max_nodes) throw Refusal{node.mark, "more keys and values than any rig needs"};
    if (tag != "?" && tag != "!" && !tag.empty()) node.problem = "YAML tags (!…) are not read";
    return node;
  }

  [[nodiscard]] bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().key;
  }

  void open(YamlNode&& node) {
    if (expects_key()) throw Refusal{node.mark, "a list or map as a key, expected a name"};
    if (open_.size() >= max_depth) throw Refusal{node.mark, "nested more deeply than any rig needs"};
    open_.push_back({std::move(node), std::nullopt});
  }

  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (expects_key()) {
      open_.back().key = std::move(node);
    } else {
      Open& parent = open_.back();
      // yaml-cpp places what is not there at the next token, which may be lines away.
      if (node.kind == YamlNode::Kind::null) node.mark = parent.key ? parent.key->mark : parent.node.mark;
      if (parent.key) name(node, *std::exchange(parent.key, std::nullopt));
      parent.node.children.push_back(std::move(node));
    }
  }

  static void name(YamlNode& node, YamlNode key) {
    node.key = std::move(key.text);
    node.key_mark = key.mark;
    if (node.problem.empty()) node.problem = std::move(key.problem);
  }

  std::string_view text_;
  const Positions& positions_;
  std::vector<Open> open_;
  YamlNode root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

}  // namespace

YamlResult parse_yaml(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  const Positions positions(text);
  TreeBuilder builder(text, positions);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const Refusal& refusal) {
    return ConfigError{refusal.mark.line, refusal.mark.column, "", refusal.message};
  } catch (const YAML::Exception& error) {
    const Mark mark = positions(error.mark);
    if (const auto tab = tab_in_indentation(text, mark.line))
      return ConfigError{tab->line, tab->column, "", "a tab in the indentation: YAML takes spaces only"};
    const bool alias = error.msg == YAML::ErrorMsg::UNKNOWN_ANCHOR;
    return ConfigError{mark.line, mark.column, "", alias ? no_aliases : "not valid YAML: " + scrub(error.msg, {})};
  }
}

}  // namespace campipe
