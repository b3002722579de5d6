// Parts of URLs.
#pragma once

#include <string>
#include <string_view>

namespace campipe {

// With its escapes resolved ("%40" is '@'). A '%' that begins no escape stays as it is.
std::string percent_decoded(std::string_view text);

// With escapes for all but letters, digits, '.', '-', '_' and '~'.
std::string percent_encoded(std::string_view text);

// "10.0.0.11"
bool is_host_in_numbers(std::string_view host);

}  // namespace campipe
