// Configurations as JSON, for the processes that the supervisor starts: each described member (app/config/key.h) under
// its name. Both ends are of one build, so every one is always there, and no other.
#include "app/config/json.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "app/config/keys/camera.h"
#include "app/config/keys/cluster.h"
#include "app/config/keys/encode.h"
#include "app/config/keys/group.h"
#include "app/config/keys/mosaic.h"
#include "app/config/keys/record.h"
#include "app/config/keys/rig.h"
#include "app/config/keys/server.h"
#include "app/config/keys/source.h"
#include "app/config/keys/stream.h"
#include "app/config/names.h"
#include "core/error.h"

namespace campipe {
namespace {

using nlohmann::json;

template <typename Config>
class Writer;

template <typename T>
concept Described = requires(Writer<T>& keys) {
  describe_keys(keys, Of<T>());
};

template <typename T>
json to_value(const T& value);
template <typename T>
json to_value(const std::optional<T>& value);
template <typename T>
requires Described<T> json to_value(const std::vector<T>& values);
json to_value(const std::chrono::nanoseconds& value);
json to_value(const Gop& value);

template <typename T>
void from_value(const json& from, T& value);
template <typename T>
void from_value(const json& from, std::optional<T>& value);
template <typename T>
requires Described<T>
void from_value(const json& from, std::vector<T>& values);
void from_value(const json& from, std::chrono::nanoseconds& value);
void from_value(const json& from, Gop& value);

// What the two have in common: sections are objects of their own, what is inlined or grouped is not.
template <typename Self, typename Config>
class Members {
 public:
  template <typename T, typename Owner>
  void key(std::string_view name, T Owner::*member, const KeyText&) {
    self().member(path_of(name), config_.*member);
  }
  template <typename T, typename Owner, typename Values>
  void key(std::string_view name, T Owner::*member, const Values&, const KeyText&) {
    self().member(path_of(name), config_.*member);
  }
  template <typename T, typename Owner>
  void section(std::string_view name, T Owner::*member, const KeyText&) {
    self().member(path_of(name), config_.*member);
  }
  template <typename T, typename Owner, typename Read>
  void entries(std::string_view name, T Owner::*member, Read, std::string_view, const KeyText&) {
    self().member(path_of(name), config_.*member);
  }
  template <typename T, typename Owner>
  void hidden(std::string_view name, T Owner::*member) {
    self().member(path_of(name), config_.*member);
  }
  template <typename T, typename Owner>
  void inlined(T Owner::*member) {
    self().whole(config_.*member);
  }
  template <typename Describe>
  void group(std::string_view name, const KeyText&, const Describe& describe) {
    group_ = std::string(name) + ".";
    describe(self());
    group_.clear();
  }
  template <typename Read>
  void part(std::string_view, Read, std::string_view, const KeyText&) {}

 private:
  friend Self;
  explicit Members(Config& config) : config_(config) {}
  Self& self() { return static_cast<Self&>(*this); }
  std::string path_of(std::string_view name) const { return group_ + std::string(name); }

  Config& config_;
  std::string group_;
};

template <typename Config>
class Writer : public Members<Writer<Config>, const Config> {
 public:
  Writer(const Config& config, json& object) : Members<Writer, const Config>(config), object_(object) {}

  void write() { describe_keys(*this, Of<Config>()); }
  template <typename T>
  void member(const std::string& name, const T& value) {
    if (!object_.emplace(name, to_value(value)).second) throw std::logic_error("two members '" + name + "'");
  }
  template <typename T>
  void whole(const T& value) {
    Writer<T>(value, object_).write();
  }

 private:
  json& object_;
};

template <typename Config>
class Reader : public Members<Reader<Config>, Config> {
 public:
  Reader(const json& object, Config& config) : Members<Reader, Config>(config), object_(object) {}

  // How many members that were.
  std::size_t read() {
    describe_keys(*this, Of<Config>());
    return read_;
  }
  template <typename T>
  void member(const std::string& name, T& value) {
    from_value(object_.at(name), value);
    ++read_;
  }
  template <typename T>
  void whole(T& value) {
    read_ += Reader<T>(object_, value).read();
  }

 private:
  const json& object_;
  std::size_t read_ = 0;
};

template <typename T>
json to_value(const T& value) {
  if constexpr (Described<T>) {
    json object = json::object();
    Writer<T>(value, object).write();
    return object;
  } else if constexpr (std::is_enum_v<T>) {
    return choice_name(value);
  } else {
    return value;
  }
}

template <typename T>
json to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : json();
}
json to_value(const std::chrono::nanoseconds& value) { return value.count(); }
// Which of the two it is, and the value.
json to_value(const Gop& value) {
  return {value.index(), std::visit([](const auto& gop) { return to_value(gop); }, value)};
}
template <typename T>
requires Described<T> json to_value(const std::vector<T>& values) {
  json list = json::array();
  for (const T& value : values) list.push_back(to_value(value));
  return list;
}

template <typename T>
void from_value(const json& from, T& value) {
  if constexpr (Described<T>) {
    if (Reader<T>(from, value).read() != from.size()) throw Error("a configuration as JSON: members of another build");
  } else if constexpr (std::is_enum_v<T>) {
    const auto choice = find_choice<T>(from.get<std::string>());
    if (!choice) throw Error("unknown choice '" + from.get<std::string>() + "'");
    value = *choice;
  } else {
    from.get_to(value);
  }
}

template <typename T>
void from_value(const json& from, std::optional<T>& value) {
  if (from.is_null()) return value.reset();
  from_value(from, value.emplace());
}
void from_value(const json& from, std::chrono::nanoseconds& value) {
  value = std::chrono::nanoseconds(from.get<std::int64_t>());
}
void from_value(const json& from, Gop& value) {
  if (from.at(0) == 0) return from_value(from.at(1), value.emplace<int>());
  from_value(from.at(1), value.emplace<std::chrono::nanoseconds>());
}
template <typename T>
requires Described<T>
void from_value(const json& from, std::vector<T>& values) {
  values.clear();
  for (const json& value : from) from_value(value, values.emplace_back());
}

template <typename Config>
Config config_from(const json& from, const char* what) try {
  Config config;
  from_value(from, config);
  return config;
} catch (const json::exception& error) {
  throw Error(std::string(what) + " as JSON: " + error.what());
}

}  // namespace

json to_json(const CameraConfig& camera) { return to_value(camera); }
CameraConfig camera_from_json(const json& from) { return config_from<CameraConfig>(from, "a camera's configuration"); }

json to_json(const ResolvedOutput& output) { return to_value(output); }
ResolvedOutput output_from_json(const json& from) {
  return config_from<ResolvedOutput>(from, "an output's configuration");
}

json to_json(const ServerConfig& server) { return to_value(server); }
ServerConfig server_from_json(const json& from) {
  return config_from<ServerConfig>(from, "the servers' configuration");
}

json to_json(const ClusterConfig& cluster) { return to_value(cluster); }
ClusterConfig cluster_from_json(const json& from) {
  return config_from<ClusterConfig>(from, "a cluster's configuration");
}

json to_json(const RigConfig& rig) { return to_value(rig); }
RigConfig rig_from_json(const json& from) { return config_from<RigConfig>(from, "a rig's configuration"); }

}  // namespace campipe
