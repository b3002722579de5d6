#include "core/shallow_json.h"

namespace campipe {

using nlohmann::json;

json parse_shallow(std::string_view text, int deepest) {
  bool too_deep = false;
  json all = json::parse(
      text,
      [&](int depth, json::parse_event_t, const json&) {
        too_deep = too_deep || depth > deepest;
        return !too_deep;
      },
      false);
  return too_deep ? json(json::value_t::discarded) : all;
}

}  // namespace campipe
