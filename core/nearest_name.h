// "did you mean": the name that was most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace campipe {

// The one of `names` that `given` is most likely meant to be, or "". Case, '-', '_' and ' ' do not matter.
std::string_view nearest_name(std::string_view given, std::span<const std::string_view> names);

// ", did you mean 'width'?" where one of `names` is near enough, else "".
std::string suggestion(std::string_view given, std::span<const std::string_view> names);

}  // namespace campipe
