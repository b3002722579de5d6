// The cluster: its members, its node, and what is not left unprotected.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "app/config/address.h"
#include "app/config/cluster_name.h"
#include "app/config/key_table.h"
#include "app/config/paths.h"
#include "app/config/reader.h"
#include "app/config/tls.h"
#include "app/config/values.h"
#include "core/passwords.h"

namespace campipe {
namespace {

constexpr std::size_t max_members = 9;
constexpr std::size_t max_labels = 32;
constexpr std::size_t longest_label = 256;  // bytes: an offer has room for all of them (largest_offer_without_devices)
constexpr std::string_view member = "a member of etcd: https://HOST:PORT, without a path, or http:// on this machine";

struct EtcdUrl {
  bool is_encrypted = false;
  ListenAddress address;
};

// Nothing: it is none. A user in it would be kept by nobody: etcd's passwords do not protect leases.
std::optional<EtcdUrl> parse_etcd_url(std::string text) {
  EtcdUrl url;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!text.starts_with(scheme)) continue;
    url.is_encrypted = scheme == "https://";
    text.erase(0, scheme.size());
    if (text.ends_with('/')) text.pop_back();
    const auto address = split_listen_address(text);
    if (!address || address->host.empty() || address->port == 0) return std::nullopt;
    url.address = *address;
    return url;
  }
  return std::nullopt;
}

// What stands there, without what comes from the environment.
std::string literal_part(std::string written) {
  for (auto begin = written.find("${"); begin != std::string::npos; begin = written.find("${", begin)) {
    const auto end = written.find('}', begin);
    if (end == std::string::npos) break;
    written.erase(begin, end + 1 - begin);
  }
  return written;
}

// The text of the file is what etcd keeps, and whoever reads etcd reads it.
constexpr std::string_view password_in_etcd =
    "a password stands here, and would be kept in etcd: write ${VARIABLE} in its place, and set the variable on each "
    "node";

void refuse_passwords(const YamlNode& node, Report& report) {
  if (node.kind == YamlNode::Kind::scalar && holds_password(literal_part(node.written))) {
    report.at(node, std::string(password_in_etcd));
  }
  for (const YamlNode& child : node.children) refuse_passwords(child, report);
}

void refuse_rtsp_secrets(const Given<RigConfig>& file, Report& report) {
  for (const Given<UserConfig>& user : file.users) {
    const YamlNode* secret = user["rtsp_secret"].node;
    if (secret != nullptr && !literal_part(secret->written).empty()) report.at(*secret, std::string(password_in_etcd));
  }
}

// Files have the names of their node and fence in theirs, of whatever length these may be.
template <typename Config>
void check_names(const Given<Config>& stream, Report& report) {
  const auto check = [&](const Origin& path, const auto& find_problem) {
    if (!path.good || path.node == nullptr) return;
    if (const auto problem = find_problem()) report.at(*path.node, *problem);
  };
  check(stream["record.path"], [&] { return check_cluster_record_path(stream.value.record->path); });
  check(stream["snapshot.path"], [&] { return check_cluster_snapshot_path(stream.value.snapshot->path); });
}

template <typename Config>
void check_all_names(const Given<Config>& camera, Report& report) {
  check_names(camera, report);
  for (const GivenOutput& output : camera.outputs) check_names(output, report);
}

void check_files(const Given<RigConfig>& file, Report& report) {
  const YamlNode* tls = file["cluster.tls"].node;
  if (tls == nullptr || tls->kind != YamlNode::Kind::map) return;
  for (const std::string name : {"ca", "certificate", "key"}) {
    if (file["cluster.tls." + name].node != nullptr) continue;
    if (!mistyped(*tls, name, key_names<RigConfig>("cluster.tls"))) {
      report.at_key(*tls, "missing key '" + name + "'");
    }
  }
  const Origin& certificate = file["cluster.tls.certificate"];
  const Origin& key = file["cluster.tls.key"];
  if (!certificate.good || !key.good) return;
  const ClusterTlsConfig& files = *file.value.cluster->tls;
  check_pair(files.certificate, *certificate.node, files.key, *key.node, report);
}

