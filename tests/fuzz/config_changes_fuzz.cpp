// The keys of a camera, a mosaic or a group as the API gets them, JSON: they are refused, or kept in the overlay, from
// which the same rig is read.
#include "app/config/changes.h"
#include "app/config/config.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

struct Disk {
  Folder folder;
  Disk() { Folder::write("rig.yaml", "cameras:\n  gate:\n    source: test://pattern\n    source_fps: 5\n"); }
};

std::string first_of(const LoadedConfig& loaded) {
  return loaded.errors.empty() ? "" : format(loaded.errors.front(), "rig.yaml");
}

void check(ConfigPart part, const std::string& name, const nlohmann::json& keys) {
  CameraChanges changes;
  changes.put(part, name, keys);
  changes.enable("gate", false);
  const LoadedConfig changed = load_config_with("rig.yaml", changes);
  if (!changed.errors.empty()) return;
  std::filesystem::remove(overlay_path("rig.yaml"));
  keep_changes("rig.yaml", changes);
  const LoadedConfig kept = load_config("rig.yaml");
  std::filesystem::remove(overlay_path("rig.yaml"));
  require(kept.errors.empty(), "what was good is good when it is read again", first_of(kept));
  require(kept.rig.cameras == changed.rig.cameras, "the same rig is read again",
          name + "\n" + keys.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void check(std::string input) {
  static const Disk disk;
  const std::string name = take_line(input);
  const auto keys = nlohmann::json::parse(input, nullptr, false);
  if (keys.is_discarded() ||
      !nlohmann::json::accept(nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)))
    return;
  for (const ConfigPart part : config_parts) check(part, name, keys);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
