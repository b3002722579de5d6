// The clock of a rig's machine, which can be set while the rig runs (set_clock.cpp): of rigs that are started while an
// object of this class is there. Monotonic clocks are left alone.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

#include "core/unique_handle.h"
#include "tests/integration/environment.h"
#include "tests/integration/rig_run.h"
#include "tests/paths.h"

namespace campipe::test {

class MachineClock {
 public:
  static void set_off(const RigRun& rig, std::chrono::nanoseconds off) {
    const std::int64_t ns = off.count();
    const UniqueFd file(::open((rig.temporary() / "clock_offset").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::pwrite(file.get(), &ns, sizeof ns, 0), static_cast<ssize_t>(sizeof ns));
  }

 private:
  Environment preload_{"LD_PRELOAD", set_clock_library};
};

}  // namespace campipe::test
