// The supervisor's access to the simulated machine.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/supervisor/port/port.h"
#include "tests/sim/machine.h"

namespace campipe::sim {

class SimPort final : public Port {
 public:
  explicit SimPort(Machine& machine) : machine_(machine), chance_(machine.world().chance.split()) {}

  [[nodiscard]] const std::string& report() const { return report_; }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  [[nodiscard]] bool reloads() const { return service_.reloads; }

  std::unique_ptr<ChildProcess> start(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& variables) override;
  void refill_reserve() override {}
  void wait(Waits waits, milliseconds longest) override;
  std::optional<RigSignals::Request> next_signal() override;

  LogPipe& log() override { return log_; }
  Terminal& terminal() override { return terminal_; }
  ServiceManager& service() override { return service_; }
  MemorySampler& memory() override { return memory_; }
  std::unique_ptr<ReportWriter> open_report(const std::filesystem::path& file) override;

  [[nodiscard]] bool may_have_gpus() const override { return machine_.gpus().count() > 0; }
  // Files of a GPU show nothing of what is wrong with it.
  GpuSigns look_for_gpu_signs(Mps) override { return {}; }
  std::unique_ptr<GpuSearch> search_gpus(nanoseconds longest, Mps mps) override;
  CoreTimes read_idle_times() override { return machine_.cores().idle(); }
  [[nodiscard]] pid_t own_pid() const override { return 999; }
  [[nodiscard]] double own_cpu_seconds() const override { return machine_.world().seconds_run() / 100; }
  MachineCosts read_costs(const Devices& devices) override { return machine_costs(CostCache(), devices, CostKey()); }
  void add_costs(MachineCosts& costs, const Gpu& gpu) override { campipe::add_costs(costs, CostCache(), gpu); }
  std::vector<unsigned char> random_bytes(std::size_t size) override;

 private:
  // Its lines are the run's (tests/sim/run_log.h).
  struct Log final : LogPipe {
    void take_own_log(const std::string&) override {}
    void leave_own_log(const std::string&) override {}
    std::string_view read() override { return {}; }
  };
  struct Screen final : Terminal {
    [[nodiscard]] bool is_terminal() const override { return false; }
    [[nodiscard]] std::optional<unsigned> width() const override { return std::nullopt; }
    void put(std::string) override {}
  };
  // It listens, and sometimes cannot take a message now.
  struct Service final : ServiceManager {
    explicit Service(SimPort& its) : port(its) {}
    [[nodiscard]] bool active() const override { return true; }
    [[nodiscard]] std::optional<Clock::duration> watchdog() const override { return seconds(10); }
    bool send(const std::string& state) override;
    SimPort& port;
    Clock::time_point heard = Clock::now();
    bool reloads = false;  // it was told that a reload has begun
  };
  // Answers after a while.
  struct Memory final : MemorySampler {
    explicit Memory(SimPort& its) : port(its) {}
    void request(std::vector<pid_t> pids) override;
    [[nodiscard]] bool busy() const override;
    std::optional<std::vector<double>> take() override;
    SimPort& port;
    std::size_t asked = 0;
    std::optional<Clock::time_point> answers;
  };
  struct Report final : ReportWriter {
    explicit Report(SimPort& its) : port(its) {}
    void put(std::string report) override { port.report_ = std::move(report); }
    bool finish() override { return true; }
    SimPort& port;
  };

  [[nodiscard]] bool has_signal() const;

  Machine& machine_;
  Chance chance_;
  Log log_;
  Screen terminal_;
  Service service_{*this};
  Memory memory_{*this};
  std::string report_;
  std::uint64_t turns_ = 0;
  bool asked_to_end_ = false;
};

}  // namespace campipe::sim
