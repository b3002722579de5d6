#include "app/supervisor/cluster/cluster_control.h"

#include <algorithm>
#include <utility>

#include "app/config/rig_settings.h"
#include "app/control/json_fields.h"
#include "app/control/messages/answer.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/requests.h"
#include "app/supervisor/life/answers.h"

namespace campipe {
namespace {

constexpr auto longest = std::chrono::seconds(8);  // the publisher's servers wait for ten

}  // namespace

bool ClusterControl::process_runs() const {
  return std::ranges::any_of(processes_.all(), [](const ManagedProcess& process) {
    return process.kind == ProcessKind::cluster && process.child != nullptr;
  });
}

nlohmann::json ClusterControl::status() const {
  if (!rig_.settings().cluster) return {};
  ClusterState shown = seen_;
  shown.cluster = rig_.settings().cluster->name;
  shown.node = node_name(*rig_.settings().cluster);
  if (!process_runs()) {
    shown.etcd.up = false;
    shown.etcd.problem = "the process that talks to etcd is being restarted";
  }
  return write_json(shown);
}

template <typename Request>
void ClusterControl::pass_on(Request asked, pid_t asker) {
  const auto refuse = [&](int status, const char* why) { answer_(asker, asked.request, refused(status, why)); };
  if (!rig_.settings().cluster) return refuse(404, "this rig is no node of a cluster");
  if (rig_.phase != RunPhase::running) return refuse(409, "the rig is ending");
  const std::uint64_t number = next_number_++;
  const std::uint64_t request = std::exchange(asked.request, number);
  if (!process_runs() || !processes_.send(processes_.of(ProcessKind::cluster), asked)) {
    asked.request = request;
    return refuse(503, "the process that talks to etcd is being restarted; try again in a second");
  }
  asked_[number] = {asker, request, Clock::now() + longest};
}

void ClusterControl::ask(messages::DrainNode asked, pid_t asker) { pass_on(std::move(asked), asker); }
void ClusterControl::ask(messages::MoveToNode asked, pid_t asker) { pass_on(std::move(asked), asker); }
void ClusterControl::ask(messages::ChangeRig asked, pid_t asker) { pass_on(std::move(asked), asker); }

void ClusterControl::follow() {
  while (!asked_.empty() && Clock::now() >= asked_.begin()->second.until) {
    const auto late = asked_.extract(asked_.begin());
    answer_(late.mapped().asker, late.mapped().request,
            refused(504, "no answer in time; the change may still be made"));
  }
}

void ClusterControl::on(messages::ClusterSeen& seen) { seen_ = std::move(seen.state); }

void ClusterControl::on(messages::Answer& answer) {
  const bool is_possible = answer.request > 0 && answer.request < next_number_ && answer.status >= 200 &&
                           answer.status < 600 && answer.body.is_object();
  if (!is_possible) throw BadMessage("an answer to what nobody has asked");
  const auto asked = asked_.extract(answer.request);
  if (asked) answer_(asked.mapped().asker, asked.mapped().request, answer);  // else it was given up
}

}  // namespace campipe
