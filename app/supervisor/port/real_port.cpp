#include "app/supervisor/port/real_port.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/control/started_process.h"
#include "app/placement/preflight.h"
#include "app/probe/device_probe.h"
#include "app/supervisor/port/real_report_writer.h"
#include "core/gpu.h"
#include "core/pretended_gpus.h"
#include "core/random_bytes.h"

namespace campipe {
namespace {

class RealGpuSearch final : public GpuSearch {
 public:
  RealGpuSearch(std::chrono::nanoseconds longest, Mps mps) : probe_(longest, mps) {}
  std::optional<Devices> look() override { return probe_.look(); }
  void add_waits(Waits& waits) const override { probe_.add_waits(waits); }

 private:
  DeviceProbe probe_;
};

double in_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

RealPort::RealPort(RigSignals& signals, ForkServer& forks) : signals_(signals), forks_(forks) {}

std::unique_ptr<ChildProcess> RealPort::start(const std::vector<std::string>& arguments,
                                              const std::vector<std::string>& variables) {
  reserve_.release();
  return std::make_unique<StartedProcess>(arguments, log_.write_fd(), variables, &forks_);
}

void RealPort::wait(Waits waits, std::chrono::milliseconds longest) {
  waits.push_back({signals_.fd(), POLLIN, 0});
  waits.push_back({log_.read_fd(), POLLIN, 0});
  ::poll(waits.data(), waits.size(), static_cast<int>(longest.count()));
}

std::unique_ptr<ReportWriter> RealPort::open_report(const std::filesystem::path& file) {
  return std::make_unique<RealReportWriter>(file);
}

bool RealPort::may_have_gpus() const { return with_cuda || pretended_gpus() > 0; }

GpuSigns RealPort::look_for_gpu_signs(Mps mps) { return {find_gpu_files(), mps_problem(mps)}; }

std::unique_ptr<GpuSearch> RealPort::search_gpus(std::chrono::nanoseconds longest, Mps mps) {
  reserve_.release();
  return std::make_unique<RealGpuSearch>(longest, mps);
}

CoreTimes RealPort::read_idle_times() { return campipe::read_idle_times(); }

pid_t RealPort::own_pid() const { return ::getpid(); }

double RealPort::own_cpu_seconds() const {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

MachineCosts RealPort::read_costs(const Devices& devices) {
  costs_ = load_costs();
  return machine_costs(costs_, devices);
}

void RealPort::add_costs(MachineCosts& costs, const Gpu& gpu) { campipe::add_costs(costs, costs_, gpu); }

std::vector<unsigned char> RealPort::random_bytes(std::size_t size) { return campipe::random_bytes(size); }

}  // namespace campipe
