#include "app/publisher/publisher.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "app/control/child.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/requests.h"
#include "app/control/messages/run.h"
#include "app/control/messages/setup.h"
#include "app/control/messages/shared_links.h"
#include "app/control/messages/to_publisher.h"
#include "app/publisher/camera_publisher.h"
#include "app/publisher/clock_jumps.h"
#include "app/publisher/events_file.h"
#include "app/publisher/recording/housekeeping.h"
#include "app/publisher/server/servers.h"
#include "core/clock_reading.h"
#include "core/error.h"
#include "core/log.h"
#include "core/utc_text.h"
#include "ipc/counter_table.h"
#include "ipc/publish_block.h"

namespace campipe {
namespace {

// Of the supervisor, whose process lives as long as the rig. Where that is not to be seen (hidepid), this process's
// own.
RunStart start_of_rig() {
  std::ifstream in("/proc/" + std::to_string(::getppid()) + "/stat");
  std::string text;
  std::getline(in, text);
  // Behind the name, which may hold anything, come the 3rd field and so on; the 22nd is the start, in ticks since boot.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::int64_t ticks = 0;
  timespec now{};
  if (!(fields >> ticks) || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return {};
  const std::chrono::nanoseconds since_boot = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  const std::chrono::duration<double> began(static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return RunStart(since_boot - std::chrono::duration_cast<std::chrono::nanoseconds>(began));
}

class Publisher {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { leave_soon(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToPublisher(), message, [this](auto&... parts) { on(parts...); });
  }

  void on(const messages::Start& start) {
    if (start.phase == 0) child_.arrive(0);  // a successor finds the rig running
    started_ = true;
  }
  void on(const messages::OutputOver& over) {
    if (auto* output = output_of(over, outputs_)) output->finish();
  }
  void on(const messages::Record& record) {
    if (auto* output = output_of(record, outputs_)) output->set_recording(record.on);
  }
  void on(const messages::RecordUnder& record) {
    if (auto* output = output_of(record, outputs_)) output->set_fence(record.fence);
  }
  void on(const messages::ForgetOutput& of) {
    servers_.remove(of.output);
    done_ -= outputs_.erase(of.output);
  }
  void on(const messages::CloseFiles&) { abandon_all(); }
  void on(const messages::RigOver&) { over_ = true; }
  void on(messages::Status& newest) { servers_.set_status(std::move(newest.status)); }
  void on(messages::ShareLinks& shared) { servers_.share_links(std::move(shared)); }
  void on(const messages::Answer& answer) { servers_.on_answer(answer); }
  void on(const messages::ChangeServer& change) { servers_.update(change.server); }
  void on(const messages::DisabledCamera& disabled) {
    house_->keep(disabled.config);
    servers_.add_disabled(disabled.config);
  }

  void on(const messages::PacketRing& offer, std::vector<UniqueFd>& fds) {
    const bool of_worker = offer.stream.encoder != "copy";
    take_ring<messages::PacketRingDone>(offer, fds, of_worker ? Accused::worker : Accused::source,
                                        [&](CameraPublisher& output, std::shared_ptr<PacketRingMemory> memory) {
                                          output.add({std::move(memory), offer.epoch, offer.stream});
                                        });
  }
  void on(const messages::AudioRing& offer, std::vector<UniqueFd>& fds) {
    take_ring<messages::AudioRingDone>(offer, fds, Accused::source,
                                       [&](CameraPublisher& output, std::shared_ptr<PacketRingMemory> memory) {
                                         output.add_audio({std::move(memory), offer.epoch, offer.audio});
                                       });
  }

  // `Done`: what is sent where it is no ring, for which `writer` has to answer.
  template <typename Done, typename Offer, typename Add>
  void take_ring(const Offer& offer, std::vector<UniqueFd>& fds, Accused writer, const Add& add) {
    auto* output = output_of(offer, outputs_);
    if (output == nullptr) return;
    try {
      add(*output, PacketRingMemory::open(std::move(fds[0])));
    } catch (const SystemError& error) {  // no memory: no fault of another process
      child_.send(messages::RingLost{{offer.output, error.what()}});
    } catch (const Error& error) {
      spdlog::error("a camera's ring cannot be used: {}", error.what());
      accuse(child_.page().publish(offer.output).accusation, writer);
      child_.send(Done{{offer.output, offer.epoch}});
    }
  }

  void on(const messages::PublishOutput& asked) {
    const OutputId output = asked.output;
    const ResolvedOutput& config = asked.config;
    const std::string name = config.name;
    CameraPublisher::Events events;
    events.on_ring_done = [this, output](std::uint64_t epoch) {
      child_.send(messages::PacketRingDone{{output, epoch}});
    };
    events.on_audio_ring_done = [this, output](std::uint64_t epoch) {
      child_.send(messages::AudioRingDone{{output, epoch}});
    };
    events.on_file = [this, output](const std::string& path) { child_.send(messages::FileBegun{output, path}); };
    events.on_record_failed = [this, output](const std::string& reason) {
      child_.send(messages::RecordFailed{{output, reason}});
    };
    events.on_record_paused = [this, output, name](const std::string& reason) {
      spdlog::error("{}: recording paused, and tried again: {}", name, reason);
      child_.send(messages::RecordPaused{{output, reason}});
    };
    events.on_record_resumed = [this, output, name](std::uint64_t unrecorded) {
      spdlog::info("{}: recording goes on; {} packets are not in it", name, unrecorded);
      child_.send(messages::RecordResumed{{output}});
    };
    events.on_push_state = [this, output](const std::string& url, const PushReport& report) {
      child_.send(messages::PushChanged{output, url, name_of(report.state), report.reason, report.cause});
    };
    if (asked.events && !events_file_) events_file_.emplace(*asked.events, config.node);
    if (asked.motion) {
      events.on_motion = [this, config, output](const MotionEvent& motion) {
        if (motion.begins) child_.page().publish(output).counters.add(Counter::motions);
        report_motion(config, motion);
      };
    }
    events.on_done = [this, output] {
      child_.send(messages::OutputDone{{output}});
      ++done_;
      child_.wake();
    };
    house_->keep(config);
    auto live = servers_.add(output, config);
    outputs_[output] = std::make_unique<CameraPublisher>(output, config, child_.page(), events, house_, std::move(live),
                                                         asked.recording, run_);
    if (!asked.fence.empty()) outputs_[output]->set_fence(asked.fence);
  }

  void report_motion(const ResolvedOutput& config, const MotionEvent& motion) {
    spdlog::info("{}: motion {}", config.name, motion.begins ? "begins" : "is over");
    if (!events_file_) return;
    events_file_->append({{"time", utc_text(motion.utc)},
                          {"camera", config.camera},
                          {"output", config.output},
                          {"event", motion.begins ? "motion_begin" : "motion_end"},
                          {"score", std::round(double{motion.score} * 1000) / 1000},
                          {"file", motion.file}});
  }

  void leave_soon() {
    for (auto& [output, publisher] : outputs_) publisher->finish();
    abandoned_at_ = Clock::now();
  }

  void abandon_all() {
    for (auto& [output, publisher] : outputs_) publisher->abandon();
  }

  // Leases and deadlines count monotonic time; what goes by UTC are the names and times of recordings.
  void follow_clock() {
    const auto by = clock_jumps_.observe(read_clocks());
    if (!by) return;
    const double seconds = std::chrono::duration<double>(*by).count();
    spdlog::warn("this machine's clock was set by {:+.3f} s: recordings go on in new files", seconds);
    for (auto& [output, publisher] : outputs_) publisher->clock_jumped();
    if (events_file_)
      events_file_->append(
          {{"time", utc_text(utc_now_ns())}, {"event", "clock_jump"}, {"seconds", std::round(seconds * 1000) / 1000}});
  }

  bool tick() {
    follow_clock();
    house_->tick();
    servers_.tick();
    for (const messages::PeerLinks& links : servers_.take_peer_links()) child_.send(links);
    const bool all_done = done_ == outputs_.size();
    if (child_.abandoned()) {
      // Workers close their rings within three seconds; what has not ended by then is closed as it is.
      if (Clock::now() > abandoned_at_ + std::chrono::seconds(3)) abandon_all();
      return all_done;
    }
    if (!started_ || !over_ || !all_done) return false;
    child_.arrive(1);
    return child_.page().barrier().wait(1, Clock::now() + beat_interval) == 0;
  }

  Child child_;
  const RunStart run_ = start_of_rig();
  std::atomic<std::size_t> done_{0};
  ClockJumps clock_jumps_{read_clocks()};
  std::optional<EventsFile> events_file_;
  Servers servers_{child_.setup().server.value_or(ServerConfig()), child_.setup().cluster, child_.page(),
                   [this](const messages::Request& request) {
                     std::visit([this](const auto& asked) { child_.send(asked); }, request);
                   }};
  const std::shared_ptr<Housekeeping> house_ = std::make_shared<Housekeeping>();
  std::map<OutputId, std::unique_ptr<CameraPublisher>> outputs_;
  bool started_ = false;
  bool over_ = false;  // no further camera will come
  Clock::time_point abandoned_at_;
};

}  // namespace

int run_publisher() { return Publisher().run(); }

}  // namespace campipe
