#include "tests/sim/conduct.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace campipe::sim {
namespace {

using nlohmann::json;

// Of each role: what its parts are known by, and the message with which one begins. Null: it is one part itself.
struct RoleOf {
  std::string_view role;
  const char* part;
  std::string_view begins;
};
constexpr std::array roles{RoleOf{"source", "camera", "read_camera"}, RoleOf{"master", "camera", "decode_camera"},
                           RoleOf{"worker", "node", "node"}, RoleOf{"publisher", "output", "output"},
                           RoleOf{"cluster", nullptr, "join"}};

const RoleOf* find_role(std::string_view role) {
  const auto* const found = std::ranges::find(roles, role, &RoleOf::role);
  return found == roles.end() ? nullptr : found;
}

// What a message from a process is about. `of`: several threads of one matter differ by this field.
struct MatterOf {
  std::string_view type;
  const char* matter;
  const char* of = "";
};
constexpr std::array matters{MatterOf{"opened_stream", "connection"},
                             MatterOf{"sent_stream", "connection"},
                             MatterOf{"source_state", "connection"},
                             MatterOf{"source_ring", "packets"},
                             MatterOf{"source_ring_done", "packets"},
                             MatterOf{"decoding_state", "decoding"},
                             MatterOf{"frame_ring", "frames", "edge"},
                             MatterOf{"edge_failed", "frames", "edge"},
                             MatterOf{"edge_done", "frames", "edge"},
                             MatterOf{"packet_ring", "video", "output"},
                             MatterOf{"output_failed", "video", "output"},
                             MatterOf{"packet_ring_done", "video"},
                             MatterOf{"ring_lost", "video"},
                             MatterOf{"audio_ring", "sound", "output"},
                             MatterOf{"audio_ring_done", "sound"},
                             MatterOf{"not_ready", "move"},
                             MatterOf{"frame_ring_lost", "move"},
                             MatterOf{"file", "recording"},
                             MatterOf{"record_failed", "recording"},
                             MatterOf{"record_paused", "recording"},
                             MatterOf{"record_resumed", "recording"},
                             MatterOf{"push_state", "push", "url"},
                             MatterOf{"rig", "rig"},
                             MatterOf{"duties", "duties"},
                             MatterOf{"lease", "lease"},
                             MatterOf{"seen", "seen"}};

// With which all that a part sends is over.
constexpr std::array<std::string_view, 5> ends{"source_over", "decoding_over", "decoding_left", "node_done",
                                               "output_done"};

template <typename List, typename What>
bool contains(const List& list, const What& what) {
  return std::ranges::find(list, what) != list.end();
}

// What a process is sent that changes nothing of what its parts send.
constexpr std::array<std::string_view, 6> of_no_part{"setup",       "status", "server",
                                                     "share_links", "answer", "disabled_camera"};

std::string key_of(const char* name, const json& id) { return fmt::format("{} {}", name, id.dump()); }

constexpr std::array<std::string_view, 6> ids{"camera", "node", "edge", "output", "request", "worker"};
// What a camera sends, or a person.
constexpr std::array<std::string_view, 2> data{"format", "config"};
// Texts that a role has few of.
constexpr std::array<std::string_view, 1> words{"state"};

std::string value_of(std::string_view name, const json& value) {
  if (value.is_null()) return "is missing";
  if (value.is_boolean()) return value.get<bool>() ? "is true" : "is false";
  if (value.is_string() && contains(words, name)) return "is " + value.get<std::string>();
  if (value.is_string()) return value.get_ref<const std::string&>().empty() ? "is empty" : "is a text";
  if (value.is_array()) return value.empty() ? "is empty" : "is a list";
  const double number = value.get<double>();
  return number == 0 ? "is 0" : number > 0 ? "is positive" : "is negative";
}

std::string epoch_after(std::uint64_t before, std::uint64_t epoch) {
  return epoch == before + 1 ? "follows" : epoch == before ? "is the same" : epoch > before ? "jumps" : "goes back";
}

}  // namespace

void ConductFacts::add(const ConductFacts& more) {
  steps.insert(more.steps.begin(), more.steps.end());
  fields.insert(more.fields.begin(), more.fields.end());
  for (const auto& [step, kinds] : more.told) add_told(step, kinds);
}

void ConductFacts::add_told(const std::string& step, const std::set<std::string>& kinds) {
  const auto [all, is_new] = told.try_emplace(step, kinds);
  if (!is_new) std::erase_if(all->second, [&](const std::string& kind) { return !kinds.contains(kind); });
}

json to_json(const ConductFacts& facts) {
  return {{"steps", facts.steps}, {"told", facts.told}, {"fields", facts.fields}};
}

ConductFacts conduct_from_json(const json& json) {
  ConductFacts facts;
  json.at("steps").get_to(facts.steps);
  json.at("told").get_to(facts.told);
  json.at("fields").get_to(facts.fields);
  return facts;
}

void Conduct::start(pid_t pid, std::string_view role) {
  const std::string_view kind = role.substr(0, role.find(' '));
  if (find_role(kind) != nullptr) processes_[pid] = {std::string(kind), {}, {}, {}, {}, false};
}

