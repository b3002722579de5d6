// A libnvidia-ml.so.1 of an invented machine: a GPU, one that is divided into two instances (of three places), and one
// of which the library knows the name only.
#include <array>
#include <cstring>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr unsigned long long mib = 1024 * 1024;

struct Thing {
  const char* uuid;
  const char* name;
  bool busy_known = false;
  unsigned long long memory_mib = 0;  // 0: not known
  bool divided = false;
};
std::array gpus{Thing{"GPU-00000000-0000-0000-0000-000000000001", "Whole", true, 2000},
                Thing{"GPU-00000000-0000-0000-0000-000000000002", "Divided", false, 2000, true},
                Thing{"GPU-00000000-0000-0000-0000-000000000003", "Unknown"}};
std::array instances{Thing{"MIG-00000000-0000-0000-0000-00000000000a", "Divided MIG 1g.10gb", false, 500}, Thing{},
                     Thing{"MIG-00000000-0000-0000-0000-00000000000b", "Divided MIG 2g.20gb", false, 1000}};

const Thing& thing(const void* device) { return *static_cast<const Thing*>(device); }

int put(const char* text, char* out, unsigned size) {
  std::strncpy(out, text, size - 1);
  return success;
}

int unit(const void* device, unsigned percent, unsigned* out, unsigned* period) {
  *period = 0;
  *out = thing(device).busy_known ? percent : 99;
  return thing(device).busy_known ? success : not_supported;
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return success; }
int nvmlShutdown() { return success; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = gpus.size();
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &gpus.at(index);
  return success;
}
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) { return put(thing(device).uuid, out, size); }
int nvmlDeviceGetName(void* device, char* out, unsigned size) { return put(thing(device).name, out, size); }
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) { return unit(device, 40, &rates[0], &rates[1]); }
int nvmlDeviceGetDecoderUtilization(void* device, unsigned* percent, unsigned* period) {
  return unit(device, 30, percent, period);
}
int nvmlDeviceGetEncoderUtilization(void* device, unsigned* percent, unsigned* period) {
  return unit(device, 20, percent, period);
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
  const unsigned long long size = thing(device).memory_mib;
  if (size == 0) return not_supported;
  total_free_used[0] = size * mib;
  total_free_used[2] = size / 2 * mib;
  return success;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = thing(device).divided ? 1 : 0;
  return device == &gpus[2] ? not_supported : success;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = instances.size();
  return success;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** device) {
  *device = &instances.at(index);
  return instances.at(index).uuid != nullptr ? success : not_found;
}
}
