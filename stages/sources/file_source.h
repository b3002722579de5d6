// Files of any container and codec that FFmpeg reads.
#pragma once

#include "stages/sources/source.h"

namespace campipe {

std::unique_ptr<Source> open_file_source(const std::string& path, const Source::Interrupt& interrupt);
std::optional<std::string> check_file(const std::string& path);

}  // namespace campipe
