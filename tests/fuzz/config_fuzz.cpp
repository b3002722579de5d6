// A configuration: it is refused with mistakes that can be shown, or it is a rig that means the same in another
// process. Nothing is thrown, and no mistake shows a password.
#include <stdlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/config/config.h"
#include "app/config/json.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

constexpr const char* secret = "hidden-7351";

struct Disk {
  Folder folder;
  Disk() { ::setenv("CAMPIPE_FUZZ_PASSWORD", secret, 1); }
};

bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 32 || c == 127; });
}

void check_mistake(const ConfigError& error) {
  const std::string text = format(error, "rig.yaml");
  require(!has_control(text), "a mistake can be printed", text);
  require(!contains(text, secret), "a mistake shows no password", text);
  require(error.line >= 0 && error.column >= 0, "a mistake has a place", text);
}

void check(const std::string& input) {
  static const Disk disk;
  if (contains(input, secret)) return;  // then it is no secret
  Folder::write("rig.yaml", input);
  const LoadedConfig loaded = load_config("rig.yaml");
  for (const ConfigError& error : loaded.errors) check_mistake(error);
  if (!loaded.errors.empty()) return;
  require(!loaded.rig.cameras.empty(), "a rig has cameras");
  require(loaded.rig.cameras.size() == loaded.gpu_places.size(), "each camera has its places");
  for (const CameraConfig& camera : loaded.rig.cameras)
    require(camera_from_json(nlohmann::json::parse(to_json(camera).dump())) == camera, "the same in another process",
            camera.name);
  const ServerConfig& server = loaded.rig.server;
  require(server_from_json(nlohmann::json::parse(to_json(server).dump())) == server, "the same servers elsewhere");
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
