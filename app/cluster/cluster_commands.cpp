#include "app/cluster/cluster_commands.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "app/cluster/certificate_files.h"
#include "app/cluster/cluster_access.h"
#include "app/cluster/cluster_apply.h"
#include "app/cluster/cluster_requests.h"
#include "app/cluster/cluster_status.h"
#include "app/config/exit_status.h"
#include "core/error.h"

namespace campipe {
namespace {

using Text = std::shared_ptr<std::string>;

Text add_config(CLI::App& command) {
  auto config = std::make_shared<std::string>();
  command.add_option("--config", *config, "a node's configuration: its section `cluster` says where etcd is")
      ->required()
      ->type_name("FILE");
  return config;
}

Text add_name(CLI::App& command, const char* name, const char* what, bool is_required = true) {
  auto text = std::make_shared<std::string>();
  command.add_option(name, *text, what)->required(is_required)->type_name("");
  return text;
}

void add_apply(CLI::App& cluster, std::function<int()>& chosen) {
  CLI::App& apply = *cluster.add_subcommand("apply", "make the cameras of a configuration those of the cluster");
  auto file = std::make_shared<std::string>();
  apply.add_option("FILE", *file, "the configuration, with the section `cluster`")->required()->type_name("");
  auto options = std::make_shared<ApplyOptions>();
  apply.add_flag("--dry-run", options->dry_run, "only print what would change");
  apply.add_flag("--restored", options->restored,
                 "after etcd was restored from a backup, or has lost its data: what it has counts again");
  apply.footer("Exit status: 0 it counts now, or is the same; 1 nothing is changed, or it is not known; 2 a mistake.");
  apply.callback([&chosen, file, options] { chosen = [=] { return run_cluster_apply(*file, *options); }; });
}

void add_status(CLI::App& cluster, std::function<int()>& chosen) {
  CLI::App& status = *cluster.add_subcommand("status", "print the nodes, and which node runs which camera");
  auto config = add_config(status);
  auto options = std::make_shared<StatusOptions>();
  auto* const json = status.add_flag("--json", options->json, "print JSON");
  status
      .add_flag("--links", options->links,
                "print what the nodes have for links instead, and what frames between each two of them would go by")
      ->excludes(json);
  status.callback([&chosen, config, options] { chosen = [=] { return run_cluster_status(*config, *options); }; });
}

void add_drain(CLI::App& cluster, std::function<int()>& chosen) {
  CLI::App& drain = *cluster.add_subcommand("drain", "have a node give up its cameras, and take no others");
  auto config = add_config(drain);
  auto node = add_name(drain, "NODE", "the node's name");
  auto end = std::make_shared<bool>(false);
  drain.add_flag("--end", *end, "it takes cameras again");
  drain.footer("It lasts until it is ended, also when the node is restarted.");
  drain.callback([&chosen, config, node, end] { chosen = [=] { return run_cluster_drain(*config, *node, *end); }; });
}

void add_forget(CLI::App& cluster, std::function<int()>& chosen) {
  CLI::App& forget = *cluster.add_subcommand("forget", "name a node no longer that is away for good");
  auto config = add_config(forget);
  auto node = add_name(forget, "NODE", "the node's name");
  forget.footer("A node that has recorded stays named where recordings are listed, as they may lie there.");
  forget.callback([&chosen, config, node] { chosen = [=] { return run_cluster_forget(*config, *node); }; });
}

void add_move(CLI::App& cluster, std::function<int()>& chosen) {
  CLI::App& move = *cluster.add_subcommand("move", "have a camera run on a node, as long as that is there");
  auto config = add_config(move);
  auto camera = add_name(move, "CAMERA", "the camera's name");
  auto node = add_name(move, "NODE", "the node's name; without it, it does not matter any more where", false);
  move.callback(
      [&chosen, config, camera, node] { chosen = [=] { return run_cluster_move(*config, *camera, *node); }; });
}

int run_cluster_certificates(CertificateOptions options, const std::vector<std::string>& nodes) {
  try {
    for (const std::string& node : nodes) options.nodes.push_back(parse_certificate_request(node));
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return usage_error;
  }
  for (const auto& file : write_certificates(options)) std::cout << file.string() << '\n';
  return 0;
}

void add_certificates(CLI::App& cluster, std::function<int()>& chosen) {
  CLI::App& command = *cluster.add_subcommand(
      "certificates", "make certificates for nodes and members of etcd, and an authority that signs them");
  auto options = std::make_shared<CertificateOptions>();
  auto nodes = std::make_shared<std::vector<std::string>>();
  command.add_option("--folder", options->folder, "where the authority is, or is made")
      ->capture_default_str()
      ->type_name("FOLDER");
  command.add_option("--days", options->days, "how long the nodes' certificates are valid")
      ->capture_default_str()
      ->check(CLI::Range(1, 3650))
      ->type_name("DAYS");
  command.add_flag("--replace", options->replace, "replace nodes' certificates that are there; the authority stays");
  command.add_option("NODES", *nodes, "a node, or a member of etcd, and the names and addresses it is reached at")
      ->required()
      ->type_name("NODE=HOST[,HOST...] ...");
  command.footer("ca.key signs for everybody: keep it where no node runs. A node needs ca.pem, NODE.pem and NODE.key.");
  command.callback([&chosen, options, nodes] { chosen = [=] { return run_cluster_certificates(*options, *nodes); }; });
}

}  // namespace

void add_cluster_commands(CLI::App& app, std::function<int()>& chosen) {
  CLI::App& cluster = *app.add_subcommand("cluster", "look at a cluster of several machines, and change it");
  cluster.require_subcommand(1);
  add_apply(cluster, chosen);
  add_status(cluster, chosen);
  add_drain(cluster, chosen);
  add_forget(cluster, chosen);
  add_move(cluster, chosen);
  add_certificates(cluster, chosen);
}

}  // namespace campipe
