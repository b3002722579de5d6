#include "tests/sim/load_child.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "app/control/messages/load.h"
#include "tests/sim/owner.h"
#include "tests/sim/wire.h"

namespace campipe::sim {
namespace {

constexpr auto disk_holds = seconds(25);

}  // namespace

struct LoadChild::Run : std::enable_shared_from_this<Run> {
  Run(World& its_world, Owner& its_owner, LoadTrouble its_trouble, Chance its_chance)
      : world(its_world), owner(its_owner), trouble(its_trouble), chance(its_chance) {}

  // The way to `what` takes it some time.
  void then(void (Run::*what)()) {
    const bool slow = trouble == LoadTrouble::slow;
    world.in(chance.between(milliseconds(1), slow ? seconds(3) : milliseconds(60)), [self = shared_from_this(), what] {
      if (!self->status) (*self.*what)();
    });
  }

  void begin() {
    announce("reading it");
    if (trouble == LoadTrouble::crashes) return die(SIGSEGV);
    if (trouble != LoadTrouble::hangs && trouble != LoadTrouble::held_by_disk) then(&Run::work);
  }

  void work() {
    if (job.keep) {
      owner.keep(job.changes);
    } else {
      reading = owner.read(job.changes);
    }
    announce("opening the encoder libx264");
    if (trouble == LoadTrouble::crashes_late) return die(SIGSEGV);
    then(&Run::report);
  }

  void report() {
    send(messages::Loaded{reading.loaded});
    if (trouble != LoadTrouble::lingers) then(&Run::leave);
  }

  void leave() { die(0); }

  void announce(const char* what) { send(messages::LoadsNext{{{0, 0, "", what}, "try again"}}); }

  template <typename M>
  void send(const M& message) {
    world.reached(fmt::format("message {} from load-config", M::type));
    sent.send(message_of(M::type, write_message(message), {}), world.now() + microseconds(200));
  }

  void die(int how) {
    if (status) return;
    world.trace(fmt::format("load-config ends with {:#x}", how));
    status = how;
    sent.all_arrive();
  }

  World& world;
  Owner& owner;
  LoadTrouble trouble;
  Chance chance;
  messages::LoadConfig job;
  Reading reading;
  Wire sent;
  std::optional<int> status;  // it has ended
};

LoadChild::LoadChild(World& world, Owner& owner, std::string file, pid_t pid, LoadTrouble trouble, Chance chance)
    : HelperProcess(world, pid), run_(std::make_shared<Run>(world, owner, trouble, chance)), file_(std::move(file)) {}

LoadChild::~LoadChild() { kill(); }

bool LoadChild::send(std::string_view type, const nlohmann::json& body, const std::vector<int>&) {
  Message message = message_of(type, body, {});
  run_->job = read_message<messages::LoadConfig>(message);
  run_->then(&Run::begin);
  return true;
}

std::optional<Message> LoadChild::receive(std::string_view) {
  auto message = run_->sent.receive(world_.now());
  if (message && message->type == messages::Loaded::type) {
    heard_ = true;
    note_taken();
  }
  return message;
}

// What was read is obeyed once the process has ended, too. A cluster's rig is another file, and no reload.
void LoadChild::note_taken() {
  const bool of_reload = file_ == own_file && !run_->job.keep && run_->job.changes.empty();
  if (heard_ && reaped_ && of_reload) run_->owner.on_reread(run_->reading);
}

void LoadChild::kill() {
  if (std::exchange(killed_, true) || run_->status) return;
  world_.trace("load-config is killed by the supervisor");
  const bool held = run_->trouble == LoadTrouble::held_by_disk;
  world_.in(held ? nanoseconds(disk_holds) : milliseconds(2), [run = run_] { run->die(SIGKILL); });
}

std::optional<ExitInfo> LoadChild::reap() {
  if (!run_->status) return std::nullopt;
  if (!std::exchange(reaped_, true)) note_taken();
  return ExitInfo{*run_->status, 0};
}

}  // namespace campipe::sim
