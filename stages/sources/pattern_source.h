// test://pattern?width=1280&height=720&rate=25&frames=0: frames that say which frame they are and when they were
// made (core/test_pattern.h). frames=0 or none: without end.
#pragma once

#include "stages/sources/source.h"

namespace campipe {

bool is_pattern(const std::string& url);
// It has so many frames. Of a pattern that check_pattern() accepts.
bool pattern_ends(const std::string& url);
std::unique_ptr<Source> open_pattern_source(const std::string& url);
std::optional<std::string> check_pattern(const std::string& url);

}  // namespace campipe
