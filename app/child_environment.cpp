#include "app/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/gpu.h"

namespace campipe {
namespace {

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::string see_gpus(const std::vector<Device>& gpus) {
  std::string variable = "CUDA_VISIBLE_DEVICES=";
  for (std::size_t i = 0; i < gpus.size(); ++i) variable += (i > 0 ? "," : "") + to_string(gpus[i]);
  return variable;
}

std::vector<std::string> mps_variables(Mps mps) {
  if (mps == Mps::use) return {};
  // A folder that nobody can ever make: CUDA looks there for a daemon, and goes on without.
  return {"CUDA_MPS_PIPE_DIRECTORY=/dev/null/mps-is-off"};
}

std::vector<std::string> environment_with(const std::vector<std::string>& own) {
  std::vector<std::string> all = own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool replaced =
        std::any_of(own.begin(), own.end(), [&](const std::string& o) { return name_of(o) == name_of(*variable); });
    if (!replaced) all.emplace_back(*variable);
  }
  return all;
}

}  // namespace campipe
