// Files of any container and codec that FFmpeg reads, and numbered pictures.
#pragma once

#include "stages/sources/source.h"

namespace campipe {

std::unique_ptr<Source> open_file_source(const SourceConfig& config, const Source::Interrupt& interrupt);
std::optional<std::string> check_file(const std::string& path);

}  // namespace campipe
