// Files that are written as a whole, and read by others meanwhile.
#pragma once

#include <filesystem>
#include <string_view>

namespace campipe {

// The file has this text, in one step: a reader, also after a power cut, finds the old one or the new one. Of mode
// 0600. Waits for the disk. Throws Error; then the old one is still there, or may be there again after a power cut.
void replace_file(const std::filesystem::path& file, std::string_view text);

}  // namespace campipe
