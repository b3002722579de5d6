#include "app/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "app/commands/api_client.h"
#include "app/commands/hash_password.h"
#include "app/commands/make_token.h"
#include "app/commands/move.h"
#include "app/commands/status.h"
#include "app/commands/terminal.h"
#include "app/commands/top.h"
#include "app/config/part_names.h"
#include "core/error.h"
#include "core/printable.h"
#include "core/rig_token.h"

namespace campipe {
namespace {

struct CommandAddress : ApiAddress {
  std::string token_file;
};
using Address = std::shared_ptr<CommandAddress>;

// More than CLI11 asks for: it takes nothing for 0, and octal numbers.
std::string check_worker(const std::string& word) {
  constexpr std::size_t most_digits = 4;
  const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
  const bool is_number = digits && word.size() <= most_digits && (word.size() == 1 || word[0] != '0');
  if (is_number && std::stoul(word) <= most_worker) return "";
  return fmt::format("expected a worker's number, 0 to {}, as `campipe status` lists them, not '{}'", most_worker,
                     printable(word));
}

std::string check_camera(const std::string& word) {
  if (is_part_name(word)) return "";
  return fmt::format("expected the name of a camera or mosaic, which {}, not '{}'", name_rule, printable(word));
}

Address add_address(CLI::App& command) {
  auto address = std::make_shared<CommandAddress>();
  command
      .add_option("--url", address->url,
                  "the rig's http_address; CAMPIPE_URL, or http://127.0.0.1:8080, if it is not given")
      ->envname("CAMPIPE_URL")
      ->check(check_api_url)
      ->type_name("URL");
  command.add_option("--user", address->user, "whose password is in CAMPIPE_PASSWORD, or is asked for")
      ->type_name("NAME");
  command
      .add_option("--token-file", address->token_file,
                  "the rig's own token, without --user; found unasked where this account runs the rig")
      ->envname("CAMPIPE_TOKEN_FILE")
      ->type_name("FILE");
  command.add_option("--ca-file", address->ca_file, "trust the certificates in this PEM file, not the system's")
      ->type_name("FILE")
      ->check(CLI::ExistingFile.description(""));
  return address;
}

// Only to a rig of this machine, unless the file was named.
std::string find_token(const CommandAddress& address) {
  if (!address.token_file.empty()) {
    const auto token = read_token(address.token_file);
    if (!token) throw Error("--token-file: no token can be read from " + address.token_file);
    return *token;
  }
  const auto port = port_of_this_machine(address.url);
  if (!port) return {};
  for (const auto& file : token_files(*port)) {
    if (const auto token = read_token(file)) return *token;
  }
  return {};
}

void warn_of_listeners(const ApiAddress& address, const char* what) {
  if (ApiClient(address).keeps_secrets()) return;
  std::cerr << "campipe: the " << what << " goes to " << address.url << " in clear: it can be read on the way\n";
}

const ApiAddress& with_secrets(CommandAddress& address) {
  if (address.user.empty()) {
    address.token = find_token(address);
    if (!address.token.empty()) warn_of_listeners(address, "token");
    return address;
  }
  const char* given = std::getenv("CAMPIPE_PASSWORD");
  address.password = given != nullptr ? given : ask_password("password of " + address.user + ": ");
  warn_of_listeners(address, "password");
  return address;
}

}  // namespace

void add_commands(CLI::App& app, std::function<int()>& chosen) {
  app.require_subcommand(0, 1);
  CLI::App& status = *app.add_subcommand("status", "print the state of a running rig's cameras");
  auto address = add_address(status);
  auto json = std::make_shared<bool>(false);
  status.add_flag("--json", *json, "the status as the API answers it (docs/api.md)");
  status.callback([&chosen, address, json] { chosen = [=] { return run_status(with_secrets(*address), *json); }; });

  CLI::App& top = *app.add_subcommand("top", "watch a running rig in a table; h lists its keys");
  address = add_address(top);
  top.callback([&chosen, address] { chosen = [=] { return run_top(with_secrets(*address)); }; });

  CLI::App& reload = *app.add_subcommand("reload", "reload the configuration of a running rig");
  address = add_address(reload);
  reload.footer("Exit status 2: the configuration is wrong, and the rig goes on as it was.");
  reload.callback([&chosen, address] { chosen = [=] { return run_reload(with_secrets(*address)); }; });

  CLI::App& move =
      *app.add_subcommand("move", "have another worker do a camera's or mosaic's work, without losing a frame");
  address = add_address(move);
  auto camera = std::make_shared<std::string>();
  auto worker = std::make_shared<unsigned>(0);
  auto from = std::make_shared<std::optional<unsigned>>();
  move.add_option("CAMERA", *camera, "the name of the camera or mosaic")
      ->required()
      ->type_name("")
      ->check(check_camera);
  move.add_option("WORKER", *worker, "the worker's number, as `campipe status` shows it")
      ->required()
      ->type_name("")
      ->check(check_worker);
  move.add_option("--from", *from, "of a camera by stage or by tile: the worker whose part of it goes over")
      ->type_name("WORKER")
      ->check(check_worker);
  move.footer(
      "It stays there until it is moved again, changed, or the rig is restarted.\n\n"
      "Exit status: 0 it is there; 1 it is not moved, for the reason printed, and stays where it was, or no rig "
      "answers;\n"
      "2 wrong arguments.");
  move.callback([&chosen, address, camera, worker, from] {
    chosen = [=] { return run_move(with_secrets(*address), *camera, *worker, *from); };
  });

  CLI::App& hash = *app.add_subcommand("hash-password", "make a user's `password` for the configuration");
  hash.footer("The password is asked for, or is the first line of standard input.");
  hash.callback([&chosen] { chosen = run_hash_password; });

  CLI::App& token = *app.add_subcommand("make-token", "make a user's `token`, with which a wall's screen logs in");
  token.footer("Whoever has the address may watch what that user may, until the token leaves the configuration.");
  token.callback([&chosen] { chosen = run_make_token; });
}

}  // namespace campipe
