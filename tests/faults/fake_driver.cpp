// A libcuda.so.1 that does to whoever calls it what the environment says, for the tests of the probe.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

int misbehave() {
  const char* how = std::getenv("CUDA_FAKE_DRIVER");
  if (how != nullptr && std::strcmp(how, "crash") == 0) std::abort();
  while (how != nullptr && std::strcmp(how, "hang") == 0) ::pause();
  return 999;  // CUDA_ERROR_UNKNOWN
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return misbehave(); }
int cuDriverGetVersion(int*) { return misbehave(); }
int cuGetProcAddress_v2(const char*, void**, int, unsigned long, void*) { return misbehave(); }
}
