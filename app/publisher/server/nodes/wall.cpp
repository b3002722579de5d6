#include "app/publisher/server/nodes/wall.h"

#include <pthread.h>

#include <chrono>
#include <future>
#include <iterator>
#include <utility>

#include "app/publisher/server/nodes/readable.h"
#include "core/log.h"
#include "core/shallow_json.h"
#include "core/utc_text.h"

namespace campipe {

using nlohmann::json;
using namespace std::chrono_literals;

namespace {

constexpr auto period = 1s;
constexpr auto asked_lately = 10s;
constexpr auto first_patience = 1s;                            // whoever asks first waits so long for the others
constexpr std::size_t largest_status = std::size_t{16} << 20;  // as a supervisor's to its own publisher (Channel)
constexpr const char* status_path = "/api/v1/status?local=true";

const json* camera_in(const NodeReport& report, const std::string& name) {
  if (!report.status) return nullptr;
  const auto cameras = report.status->find("cameras");
  if (cameras == report.status->end() || !cameras->is_object()) return nullptr;
  const auto camera = cameras->find(name);
  const bool is_one = camera != cameras->end() && camera->is_object() && camera->contains("state");
  return is_one ? &*camera : nullptr;
}

// What a camera, or an output of it, did in the last seconds, and nobody knows now.
void forget_the_moment(json& stream) {
  for (const char* key : {"since_utc", "recording_on", "recording_paused", "recording_paused_since_utc", "overloaded",
                          "overloaded_since_utc", "behind_s", "moves_to", "fps", "ring", "graph"}) {
    stream.erase(key);
  }
  if (const auto motion = stream.find("motion"); motion != stream.end() && motion->is_object())
    motion->erase("score_percent");
}

json unreachable(json camera, const std::string& problem, const std::string& since_utc) {
  forget_the_moment(camera);
  if (const auto outputs = camera.find("outputs"); outputs != camera.end() && outputs->is_object()) {
    for (json& output : *outputs) {
      if (output.is_object()) forget_the_moment(output);
    }
  }
  camera["state"] = "unreachable";
  camera["reason"] = problem;
  if (!since_utc.empty()) camera["since_utc"] = since_utc;
  return camera;
}

json remote_camera(const std::string& name, const std::string& node, const NodePlaces& places,
                   const std::map<std::string, NodeReport>& reports) {
  if (node.empty()) return {{"state", "waiting"}, {"reason", "no node runs it"}};
  const auto place = places.nodes.find(node);
  const auto report = reports.find(node);
  const json* const last = report == reports.end() ? nullptr : camera_in(report->second, name);
  const std::string since = report == reports.end() ? "" : report->second.since_utc;
  if (place == places.nodes.end() || !place->second.here)
    return unreachable(last != nullptr ? *last : json::object(), "node '" + node + "' is away", since);
  if (report != reports.end() && !report->second.problem.empty())
    return unreachable(last != nullptr ? *last : json::object(), report->second.problem, since);
  if (last == nullptr) return {{"state", "starting"}, {"reason", "node '" + node + "' begins with it"}};
  json camera = *last;
  const json& status = *report->second.status;
  if (status.contains("time_utc")) camera["time_utc"] = status["time_utc"];  // by which its counters count
  return camera;
}

}  // namespace

json whole_status(const json& local, const NodePlaces& places, const std::map<std::string, NodeReport>& reports) {
  json whole = local;
  json& cameras = whole["cameras"];
  if (!cameras.is_object()) cameras = json::object();
  for (auto& camera : cameras) camera["node"] = places.own;
  for (const auto& [name, node] : places.cameras) {
    if (cameras.contains(name)) continue;
    if (node == places.own) {
      cameras[name] = {{"state", "starting"}, {"reason", "this node begins with it"}};
    } else {
      cameras[name] = remote_camera(name, node, places, reports);
    }
    cameras[name]["node"] = node;
  }
  // Each node counts its own: a camera has the same place on all nodes, also when it moves.
  int order = 0;
  for (auto& camera : cameras) camera["order"] = order++;
  for (const auto& [name, report] : reports) {
    if (!report.problem.empty() && whole["cluster"]["nodes"].contains(name))
      whole["cluster"]["nodes"][name]["problem"] = report.problem;
  }
  return whole;
}

NodesWall::NodesWall(const RigView& rig, Nodes& nodes) : rig_(rig), nodes_(nodes), thread_([this] { run(); }) {}

NodesWall::~NodesWall() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_ptr<const json> NodesWall::status() {
  auto local = rig_.status();
  const auto places = nodes_.places();
  if (places->own.empty()) return local;
  std::unique_lock lock(mutex_);
  const auto now = Clock::now();
  asked_ = now;
  changed_.notify_all();
  // What is older was of the last time that somebody asked.
  const auto is_new = [&] { return closing_ || answered_ > now - asked_lately / 2; };
  changed_.wait_until(lock, now + first_patience, is_new);
  if (!whole_ || whole_of_ != local || whole_version_ != version_) {
    whole_ = std::make_shared<const json>(whole_status(*local, *places, reports_));
    whole_of_ = std::move(local);
    whole_version_ = version_;
  }
  return whole_;
}

void NodesWall::run() {
  ::pthread_setname_np(::pthread_self(), "wall");
  std::unique_lock lock(mutex_);
  while (!closing_) {
    changed_.wait(lock, [&] { return closing_ || Clock::now() < asked_ + asked_lately; });
    if (closing_) return;
    lock.unlock();
    const auto begun = Clock::now();
    ask_all();
    lock.lock();
    changed_.wait_until(lock, begun + period, [&] { return closing_; });
  }
}

// In parallel; what one says is there for all at once, however long another one takes.
void NodesWall::ask_all() {
  const auto others = nodes_.places()->others_here();
  std::map<std::string, std::future<Nodes::Reply>> replies;
  for (const std::string& node : others)
    replies[node] = nodes_.get(node, status_path, {node_own_header, "1"}, answer_patience);
  const auto take = [this](const std::string& node, Nodes::Reply reply) {
    const bool is_large = reply.body.size() > largest_status;
    json said = is_large ? json() : parse_shallow(reply.body);
    std::string problem = std::move(reply.problem);
    if (reply.status != 0 && reply.status != 200)
      problem = "node '" + node + "' refuses to be asked: it answers with status " + std::to_string(reply.status);
    if (problem.empty() && is_large)
      problem =
          "node '" + node + "' answers with a status of more than " + std::to_string(largest_status >> 20U) + " MiB";
    if (problem.empty() && !said.is_object()) problem = "node '" + node + "' answers with what is no status";
    auto status = std::make_shared<const json>(readable_status(std::move(said), node));
    const std::lock_guard lock(mutex_);
    NodeReport& report = reports_[node];
    if (problem.empty() != report.problem.empty()) {
      report.since_utc = problem.empty() ? "" : utc_text(utc_now_ns());
      if (problem.empty())
        spdlog::info("node '{}' answers again", node);
      else
        spdlog::warn("{}", problem);
    }
    if (problem.empty()) report.status = std::move(status);
    report.problem = std::move(problem);
    ++version_;
    changed_.notify_all();
  };
  const Deadline deadline = Clock::now() + answer_patience + 500ms;
  while (!replies.empty() && Clock::now() < deadline) {
    for (auto reply = replies.begin(); reply != replies.end();) {
      const bool has_come = reply->second.wait_for(10ms) == std::future_status::ready;
      if (has_come) take(reply->first, reply->second.get());
      reply = has_come ? replies.erase(reply) : std::next(reply);
    }
    const std::lock_guard lock(mutex_);
    if (closing_) return;
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(reports_,
                [places = nodes_.places()](const auto& report) { return !places->nodes.contains(report.first); });
  answered_ = Clock::now();
  ++version_;
  changed_.notify_all();
}

}  // namespace campipe
