// The log of the supervisor's processes, on its way to the terminal.
#pragma once

#include <string>

#include "app/supervisor/status_view.h"
#include "core/unique_handle.h"

namespace campipe {

class LogRelay {
 public:
  // Throws Error. `view` must outlive it.
  explicit LogRelay(StatusView& view);

  // What processes write into; they inherit it.
  [[nodiscard]] int write_fd() const { return write_.get(); }
  // Readable when there is something to pass on.
  [[nodiscard]] int read_fd() const { return read_.get(); }
  // Does not wait.
  void pass_on();

 private:
  StatusView& view_;
  UniqueFd read_;
  UniqueFd write_;
  std::string rest_;  // of a line that is not complete
};

}  // namespace campipe
