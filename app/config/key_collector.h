// Makes the table of a configuration's keys (key_table.h) of their descriptions (key.h).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "app/config/key_table.h"
#include "app/config/key_values.h"

namespace campipe {

// Those of `outer` that `own` lacks come first, in its order.
inline void add_options(EncoderOptions& own, const EncoderOptions& outer) {
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

template <typename T, typename Values>
void describe_value(Key& key, const T& initial, const Values& values) {
  key.type = type_text(values);
  if (key.range.empty()) key.range = range_text(values);
  bool may_be_auto = false;
  if constexpr (std::is_same_v<Values, IntegerKey>) may_be_auto = values.may_be_auto;
  if (key.fallback.empty()) key.fallback = fallback_text(initial, may_be_auto);
  key.schema = schema_text(values);
  key.read = [values](const YamlNode& node, const KeyPlace& place, void* config, Report& report) {
    std::optional<T> value = read_value<T>(values, node, report);
    if (value) *static_cast<T*>(place.make_in(config)) = std::move(*value);
    return value.has_value();
  };
  key.copy = [](void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); };
  if constexpr (std::is_same_v<T, EncoderOptions>) {
    key.add = [](void* to, const void* from) { add_options(*static_cast<T*>(to), *static_cast<const T*>(from)); };
  }
}

// Adds the keys of `Config`, which is a whole configuration or, at `part`, in one.
template <typename Config>
class Collector {
 public:
  explicit Collector(KeyTable& table, std::string section = "", KeyPlace part = {})
      : table_(table), section_(std::move(section)), part_(std::move(part)) {}

  template <typename T, typename Owner>
  void key(std::string_view name, T Owner::*member, const KeyText& text) {
    key(name, member, ChoiceKey<T>(), text);
  }
  template <typename T, typename Owner, typename Values>
  void key(std::string_view name, T Owner::*member, const Values& values, const KeyText& text) {
    Key& key = add(name, KeyInfo::Kind::value, text);
    key.place = place_of(member);
    describe_value(key, initial_.*member, values);
  }

  template <typename T, typename Owner>
  void section(std::string_view name, T Owner::*member, const KeyText& text) {
    add_map(name, text);
    below(path_of(name), member);
  }
  template <typename T, typename Owner>
  void inlined(T Owner::*member) {
    below(section_, member);
  }
  template <typename Describe>
  void group(std::string_view name, const KeyText& text, const Describe& describe) {
    add_map(name, text);
    Collector keys(table_, path_of(name), part_);
    describe(keys);
  }

  template <typename T, typename Owner, typename Root>
  void entries(std::string_view name, T Owner::* /*member*/, bool (*read)(const YamlNode&, Given<Root>&, Report&),
               std::string_view schema, const KeyText& text) {
    part(name, read, schema, text);
  }
  // `Root`: the whole.
  template <typename Root>
  void part(std::string_view name, bool (*read)(const YamlNode&, Given<Root>&, Report&), std::string_view schema,
            const KeyText& text) {
    Key& key = add(name, KeyInfo::Kind::entries, text);
    key.type = "map";
    key.schema = schema;
    key.read_entries = [read](const YamlNode& node, Origins& given, Report& report) {
      return read(node, static_cast<Given<Root>&>(given), report);
    };
  }
  template <typename T, typename Owner>
  void hidden(std::string_view /*name*/, T Owner::* /*member*/) {}

 private:
  std::string path_of(std::string_view name) const {
    return section_.empty() ? std::string(name) : section_ + "." + std::string(name);
  }
  template <typename T, typename Owner>
  KeyPlace place_of(T Owner::*member) const {
    const auto* const whole = reinterpret_cast<const char*>(&initial_);
    return part_.then(static_cast<std::size_t>(reinterpret_cast<const char*>(&(initial_.*member)) - whole));
  }

  Key& add(std::string_view name, KeyInfo::Kind kind, const KeyText& text) {
    Key& key = table_.emplace_back();
    key.path = path_of(name);
    key.kind = kind;
    key.text = text;
    key.range = text.range;
    key.fallback = text.fallback;
    return key;
  }
  void add_map(std::string_view name, const KeyText& text) { add(name, KeyInfo::Kind::map, text).type = "map"; }

  template <typename T, typename Owner>
  void below(const std::string& section, T Owner::*member) {
    KeyPlace place = place_of(member);
    if constexpr (ValueIn<T>::is_optional) {
      place = place.then_inside([](void* optional, bool make) -> void* {
        T& value = *static_cast<T*>(optional);
        if (!value && make) value.emplace();
        return value ? &*value : nullptr;
      });
    }
    using Part = typename ValueIn<T>::Type;
    Collector<Part> keys(table_, section, std::move(place));
    describe_keys(keys, Of<Part>());
  }

  KeyTable& table_;
  const std::string section_;
  const KeyPlace part_;
  const Config initial_ = {};
};

template <typename Config>
KeyTable collect_keys() {
  KeyTable table;
  Collector<Config> keys(table);
  describe_keys(keys, Of<Config>());
  return table;
}

}  // namespace campipe
