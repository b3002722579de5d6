// Libraries that take their time, in the place of the real ones: an NVML of which each call takes 1.5 s, and a lookup
// of names that takes 12 s for slow.test. A main thread that waited for either would be taken for hung.
#include <dlfcn.h>
#include <netdb.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace {

void take(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

int answer_slowly() {
  take(std::chrono::milliseconds(1500));
  return 0;
}

int put(char* out, unsigned size, const char* text) {
  std::strncpy(out, text, size - 1);
  return answer_slowly();
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return answer_slowly(); }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return answer_slowly();
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  *device = nullptr;
  return answer_slowly();
}
int nvmlDeviceGetUUID(void*, char* uuid, unsigned size) { return put(uuid, size, "GPU-slow"); }
int nvmlDeviceGetName(void*, char* name, unsigned size) { return put(name, size, "Slow"); }
int nvmlDeviceGetUtilizationRates(void*, void*) { return answer_slowly(); }
int nvmlDeviceGetDecoderUtilization(void*, unsigned*, unsigned*) { return answer_slowly(); }
int nvmlDeviceGetEncoderUtilization(void*, unsigned*, unsigned*) { return answer_slowly(); }
int nvmlDeviceGetMemoryInfo(void*, void*) { return answer_slowly(); }

int getaddrinfo(const char* host, const char* service, const addrinfo* hints, addrinfo** found) {
  using Lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<Lookup>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool numeric = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  const bool slow = host != nullptr && std::strcmp(host, "slow.test") == 0;
  if (!slow || numeric) return real(host, service, hints, found);
  take(std::chrono::seconds(12));
  return real("127.0.0.1", service, hints, found);
}
}
