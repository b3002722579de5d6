// Whether a new process can use a GPU now: `campipe check-gpu UUID` tries it, and ends. Whatever the driver does when
// it is asked, it does to no other process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/mps.h"
#include "app/control/child_process.h"
#include "app/control/messages/parts.h"
#include "core/clock.h"
#include "core/frame.h"

namespace campipe {

namespace messages {

// Empty: it can be used.
struct GpuChecked {
  static constexpr std::string_view type = "gpu_checked";
  std::string problem;
  static void fields(auto& m, auto&& f) { f("problem", m.problem); }
};
using FromDeviceCheck = MessageList<GpuChecked>;

}  // namespace messages

inline constexpr const char* check_gpu_role = "check-gpu";
inline constexpr auto longest_check = std::chrono::seconds(3);  // without what it waits for a CPU

// The supervisor's end. Never waits.
class DeviceCheck {
 public:
  // Throws Error where the process cannot be started.
  DeviceCheck(const Device& device, Mps mps, const StartProcess& start);
  ~DeviceCheck();  // kills it, and does not wait for its end
  DeviceCheck(const DeviceCheck&) = delete;
  DeviceCheck& operator=(const DeviceCheck&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  // Why it cannot be used; empty: it can. Nothing while it is at it: look again when a descriptor is readable, and a
  // few times a second.
  std::optional<std::string> look();
  void add_waits(Waits& waits) const { process_->add_waits(waits); }

 private:
  void read_messages();

  Device device_;
  std::unique_ptr<ChildProcess> process_;
  std::optional<std::string> problem_;
  std::optional<ExitInfo> exit_;
};

// The whole life of the process: its exit status.
int run_device_check(const std::string& device);
// CUDA only. Throws GpuError where it cannot be used.
void try_gpu(const Device& device);

}  // namespace campipe
