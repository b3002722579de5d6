// Changes to cameras that come through the API while the rig runs, over its file.
//
// The file itself is its owner's: its comments and order would not survive being written by a program. What is to last
// is kept in a file of its own, the overlay, in the folder for this account's state (core/own_folders.h): a user who
// may write there need not be able to write the file. load_config() reads it after the file, if it is there: a camera
// under its `cameras` takes the whole place of the file's of that name, nothing instead of keys removes it, and
// `enabled` goes over that key of whatever camera has the name. `defaults` of the file are for all of them.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "app/config/config.h"
#include "app/config/step.h"

namespace campipe {

struct CameraChanges {
  nlohmann::json cameras = nlohmann::json::object();  // name → the camera's keys as in the file, or null: removed
  std::map<std::string, bool> enabled;

  // One change goes over what was there of that camera.
  void put(const std::string& name, nlohmann::json keys);
  void remove(const std::string& name);
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
// none. They must be good (load_config_with). A removed camera that the file does not name leaves nothing there. The
// overlay can only be read by its owner. One beside the file goes, once what is in it is kept in the new place. Throws
// Error.
void keep_changes(const std::filesystem::path& file, const CameraChanges& changes);

}  // namespace campipe
