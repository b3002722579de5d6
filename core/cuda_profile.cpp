#include <nvtx3/nvToolsExt.h>

#include "core/profile.h"

namespace campipe::profiler {
namespace {

// Null without a profiler.
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("campipe");
  return handle;
}

}  // namespace

void* remember(const std::string& name) { return nvtxDomainRegisterStringA(domain(), name.c_str()); }

void push(void* name, std::uint64_t frame) {
  if (name == nullptr) return;  // no profiler
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range.message.registered = static_cast<nvtxStringHandle_t>(name);
  range.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  range.payload.ullValue = frame;
  nvtxDomainRangePushEx(domain(), &range);
}

void pop() { nvtxDomainRangePop(domain()); }

}  // namespace campipe::profiler
