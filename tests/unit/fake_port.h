// A machine that a test describes, in place of this one. What a test does not describe fails, or is empty.
#pragma once

#include <deque>
#include <utility>

#include "app/supervisor/port/port.h"
#include "core/error.h"

namespace campipe::test {

class FakePort : public Port {
 public:
  GpuSigns signs;
  std::deque<Devices> found;  // by the searches that begin; empty: they find nothing yet
  unsigned searches = 0;

  std::unique_ptr<ChildProcess> start(const std::vector<std::string>&, const std::vector<std::string>&) override {
    throw Error("this machine starts no process");
  }
  void refill_reserve() override {}
  void wait(Waits, std::chrono::milliseconds) override {}
  std::optional<RigSignals::Request> next_signal() override { return std::nullopt; }
  LogPipe& log() override { throw Error("this machine has no log"); }
  Terminal& terminal() override { throw Error("this machine has no terminal"); }
  ServiceManager& service() override { throw Error("this machine has no service manager"); }
  MemorySampler& memory() override { throw Error("this machine has no memory"); }
  std::unique_ptr<ReportWriter> open_report(const std::filesystem::path&) override { return nullptr; }

  [[nodiscard]] bool may_have_gpus() const override { return true; }
  GpuSigns look_for_gpu_signs(Mps) override { return signs; }
  std::unique_ptr<GpuSearch> search_gpus(std::chrono::nanoseconds, Mps) override {
    ++searches;
    return std::make_unique<Search>(*this);
  }

  CoreTimes read_idle_times() override { return {}; }
  [[nodiscard]] pid_t own_pid() const override { return 1; }
  [[nodiscard]] double own_cpu_seconds() const override { return 0; }
  MachineCosts read_costs(const Devices&) override { return {}; }
  void add_costs(MachineCosts&, const Gpu&) override {}
  std::vector<unsigned char> random_bytes(std::size_t size) override { return std::vector<unsigned char>(size); }

 private:
  class Search : public GpuSearch {
   public:
    explicit Search(FakePort& port) : port_(port) {}
    std::optional<Devices> look() override {
      if (port_.found.empty()) return std::nullopt;
      Devices devices = std::move(port_.found.front());
      port_.found.pop_front();
      return devices;
    }
    void add_waits(Waits&) const override {}

   private:
    FakePort& port_;
  };
};

}  // namespace campipe::test
