#include "app/cluster/rig_keeper.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "core/error.h"
#include "core/own_folders.h"
#include "core/replace_file.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto load_retry = 2s;

}  // namespace

RigKeeper::RigKeeper(Options options, std::function<void(std::int64_t)> on_written)
    : options_(std::move(options)), keys_(options_.cluster), on_written_(std::move(on_written)) {
  static_cast<void>(EtcdClient(options_.servers));  // so that what is wrong with them is known here
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

RigKeeper::~RigKeeper() = default;

std::filesystem::path RigKeeper::rig_file(const std::filesystem::path& folder) { return folder / "rig.yaml"; }
std::filesystem::path RigKeeper::duties_file(const std::filesystem::path& folder) { return folder / "duties.json"; }

void RigKeeper::put(const std::function<void(Work&)>& change) {
  const std::lock_guard lock(mutex_);
  change(next_);
  wakeup_.notify_all();
}

void RigKeeper::store_first(const StoredRig& stored, const std::string& text) {
  put([&](Work& work) { work.first.emplace(stored, text); });
}
void RigKeeper::keep(const StoredRig& rig) {
  put([&](Work& work) {
    work.rig = rig;
    work.first.reset();
  });
}
void RigKeeper::keep(const NodeDuties& duties) {
  put([&](Work& work) { work.duties = duties; });
}

void RigKeeper::run(const std::stop_token& stop) {
  EtcdClient client(options_.servers, stop);
  Work work;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      const auto has_work = [this] { return next_.any(); };
      if (work.any()) {
        wakeup_.wait_for(lock, stop, load_retry, has_work);
      } else {
        wakeup_.wait(lock, stop, has_work);
      }
      if (next_.rig) work.first.reset();
      if (next_.first) work.first = std::exchange(next_.first, std::nullopt);
      if (next_.rig) work.rig = std::exchange(next_.rig, std::nullopt);
      if (next_.duties) work.duties = std::exchange(next_.duties, std::nullopt);
    }
    if (!stop.stop_requested()) carry_out(work, client);
  }
}

template <typename Do>
void RigKeeper::on_disk(const std::string& what, const Do& act) try {
  make_own_folder(options_.folder);
  act();
  problem_.clear();
} catch (const std::exception& error) {
  if (problem_ != error.what()) spdlog::error("{} cannot be kept, and is tried again: {}", what, error.what());
  problem_ = error.what();
}

void RigKeeper::carry_out(Work& work, EtcdClient& client) {
  if (work.first) {
    const RigWriteResult written = write_rig(client, keys_, work.first->first, work.first->second);
    if (written.outcome == RigWritten::done) spdlog::info("cluster: the rig of this node's file is the first one");
    if (written.outcome == RigWritten::failed && problem_ != written.message)
      spdlog::warn("cluster: its first rig cannot be stored, and is tried again: {}", written.message);
    problem_ = written.outcome == RigWritten::failed ? written.message : "";
    // Whether it is there: the watch shows it.
    if (written.outcome != RigWritten::failed) work.first.reset();
  }
  if (work.rig) {
    on_disk("the cluster's rig", [&] {
      replace_file(rig_file(options_.folder), work.rig->text);
      on_written_(work.rig->revision);
      work.rig.reset();
    });
  }
  if (work.duties) {
    on_disk("what this node has to run", [&] {
      save_duties(duties_file(options_.folder), options_.cluster, options_.node, *work.duties);
      work.duties.reset();
    });
  }
}

}  // namespace campipe
