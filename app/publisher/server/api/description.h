// The API's description, as GET openapi.json answers it: openapi.json, and the counters of ipc/counter_table.h below
// its `Camera`.
#pragma once

#include <string>

namespace campipe {

// Any thread.
const std::string& api_description();

}  // namespace campipe
