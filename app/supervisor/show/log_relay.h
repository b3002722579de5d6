// The log of the supervisor's processes, on its way to the terminal.
#pragma once

#include <string>

#include "app/supervisor/port/log_pipe.h"
#include "app/supervisor/show/status_view.h"

namespace campipe {

class LogRelay {
 public:
  // `view` and `pipe` must outlive it.
  LogRelay(StatusView& view, LogPipe& pipe) : view_(view), pipe_(pipe) {}

  // Does not wait.
  void pass_on();

 private:
  StatusView& view_;
  LogPipe& pipe_;
  std::string rest_;  // of a line that is not complete
};

}  // namespace campipe
