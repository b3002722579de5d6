#include "tests/sim/witness.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/checks.h"

namespace campipe::sim {
namespace {

constexpr std::size_t most_crashes = 3;  // within a minute

}  // namespace

void Witness::on_death(Part part, int status, bool while_ending) {
  if (!while_ending) ++deaths_.at(static_cast<std::size_t>(part));
  dies_ending_ = dies_ending_ || (while_ending && status != 0);
}

void Witness::on_ring_given(const std::string& process, const std::string& camera, const std::string& what,
                            std::uint64_t epoch) {
  if (done_.contains({camera, checks_.life_of(camera), what, epoch}))
    world_.fail(fmt::format("{} is given ring {} of {} for {}, which is done", process, epoch, what, camera));
}

void Witness::on_ring_done(const std::string& camera, const std::string& what, std::uint64_t epoch) {
  done_.insert({camera, checks_.life_of(camera), what, epoch});
}

void Witness::on_all_done(const std::string& camera, const std::string& what) {
  std::erase_if(done_, [&](const Ring& ring) { return std::get<0>(ring) == camera && std::get<2>(ring) == what; });
}

void Witness::on_decoder_crash(const std::string& camera) { crashed_.insert({camera, checks_.life_of(camera)}); }

void Witness::on_decoding(const std::string& master, const std::string& camera) const {
  if (crashed_.contains({camera, checks_.life_of(camera)}) && !master.starts_with("master q"))
    world_.fail(fmt::format("{} decodes {}, which has crashed a master", master, camera));
}

// Two seconds are given to it, and a successor has to learn first that the rig ends.
void Witness::on_decoding_still(const std::string& master, const std::string& camera, Clock::time_point begun,
                                Clock::time_point end) const {
  constexpr auto longest = milliseconds(3500);
  if (world_.now() > std::max(begun, end) + longest && !checks_.hinders(camera, Part::master))
    world_.fail(fmt::format("{} does not end {}", master, camera));
}

void Witness::on_crash(const std::string& camera, Part part) {
  constexpr auto window = seconds(55);      // 60 s are promised, and deaths are noticed a little later
  constexpr auto until_shown = seconds(6);  // status comes each second or two, and pauses last for 3 s
  Crashes& crashes = crashes_[{camera, checks_.life_of(camera), part == Part::publisher}];
  ++crashes.number;
  crashes.at.push_back(world_.now());
  while (world_.now() - crashes.at.front() > window) crashes.at.pop_front();
  if (crashes.at.size() >= most_crashes && !crashes.quarantined_by) crashes.quarantined_by = world_.now() + until_shown;
}

void Witness::on_hang_still(const std::string& process) const { world_.fail(process + " hangs, and is not killed"); }

// In the publisher its recording is given up first. Where packets are copied, only what is decoded is.
void Witness::on_status(const nlohmann::json& status, bool is_unchanged) {
  for (const auto& [name, camera] : status.at("cameras").items()) {
    for (const bool in_publisher : {false, true}) {
      const auto crashes = crashes_.find({name, checks_.life_of(name), in_publisher});
      const bool is_due = crashes != crashes_.end() && crashes->second.quarantined_by < world_.now();
      if (!is_due || !crashes->second.quarantined_by || camera.contains("outputs")) continue;
      world_.reached("a camera has to be quarantined");
      const std::string reason = camera.value("reason", "");
      const bool is_given_up = in_publisher && reason.starts_with("recording stopped: it brought down");
      const bool is_quarantined = reason.find("quarantined") != std::string::npos;
      if (!is_given_up && !is_quarantined)
        world_.fail(fmt::format("{} has crashed three times, and is not quarantined", name));
      const bool is_first =
          crashes->second.number == most_crashes && !crashes_.contains({name, checks_.life_of(name), false});
      if (in_publisher && is_unchanged && is_first && !is_given_up)
        world_.fail(fmt::format("{} is quarantined, and its recording was not given up before", name));
    }
  }
}

// Its end is no death.
void Witness::on_log(const std::string& line) {
  if (!line.ends_with(" is ended: no camera needs it")) return;
  for (const Part part : {Part::source, Part::master, Part::worker, Part::publisher}) {
    if (line.starts_with(name_of(part))) --deaths_.at(static_cast<std::size_t>(part));
  }
}

void Witness::check(const nlohmann::json& report) const {
  for (const auto& [name, camera] : report.at("cameras").items()) {
    if (packets_.contains(name) && checks_.life_of(name) == 0 && !checks_.may_be_quarantined(name))
      check_packets(name, camera.at("frames"));
  }
  if (!dies_ending_ && !checks_.any_may_be_quarantined()) check_deaths(report);
}

void Witness::check_packets(const std::string& camera, const nlohmann::json& counts) const {
  world_.reached("packets are compared with frames");
  if (counts.at("decoded") != packets_.at(camera))
    world_.fail(fmt::format("{}: its source had {} packets, and {} frames came", camera, packets_.at(camera),
                            counts.at("decoded").dump()));
}

void Witness::check_deaths(const nlohmann::json& report) const {
  std::array<unsigned, parts> counted{report.at("source_restarts").get<unsigned>(),
                                      report.at("master_restarts").get<unsigned>(), 0,
                                      report.at("publisher_restarts").get<unsigned>()};
  for (const nlohmann::json& worker : report.at("workers")) counted[2] += worker.at("restarts").get<unsigned>();
  world_.reached("deaths are compared with restarts");
  for (const Part part : {Part::source, Part::master, Part::worker, Part::publisher}) {
    const auto at = static_cast<std::size_t>(part);
    if (counted.at(at) != deaths_.at(at))
      world_.fail(fmt::format("{}: {} deaths, and {} are counted", name_of(part), deaths_.at(at), counted.at(at)));
  }
}

}  // namespace campipe::sim
