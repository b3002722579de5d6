// Files that are the frames of one film: "shots/img%03d.png" stands for img001.png, img002.png, …
#pragma once

#include <optional>
#include <string>

namespace campipe {

// It has a %d (or %03d) in the name of the file, and is not itself the name of a file.
bool is_numbered_pictures(const std::string& path);
// The lowest number of a file that is there; nothing: there is none.
std::optional<int> first_number(const std::string& path);
// That none is there, in words, or nothing.
std::optional<std::string> missing_pictures(const std::string& path);

}  // namespace campipe