// Whoever reaches it could take what the other nodes take.
void check_door(const Given<RigConfig>& file, Report& report) {
  const Origin& address = file["cluster.address"];
  if (!address.good || file["cluster.tls"].node != nullptr ||
      mistyped(*file["cluster"].node, "tls", key_names<RigConfig>("cluster")))
    return;
  const auto listened = split_listen_address(file.value.cluster->address);
  if (!listened || is_loopback(*listened)) return;
  report.at(*address.node, "whoever reaches " + shown(*address.node) +
                               " could watch the cameras as the other nodes do: give `tls`, so that only nodes with a "
                               "certificate come in");
}

// It would be one that is never taken.
void check_link_transports(const Given<RigConfig>& file, Report& report) {
  const Origin& transports = file["cluster.links.transports"];
  const Origin& encrypt = file["cluster.links.encrypt"];
  if (!transports.good || transports.node == nullptr || (encrypt.node != nullptr && !encrypt.good)) return;
  const ClusterLinksConfig& links = file.value.cluster->links;
  const auto ucx = std::ranges::find(links.transports, LinkTransport::ucx);
  if (ucx == links.transports.end() || !links.encrypt) return;
  const auto place = static_cast<std::size_t>(ucx - links.transports.begin());
  report.at(
      transports.node->children.at(place),
      "ucx does not encrypt, and `encrypt` is true: set `encrypt: false` on all nodes, which is for networks that "
      "only they are on, or leave ucx out");
}

}  // namespace

std::optional<std::string> read_cluster_name(const YamlNode& node, Report& report) {
  constexpr std::string_view expected =
      "1 to 64 of the characters A-Z, a-z, 0-9, _, - and ., beginning with a letter or a digit";
  auto text = read_text(node, expected, report);
  if (!text || is_cluster_name(*text)) return text;
  refuse(node, expected, report);
  return std::nullopt;
}

std::optional<std::vector<std::string>> read_etcd_urls(const YamlNode& node, Report& report) {
  if (!is_list(node, report)) return std::nullopt;
  if (node.children.empty()) report.at(node, "expected at least one member of etcd");
  if (node.children.size() > max_members) report.at(node, "more than 9 members of etcd");
  std::vector<std::string> urls;
  for (const YamlNode& child : node.children) {
    const auto text = read_text(child, member, report);
    if (!text) continue;
    if (!parse_etcd_url(*text)) {
      refuse(child, member, report);
    } else if (std::ranges::find(urls, *text) != urls.end()) {
      report.at(child, "the member " + shown(child) + " is there twice");
    } else {
      urls.push_back(*text);
    }
  }
  const bool good = !urls.empty() && urls.size() == node.children.size() && urls.size() <= max_members;
  return good ? std::optional(std::move(urls)) : std::nullopt;
}

std::optional<std::string> read_node_address(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "HOST:PORT, as the other nodes reach this one";
  auto text = read_text(node, expected, report);
  if (!text) return std::nullopt;
  const auto address = split_listen_address(*text);
  const bool is_all = address && (address->host == "0.0.0.0" || address->host == "::");
  if (address && !address->host.empty() && !is_all && address->port != 0) return text;
  refuse(node, expected, report);
  return std::nullopt;
}

std::optional<std::map<std::string, std::string>> read_node_labels(const YamlNode& node, Report& report) {
  if (!is_map(node, report)) return std::nullopt;
  std::map<std::string, std::string> labels;
  for (const YamlNode& child : node.children) {
    const bool is_name = check_name(child, "a label's", report);
    auto text = read_text(child, "a text", report);
    if (text && text->size() > longest_label) {
      report.at(child, "is longer than 256 bytes");
      continue;
    }
    if (is_name && text) labels[child.key] = *std::move(text);
  }
  if (node.children.size() > max_labels) report.at(node, "more than 32 labels");
  const bool good = labels.size() == node.children.size() && labels.size() <= max_labels;
  return good ? std::optional(std::move(labels)) : std::nullopt;
}

