// What the file gives, key by key, before defaults and cameras are merged: the values, and for each key whether it was
// given, and where, so that a mistake in `defaults` is reported once and not once per camera.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"
#include "app/config/group_keys.h"
#include "app/config/mosaic_keys.h"
#include "app/config/report.h"
#include "app/config/yaml.h"

namespace campipe {

enum class KeyScope : std::uint8_t;  // key.h

// Where a key's value stands, and whether it was of use. No node: it was not given.
struct Origin {
  const YamlNode* node = nullptr;
  std::vector<const YamlNode*> outer = {};  // of a map: those that it goes over, the nearest first
  bool good = false;                        // of a map: nothing in it, or in those, was refused
  int inherited = 0;                        // from how many maps further out: 0, it was given here
};

// By the keys' paths: "source", "encode.codec".
class Origins {
 public:
  explicit Origins(bool (*is_key)(std::string_view)) : is_key_(is_key) {}

  // Throws std::logic_error for what is no key.
  const Origin& operator[](std::string_view path) const;
  Origin& at(std::string_view path) { return given_[std::string(path)]; }
  // What another map gives, most keys of which are keys of this one, too.
  void adopt(const Origins& other) {
    given_ = other.given_;
    node = other.node;
  }

  const YamlNode* node = nullptr;  // the map that they stand in

 private:
  bool (*is_key_)(std::string_view);
  std::map<std::string, Origin, std::less<>> given_;
};

// What a map holds besides values: other maps, by name.
template <typename Config>
struct Parts {};

template <typename Config>
bool is_key(std::string_view path);

template <typename Config>
struct Given : Origins, Parts<Config> {
  Given() : Origins(&is_key<Config>) {}
  Config value;  // with the built-in defaults where nothing of use was given
};

template <>
struct Parts<CameraConfig> {
  std::vector<Given<OutputConfig>> outputs;
};
template <>
struct Parts<MosaicKeys> {
  std::vector<Given<OutputConfig>> outputs;
};
template <>
struct Parts<RigConfig> {
  Given<CameraConfig> defaults;
  std::vector<Given<CameraConfig>> cameras;
  std::vector<Given<MosaicKeys>> mosaics;
  std::vector<Given<GroupKeys>> groups;
  std::vector<Given<UserConfig>> users;
};

using GivenCamera = Given<CameraConfig>;
using GivenOutput = Given<OutputConfig>;
using GivenMosaic = Given<MosaicKeys>;

// What `own` does not give comes from `defaults`. The outputs' `encode` comes from the merged camera's.
GivenCamera merge(const GivenCamera& own, const GivenCamera& defaults);
// Mosaics as cameras without a source, laid out; what is wrong with them is reported. `cameras`: all of the rig.
// `removed`: names of those that were there.
std::vector<GivenCamera> laid_out_mosaics(const std::vector<GivenMosaic>& mosaics, std::span<const std::string> removed,
                                          const std::vector<GivenCamera>& cameras, Report& report);
// The values. Keys of `defaults` that mean nothing for such a source or codec do not apply.
CameraConfig to_config(const GivenCamera& camera);
GpuPlaces gpu_places(const GivenCamera& camera);
// Of cameras whose own stream is encoded as something that browsers do not play.
void add_browser_outputs(LoadedConfig& loaded);

// A camera's own stream, or an output's, for what is the same for both.
struct NamedStream {
  const GivenCamera* camera = nullptr;
  const Origins* given = nullptr;  // the camera's or the output's
  const StreamConfig* value = nullptr;
  std::string output = "main";

  [[nodiscard]] const Origin& operator[](std::string_view path) const { return (*given)[path]; }
};
std::vector<NamedStream> streams_of(const std::vector<GivenCamera>& cameras);

// `auto` is what holds where no codec was given.
bool is_auto(const Origins& stream, const EncoderConfig& encode);
// What an encoder makes of it, where one is needed.
std::string encoded_codec(const Origins& stream, const EncoderConfig& encode);
// Into `stream`, from what it goes over.
void inherit_encode(Origins& stream, StreamConfig& value, const Origins& outer, const StreamConfig& outer_value);
// Nothing is asked of a camera's own stream that copying cannot give; its codec, and its outputs, do not matter.
bool is_plain(const GivenCamera& camera);
// Those that only look: all that there is for packets that are copied.
std::vector<FilterConfig> looking_filters(const StreamConfig& stream);
// What was given of a stream becomes what is used of it.
void settle_stream(const Origins& given, StreamConfig& value);
// What the keys of a scope are for, such as "files and test patterns"; empty: not only for some kinds of source.
std::string sources_of(KeyScope scope);
void settle_source(const GivenCamera& given, CameraConfig& value);
void settle_server(const Given<RigConfig>& given, ServerConfig& value);

// False: something in it was reported.
bool read_camera(const YamlNode& node, GivenCamera& camera, Report& report);
bool read_outputs(const YamlNode& node, std::vector<GivenOutput>& outputs, Report& report);
// Of cameras, mosaics and outputs. False: reported.
bool check_name(const YamlNode& named, std::string_view whose, Report& report);
// `node` names a camera that is none of these. `removed`: names of cameras that were there.
void refuse_unknown_camera(const YamlNode& node, std::span<const std::string_view> known,
                           std::span<const std::string> removed, Report& report);

// Mistakes that show only when everything is read and merged.
void check_sources(const std::vector<GivenCamera>& cameras, Report& report);
void check_decode_gpus(const std::vector<GivenCamera>& cameras, Report& report);
void check_placements(const std::vector<GivenCamera>& cameras, Report& report);
void check_rings(const std::vector<GivenCamera>& cameras, Report& report);
void check_copies(const std::vector<GivenCamera>& cameras, Report& report);
void check_encoders(const std::vector<GivenCamera>& cameras, Report& report);
void check_recordings(const std::vector<GivenCamera>& cameras, Report& report);
void check_pushes(const std::vector<GivenCamera>& cameras, Report& report);
// Gives the cameras of groups what follows from that. `removed`: names of cameras that were there.
void enter_groups(const std::vector<Given<GroupKeys>>& groups, std::span<const std::string> removed,
                  std::vector<GivenCamera>& cameras, Report& report);
// `cameras`: the names of those that a user may be allowed to see.
void check_server(const Given<RigConfig>& file, std::span<const std::string_view> cameras, Report& report);
void check_cluster(const Given<RigConfig>& file, Report& report);

}  // namespace campipe
