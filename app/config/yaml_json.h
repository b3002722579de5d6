// YAML as JSON, which is YAML: of a tree as it was read, before anything is filled in. Every scalar is the text that
// stands there, which means the same in both.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/config/yaml.h"

namespace campipe {

// Maps in the file's order.
nlohmann::ordered_json json_of(const YamlNode& node);

}  // namespace campipe
