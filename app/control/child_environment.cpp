#include "app/control/child_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/gpu.h"

namespace campipe {
namespace {

constexpr auto kept_names = std::to_array<std::string_view>({"PATH",
                                                             "HOME",
                                                             "USER",
                                                             "LOGNAME",
                                                             "LANG",
                                                             "LANGUAGE",
                                                             "TZ",
                                                             "TZDIR",
                                                             "TMPDIR",
                                                             "TERM",
                                                             "NO_COLOR",
                                                             "STATE_DIRECTORY",
                                                             "HOSTALIASES",
                                                             "RES_OPTIONS",
                                                             "JOURNAL_STREAM",
                                                             "LD_LIBRARY_PATH",
                                                             "LD_PRELOAD",
                                                             "LD_BIND_NOW",
                                                             "GLIBC_TUNABLES",
                                                             "LLVM_PROFILE_FILE",
                                                             "http_proxy",
                                                             "https_proxy",
                                                             "no_proxy",
                                                             "CAMPIPE_FAILPOINT",
                                                             "CAMPIPE_PRETENDED_GPUS",
                                                             "CAMPIPE_LOGS_TO_JOURNAL",
                                                             "CAMPIPE_LOG_FORMAT"});
// Of families that belong to one library each.
constexpr auto kept_families = std::to_array<std::string_view>(
    {"LC_", "XDG_", "CUDA_", "NVIDIA_", "GST_", "G_", "GIO_", "ORC_", "OPENCV_", "GNUTLS_", "SSL_CERT_", "UCX_",
     "MALLOC_", "ASAN_", "LSAN_", "TSAN_", "UBSAN_", "GCOV_"});

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

bool is_kept(std::string_view name) {
  return std::ranges::find(kept_names, name) != kept_names.end() ||
         std::ranges::any_of(kept_families, [&](std::string_view family) { return name.starts_with(family); });
}

}  // namespace

std::string see_gpus(const std::vector<Device>& gpus) {
  std::string variable = "CUDA_VISIBLE_DEVICES=";
  for (std::size_t i = 0; i < gpus.size(); ++i) variable += (i > 0 ? "," : "") + to_string(gpus[i]);
  return variable;
}

std::vector<std::string> mps_variables(Mps mps) {
  if (mps == Mps::use) return {};
  // A folder that can never be made: CUDA looks there for a daemon, and goes on without.
  return {"CUDA_MPS_PIPE_DIRECTORY=/dev/null/mps-is-off"};
}

std::vector<std::string> environment_with(const std::vector<std::string>& own) {
  std::vector<std::string> all = own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_kept(name_of(*variable))) continue;
    const bool replaced =
        std::any_of(own.begin(), own.end(), [&](const std::string& o) { return name_of(o) == name_of(*variable); });
    if (!replaced) all.emplace_back(*variable);
  }
  return all;
}

std::vector<std::string> loader_environment() {
  constexpr std::array<std::string_view, 5> families{"LD_LIBRARY_PATH=", "ASAN_", "LSAN_", "TSAN_", "UBSAN_"};
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (std::ranges::any_of(families, [&](std::string_view family) { return text.starts_with(family); }))
      all.emplace_back(text);
  }
  return all;
}

}  // namespace campipe