// Empty: it is about none.
std::string Conduct::part_in(const Process& process, const json& body) {
  const char* const part = find_role(process.role)->part;
  if (part == nullptr) return process.role;
  if (body.contains(part)) return key_of(part, body.at(part));
  for (const char* const below : {"output", "edge"}) {
    if (!body.contains(below)) continue;
    const auto found = process.part_of.find(key_of(below, body.at(below)));
    return found == process.part_of.end() ? key_of(below, body.at(below)) : found->second;
  }
  return {};
}

void Conduct::begin_part(Process& process, const std::string& name, std::string_view type, const json& body) {
  Part& part = process.parts[name];
  // The page of a move comes before its node.
  if (part.told.contains(type)) part = {};
  for (const char* const list : {"copies", "audio", "outputs", "edges"}) {
    if (!body.contains(list)) continue;
    for (const json& below : body.at(list)) {
      for (const char* const id : {"output", "edge"}) {
        if (below.contains(id)) process.part_of[key_of(id, below.at(id))] = name;
      }
    }
  }
  if (process.role == "master") process.part_of[key_of("edge", body.at("edge"))] = name;
}

void Conduct::to(pid_t pid, std::string_view type, const json& body) {
  if (contains(of_no_part, type)) return;
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  Process& process = found->second;
  if (type == "write_edge") process.part_of[key_of("edge", body.at("edge").at("edge"))] = part_in(process, body);
  const std::string name = part_in(process, body);
  if (name.empty()) {
    process.told.emplace(type);
    return;
  }
  if (type == find_role(process.role)->begins) begin_part(process, name, type, body);
  if (type.starts_with("forget_")) {
    process.parts.erase(name);
    return;
  }
  process.parts[name].told.emplace(type);
}

void Conduct::from(pid_t pid, std::string_view type, const json& body, std::size_t descriptors) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  Process& process = found->second;
  const std::string of = process.role + " " + std::string(type);
  const auto* const matter = std::ranges::find(matters, type, &MatterOf::type);
  const bool is_end = contains(ends, type);
  if (matter == matters.end() && !is_end) return;  // what people ask
  facts_.fields.insert(fmt::format("{}: {} descriptors", of, descriptors));
  const auto part = process.parts.find(part_in(process, body));
  if (part == process.parts.end()) {
    facts_.steps.insert(of + " of what it does not have");
    return;
  }
  auto& threads = part->second.threads;
  if (is_end) {
    threads.try_emplace("end", Thread{"end"});
    for (auto& [key, thread] : threads) {
      if (!thread.matter.starts_with("page")) note_step(process, part->second, thread, type);
    }
    return note_fields(of, "", body, nullptr, type);
  }
  const std::string key = std::string(matter->matter) + (body.contains(matter->of) ? body.at(matter->of).dump() : "");
  Thread& thread = threads.try_emplace(key, Thread{matter->matter}).first->second;
  note_step(process, part->second, thread, type);
  note_fields(of, "", body, &thread, type);
}

void Conduct::shows(pid_t pid, const PageWatch::Change& change) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  Process& process = found->second;
  const auto known = process.parts.find(change.part);
  if (known == process.parts.end() && !change.part.empty()) return;
  Part& part = change.part.empty() ? process.itself : known->second;
  const std::string matter = "page's " + change.matter;
  note_step(process, part, part.threads.try_emplace(matter, Thread{matter}).first->second, change.words);
}

void Conduct::note_step(const Process& process, const Part& part, Thread& thread, std::string_view type) {
  const std::string step = fmt::format("{} {}: {}, {}", process.role, thread.matter, thread.last, type);
  std::set<std::string> told(process.told.begin(), process.told.end());
  told.insert(part.told.begin(), part.told.end());
  if (told.erase("drain") > 0) told.insert("stop_camera");  // which says the same
  if (thread.matter != "sound") told.erase("audio_ring");
  facts_.add_told(step, told);
  facts_.steps.insert(step);
  thread.last = type;
}

void Conduct::note_fields(const std::string& of, const std::string& path, const json& body, Thread* thread,
                          std::string_view type) {
  if (type == "seen") return;  // its fields are named by cameras and nodes
  for (const auto& [name, value] : body.items()) {
    if (contains(ids, name) || contains(data, name)) continue;
    if (value.is_object()) {
      note_fields(of, path + name + ".", value, thread, type);
    } else if (name == "epoch" && thread != nullptr) {
      const auto epoch = value.get<std::uint64_t>();
      const auto before = thread->epochs.find(type);
      const std::string what = before == thread->epochs.end() ? "is its first" : epoch_after(before->second, epoch);
      thread->epochs.insert_or_assign(std::string(type), epoch);
      facts_.fields.insert(fmt::format("{}: {}epoch {}", of, path, what));
    } else {
      facts_.fields.insert(fmt::format("{}: {}{} {}", of, path, name, value_of(name, value)));
    }
  }
}

void Conduct::end(pid_t pid, int status) {
  const auto found = processes_.find(pid);
  if (found != processes_.end()) found->second.exits = status == 0;
}

ConductFacts Conduct::finish() {
  for (auto& [pid, process] : processes_) {
    if (!process.exits) continue;
    for (auto& [name, part] : process.parts) {
      for (auto& [key, thread] : part.threads) note_step(process, part, thread, "exits");
    }
  }
  processes_.clear();
  return facts_;
}

}  // namespace campipe::sim
