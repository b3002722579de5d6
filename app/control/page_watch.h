// What a process shows of its parts in the rig page, in words that change seldom: for traces of processes
// (app/control/process_trace.h), and for simulated ones that are compared with them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/decode_blocks.h"
#include "ipc/node_block.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"

namespace campipe {

class PageWatch {
 public:
  struct Change {
    std::string part;    // "camera 3"; empty: the process itself
    std::string matter;  // "thread"
    std::string words;   // "beats"
  };

  // The process is sent this: its parts come and go.
  void to(std::string_view type, const nlohmann::json& body) {
    for (const auto& [begin, part] : parts_of_messages) {
      if (type == begin) shown_[{part, body.at(part).get<unsigned>()}] = {};
    }
    if (!type.starts_with("forget_")) return;
    for (const auto& [part, id] : body.items()) shown_.erase({part, id.get<unsigned>()});
  }

  // The changes since look() was called last.
  std::vector<Change> look(const RigPage& page) {
    std::vector<Change> changes;
    take("", {{"barrier", fmt::format("{} phases", page.process(page.own()).arrived.load())}}, process_, changes);
    for (auto& [part, shown] : shown_)
      take(fmt::format("{} {}", part.first, part.second), words_of(page, part.first, part.second), shown, changes);
    return changes;
  }

 private:
  using Part = std::pair<std::string, unsigned>;
  using Words = std::map<std::string, std::string>;  // by their matter
  static constexpr std::array<std::pair<std::string_view, const char*>, 4> parts_of_messages{
      {{"read_camera", "camera"}, {"decode_camera", "camera"}, {"node", "node"}, {"output", "output"}}};

  static void take(const std::string& part, const Words& now, Words& shown, std::vector<Change>& changes) {
    for (const auto& [matter, words] : now) {
      if (shown[matter] != words) changes.push_back({part, matter, words});
    }
    shown = now;
  }
  static Words words_of(const RigPage& page, const std::string& part, unsigned id) {
    if (part == "node") return words_of(page.node(NodeId(id), page.own()).thread);
    if (part == "output") return words_of(page.publish(OutputId(id)));
    if (page.own() == source_process) return words_of(page.source(CameraId(id)).thread);
    return words_of(page.decode(CameraId(id), page.own()).thread);
  }
  static Words words_of(const ThreadBlock& thread) { return {{"thread", thread.beat.load() == 0 ? "rests" : "beats"}}; }
  static Words words_of(const PublishBlock& block) {
    Words words = words_of(block.thread);
    words["viewers"] = block.audience.watches.load() != 0 ? "there are some" : "there are none";
    const std::uint32_t current = block.record.current.load();
    const bool has_file = current > 0 && current <= block.record.copy.size();
    words["file"] = block.record.failed.load() != 0               ? "failed"
                    : !has_file                                   ? "none yet"
                    : block.record.copy.at(current - 1).open != 0 ? "open"
                                                                  : "closed";
    return words;
  }

  Words process_;
  std::map<Part, Words> shown_;
};

}  // namespace campipe
