#include "app/config/key_table.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "app/config/key_values.h"
#include "app/config/reader.h"

namespace campipe {
namespace {

// Those of `outer` that `own` lacks come first, in its order.
void add_options(EncoderOptions& own, const EncoderOptions& outer) {
  EncoderOptions merged = outer;
  for (const auto& option : own) {
    const auto same = std::ranges::find(merged, option.first, &EncoderOptions::value_type::first);
    if (same != merged.end()) {
      same->second = option.second;
    } else {
      merged.push_back(option);
    }
  }
  own = std::move(merged);
}

// Makes the keys of `Root`, of which `Config` is a part: `at` finds it there, and makes it where it is to be written.
template <typename Root, typename Config>
class Collector {
 public:
  using At = std::function<Config*(Root&, bool make)>;
  Collector(std::vector<Key<Root>>& table, std::string section, At at)
      : table_(table), section_(std::move(section)), at_(std::move(at)) {}

  template <typename T, typename Owner>
  void key(std::string_view name, T Owner::*member, const KeyText& text) {
    key(name, member, ChoiceKey<T>(), text);
  }

  template <typename T, typename Owner, typename Values>
  void key(std::string_view name, T Owner::*member, const Values& values, const KeyText& text) {
    Key<Root>& key = add(name, KeyInfo::Kind::value, text);
    key.type = type_text(values);
    if (key.range.empty()) key.range = range_text(values);
    bool may_be_auto = false;
    if constexpr (std::is_same_v<Values, IntegerKey>) may_be_auto = values.may_be_auto;
    if (key.fallback.empty()) key.fallback = fallback_text(Config().*member, may_be_auto);
    key.schema = schema_of(values).dump();
    key.read = [path = key.path, at = at_, member, values](const YamlNode& node, Given<Root>& given, Report& report) {
      std::optional<T> value = read_value<T>(values, node, report);
      given.at(path) = {.node = &node, .good = value.has_value()};
      if (value) at(given.value, true)->*member = std::move(*value);
      return value.has_value();
    };
    const auto from_to = [at = at_, member](auto change) {
      return [at, member, change](Root& to, const Root& from) {
        const Config* const source = at(const_cast<Root&>(from), false);  // only `make` changes it
        if (source != nullptr) change(at(to, true)->*member, source->*member);
      };
    };
    key.copy = from_to([](T& to, const T& from) { to = from; });
    if constexpr (std::is_same_v<T, EncoderOptions>) key.add = from_to(add_options);
  }

  template <typename T, typename Owner>
  void section(std::string_view name, T Owner::*member, const KeyText& text) {
    add_map(name, text);
    below(name, member);
  }
  template <typename T, typename Owner>
  void inlined(T Owner::*member) {
    below("", member);
  }
  template <typename Describe>
  void group(std::string_view name, const KeyText& text, const Describe& describe) {
    add_map(name, text);
    Collector keys(table_, path_of(name), at_);
    describe(keys);
  }

  template <typename T, typename Owner>
  void entries(std::string_view name, T Owner::* /*member*/, bool (*read)(const YamlNode&, Given<Root>&, Report&),
               std::string_view schema, const KeyText& text) {
    part(name, read, schema, text);
  }
  void part(std::string_view name, bool (*read)(const YamlNode&, Given<Root>&, Report&), std::string_view schema,
            const KeyText& text) {
    Key<Root>& key = add(name, KeyInfo::Kind::entries, text);
    key.type = "map";
    key.schema = schema;
    key.read = [path = key.path, read](const YamlNode& node, Given<Root>& given, Report& report) {
      given.at(path).node = &node;
      const bool good = read(node, given, report);
      given.at(path).good = good;
      return good;
    };
  }
  template <typename T, typename Owner>
  void hidden(std::string_view /*name*/, T Owner::* /*member*/) {}

 private:
  std::string path_of(std::string_view name) const {
    return section_.empty() ? std::string(name) : section_ + "." + std::string(name);
  }

