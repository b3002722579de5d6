// Options of encoders that name files. They are not for a rig: an encoder is tried by the supervisor, which one of
// them would keep reading for ever, and a user who may change a camera could have any file written with any bytes.
#pragma once

#include <optional>
#include <string>

namespace campipe {

// Nothing: `value` of the encoder's option `name` leads to no file. Else which word of it does, or may.
std::optional<std::string> named_file(const std::string& name, const std::string& value);

}  // namespace campipe
