// What embed.cmake makes of the files of page/ and of openapi.json.
#pragma once

#include <span>

#include "app/publisher/server/page.h"

namespace campipe {

std::span<const PageFile> page_files();

}  // namespace campipe
