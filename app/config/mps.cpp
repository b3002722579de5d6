#include "app/config/mps.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "app/config/report.h"

namespace campipe {

std::string mps_problem(Mps mps) {
  if (mps != Mps::use) return {};
  const char* given = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string folder = given != nullptr && *given != '\0' ? given : "/tmp/nvidia-mps";
  if (::access((folder + "/control").c_str(), R_OK | W_OK) == 0) return {};
  const std::string reason = std::strerror(errno);
  return "no MPS daemon can be reached: " + in_quotes(folder + "/control") + ": " + reason +
         "; start one with nvidia-cuda-mps-control -d, or set CUDA_MPS_PIPE_DIRECTORY to its folder";
}

}  // namespace campipe
