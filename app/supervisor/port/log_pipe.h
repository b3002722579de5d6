// What this process and those that it starts log, on its way to the terminal.
#pragma once

#include <string>
#include <string_view>

namespace campipe {

class LogPipe {
 public:
  LogPipe() = default;
  LogPipe(const LogPipe&) = delete;
  LogPipe& operator=(const LogPipe&) = delete;
  virtual ~LogPipe() = default;

  // From now on the pipe gets what this process logs, too, of `level` and above. Throws Error for an unknown level.
  virtual void take_own_log(const std::string& level) = 0;
  // From now on standard error gets that, as before.
  virtual void leave_own_log(const std::string& level) = 0;
  // Returns bytes that processes have logged, or an empty view if there are none. Valid until the next call.
  virtual std::string_view read() = 0;
};

}  // namespace campipe