  Key<Root>& add(std::string_view name, KeyInfo::Kind kind, const KeyText& text) {
    Key<Root>& key = table_.emplace_back();
    key.path = path_of(name);
    key.kind = kind;
    key.text = text;
    key.range = text.range;
    key.fallback = text.fallback;
    return key;
  }

  void add_map(std::string_view name, const KeyText& text) {
    Key<Root>& key = add(name, KeyInfo::Kind::map, text);
    key.type = "map";
    key.read = [path = key.path](const YamlNode& node, Given<Root>& given, Report& report) {
      given.at(path).node = &node;
      const bool good = read_keys(node, given, report, path);
      given.at(path).good = good;
      return good;
    };
  }

  template <typename T, typename Owner>
  void below(std::string_view name, T Owner::*member) {
    using Part = typename ValueIn<T>::Type;
    const auto at = [at = at_, member](Root& root, bool make) -> Part* {
      Config* const config = at(root, make);
      if (config == nullptr) return nullptr;
      if constexpr (ValueIn<T>::is_optional) {
        auto& part = config->*member;
        if (!part && make) part.emplace();
        return part ? &*part : nullptr;
      } else {
        return &(config->*member);
      }
    };
    Collector<Root, Part> keys(table_, name.empty() ? section_ : path_of(name), at);
    describe_keys(keys, Of<Part>());
  }