std::optional<std::string> read_link_ports(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "FIRST-LAST, ports from 1 to 65535, such as 7000-7099";
  auto text = read_text(node, expected, report);
  if (!text) return std::nullopt;
  if (parse_port_range(*text)) return text;
  refuse(node, expected, report);
  return std::nullopt;
}

std::optional<std::vector<LinkTransport>> read_link_transports(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  if (text != nullptr && *text == "auto") return std::vector<LinkTransport>();
  if (text != nullptr) {
    refuse(node, "auto, or a list of zeromq, ucx", report);
    return std::nullopt;
  }
  if (!is_list(node, report)) return std::nullopt;
  if (node.children.empty())
    report.at(node, "expected at least one of zeromq, ucx; `auto` leaves the choice to campipe");
  std::vector<LinkTransport> transports;
  for (const YamlNode& child : node.children) {
    const auto transport = read_choice<LinkTransport>(child, report);
    if (!transport) continue;
    if (std::ranges::find(transports, *transport) != transports.end()) {
      report.at(child, "the transport " + shown(child) + " is there twice");
    } else {
      transports.push_back(*transport);
    }
  }
  if (transports.empty() || transports.size() != node.children.size()) return std::nullopt;
  return transports;
}

std::optional<std::string> read_cluster_authority(const YamlNode& node, Report& report) {
  return read_file_name(node, "a file with the authority's certificates (PEM)", report);
}

std::string node_name(const ClusterConfig& config) {
  if (!config.node.empty()) return config.node;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

void check_cluster(const Given<RigConfig>& file, Report& report) {
  const YamlNode* cluster = file["cluster"].node;
  if (cluster == nullptr || cluster->kind != YamlNode::Kind::map) return;
  for (const std::string name : {"name", "etcd", "address"}) {
    if (file["cluster." + name].node != nullptr || mistyped(*cluster, name, key_names<RigConfig>("cluster"))) continue;
    report.at_key(*cluster, "missing key '" + name + "'");
  }
  if (file["cluster.node"].node == nullptr && !is_cluster_name(node_name({}))) {
    report.at_key(*cluster, "missing key 'node': the machine's host name is no name of a node");
  }
  check_files(file, report);
  check_all_names(file.defaults, report);
  for (const GivenCamera& camera : file.cameras) check_all_names(camera, report);
  for (const GivenMosaic& mosaic : file.mosaics) check_all_names(mosaic, report);
  for (const YamlNode& part : file.node->children) {
    if (part.key != "cluster") refuse_passwords(part, report);  // whose URLs have no users
  }
  refuse_rtsp_secrets(file, report);
  check_door(file, report);
  check_link_transports(file, report);
  const Origin& etcd = file["cluster.etcd"];
  if (!etcd.good) return;
  bool needs_certificates = false;
  for (const YamlNode& child : etcd.node->children) {
    const auto url = parse_etcd_url(child.text);
    if (!url) continue;  // refused before
    needs_certificates = needs_certificates || url->is_encrypted;
    if (url->is_encrypted || is_loopback(url->address)) continue;
    report.at(child, "whoever reaches " + shown(child) +
                         " could take over the cluster: let etcd serve https:// and ask for certificates, and give "
                         "`tls`");
  }
  if (needs_certificates && file["cluster.tls"].node == nullptr &&
      !mistyped(*cluster, "tls", key_names<RigConfig>("cluster"))) {
    report.at_key(*cluster, "missing key 'tls': etcd by https:// asks for a certificate");
  }
}

}  // namespace campipe
