// Readers of values that are more than a number, a time or a choice. Each reports what it refuses, and then returns
// nothing. The descriptions of keys name them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/config/mosaic_layout.h"

namespace campipe {

class Report;
struct YamlNode;
template <typename Config>
struct Given;
struct CameraConfig;
struct FilterConfig;
struct MosaicCameras;
struct MosaicKeys;
struct PushUrl;
struct Rgb;
struct RigConfig;
enum class DropPolicy : std::uint8_t;
enum class Mps : std::uint8_t;
enum class LinkTransport : std::uint8_t;

using Gop = std::variant<int, std::chrono::nanoseconds>;
using EncoderOptions = std::vector<std::pair<std::string, std::string>>;

// source.cpp
std::optional<std::string> read_source(const YamlNode& node, Report& report);
std::optional<std::string> read_ca_file(const YamlNode& node, Report& report);
std::optional<std::string> read_capture_format(const YamlNode& node, Report& report);
// camera.cpp. `auto` is returned as `block`: the source decides it.
std::optional<DropPolicy> read_drop_policy(const YamlNode& node, Report& report);
// placement.cpp
std::optional<std::string> read_gpu_name(const YamlNode& node, Report& report);
std::optional<std::string> read_stage_place(const YamlNode& node, Report& report);
std::optional<std::vector<std::string>> read_stage_places(const YamlNode& node, Report& report);
std::optional<std::vector<std::string>> read_tiles(const YamlNode& node, Report& report);
// filters.cpp, push.cpp
std::optional<std::vector<FilterConfig>> read_filters(const YamlNode& node, Report& report);
std::optional<std::vector<PushUrl>> read_push(const YamlNode& node, Report& report);
// encode.cpp
std::optional<std::string> read_codec(const YamlNode& node, Report& report);
std::optional<std::string> read_encoder(const YamlNode& node, Report& report);
std::optional<std::string> read_preset(const YamlNode& node, Report& report);
std::optional<std::int64_t> read_bitrate(const YamlNode& node, Report& report);
std::optional<Gop> read_gop(const YamlNode& node, Report& report);
std::optional<EncoderOptions> read_options(const YamlNode& node, Report& report);
// targets.cpp
std::optional<std::string> read_record_path(const YamlNode& node, Report& report);
std::optional<std::string> read_snapshot_path(const YamlNode& node, Report& report);
std::optional<std::int64_t> read_bytes(const YamlNode& node, Report& report);
// server.cpp
std::optional<std::string> read_address(const YamlNode& node, Report& report);
std::optional<std::string> read_certificate(const YamlNode& node, Report& report);
std::optional<std::string> read_private_key(const YamlNode& node, Report& report);
std::optional<std::string> read_http_base(const YamlNode& node, Report& report);
std::optional<std::vector<std::string>> read_http_hosts(const YamlNode& node, Report& report);
std::optional<std::vector<std::string>> read_trusted_proxies(const YamlNode& node, Report& report);
std::optional<std::string> read_password(const YamlNode& node, Report& report);
std::optional<std::string> read_token_hash(const YamlNode& node, Report& report);
std::optional<std::string> read_rtsp_secret(const YamlNode& node, Report& report);
std::optional<std::vector<std::string>> read_user_cameras(const YamlNode& node, Report& report);
// cluster.cpp
std::optional<std::string> read_cluster_name(const YamlNode& node, Report& report);
std::optional<std::vector<std::string>> read_etcd_urls(const YamlNode& node, Report& report);
std::optional<std::string> read_node_address(const YamlNode& node, Report& report);
std::optional<std::map<std::string, std::string>> read_node_labels(const YamlNode& node, Report& report);
std::optional<std::string> read_link_ports(const YamlNode& node, Report& report);
std::optional<std::vector<LinkTransport>> read_link_transports(const YamlNode& node, Report& report);
std::optional<std::string> read_cluster_authority(const YamlNode& node, Report& report);
// groups.cpp
std::optional<std::vector<std::string>> read_group_cameras(const YamlNode& node, Report& report);
// mosaic.cpp
std::optional<MosaicCameras> read_mosaic_cameras(const YamlNode& node, Report& report);
std::optional<MosaicLayout> read_mosaic_layout(const YamlNode& node, Report& report);
std::optional<int> read_mosaic_size(const YamlNode& node, Report& report);
std::optional<Rgb> read_mosaic_colour(const YamlNode& node, Report& report);
// config.cpp
std::optional<Mps> read_mps(const YamlNode& node, Report& report);
std::optional<std::string> read_events(const YamlNode& node, Report& report);
std::optional<unsigned> read_umask(const YamlNode& node, Report& report);

// Maps from names to maps: what they read is put into Given::Parts. False: something in it was reported.
bool read_outputs(const YamlNode& node, Given<CameraConfig>& camera, Report& report);
bool read_mosaic_outputs(const YamlNode& node, Given<MosaicKeys>& mosaic, Report& report);
bool read_defaults(const YamlNode& node, Given<RigConfig>& file, Report& report);
bool read_cameras(const YamlNode& node, Given<RigConfig>& file, Report& report);
bool read_mosaics(const YamlNode& node, Given<RigConfig>& file, Report& report);
bool read_groups(const YamlNode& node, Given<RigConfig>& file, Report& report);
bool read_users(const YamlNode& node, Given<RigConfig>& file, Report& report);

}  // namespace campipe
