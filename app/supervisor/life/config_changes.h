// Changes of the configuration while the rig runs, one after the other: SIGHUP, and what the API asks for. The file,
// its overlay and encoders are looked at in a process of their own (app/control/load_process.h), for which the loop
// does not wait.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/config/changes.h"
#include "app/control/load_process.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "app/supervisor/life/camera_roster.h"

namespace campipe {

struct CameraConfig;
struct LoadedConfig;
struct RigConfig;

namespace messages {
struct ChangeRig;
}  // namespace messages

class ConfigChanges {
 public:
  struct Events {
    // A reload begins, and is over.
    std::function<void()> on_reload;
    std::function<void()> on_reloaded;
    // The cluster's rig is to be changed; whoever gets this answers the asker.
    std::function<void(messages::ChangeRig change, pid_t asker)> change_cluster;
  };
  // `start`: starts what loads the configuration.
  ConfigChanges(RigState& rig, Processes& processes, CameraRoster& roster, StartProcess start, Events events)
      : rig_(rig), processes_(processes), roster_(roster), start_(std::move(start)), events_(std::move(events)) {}

  // `asker`: the publisher whose servers ask, which is answered when the change has been made; 0: SIGHUP does.
  void ask(messages::ConfigChange change, pid_t asker);
  void reload_on_signal();
  [[nodiscard]] bool reloading() const;
  // To be called in every turn of the loop; a change begins or goes on when what it waits for is there.
  void go_on();
  void add_waits(Waits& waits) const {
    if (load_) load_->add_waits(waits);
  }
  // Of a request that is no such change: what `work` returns, or throws, is its answer.
  void answer(pid_t asker, std::uint64_t request, const std::function<messages::Answer()>& work);

 private:
  using AfterLoad = std::function<std::optional<messages::Answer>(const LoadedConfig& loaded)>;
  struct Waiting {
    messages::ConfigChange change;
    pid_t asker = 0;
  };

  void do_step(const std::function<std::optional<messages::Answer>()>& step);
  // Nothing: it goes on when load_ has ended.
  std::optional<messages::Answer> begin(const messages::Reload& asked);
  std::optional<messages::Answer> begin(const messages::PutCamera& asked);
  std::optional<messages::Answer> begin(const messages::RemoveCamera& asked);
  std::optional<messages::Answer> begin(const messages::EnableCamera& asked);
  std::optional<messages::Answer> begin(const messages::PutMosaic& asked);
  std::optional<messages::Answer> begin(const messages::RemoveMosaic& asked);
  std::optional<messages::Answer> begin(const messages::PutGroup& asked);
  std::optional<messages::Answer> begin(const messages::RemoveGroup& asked);
  // Of a node of a cluster: PutCamera, RemoveCamera and the like.
  template <typename Change>
  std::optional<messages::Answer> begin_for_cluster(const Change& asked);
  // A camera or a mosaic.
  std::optional<messages::Answer> put_stream(ConfigPart part, const messages::PutCamera& asked);
  std::optional<messages::Answer> remove_stream(ConfigPart part, const messages::RemoveCamera& asked);
  void refuse_all();
  void forget_gpus();
  void begin_load(const LoadJob& job, AfterLoad then);
  void begin_load_with(ConfigPart part, const std::string& name, nlohmann::json keys, AfterLoad then);
  void end_reload(const messages::Answer& answer);
  [[nodiscard]] std::vector<ConfigError> errors_of(const LoadedConfig& loaded) const;
  void accept(const LoadedConfig& loaded, const std::string& body);
  [[nodiscard]] messages::Answer refusal_of(const std::vector<ConfigError>& errors, int status) const;
  [[nodiscard]] static messages::Answer refusal_of(const std::vector<ConfigError>& errors, int status,
                                                   const std::string& file);
  messages::Answer take(const LoadedConfig& loaded);
  std::optional<messages::Answer> make_change(const CameraChanges& change, bool persist,
                                              const std::function<messages::Answer()>& make);
  messages::Answer make_camera_be(const CameraConfig& config);
  void show_in(const std::vector<CameraConfig>& mosaics);
  [[nodiscard]] std::vector<CameraConfig> regrouped(const RigConfig& wanted, const std::set<std::string>& groups) const;
  [[nodiscard]] bool has_group(const std::string& name) const;
  void send_answer(pid_t asker, std::uint64_t request, messages::Answer answer);

  RigState& rig_;
  Processes& processes_;
  CameraRoster& roster_;
  StartProcess start_;
  Events events_;
  CameraChanges changes_;        // since the file was read last
  std::deque<Waiting> waiting_;  // while load_ is at work, for the first one
  std::unique_ptr<LoadProcess> load_;
  AfterLoad then_;
  std::vector<std::unique_ptr<LoadProcess>> left_behind_;  // those before that have not ended
};

}  // namespace campipe
