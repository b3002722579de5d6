// What the publisher's servers ask of the supervisor: messages (app/control/messages/parts.h). The publisher numbers
// its requests, and each is answered once (app/control/messages/answer.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace campipe::messages {

// In what follows, `persist`: the change is also kept in the overlay.

struct SetRecording {
  static constexpr std::string_view type = "set_recording";
  std::uint64_t request = 0;
  std::string name;
  bool on = true;
  static void fields(auto& m, auto&& f) { f("request", m.request), f("name", m.name), f("on", m.on); }
};

struct Reload {
  static constexpr std::string_view type = "reload";
  std::uint64_t request = 0;
  static void fields(auto& m, auto&& f) { f("request", m.request); }
};

// The only request whose body may be large. Mosaics and groups have what a camera has.
struct PutCamera {
  static constexpr std::string_view type = "put_camera";
  std::uint64_t request = 0;
  std::string name;
  nlohmann::json config;  // the keys as in the file
  bool persist = false;
  static void fields(auto& m, auto&& f) {
    f("request", m.request), f("name", m.name), f("config", m.config), f("persist", m.persist);
  }
};
struct PutMosaic : PutCamera {
  static constexpr std::string_view type = "put_mosaic";
};
struct PutGroup : PutCamera {
  static constexpr std::string_view type = "put_group";
};

struct RemoveCamera {
  static constexpr std::string_view type = "remove_camera";
  std::uint64_t request = 0;
  std::string name;
  bool persist = false;
  static void fields(auto& m, auto&& f) { f("request", m.request), f("name", m.name), f("persist", m.persist); }
};
struct RemoveMosaic : RemoveCamera {
  static constexpr std::string_view type = "remove_mosaic";
};
struct RemoveGroup : RemoveCamera {
  static constexpr std::string_view type = "remove_group";
};

// Its texts are a configuration's.
inline bool is_put(std::string_view type) {
  return type == PutCamera::type || type == PutMosaic::type || type == PutGroup::type;
}

struct EnableCamera {
  static constexpr std::string_view type = "enable_camera";
  std::uint64_t request = 0;
  std::string name;
  bool on = true;
  bool persist = false;
  static void fields(auto& m, auto&& f) {
    f("request", m.request), f("name", m.name), f("on", m.on), f("persist", m.persist);
  }
};

// To another worker, by its number, without losing a frame. Answered when that is done, or will not be. `from`: of a
// camera by stage or by tile, the worker whose part of it goes over.
struct MoveCamera {
  static constexpr std::string_view type = "move_camera";
  std::uint64_t request = 0;
  std::string name;
  unsigned worker = 0;
  std::optional<unsigned> from;
  static void fields(auto& m, auto&& f) {
    f("request", m.request), f("name", m.name), f("worker", m.worker), f("from", m.from);
  }
};

// Of the cluster that the rig is a node of: a node gives up its cameras and takes none; `end`: it takes them again.
struct DrainNode {
  static constexpr std::string_view type = "drain_node";
  std::uint64_t request = 0;
  std::string node;
  bool end = false;
  static void fields(auto& m, auto&& f) { f("request", m.request), f("node", m.node), f("end", m.end); }
};

// Likewise: a camera is to run on that node. Nothing: any.
struct MoveToNode {
  static constexpr std::string_view type = "move_to_node";
  std::uint64_t request = 0;
  std::string camera;
  std::optional<std::string> node;
  static void fields(auto& m, auto&& f) { f("request", m.request), f("camera", m.camera), f("node", m.node); }
};

// Changes of the configuration, which the supervisor makes one after the other. Structs, so that headers can declare
// them.
struct ConfigChange
    : std::variant<Reload, PutCamera, RemoveCamera, EnableCamera, PutMosaic, RemoveMosaic, PutGroup, RemoveGroup> {
  using variant::variant;
};
struct Request : std::variant<SetRecording, MoveCamera, DrainNode, MoveToNode, Reload, PutCamera, RemoveCamera,
                              EnableCamera, PutMosaic, RemoveMosaic, PutGroup, RemoveGroup> {
  using variant::variant;
};

}  // namespace campipe::messages
