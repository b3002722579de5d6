#include "app/commands/status.h"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands/rig_sample.h"
#include "app/commands/rig_table.h"
#include "app/commands/terminal.h"
#include "core/error.h"
#include "core/printable.h"

namespace campipe {
namespace {

constexpr int configuration_error = 2;
constexpr auto patience = std::chrono::seconds(10);
constexpr auto reload_patience = std::chrono::seconds(60);  // GPUs may be looked at
constexpr auto between_tries = std::chrono::milliseconds(500);
constexpr auto between_samples = std::chrono::milliseconds(1100);
constexpr std::size_t wide = 400;  // for files and pipes

RigSample fetch_sample(ApiClient& client) {
  RigSample sample = parse_status(fetch_status(client));
  const ApiAnswer viewers = client.ask("GET", "/api/v1/viewers", patience);
  if (viewers.status == 200) count_viewers(sample, viewers.body);
  return sample;
}

void print(const std::vector<StyledLine>& lines) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const std::size_t width = terminal ? terminal_size(STDOUT_FILENO).columns : wide;
  const auto form = terminal ? form_for_terminals() : StyledLine::Form::plain;
  for (const StyledLine& line : lines) std::cout << line.render(width, form) << '\n';
}

// The lists in an answer, such as {"added": ["dock"]}.
void print_changes(const std::string& text) {
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) json = nlohmann::json::object();
  std::string changes;
  for (const auto& [what, names] : json.items()) {
    if (!names.is_array()) continue;
    for (const auto& name : names) {
      if (name.is_string()) changes += printable(what + ": " + name.get<std::string>()) + "\n";
    }
  }
  std::cout << (changes.empty() ? "reloaded\n" : changes);
}

}  // namespace

std::string fetch_status(ApiClient& client) {
  constexpr int busy = 503;  // also in the first second of a publisher, which has no status yet
  const Deadline give_up = Clock::now() + patience;
  ApiAnswer answer = client.ask("GET", "/api/v1/status", patience);
  while (answer.status == busy && Clock::now() < give_up) {
    client.wait({}, Clock::now() + between_tries);
    answer = client.ask("GET", "/api/v1/status", patience);
  }
  if (answer.status != 200) throw Error(explain(answer, client.address()));
  return std::move(answer.body);
}

int run_status(const ApiAddress& address, bool json) {
  ApiClient client(address);
  if (json) {
    const std::string status = fetch_status(client);
    static_cast<void>(parse_status(status));  // throws for another program's
    std::cout << status << '\n';
    return 0;
  }
  RigHistory history;
  history.add(fetch_sample(client));
  client.wait({}, Clock::now() + between_samples);
  history.add(fetch_sample(client));
  const RigSample rig = history.newest();
  std::vector<StyledLine> lines{rig_line(rig), summary_line(rig)};
  if (rig.cluster) {
    lines.push_back(cluster_line(*rig.cluster));
    for (const LinkSample& link : rig.cluster->links) lines.push_back(link_line(link));
  }
  lines.emplace_back();
  for (const auto& line : stream_table(rig.streams, wide)) lines.push_back(line);
  lines.emplace_back();
  for (const auto& line : process_table(rig.processes)) lines.push_back(line);
  for (const GpuSample& gpu : rig.gpus) lines.push_back(gpu_line(gpu));
  print(lines);
  return 0;
}

int run_reload(const ApiAddress& address) {
  ApiClient client(address);
  const ApiAnswer answer = client.ask("POST", "/api/v1/reload", reload_patience);
  if (answer.status >= 200 && answer.status < 300) {
    print_changes(answer.body);
    return 0;
  }
  // 400 and 409: the rig has read it, and goes on as it was.
  if (answer.status != 400 && answer.status != 409) throw Error(explain(answer, address));
  auto json = nlohmann::json::parse(answer.body, nullptr, false);
  if (!json.is_object() || !json["errors"].is_array()) {
    std::cerr << "campipe: not reloaded: " << explain(answer, address) << '\n';
    return configuration_error;
  }
  for (const auto& error : json["errors"]) {
    std::cerr << printable(error.is_string() ? error.get<std::string>() : error.dump()) << '\n';
  }
  return configuration_error;
}

}  // namespace campipe