  std::vector<Key<Root>>& table_;
  const std::string section_;
  const At at_;
};

template <typename Config>
const Key<Config>* find_key(std::string_view section, std::string_view name) {
  for (const Key<Config>& key : keys_of<Config>()) {
    if (key.section() == section && key.name() == name) return &key;
  }
  return nullptr;
}

// Two keys of one map that exclude one another.
template <typename Config>
bool check_exclusions(std::string_view section, const Given<Config>& given, Report& report) {
  bool good = true;
  for (const KeyInfo& key : keys_of<Config>()) {
    if (key.section() != section || key.text.excludes.empty() || key.path > key.text.excludes) continue;
    const auto& [one, other] = std::tie(given[key.path], given[key.text.excludes]);
    if (one.node == nullptr || other.node == nullptr) continue;
    // Both are elements of one vector: the greater address comes later in the file.
    report.at_key(*std::max(one.node, other.node),
                  code(one.node->key) + " and " + code(other.node->key) + " exclude one another");
    good = false;
  }
  return good;
}

std::vector<KeyInfo> infos_in(const auto& table, std::string_view section) {
  std::vector<KeyInfo> keys;
  for (const KeyInfo& key : table) {
    if (key.section() == section) keys.push_back(key);
  }
  return keys;
}

}  // namespace

const Origin& Origins::operator[](std::string_view path) const {
  static const Origin nowhere;
  const auto found = given_.find(path);
  if (found != given_.end()) return found->second;
  if (!is_key_(path)) throw std::logic_error("no key of the configuration: " + std::string(path));
  return nowhere;
}

template <typename Config>
bool is_key(std::string_view path) {
  return std::ranges::any_of(keys_of<Config>(), [&](const KeyInfo& key) { return key.path == path; });
}

template <typename Config>
const std::vector<Key<Config>>& keys_of() {
  static const std::vector<Key<Config>> table = [] {
    std::vector<Key<Config>> keys;
    Collector<Config, Config> collector(keys, "", [](Config& config, bool) { return &config; });
    describe_keys(collector, Of<Config>());
    return keys;
  }();
  return table;
}

template <typename Config>
bool read_keys(const YamlNode& node, Given<Config>& given, Report& report, std::string_view section) {
  if (section.empty()) given.node = &node;
  if (!is_map(node, report)) return false;
  bool good = true;
  for (const YamlNode& child : node.children) {
    if (const auto* key = find_key<Config>(section, child.key)) {
      good = key->read(child, given, report) && good;
    } else {
      unknown_key(child, key_names<Config>(section), report);
      good = false;
    }
  }
  return check_exclusions(section, given, report) && good;
}

template <typename Config>
void inherit(Origins& own, Config& value, const Origins& outer, const Config& outer_value,
             const std::function<bool(const KeyInfo&)>& applies) {
  const Origins before = own;  // a key that was inherited excludes no other
  for (const Key<Config>& key : keys_of<Config>()) {
    const Origin& from = outer[key.path];
    if (from.node == nullptr || !applies(key)) continue;
    if (!key.text.excludes.empty() && before[key.text.excludes].node != nullptr) continue;
    Origin& origin = own.at(key.path);
    if (origin.node == nullptr) {
      origin = from;
      ++origin.inherited;
      if (from.good && key.copy) key.copy(value, outer_value);
    } else if (key.kind == KeyInfo::Kind::map) {
      origin.outer.push_back(from.node);
      origin.outer.insert(origin.outer.end(), from.outer.begin(), from.outer.end());
      origin.good = origin.good && from.good;
    } else if (key.add && origin.good && from.good) {
      key.add(value, outer_value);
    }
  }
}

template bool is_key<CameraConfig>(std::string_view);
template bool is_key<MosaicKeys>(std::string_view);
template bool is_key<GroupKeys>(std::string_view);
template bool is_key<OutputConfig>(std::string_view);
template bool is_key<RigConfig>(std::string_view);
template bool is_key<UserConfig>(std::string_view);
template const std::vector<Key<CameraConfig>>& keys_of();
template const std::vector<Key<MosaicKeys>>& keys_of();
template const std::vector<Key<GroupKeys>>& keys_of();
template const std::vector<Key<OutputConfig>>& keys_of();
template const std::vector<Key<StreamConfig>>& keys_of();
template const std::vector<Key<RigConfig>>& keys_of();
template const std::vector<Key<UserConfig>>& keys_of();
template bool read_keys(const YamlNode&, Given<CameraConfig>&, Report&, std::string_view);
template bool read_keys(const YamlNode&, Given<MosaicKeys>&, Report&, std::string_view);
template bool read_keys(const YamlNode&, Given<GroupKeys>&, Report&, std::string_view);
template bool read_keys(const YamlNode&, Given<OutputConfig>&, Report&, std::string_view);
template bool read_keys(const YamlNode&, Given<RigConfig>&, Report&, std::string_view);
template bool read_keys(const YamlNode&, Given<UserConfig>&, Report&, std::string_view);
template void inherit(Origins&, CameraConfig&, const Origins&, const CameraConfig&,
                      const std::function<bool(const KeyInfo&)>&);
template void inherit(Origins&, StreamConfig&, const Origins&, const StreamConfig&,
                      const std::function<bool(const KeyInfo&)>&);

std::string documented_meaning(const KeyInfo& key) {
  // Maps are described by their section.
  const std::string sources = key.section().empty() ? sources_of(key.text.scope) : "";
  return std::string(key.text.meaning) + (sources.empty() ? "" : "; only for " + sources);
}

std::vector<ConfigSection> config_sections() {
  const auto& camera = keys_of<CameraConfig>();
  std::vector<ConfigSection> sections{{"", infos_in(keys_of<RigConfig>(), "")}, {"camera", infos_in(camera, "")}};
  for (const KeyInfo& key : camera) {
    if (key.kind == KeyInfo::Kind::map) sections.push_back({key.path, infos_in(camera, key.path)});
  }
  sections.push_back({"outputs", infos_in(keys_of<OutputConfig>(), "")});
  sections.push_back({"mosaics", infos_in(keys_of<MosaicKeys>(), "")});
  sections.push_back({"sync_groups", infos_in(keys_of<GroupKeys>(), "")});
  sections.push_back({"workers", infos_in(keys_of<RigConfig>(), "workers")});
  sections.push_back({"cluster", infos_in(keys_of<RigConfig>(), "cluster")});
  sections.push_back({"tls of the cluster", infos_in(keys_of<RigConfig>(), "cluster.tls")});
  sections.push_back({"links of the cluster", infos_in(keys_of<RigConfig>(), "cluster.links")});
  sections.push_back({"tls of the servers", infos_in(keys_of<RigConfig>(), "tls")});
  sections.push_back({"users", infos_in(keys_of<UserConfig>(), "")});
  return sections;
}

}  // namespace campipe
