// Places at which a process dies or stops once a test wants it to: a rig is started with all of them, and the test arms
// one after the other.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/unit/temporary_folder.h"

namespace campipe::test {

class ArmedDeaths {
 public:
  // `failpoint`: NAME[@SUBJECT][:COUNT]=ACTION (core/failpoint.h). The first process that is there at that time, or a
  // later one, dies. To be called before the rig starts.
  void add(const std::string& failpoint) {
    const auto equals = failpoint.find('=');
    const std::string place = failpoint.substr(0, equals);
    failpoints_ += place + (place.find(':') == std::string::npos ? ":1+" : "+") + failpoint.substr(equals) + "_once" +
                   file_of(failpoint).string() + ",";
  }
  // For RigOptions.
  [[nodiscard]] const std::string& failpoints() const { return failpoints_; }
  void arm(const std::string& failpoint) const { std::ofstream(file_of(failpoint)).put('\n'); }
  // A process was there. One that is still armed is not any more.
  [[nodiscard]] bool disarm(const std::string& failpoint) const { return !std::filesystem::remove(file_of(failpoint)); }

 private:
  [[nodiscard]] std::filesystem::path file_of(const std::string& failpoint) const {
    return folder_.path() / std::to_string(std::hash<std::string>()(failpoint));
  }

  TemporaryFolder folder_;
  std::string failpoints_;
};

}  // namespace campipe::test
