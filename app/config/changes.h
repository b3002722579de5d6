// Changes to cameras, mosaics and groups that come through the API while the rig runs, over its file.
//
// The file itself is its owner's: its comments and order would not survive being written by a program. What is to last
// is kept in a file of its own, the overlay, in the folder for this account's state (core/own_folders.h): a user who
// may write there need not be able to write the file. load_config() reads it after the file, if it is there: what
// stands under its `cameras`, `mosaics` or `sync_groups` takes the whole place of the file's of that name, nothing
// instead of keys removes it, and `enabled` goes over that key of whatever camera or mosaic has the name. `defaults` of
// the file are for all cameras.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "app/config/step.h"

namespace campipe {

struct LoadedConfig;

// What has a name in the file, and can be changed by it.
enum class ConfigPart : std::uint8_t { camera, mosaic, group };
inline constexpr std::array config_parts{ConfigPart::camera, ConfigPart::mosaic, ConfigPart::group};
// Where it stands in the file, and in the overlay: "cameras".
std::string_view section_of(ConfigPart part);
// Where the overlay says which cameras and mosaics are enabled.
inline constexpr std::string_view enabled_section = "enabled";
// "camera"
std::string_view name_of(ConfigPart part);

struct CameraChanges {
  // Of each section: name → the keys as in the file, or null: removed.
  nlohmann::json cameras = nlohmann::json::object();
  nlohmann::json mosaics = nlohmann::json::object();
  nlohmann::json groups = nlohmann::json::object();
  std::map<std::string, bool> enabled;

  [[nodiscard]] nlohmann::json& of(ConfigPart part);
  [[nodiscard]] const nlohmann::json& of(ConfigPart part) const;
  [[nodiscard]] bool empty() const;
  // One change goes over what was there of that name.
  void put(ConfigPart part, const std::string& name, nlohmann::json keys);
  void remove(ConfigPart part, const std::string& name);
  // Of a camera.
  void put(const std::string& name, nlohmann::json keys);
  void remove(const std::string& name);
  // Of a camera or mosaic.
  void enable(const std::string& name, bool on);
  void add(const CameraChanges& newer);
};

// Where changes are kept: overlays/etc/campipe/rig.api.yaml in the state's folder for /etc/campipe/rig.yaml; beside the
// file where there is no such folder.
std::filesystem::path overlay_path(const std::filesystem::path& file);
// Where they are read from: that one, or where older versions kept it, beside the file, as long as only that is there.
std::filesystem::path overlay_in_use(const std::filesystem::path& file);
// What to know of an overlay that lies beside the file; empty: nothing.
std::string overlay_note(const std::filesystem::path& file);

// The file, its overlay, and `changes` over both. What is wrong with a change is reported as in a file, without a
// place: "cameras.dock.filters[1].resize.widht: unknown key, did you mean 'width'?"
LoadedConfig load_config_with(const std::filesystem::path& file, const CameraChanges& changes,
                              const OnLoadStep& on_step = {});

// Puts `changes` into the file's overlay, in one step: a reader, also after a power cut, finds all of them or
// none. They must be good (load_config_with). What is removed and not named by the file leaves nothing there. The
// overlay can only be read by its owner. One beside the file goes, once what is in it is kept in the new place. Throws
// Error.
void keep_changes(const std::filesystem::path& file, const CameraChanges& changes);

// The text of a cluster's rig with one change, of which there is no overlay: with these keys, or null: without that
// entry. Comments are not kept; the order, and what is filled in from the environment, are.
struct ChangedRig {
  std::string text;
  bool had = false;  // an entry of that name before
};
// Throws Error where `text` is no YAML.
ChangedRig changed_rig(const std::string& text, ConfigPart part, const std::string& name, nlohmann::json keys);
// Sets `enabled` of the camera or mosaic of that name. Where there is none, `had` is false and the rig is as it was.
// Throws as changed_rig().
ChangedRig enabled_rig(const std::string& text, const std::string& name, bool on);

}  // namespace campipe
